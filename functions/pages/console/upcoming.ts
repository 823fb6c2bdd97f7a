// The page "Upcoming": a picture of the next days, one line for each scale set, and the same in words.
import { html } from 'hono/html'
import { chooseStep } from '../../core/event/summary.ts'
import { lastingClock, minuteUtc, relative, span, utc } from '../../core/event/time.ts'
import type { Lane, Slot } from '../../core/event/upcoming.ts'
import { toView } from '../../core/event/view.ts'
import { nameState, stateWords } from '../../core/event/words.ts'
import { drillMark } from '../../core/message/message.ts'
import { describeSubject, plain, typeIn } from '../../core/message/phrases.ts'
import { findWait } from '../../core/message/step.ts'
import { hourMs, minuteMs } from '../../core/units.ts'
import type { Html } from '../event.ts'
import { utcOn, whole } from '../times.ts'
import { emptyPart, type Health } from './health.ts'
import { foldedFrom, togetherMs } from './now-rows.ts'
import { filterForm, isFiltered, type ShownFilter } from './open-filter.ts'
import { badge, chip } from './parts.ts'

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
  filter: ShownFilter
  reach: Reach
  /** The reach that the address asks for. */
  asked?: Reach
  more: boolean
  health: Health
}

/** This share of all events must fit, so that one late event does not make a heap of the others. */
const mostOf = 0.8

/** The shortest reach that shows the next event and most of all. */
export function reachFor(lanes: Lane[], now: number): Reach {
  const starts = lanes.flatMap(({ slots }) => slots.map(({ from }) => from)).sort((a, b) => a - b)
  const last = starts[Math.max(0, Math.ceil(starts.length * mostOf) - 1)] ?? now
  return reaches.find((hours) => last <= now + hours * hourMs) ?? 168
}

/** Shares of the picture, in percent. */
const width = 100
const leastBar = 0.8
/** Pixels. */
const height = 28

/** Hours between two marks of the picture. */
const steps: Record<Reach, number> = { 1: 1 / 6, 6: 1, 24: 4, 72: 12, 168: 24 }

/** The time that the picture shows: it begins and ends at a mark. Epoch ms. */
interface Scale {
  from: number
  span: number
  marks: number
  now: number
}

function buildScale(reach: Reach, now: number): Scale {
  const step = steps[reach] * hourMs
  const marks = Math.round(reach / steps[reach]) + 1
  return { from: now - (now % step), span: marks * step, marks, now }
}

export function upcomingBody(view: Upcoming, now: number): Html {
  const { base, lanes, reach, asked, more, filter, health } = view
  const choices = reaches.map((hours) =>
    hours === reach
      ? html`<strong aria-current="true">${words[hours]}</strong> `
      : html`<a href="${base}/upcoming?${buildAddress(hours, filter)}">${words[hours]}</a> `,
  )
  const count = lanes.reduce((sum, { slots }) => sum + slots.length, 0)
  const firstClash = ({ slots }: Lane) =>
    slots.find(({ clashes }) => clashes)?.from ?? Number.POSITIVE_INFINITY
  const clashing = lanes
    .filter((lane) => firstClash(lane) < Number.POSITIVE_INFINITY)
    .toSorted((a, b) => firstClash(a) - firstClash(b))
  return html`<h1>Upcoming</h1>
<div class="bar"><nav aria-label="How far ahead">${choices}</nav>
${filterForm(`${base}/upcoming`, filter, count, asked && { hours: String(asked) })}</div>
${lanes.length > 0 ? '' : isFiltered(filter) ? html`<p class="empty">No open event matches.</p>` : emptyPart(health, base)}
${clashing.length === 0 ? '' : html`<div class="state ask"><p class="headline">Several events of one scale set come close together</p>${clashing.slice(0, maxClashes).map((lane) => html`<p>${clashText(lane, now)}</p>`)}${clashing.length > maxClashes ? html`<p>${clashing.length - maxClashes} more scale sets are marked below.</p>` : ''}</div>`}
${lanes.length === 0 ? '' : picture(base, lanes, reach, now)}
${lanes.length === 0 ? '' : composeList(base, lanes, now)}
${more ? html`<p class="note">More events are open. The page prefers undecided ones, so others may be missing.</p>` : ''}`
}

function buildAddress(hours: Reach, { fleets: _, ...filter }: ShownFilter): URLSearchParams {
  const chosen = Object.entries(filter).filter(([, value]) => value !== '')
  return new URLSearchParams([...chosen, ['hours', String(hours)]])
}

/** The picture marks the others. */
const maxClashes = 3

/** `web: 3 VMs in 2 events, 14:30 to 14:36` */
function clashText({ fleet, set, slots }: Lane, now: number): Html {
  const close = slots.filter(({ clashes }) => clashes)
  const vms = new Set(close.flatMap(({ record }) => record.facts.resources)).size
  const [first, last] = [close[0]!, close.at(-1)!].map(({ from }) => lastingClock(from, now)) as [
    string,
    string,
  ]
  const times = first === last ? first : `${first} to ${last}`
  return html`${chip(fleet)}<b>${plain(set)}</b>: ${vms} ${vms === 1 ? 'VM' : 'VMs'} in ${close.length} events, ${whole(times)}`
}

