// The page "Now": open events, those that people must decide first, a row each: the time left, which VMs,
// whether they are ready, which channels were told, and the choices if the viewer may decide.

import { html } from 'hono/html'
import type { Delivery } from '../../core/delivery/delivery.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { stepOf } from '../../core/event/summary.ts'
import { lastingClock, remaining, span } from '../../core/event/time.ts'
import { viewOf } from '../../core/event/view.ts'
import { drillMark } from '../../core/message/message.ts'
import { subjectOf, typeIn, vmsIn } from '../../core/message/phrases.ts'
import { asksFor } from '../../core/message/step.ts'
import { choicePart, type Html, liveAttributes, type Seen, saidPart, takenPart } from '../event.ts'
import { readinessWords } from '../facts.ts'
import { briefOf, stateOf, type Tone } from '../state.ts'
import { whole } from '../times.ts'
import { emptyPart, type Health, healthPart, type Trouble, troublePart } from './health.ts'
import { chip, reachedPart } from './parts.ts'

export interface Card {
  seen: Seen
  /** Path of the event's own page. */
  path: string
  /** Absent: they were not read. */
  deliveries?: Delivery[]
  /** `elsewhere`: only the event's own page can tell whether the viewer may decide. */
  choices: 'here' | 'elsewhere' | 'none'
}

interface Now {
  /** The path of the console. */
  base: string
  cards: Card[]
  /** The event that the viewer just decided, if it is not among them. */
  answered?: Card
  /** How many events people must decide, also if the page does not show them all. */
  asked: number
  /** More events are open than the page shows. */
  more: boolean
  health: Health
  /** Channels that get no messages, and why. */
  troubles: Trouble[]
  /** Why the viewer decides nothing here. */
  readOnly?: string
}

const groups = ['ask', 'stuck', 'running', 'waiting'] as const
type Group = (typeof groups)[number]

const tones: Record<Group, Tone> = { ask: 'ask', stuck: 'bad', running: 'wait', waiting: 'over' }

const titles: Record<Group, string> = {
  ask: 'To decide',
  stuck: 'Stuck',
  running: 'Running',
  waiting: 'Waiting for Azure',
}

export function groupOf(record: EventRecord, now: number): Group {
  const step = stepOf(record)
  if (step === 'started') return 'running'
  if (step === 'stuck') return 'stuck'
  return step === 'open' && asksFor(viewOf(record), now) ? 'ask' : 'waiting'
}

export function nowBody(
  { base, cards, answered, asked, more, health, troubles, readOnly }: Now,
  now: number,
): Html {
  const placed = cards.map((card, place) => ({ ...card, place }))
  const all = Map.groupBy(placed, ({ seen }) => groupOf(seen.record, now))
  const count = (group: Group) => all.get(group)?.length ?? 0
  const next = (all.get('ask') ?? [])
    .map(({ seen }) => seen.record.facts.notBeforeAt ?? Number.POSITIVE_INFINITY)
    .sort((a, b) => a - b)[0]
  const left =
    next === undefined || next === Number.POSITIVE_INFINITY
      ? ''
      : html`next in <span data-left="${next}">${remaining(Math.max(0, next - now))}</span>`
  const tiles: [tone: string, value: number, words: string, more: Html][] = [
    ['ask', asked, 'to decide', left],
    ['bad', count('stuck'), 'stuck', count('stuck') > 0 ? 'approved, but not started' : ''],
    ['wait', count('running'), 'running', ''],
    ['over', count('waiting'), 'waiting for Azure', ''],
  ]
  // of those behind the page's end, nobody counts how many are stuck or running
  const counted = tiles.filter(([tone, value]) => tone === 'ask' || value > 0 || !more)
  const shown = counted.map(
    ([tone, value, words, hint]) =>
      html`<li class="${value > 0 ? tone : ''}"><b>${value}${more && tone !== 'ask' ? '+' : ''}</b> ${words}<small>${hint}</small></li>`,
  )
  return html`<h1>Now</h1>
${healthPart(base, health)}
${troubles.map((one) => troublePart(one, now))}
<ul class="tiles">${shown}</ul>
${readOnly === undefined ? '' : html`<p class="note">${readOnly}</p>`}
${answered === undefined ? '' : answeredPart({ ...answered, place: cards.length }, now)}
${cards.length === 0 ? emptyPart(health) : ''}
${section('ask', all.get('ask') ?? [], now)}
${groups.slice(1).map((group) => section(group, all.get(group) ?? [], now))}
${more ? html`<p class="note">More events are open. <a href="${base}/events?step=open">Search all open events</a></p>` : ''}`
}

