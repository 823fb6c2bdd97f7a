// The record as an admin reads it: a list of events, and of each one its whole course, what beacons saw, what
// people did and what channels were told in one line of time. It shows and never decides.
import { html } from 'hono/html'
import type { EventView } from '../core/delivery.ts'
import type { EventRecord, HistoryEntry, Proof } from '../core/event.ts'
import {
  describeDuration,
  describeInference,
  describeSource,
  describeVerdict,
  drillMark,
  plain,
  subjectOf,
} from '../core/message.ts'
import type { PublicSighting, publicDelivery } from '../core/public-view.ts'
import { relative, utc } from '../core/time.ts'
import { layout } from './layout.ts'
import { steps } from './state.ts'

/** Of more messages than this nobody reads; the API has them. */
const maxTold = 1_000

export function signInPage(base: string, said?: string) {
  const state = said === undefined ? '' : html`<p class="said" role="alert">${said}</p>`
  return layout(
    'The record',
    html`<h1>The record</h1>
${state}
<form method="post" action="${base}/sign-in">
<label for="key">The admin key of this relay</label>
<input id="key" name="key" type="password" autocomplete="current-password" required autofocus>
<button class="go">Sign in</button>
</form>
<p class="hint">It is what FOGHORN_ADMIN_KEY says where the relay runs. You stay signed in for 8 hours.</p>`,
  )
}

export interface List {
  base: string
  events: EventView[]
  fleets: string[]
  fleet: string | undefined
  isFirst: boolean
  /** There may be older ones. */
  more: boolean
}

export function listPage({ base, events, fleets, fleet, isFirst, more }: List, now: number) {
  const urlOf = (query: Record<string, string>) => {
    const text = new URLSearchParams(query).toString()
    return `${base}/events${text && '?'}${text}`
  }
  const own: Record<string, string> = fleet === undefined ? {} : { fleet }
  const oldest = events.at(-1)
  const before = new Date(oldest?.firstSeenAt ?? now).toISOString()
  const filters = [undefined, ...fleets].map((name) => {
    const words = name ?? 'All fleets'
    if (name === fleet) return html`<strong aria-current="page">${words}</strong> `
    return html`<a href="${urlOf(name === undefined ? {} : { fleet: name })}">${words}</a> `
  })
  return layout(
    'The record',
    html`${signOut(base)}
<h1>The record</h1>
<nav aria-label="Fleets">${filters}</nav>
${events.length === 0 ? html`<p>No events.</p>` : ''}
<ul class="record">${events.map((event) => html`<li>${line(base, event, now)}</li>`)}</ul>
<p>${isFirst ? '' : html`<a href="${urlOf(own)}">Newest</a> `}${
      more && oldest ? html`<a href="${urlOf({ ...own, before })}">Older</a>` : ''
    }</p>`,
  )
}

function line(base: string, event: EventView, now: number) {
  const { fleet, eventId, firstSeenAt, verdict } = event
  const path = `${base}/events/${encodeURIComponent(fleet)}/${encodeURIComponent(eventId)}`
  const parts = [
    fleet,
    standOf(event),
    ...(verdict === undefined ? [] : [describeVerdict(verdict)]),
    `first seen ${utc(firstSeenAt)} (${relative(firstSeenAt, now)})`,
  ]
  return html`<a href="${path}">${drillMark(event)}${subjectOf(event)}</a><br>${plain(parts.join(' · '))}`
}

function standOf({ phase, ended }: EventView): string {
  if (ended === undefined) return phase
  const why = ended.inferred === undefined ? '' : ` (${describeInference(ended.inferred)})`
  return ended.outcome + why
}

export interface Shown {
  base: string
  record: EventRecord
  deliveries: ReturnType<typeof publicDelivery>[]
  seenBy: PublicSighting[]
}