/** The last one counts if several events share a bar. */
const shownStates = ['declined', 'azure', 'rule', 'approved', 'started', 'ask', 'stuck'] as const
type ShownState = (typeof shownStates)[number]

function chooseState({ record }: Slot, now: number): ShownState {
  const step = chooseStep(record)
  const state = step === 'open' ? findWait(toView(record), now) : step
  return shownStates.find((one) => one === state) ?? 'azure'
}

/** What each colour stands for. */
function legendPart(states: Set<ShownState>): Html {
  const known = shownStates.filter((state) => states.has(state))
  const tones = [...Map.groupBy(known, (state) => stateWords[state].tone)]
  return html`<ul class="legend" aria-hidden="true">${tones.map(([tone, all]) => {
    const [first, ...others] = all as [ShownState, ...ShownState[]]
    return html`<li><i class="${tone}"></i>${[stateWords[first].word, ...others.map(nameState)].join(', ')}</li>`
  })}</ul>`
}

function picture(base: string, lanes: Lane[], reach: Reach, now: number): Html {
  const scale = buildScale(reach, now)
  const { from, span, marks } = scale
  const ticks = listTicks(scale)
  const axis = ticks.map(
    (at) => html`<text class="grid" x="${percent(xOf(scale, at))}" y="16">${axisText(at)}</text>`,
  )
  const states = new Set(lanes.flatMap(({ slots }) => slots.map((slot) => chooseState(slot, now))))
  const guess = lanes.some(({ slots }) => slots.some(({ isGuess }) => isGuess))
  return html`<figure class="lanes" data-marks="${from} ${span} ${span / marks}">${legendPart(states)}<div class="lane axis" aria-hidden="true"><b data-zone-label>UTC</b><svg height="${height}">${axis}</svg></div>
${lanes.map((lane) => laneRow(base, lane, scale))}
<figcaption class="note">Each line is a scale set. The thick line is now. Each bar leads to its event, one with a number to the list, and the list below says the same in words. ${guess ? 'A dashed bar is of an event without a duration: its length is a guess.' : ''}</figcaption></figure>`
}

/** Times with a mark. The page moves the marks to the hours of the reader's zone. */
function listTicks({ from, span, marks }: Scale): number[] {
  return Array.from({ length: marks }, (_, i) => from + (i * span) / marks)
}

/** `Mon 24` at midnight, else `16:00`. */
function axisText(at: number): string {
  const clock = utc(at).slice(11, 16)
  if (clock !== '00:00') return clock
  const day = new Date(at)
  return `${days[day.getUTCDay()]} ${day.getUTCDate()}`
}

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

function xOf({ from, span }: Pick<Scale, 'from' | 'span'>, at: number): number {
  return ((Math.max(at, from) - from) / span) * width
}

function laneRow(base: string, lane: Lane, scale: Scale): Html {
  const { from: left, span: reach, now } = scale
  const x = (at: number) => xOf(scale, at)
  const grid = listTicks(scale).map((tick) => {
    const at = percent(x(tick))
    return html`<line class="grid" x1="${at}" x2="${at}" y1="0" y2="${height}"/>`
  })
  const shown = lane.slots.filter(({ from }) => from < left + reach)
  const placed = shown.map((slot): Bar => {
    const from = Math.min(x(slot.from), width - leastBar)
    return { from, to: Math.min(width, Math.max(from + leastBar, x(slot.to))), slots: [slot] }
  })
  const merged = mergeBars(placed)
  const close = merged.filter(({ slots }) => slots.some(({ clashes }) => clashes)).map(closePart)
  const bars = merged.map((bar) => barPart(base, bar, now))
  const later = lane.slots.length - shown.length
  const clashes = lane.slots.some((slot) => slot.clashes)
  return html`<div class="lane${clashes ? ' clash' : ''}"><b>${plain(lane.set)} <span class="note">${plain(lane.fleet)}</span></b>
<svg height="${height}">${close}${grid}<line class="now" x1="${percent(x(now))}" x2="${percent(x(now))}" y1="0" y2="${height}"/>${bars}</svg>
<span class="note">${later === 0 ? '' : `${later} later →`}</span></div>`
}

/** One event, or several that would lie on each other. */
interface Bar {
  from: number
  to: number
  slots: Slot[]
}

/** Beside a bar that is close to another, in percent. */
const closeRoom = 0.6

/** The ground of a bar that is close to another one. */
function closePart({ from, to }: Bar): Html {
  const left = Math.max(0, from - closeRoom)
  return html`<rect class="close" x="${percent(left)}" y="0" width="${percent(to + closeRoom - left)}" height="${height}"/>`
}

/** A number needs so much room, in percent. */
const numberRoom = 2.5

