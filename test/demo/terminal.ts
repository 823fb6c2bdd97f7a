// Prints the demo: the time since its start, each part in its colour, and what it did.
import { styleText } from 'node:util'

type Format = Parameters<typeof styleText>[0]

const colors: Record<string, Format> = {
  azure: 'magenta',
  relay: 'cyan',
  person: ['bold', 'yellow'],
  slack: 'green',
  teams: 'green',
  pagerduty: 'green',
  webhook: 'green',
}
const nameWidth = 9

export function createTerminal(stream: NodeJS.WriteStream) {
  const startedAt = performance.now()
  const told = new Set<string>()
  const style = (format: Format, text: string) => styleText(format, text, { stream })
  const write = (text: string) => stream.write(`${text}\n`)
  const since = () => `${((performance.now() - startedAt) / 1000).toFixed(1).padStart(5)} s`
  const say = (station: string, text: string | undefined) => {
    if (text === undefined) return
    const name = style(colors[station] ?? 'blue', station.padEnd(nameWidth))
    write(`${style('dim', since())}  ${name}  ${text}`)
  }
  return {
    title: (text: string) => write(`\n${style('bold', text)}\n`),
    say,
    once(station: string, text: string) {
      if (told.has(text)) return
      told.add(text)
      say(station, text)
    },
    /** Opens a part of the story, once. */
    chapter(text: string) {
      if (told.has(text)) return
      told.add(text)
      write(`\n${style('bold', text)}`)
    },
    link: (text: string, url: string) =>
      write(`\n  ${style('bold', text)} ${style('underline', url)}\n`),
    good: (text: string) => write(`\n  ${style('green', '✓')} ${text}`),
    fail: (text: string) => write(`\n  ${style('red', `✗ ${text}`)}`),
    quote: (title: string, text: string) => write(`\n${style('dim', `--- ${title}`)}\n${text}`),
  }
}
