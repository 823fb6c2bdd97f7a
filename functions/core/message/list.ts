// The text of several messages in one field that has a limit. Every event is named before any gets its
// sentences: who misses a sentence can open the page, who misses an event does not know of it.
import { cut } from '../../../shared/text.ts'
import type { Message } from './shape.ts'
import { namesOfVms } from './step.ts'

type Told = Pick<Message, 'sign' | 'title' | 'lines' | 'facts'>

/** `fits`: whether a text has room. Says how many events are not named, if the titles alone do not fit. */
export function listText(messages: Told[], fits: (text: string) => boolean): string {
  const blocks = messages.map(({ sign, title }) => [`${sign} ${title}`])
  if (!fits(composeText(blocks))) return shortTitles(blocks, fits) ?? firstTitles(blocks, fits)
  for (const [place, message] of messages.entries()) {
    for (const line of listedLines(message)) {
      blocks[place]!.push(line)
      if (fits(composeText(blocks))) continue
      blocks[place]!.pop()
      return composeText(blocks)
    }
  }
  return composeText(blocks)
}

/**
 * The sentences of one event of a list, which has no facts. Names that the title had no room for come first, if they
 * are all.
 */
export function listedLines({ title, lines, facts }: Omit<Told, 'sign'>): string[] {
  const names = facts.find(({ name }) => name === namesOfVms)?.value ?? ''
  const isNamed = names.split(', ').every((name) => title.includes(name))
  return isNamed || isCut.test(names) ? lines : [`${namesOfVms}: ${names}`, ...lines]
}

const isCut = / and \d+ more$/

/** An empty line between events, if one has sentences. */
function composeText(blocks: string[][]): string {
  const isLong = blocks.some(({ length }) => length > 1)
  return blocks.map((block) => block.join('\n')).join(isLong ? '\n\n' : '\n')
}

/** A title that is cut keeps its fleet and its event. */
const leastTitle = 40
/** Titles are cut to this part of their length, again and again. */
const shrink = 0.85

/** The longest titles are cut, so that long names of one event leave out no other. */
function shortTitles(titles: string[][], fits: (text: string) => boolean): string | undefined {
  const longest = Math.max(...titles.map(([title]) => title!.length))
  for (let most = longest; most >= leastTitle; most = Math.floor(most * shrink)) {
    const text = composeText(titles.map(([title]) => [cut(title!, most)]))
    if (fits(text)) return text
  }
  return undefined
}

function firstTitles(titles: string[][], fits: (text: string) => boolean): string {
  for (let shown = titles.length - 1; shown > 0; shown -= 1) {
    const text = `${composeText(titles.slice(0, shown))}\nand ${titles.length - shown} more`
    if (fits(text)) return text
  }
  return `${titles.length} events`
}