function mergeBars(bars: Bar[]): Bar[] {
  const merged: Bar[] = []
  for (const bar of bars) {
    const last = merged.at(-1)
    if (last === undefined || bar.from >= last.to) merged.push({ ...bar })
    else
      Object.assign(last, {
        to: Math.min(width, Math.max(last.to, bar.to, last.from + numberRoom)),
        slots: [...last.slots, ...bar.slots],
      })
  }
  return merged
}

const percent = (share: number) => `${Number(share.toFixed(2))}%`

function barPart(base: string, { from, to, slots }: Bar, now: number): Html {
  const states = slots.map((slot) => chooseState(slot, now))
  const state = shownStates.findLast((one) => states.includes(one)) ?? 'azure'
  const [first] = slots as [Slot]
  const isOne = slots.length === 1
  const { tone } = stateWords[state]
  const text = isOne ? slotText(first, now) : `${slots.length} events, ${slotText(first, now)}`
  const label = `${text}, ${nameState(state)}${slots.some(({ clashes }) => clashes) ? ', close to another' : ''}`
  const number = isOne
    ? ''
    : html`<text x="${percent((from + to) / 2)}" y="${height / 2 + 5}" text-anchor="middle">${slots.length}</text>`
  const path = isOne ? buildPath(base, first) : `#${rowId(first)}`
  return html`<a href="${path}" aria-label="${label}"><rect class="${tone}${isOne && first.isGuess ? ' guess' : ''}" x="${percent(from)}" y="5" width="${percent(to - from)}" height="${height - 10}" rx="3"><title>${text}</title></rect>${number}</a>`
}

function rowId({ record: { fleet, eventId } }: Slot): string {
  return `u-${encodeURIComponent(`${fleet}/${eventId}`)}`
}

function buildPath(base: string, { record: { fleet, eventId } }: Slot): string {
  return `${base}/events/${encodeURIComponent(fleet)}/${encodeURIComponent(eventId)}`
}

function slotText({ record, from }: Slot, now: number): string {
  const what = plain(describeSubject(toView(record)))
  return record.started === undefined ? `${what} ${relative(from, now)}` : `${what}, running`
}

/** An event in the list below the picture. */
interface Listed {
  fleet: string
  set: string
  slot: Slot
  state: ShownState
  when: string
}

/** Lists the events of all lanes in the order of time. Many of one set, type, state and half hour share a row. */
function composeList(base: string, lanes: Lane[], now: number): Html {
  const all = lanes
    .flatMap(({ fleet, set, slots }) => slots.map((slot) => ({ fleet, set, slot })))
    .sort((a, b) => a.slot.from - b.slot.from)
    .map((one): Listed => {
      const { record, from } = one.slot
      const when = record.started === undefined ? minuteUtc(utc(from)) : `since ${utcOn(from, now)}`
      return { ...one, state: chooseState(one.slot, now), when }
    })
  const alike = Map.groupBy(all, ({ fleet, set, slot: { record, from }, state }) =>
    JSON.stringify([
      ...[fleet, set, record.facts.eventType, record.drill !== undefined, state],
      Math.floor(from / togetherMs),
    ]),
  )
  const rows = [...alike.values()].flatMap((some) =>
    some.length < foldedFrom
      ? some.map((one) => listRow(one, linkTo(base, one), now))
      : [listRow(some[0]!, foldedLinks(base, some, now), now)],
  )
  return html`<div class="scroll" role="region" aria-label="Events" tabindex="0"><table class="stack brief">
<thead><tr><th scope="col">In</th><th scope="col">When</th><th scope="col">Event</th><th scope="col">State</th><th scope="col">Fleet</th><th scope="col">Scale set</th></tr></thead>
<tbody>${rows}</tbody></table></div>`
}

function listRow({ fleet, set, slot, state, when }: Listed, what: Html, now: number): Html {
  const { record, from, clashes } = slot
  return html`<tr data-key="${fleet}/${set}/${record.eventId}"><td data-label="In">${record.started === undefined ? relative(from, now) : `running ${span(now - from)}`}</td><td data-label="When">${whole(when)}</td>
<th scope="row">${what}</th><td data-label="State">${badge(record.facts, state)}</td><td data-label="Fleet">${chip(fleet)}</td>
<td data-label="Scale set">${plain(set)}${clashes ? html` ${chip('close to another', 'ask')}` : ''}</td></tr>`
}

function linkTo(base: string, { slot }: Listed): Html {
  const view = toView(slot.record)
  return html`<a id="${rowId(slot)}" href="${buildPath(base, slot)}">${drillMark(view)}${describeSubject(view)}</a>`
}

/** `Freeze, 20 events, the last at 12:17 UTC`, which opens to their links. */
function foldedLinks(base: string, some: Listed[], now: number): Html {
  const [first] = some as [Listed]
  const lastAt = some.at(-1)!.slot.from
  const last =
    lastAt - first.slot.from < minuteMs ? '' : `, the last at ${lastingClock(lastAt, now)}`
  const view = toView(first.slot.record)
  return html`<details class="fold" id="f${rowId(first.slot)}"><summary>${drillMark(view)}${typeIn(view)}, ${some.length} events${last}</summary><ul>${some.map((one) => html`<li>${linkTo(base, one)}</li>`)}</ul></details>`
}
