// The pages of the console: the list of events, and for each event one timeline of what beacons
// saw, what people decided and which messages were sent. They decide nothing.
import { html } from 'hono/html'
import type { EventRecord } from '../core/event/event.ts'
import type { PublicSighting, publicDelivery } from '../core/event/public-view.ts'
import { stepOf } from '../core/event/summary.ts'
import { utc, when } from '../core/event/time.ts'
import type { EventView } from '../core/event/view.ts'
import {
  askedBy,
  describeDuration,
  describeInference,
  describeVerdict,
  drillMark,
  isGuess,
  plain,
  subjectOf,
} from '../core/message/message.ts'
import { layout } from './layout.ts'
import type { Step, Tone } from './state.ts'
import { placed } from './timeline.ts'
import { utcOn, whole } from './times.ts'

/** The page shows the newest. The API has the others. */
const maxDeliveries = 1_000

/** The address of the console, and the token that proves that a form is ours. */
interface Own {
  base: string
  form: string
}

interface List extends Own {
  events: EventView[]
  fleets: string[]
  fleet: string | undefined
  isFirst: boolean
  /** There may be older events. */
  more: boolean
}

export function listPage({ base, form, events, fleets, fleet, isFirst, more }: List, now: number) {
  const urlOf = (query: Record<string, string>) => {
    const text = new URLSearchParams(query).toString()
    return `${base}/events${text && '?'}${text}`
  }
  const own: Record<string, string> = fleet === undefined ? {} : { fleet }
  const oldest = events.at(-1)
  // Open events first, each part with the newest first.
  const open = events.filter(({ ended }) => ended === undefined)
  const sorted = [...open, ...events.filter(({ ended }) => ended !== undefined)]
  const before = new Date(oldest?.firstSeenAt ?? now).toISOString()
  const filters = [undefined, ...fleets].map((name) => {
    const words = name ?? 'All fleets'
    if (name === fleet) return html`<strong aria-current="page">${words}</strong> `
    return html`<a href="${urlOf(name === undefined ? {} : { fleet: name })}">${words}</a> `
  })
  return layout(
    'Events',
    html`${signOut({ base, form })}
<h1>Events</h1>
<nav aria-label="Fleets">${filters}</nav>
${events.length === 0 ? html`<p>No events.</p>` : ''}
<ul class="record">${sorted.map((event) => html`<li>${line(base, event, now)}</li>`)}</ul>
<p>${isFirst ? '' : html`<a href="${urlOf(own)}">Newest</a> `}${
      more && oldest ? html`<a href="${urlOf({ ...own, before })}">Older</a>` : ''
    }</p>`,
  )
}

function line(base: string, event: EventView, now: number) {
  const { fleet, eventId, firstSeenAt, verdict, ended, facts } = event
  const path = `${base}/events/${encodeURIComponent(fleet)}/${encodeURIComponent(eventId)}`
  const due = facts.notBeforeAt
  const isAhead = due !== undefined && ended === undefined && event.startedAt === undefined
  const parts = [
    fleet,
    ...(isAhead ? [`NotBefore ${when(due, now)}`] : []),
    ...(ended?.inferred === undefined ? [] : [describeInference(ended.inferred)]),
    ...(verdict === undefined ? [] : [describeVerdict(verdict)]),
    `first seen ${when(firstSeenAt, now)}`,
  ]
  return html`${badge(event)} <a href="${path}">${drillMark(event)}${subjectOf(event)}</a>
<p class="hint">${whole(plain(parts.join(' · ')))}</p>`
}

const badges: Record<Step, [tone: Tone, words: string]> = {
  open: ['ask', 'Not decided'],
  declined: ['wait', 'Not now'],
  approved: ['good', 'Approved'],
  started: ['wait', 'Started'],
  completed: ['over', 'Completed'],
  cancelled: ['over', 'Cancelled'],
  lost: ['bad', 'Lost'],
}

function badge(event: EventView) {
  const { ended } = event
  const [tone, step] = badges[stepOf(event)]
  const words = ended?.inferred === 'drill_overdue' ? 'Not run' : step
  const doubt = ended?.outcome !== 'lost' && isGuess(ended) ? ', it seems' : ''
  return html`<span class="badge ${tone}">${words}${doubt}</span>`
}

function statusOf({ phase, ended }: EventView): string {
  if (ended === undefined) return phase
  const why = ended.inferred === undefined ? '' : ` (${describeInference(ended.inferred)})`
  return ended.outcome + why
}

interface Shown {
  base: string
  record: EventRecord
  deliveries: ReturnType<typeof publicDelivery>[]
  seenBy: PublicSighting[]
}

export function recordPage({ base, record, deliveries, seenBy }: Shown, now: number) {
  const title = drillMark(record) + subjectOf(record)
  return layout(
    title,
    html`<p><a href="${base}/events">All events</a></p>
<h1>${title}</h1>
<dl>${rowsOf(record).map(([name, value]) => html`<dt>${name}</dt><dd>${whole(plain(value))}</dd>`)}</dl>
<h2 id="timeline">Timeline</h2>
${daysOf(linesOf(record, deliveries)).map(
  ({ day, lines }) => html`<h3 id="d${day}">${day}, UTC</h3>
<ol class="record" aria-labelledby="timeline d${day}">${lines.map(
    ({ at, text }) => html`<li><time
 datetime="${new Date(at).toISOString()}">${timeOf(at)}</time>: ${whole(plain(text))}</li>`,
  )}</ol>`,
)}
${deliveries.length > maxDeliveries ? html`<p>The events API also has the older messages.</p>` : ''}
<h2 id="seen">Seen by</h2>
${seenBy.length === 0 ? html`<p>${record.drill ? 'No VM sees a drill.' : 'No beacon that saw this event has reported in the last 7 days.'}</p>` : ''}
<ul class="record" aria-labelledby="seen">${seenBy.map(
      (one) => html`<li>${whole(plain(spanOf(one)))}</li>`,
    )}</ul>
<p>As of ${whole(utc(now))}.</p>`,
  )
}