function answeredPart(card: Placed, now: number): Html {
  return html`<section aria-labelledby="g-own"><h2 id="g-own">Your decision</h2>
<div class="rows">${rowPart(card, now)}</div></section>`
}

type Placed = Card & { place: number }

function section(group: Group, cards: Placed[], now: number): Html {
  if (cards.length === 0) return ''
  return html`<section aria-labelledby="g-${group}">
<h2 id="g-${group}">${titles[group]} <span class="count">${cards.length}</span></h2>
<div class="rows ${tones[group]}">${cards.map((card) => rowPart(card, now))}</div></section>`
}

/** What a reader needs to find and decide an event. Its page has the sentences. */
function rowPart({ seen, path, deliveries, choices, place }: Placed, now: number): Html {
  const { record } = seen
  const view = viewOf(record)
  const { headline, until } = stateOf(record, now)
  const choice =
    choices === 'here'
      ? choicePart(seen, now, place, 'row')
      : choices === 'elsewhere'
        ? html`<a class="button slim" href="${path}">Open to decide</a>`
        : ''
  const left = until === undefined ? '' : remaining(until - now)
  return html`<article class="row" id="e${place}" ${liveAttributes(seen)}>${saidPart(seen)}
<p class="when"><b data-left="${until ?? ''}">${until === undefined ? durationOf(record, now) : left}</b><small>${whole(dueOf(record, now))}</small></p>
<div class="what"><h3 id="h${place}"><a href="${path}">${drillMark(view)}${vmsIn(view)}</a></h3>
<p class="note">${whole(briefOf(record, now))}</p>${takenPart(record, now)}<span class="away" data-headline>${subjectOf(view)}: ${headline}</span></div>
<p class="fleet">${chip(record.fleet)}</p>
<p class="type">${typeIn(view)}${pauseOf(record)}</p>
<p class="ready">${readinessPart(record)}</p>
<p class="told">${deliveries === undefined ? '' : reachedPart(deliveries, record.epoch)}</p>
<div class="act">${choice}</div></article>`
}

/** Of a Freeze, ` ~30 s`. */
function pauseOf({ facts: { eventType, durationSeconds = -1 } }: EventRecord): string {
  return eventType === 'Freeze' && durationSeconds > 0 ? ` ~${durationSeconds} s` : ''
}

/** How long it has been in its state, if no time is left. */
function durationOf({ started, decided, facts }: EventRecord, now: number): string {
  if (started !== undefined) return `running ${span(Math.max(0, now - started.at))}`
  if (decided?.decision === 'approved') return `approved ${span(Math.max(0, now - decided.at))}`
  return facts.notBeforeAt === undefined ? 'no time given' : 'due'
}

function dueOf({ started, facts: { notBeforeAt } }: EventRecord, now: number): string {
  if (started !== undefined) return `since ${lastingClock(started.at, now)}`
  return notBeforeAt === undefined ? '' : lastingClock(notBeforeAt, now)
}

/** How many VMs are in each state of readiness. */
function readinessPart({ wait: { readiness } }: EventRecord): Html {
  if (readiness === undefined) return ''
  const counts = Object.entries(readiness.counts).filter(([, count]) => count > 0)
  return html`${counts.map(([state, count]) => {
    const tone =
      state === 'ready' ? 'good' : ['failed', 'refused', 'silent'].includes(state) ? 'bad' : 'ask'
    return chip(`${count} ${readinessWords[state as keyof typeof readinessWords]}`, tone)
  })}`
}
