// A recording of `npm run demo -- --auto`, as an SVG that plays by itself: each line appears when the demo
// printed it. Long pauses are shortened.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const program = join(import.meta.dirname, '../../infra/foghorn.mjs')
const longestPauseMs = 1_500
const lineHeight = 19
const width = 900
/** A line that is longer does not fit. */
const maxLength = 104

interface Line {
  atMs: number
  text: string
}

/** Throws if the demo fails. */
export async function recordDemo(): Promise<string> {
  const child = spawn(process.execPath, [program, 'demo', '--auto'], {
    env: { ...process.env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: Line[] = []
  const begunAt = performance.now()
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop() ?? ''
    for (const text of parts) lines.push({ atMs: performance.now() - begunAt, text })
  })
  const [code] = (await once(child, 'close')) as [number]
  if (code !== 0) throw new Error(`the demo ended with ${code}`)
  return drawn(lines.slice(lines.findIndex(({ text }) => text !== '')))
}

function drawn(lines: Line[]): string {
  let last = lines[0]?.atMs ?? 0
  let delayMs = 0
  const rows = lines.map(({ atMs, text }, i) => {
    delayMs += Math.min(atMs - last, longestPauseMs)
    last = atMs
    const y = (i + 1.6) * lineHeight
    return `<text class="${classOf(text)}" x="16" y="${y}" style="animation-delay:${(delayMs / 1_000).toFixed(2)}s">${escaped(shortened(text))}</text>`
  })
  const height = Math.ceil((lines.length + 1.8) * lineHeight)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="The demo in a terminal">
<style>
text { font: 13px ui-monospace, 'Cascadia Mono', Menlo, Consolas, monospace; fill: #d1d7e0; white-space: pre; opacity: 0; animation: shown 1ms forwards }
.head { font-weight: bold; fill: #fff } .relay { fill: #56d4dd } .azure { fill: #d2a8ff } .person { fill: #e3b341; font-weight: bold } .told { fill: #7ee787 } .vm { fill: #79c0ff }
@keyframes shown { to { opacity: 1 } }
@media (prefers-reduced-motion: reduce) { text { animation: none; opacity: 1 } }
</style>
<rect width="${width}" height="${height}" rx="10" fill="#0d1117"/>
${rows.join('\n')}
</svg>
`
}

function classOf(text: string): string {
  const station = /^ *\d+\.\d s {2}(\w+)/.exec(text)?.[1]
  if (station === undefined) return /^(\d\.|Foghorn)/.test(text) ? 'head' : 'told'
  if (['relay', 'azure', 'person'].includes(station)) return station
  return ['slack', 'teams', 'pagerduty', 'webhook'].includes(station) ? 'told' : 'vm'
}

/** A link proves nothing here any more, and nobody can read it. */
function shortened(text: string): string {
  const whole = text.replace(/(\/approve\/)\S+/, '$1…')
  return whole.length > maxLength ? `${whole.slice(0, maxLength - 1)}…` : whole
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