/** Why the event had started when it was first seen. */
const startKinds: Record<NonNullable<EventRecord['startKind']>, string> = {
  none: 'Azure gave none',
  already_running: 'already running when first seen',
  reported_late: 'reported late; it had been scheduled',
}

function rowsOf(record: EventRecord): [name: string, value: string][] {
  const { facts, policy, startedAt, ended, startKind } = record
  const rows: [name: string, value: string | undefined][] = [
    ['Fleet', record.fleet],
    ['Event', record.eventId],
    ['Epoch', String(record.epoch)],
    ['Status', statusOf(record)],
    ['Rule', `"${policy.rule}": ${policy.decide}`],
    ['NotBefore', facts.notBeforeAt === undefined ? 'unknown' : utc(facts.notBeforeAt)],
    ['Started', startedAt && utc(startedAt)],
    ['Ended', ended && utc(ended.at)],
    ['Expected duration', describeDuration(facts.durationSeconds)],
    ['Affected VMs', facts.resources.join(', ') || 'unknown'],
    ['Notice', startKind && startKinds[startKind]],
    ['Requested by', askedBy(record)],
    ['Why', facts.description],
    ...decisionsOf(record),
  ].map(([name, value]) => [name, value || undefined] as [string, string | undefined])
  return rows.filter((row): row is [string, string] => row[1] !== undefined)
}

function decisionsOf({ overruled, verdict, passedOn }: EventRecord): [string, string][] {
  const decided = [overruled, verdict].filter((one) => one !== undefined)
  return [
    ...decided.map((one): [string, string] => [
      'Decided',
      `${describeVerdict(one)}, ${utc(one.at)}${one.lapsedAt ? `; it lapsed ${utc(one.lapsedAt)}` : ''}`,
    ]),
    ...(passedOn
      ? [['Passed on', `by ${passedOn.vm}, ${utc(passedOn.at)}`] as [string, string]]
      : []),
  ]
}

interface Line {
  at: number
  text: string
}

/** History and messages in order. A moment has one line, at its planned time. */
function linesOf(record: EventRecord, deliveries: Shown['deliveries']): Line[] {
  const happened = placed(record)
  const messages = Map.groupBy(
    deliveries.slice(-maxDeliveries),
    ({ moment, epoch, plannedAt }) => `${plannedAt} ${epoch} ${moment}`,
  )
  const lines = [...messages.values()].map((all) => {
    const at = Date.parse(all[0]!.plannedAt)
    return { at, place: at, text: `Message "${all[0]!.moment}": ${outcomesOf(all)}` }
  })
  return [...happened, ...lines].sort((one, other) => one.place - other.place)
}

/** Deliveries with the same outcome share one text. */
function outcomesOf(deliveries: Shown['deliveries']): string {
  const groups = Map.groupBy(deliveries, (one) => outcomeOf(one))
  const texts = [...groups].map(([outcome, all]) => {
    const names = all.map(({ channel }) => `"${channel}"`).join(', ')
    return `${outcome}: ${names}`
  })
  return texts.join('; ')
}

/** `delivered`, `given up at 12:09:30 UTC after 9 attempts (HTTP 503)` */
function outcomeOf({ state, attempts, note, plannedAt, settledAt = plannedAt }: Delivered): string {
  const late = Date.parse(settledAt) - Date.parse(plannedAt) >= promptMs
  const at = late ? ` at ${utcOn(Date.parse(settledAt), Date.parse(plannedAt))}` : ''
  const times = attempts > 1 ? ` after ${attempts} attempts` : ''
  const why = state === 'delivered' || note === '' ? '' : ` (${note})`
  return `${state.replaceAll('_', ' ')}${at}${times}${why}`
}

type Delivered = Shown['deliveries'][number]

/** The text of a slower delivery has its time. */
const promptMs = 5_000

function daysOf(lines: Line[]): { day: string; lines: Line[] }[] {
  const days = Map.groupBy(lines, ({ at }) => utc(at).slice(0, 10))
  return [...days].map(([day, all]) => ({ day, lines: all }))
}

function timeOf(at: number): string {
  return utc(at).slice(11, 19)
}

function spanOf({ vm, hit, firstSeenAt, lastSeenAt, goneAt }: PublicSighting): string {
  const last = Date.parse(lastSeenAt)
  const first = firstSeenAt === undefined ? undefined : Date.parse(firstSeenAt)
  const from = first === undefined ? '' : `from ${utc(first)} `
  const gone = goneAt === undefined ? '' : `, gone at ${utcOn(Date.parse(goneAt), last)}`
  return `${vm}${hit ? ' (affected)' : ''}: ${from}to ${first === undefined ? utc(last) : utcOn(last, first)}${gone}`
}

function signOut({ base, form }: Own) {
  return html`<form class="aside" method="post" action="${base}/sign-out">
<input type="hidden" name="form" value="${form}"><button>Sign out</button></form>`
}
