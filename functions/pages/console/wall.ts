// "Now" on a screen that people read from four metres: the next decision, four counts, and one line for each event or
// group, as many as fit. The program of the page turns further lines every 15 s; without it, the first ones stay.
import { html } from 'hono/html'
import type { EventSummary } from '../../core/event/summary.ts'
import type { Tone } from '../../core/event/words.ts'
import type { Html } from '../event.ts'
import { describeLast, type Health, stripPart, type Trouble } from './health.ts'

/** One event, or several of one scale set. */
export interface WallLine {
  tone: Tone
  /** When Azure may start it, epoch ms. Absent: `time` does not count down. */
  until?: number | undefined
  time: string
  /** `Freeze of edge_0`, and the chip of its fleet. */
  what: Html
}

interface Wall {
  base: string
  health: Health
  troubles: Trouble[]
  briefs: Html[]
  counts: [tone: Tone, count: string, words: string][]
  /** The first one is the next that people decide, if there is one. */
  next?: WallLine | undefined
  lines: WallLine[]
  /** Only while no event is open. */
  last?: EventSummary | undefined
}

export function wallBody(wall: Wall, now: number): Html {
  const { base, health, troubles, briefs, counts, next, lines } = wall
  const strip = stripPart({ base, health, troubles, briefs, lines: [] }, now, 'wall')
  if (lines.length === 0) return html`<h1 class="away">Now</h1>${quietPart(wall, now)}${strip}`
  return html`<h1 class="away">Now</h1>
${next === undefined ? '' : html`<p class="hero ${next.tone}"><b data-left="${next.until ?? ''}">${next.time}</b> <span>${next.what}</span></p>`}
<ul class="counts">${counts.map(([tone, count, words]) => html`<li class="${count === '0' ? 'over' : tone}"><b>${count}</b> ${words}</li>`)}</ul>
${strip}
<ol class="lines unpaged" data-pages>${lines.map(
    ({ tone, until, time, what }) =>
      html`<li class="${tone}"><b data-left="${until ?? ''}">${time}</b> <span>${what}</span></li>`,
  )}</ol>`
}

function quietPart({ health, last }: Wall, now: number): Html {
  const sees = health.reporting > 0 || health.azure?.isFresh === true
  const words = sees ? 'All quiet' : 'Foghorn sees no VM'
  return html`<div class="calm ${sees ? 'good' : 'ask'}"><p><b>${words}</b></p><p>${describeLast(last, now)}</p></div>`
}