export function recordPage({ base, record, deliveries, seenBy }: Shown, now: number) {
  const title = drillMark(record) + subjectOf(record)
  const { facts, policy } = record
  const rows: [name: string, value: string][] = [
    ['Fleet', record.fleet],
    ['Event', record.eventId],
    ['Epoch', String(record.epoch)],
    ['Stands', standOf(record)],
    ['Policy', `${policy.decide}, by ${policy.rule}`],
    ['NotBefore', facts.notBeforeAt === undefined ? 'not known' : utc(facts.notBeforeAt)],
    ['How long', describeDuration(facts.durationSeconds)],
    ['VMs hit', facts.resources.join(', ') || 'not named'],
    ...ifKnown('Notice', record.notice && notices[record.notice]),
    ...ifKnown('Asked by', describeSource(facts.source)),
    ...ifKnown('Why', facts.description),
    ...decisionsOf(record),
  ]
  return layout(
    title,
    html`<p><a href="${base}/events">All events</a></p>
<h1>${title}</h1>
<dl>${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${plain(value)}</dd>`)}</dl>
<h2 id="course">Course</h2>
<ol class="record" aria-labelledby="course">${courseOf(record, deliveries).map(
      ({ at, text }) =>
        html`<li><time datetime="${new Date(at).toISOString()}">${utc(at)}</time>: ${plain(text)}</li>`,
    )}</ol>
${deliveries.length > maxTold ? html`<p>Older messages are in the events API.</p>` : ''}
<h2 id="seen">Seen by</h2>
${seenBy.length === 0 ? html`<p>${record.drill ? 'A drill is seen by no VM.' : 'Nobody.'}</p>` : ''}
<ul class="record" aria-labelledby="seen">${seenBy.map((one) => html`<li>${plain(spanOf(one))}</li>`)}</ul>
<p>As of ${utc(now)}.</p>`,
  )
}

function ifKnown(name: string, value = ''): [string, string][] {
  return value.trim() === '' ? [] : [[name, value]]
}

/** How it came that it had started when it was first seen. */
const notices: Record<NonNullable<EventRecord['notice']>, string> = {
  none: 'Azure gave none',
  already_running: 'already running when first seen',
  reported_late: 'reported late; it had been scheduled',
}

function decisionsOf({ overruled, verdict, passedOn }: EventRecord): [string, string][] {
  const decided = [overruled, verdict].filter((one) => one !== undefined)
  return [
    ...decided.map((one): [string, string] => [
      'Decided',
      `${describeVerdict(one)}, ${utc(one.at)}`,
    ]),
    ...(passedOn
      ? [['Passed on', `by ${passedOn.vm}, ${utc(passedOn.at)}`] as [string, string]]
      : []),
  ]
}

/** What happened and what was told, in order; a message stands where its last attempt ended. */
function courseOf(record: EventRecord, deliveries: Shown['deliveries']) {
  const happened = record.history.map((entry) => ({ at: entry.at, text: describe(entry) }))
  const told = new Map<string, { at: number; text: string; channels: string[] }>()
  for (const one of deliveries.slice(-maxTold)) {
    const at = Date.parse(one.settledAt ?? one.owedAt)
    const text = outcomeOf(one)
    // what became the same at the same time is one line
    const same = told.get(`${at} ${text}`) ?? { at, text, channels: [] }
    same.channels.push(`"${one.channel}"`)
    told.set(`${at} ${text}`, same)
  }
  const lines = [...told.values()].map(({ at, text, channels }) => ({
    at,
    text: `${text}: ${channels.join(', ')}`,
  }))
  return [...happened, ...lines].sort((one, other) => one.at - other.at)
}

function describe({ at, what, note }: HistoryEntry): string {
  if (note === undefined) return steps[what]
  if (what !== 'approved' && what !== 'declined') return `${steps[what]}: ${note}`
  const [how = '', ...who] = note.split(': ')
  return describeVerdict({ decision: what, how: how as Proof, who: who.join(': '), at })
}

/** `"approved" delivered`, `"reminder" given up after 9 attempts (HTTP 503)` */
function outcomeOf({ moment, state, attempts, note }: Shown['deliveries'][number]): string {
  const times = attempts > 1 ? ` after ${attempts} attempts` : ''
  const why = state === 'delivered' || note === '' ? '' : ` (${note})`
  return `"${moment}" ${state.replaceAll('_', ' ')}${times}${why}`
}

function spanOf({ vm, hit, firstSeenAt, lastSeenAt, goneAt }: PublicSighting): string {
  const clock = (iso: string) => utc(Date.parse(iso))
  const from = firstSeenAt === undefined ? '' : `from ${clock(firstSeenAt)} `
  const gone = goneAt === undefined ? '' : `, gone at ${clock(goneAt)}`
  return `${vm}${hit ? ' (hit)' : ''}: ${from}to ${clock(lastSeenAt)}${gone}`
}

function signOut(base: string) {
  return html`<form class="aside" method="post" action="${base}/sign-out"><button>Sign out</button></form>`
}
