// The page "Upcoming": a picture of the next days, one line for each scale set, and the same in words.
import { html } from 'hono/html'
import { stepOf } from '../../core/event/summary.ts'
import { minuteUtc, relative, utc } from '../../core/event/time.ts'
import type { Lane, Slot } from '../../core/event/upcoming.ts'
import { viewOf } from '../../core/event/view.ts'
import { drillMark } from '../../core/message/message.ts'
import { plain, subjectOf } from '../../core/message/phrases.ts'
import type { Html } from '../event.ts'
import { whole } from '../times.ts'
import { badge, chip } from './parts.ts'

const hourMs = 3_600_000
/** How far the picture may reach, in hours. */
export const reaches = [1, 6, 24, 72, 168] as const
type Reach = (typeof reaches)[number]

const words: Record<Reach, string> = {
  1: '1 hour',
  6: '6 hours',
  24: '1 day',
  72: '3 days',
  168: '7 days',
}

interface Upcoming {
  base: string
  lanes: Lane[]
  reach: Reach
  more: boolean
}

/** The shortest reach that shows every event. */
export function reachFor(lanes: Lane[], now: number): Reach {
  const last = Math.max(now, ...lanes.flatMap(({ slots }) => slots.map(({ from }) => from)))
  return reaches.find((hours) => last <= now + hours * hourMs) ?? 168
}

const width = 1_000
const height = 28
const leastBar = 8

/** Between two marks of the picture, in hours. */
const steps: Record<Reach, number> = { 1: 1 / 6, 6: 1, 24: 4, 72: 12, 168: 24 }

/** The time that the picture shows: it begins and ends at a mark. Epoch ms. */
interface Scale {
  from: number
  span: number
  marks: number
  now: number
}

function scaleOf(reach: Reach, now: number): Scale {
  const step = steps[reach] * hourMs
  const marks = Math.round(reach / steps[reach]) + 1
  return { from: now - (now % step), span: marks * step, marks, now }
}

export function upcomingBody({ base, lanes, reach, more }: Upcoming, now: number): Html {
  const choices = reaches.map((hours) =>
    hours === reach
      ? html`<strong aria-current="true">${words[hours]}</strong> `
      : html`<a href="${base}/upcoming?hours=${hours}">${words[hours]}</a> `,
  )
  const clashing = lanes.filter(({ slots }) => slots.some(({ clashes }) => clashes))
  return html`<h1>Upcoming</h1>
<nav aria-label="How far ahead">${choices}</nav>
${lanes.length === 0 ? html`<p class="empty">Azure has announced no maintenance for these VMs.</p>` : ''}
${clashing.length === 0 ? '' : html`<div class="state bad"><p class="headline">Several events of one scale set come close together</p>${clashing.map((lane) => html`<p>${clashText(lane)}</p>`)}</div>`}
${lanes.length === 0 ? '' : picture(lanes, reach, now)}
${lanes.map((lane) => laneText(base, lane, now))}
${more ? html`<p class="note">More events are open. The page prefers undecided ones, so others may be missing.</p>` : ''}`
}

function clashText({ fleet, set, slots }: Lane): Html {
  const close = slots.filter(({ clashes }) => clashes)
  return html`${chip(fleet)}<b>${plain(set)}</b>: ${close.length} events, ${close.map(({ record }) => plain(subjectOf(viewOf(record)))).join('; ')}.`
}

function picture(lanes: Lane[], reach: Reach, now: number): Html {
  const scale = scaleOf(reach, now)
  const { from, span, marks } = scale
  const ticks = Array.from({ length: marks }, (_, i) => from + (i * span) / marks)
  const axis = ticks.map((at) => html`<span>${axisText(at, reach)}</span>`)
  return html`<figure class="lanes"><div class="lane axis" aria-hidden="true"><b>UTC</b><div>${axis}</div></div>
${lanes.map((lane) => laneRow(lane, scale))}
<figcaption class="note">Each line is a scale set. The thick line is now. The list below says the same in words.</figcaption></figure>`
}

function axisText(at: number, reach: Reach): string {
  const text = utc(at)
  if (reach === 168) return text.slice(5, 10)
  return reach > 24 ? text.slice(5, 16) : text.slice(11, 16)
}

function laneRow(lane: Lane, { from: left, span, marks, now }: Scale): Html {
  const x = (at: number) => Math.round(((Math.max(at, left) - left) / span) * width)
  const grid = Array.from({ length: marks }, (_, i) => {
    const at = Math.round((i * width) / marks)
    return html`<line class="grid" x1="${at}" x2="${at}" y1="0" y2="${height}"/>`
  })
  const bars = lane.slots
    .filter(({ from }) => from < left + span)
    .map((slot) => {
      const from = Math.min(x(slot.from), width - leastBar)
      const bar = Math.max(leastBar, x(slot.to) - from)
      return html`<rect class="${barTone(slot)}" x="${from}" y="5" width="${Math.min(bar, width - from)}" height="${height - 10}" rx="3"><title>${slotText(slot, now)}</title></rect>`
    })
  const label = `${lane.fleet}, ${lane.set}: ${lane.slots.map((slot) => slotText(slot, now)).join('; ')}`
  const clashes = lane.slots.some((slot) => slot.clashes)
  return html`<div class="lane${clashes ? ' clash' : ''}"><b>${plain(lane.set)} <span class="note">${plain(lane.fleet)}</span></b>
<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${plain(label)}">${grid}<line class="now" x1="${x(now)}" x2="${x(now)}" y1="0" y2="${height}"/>${bars}</svg></div>`
}

function barTone({ record }: Slot): string {
  const tones = { open: 'ask', declined: 'wait', approved: 'good', started: 'over' } as const
  const step = stepOf(record)
  return step in tones ? tones[step as keyof typeof tones] : 'over'
}

function slotText({ record, from }: Slot, now: number): string {
  const what = plain(subjectOf(viewOf(record)))
  return record.started === undefined ? `${what} ${relative(from, now)}` : `${what}, running`
}

function laneText(base: string, { fleet, set, slots }: Lane, now: number): Html {
  const rows = slots.map(({ record, from, clashes }) => {
    const path = `${base}/events/${encodeURIComponent(record.fleet)}/${encodeURIComponent(record.eventId)}`
    const view = viewOf(record)
    const when = record.started === undefined ? minuteUtc(utc(from)) : `running since ${utc(from)}`
    return html`<li data-key="${fleet}/${set}/${record.eventId}">${badge(stepOf(record))} <a href="${path}">${drillMark(view)}${subjectOf(view)}</a> ${whole(when)} <span class="note">${relative(from, now)}</span>${clashes ? html` ${chip('close to another', 'bad')}` : ''}</li>`
  })
  return html`<h2>${plain(set)} ${chip(fleet)}</h2><ul class="record">${rows}</ul>`
}
