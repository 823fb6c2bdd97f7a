// The page "Now": open events, those that people must decide first. Each card shows the state as the
// page of its link does, who was notified, and the choices if the viewer may decide.

import { html } from 'hono/html'
import type { Delivery } from '../../core/delivery/delivery.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { vmCountOf } from '../../core/event/facts.ts'
import { stepOf } from '../../core/event/summary.ts'
import { remaining } from '../../core/event/time.ts'
import { viewOf } from '../../core/event/view.ts'
import { drillMark } from '../../core/message/message.ts'
import { askedBy, subjectOf } from '../../core/message/phrases.ts'
import { asksFor } from '../../core/message/step.ts'
import { choicePart, type Html, liveAttributes, type Seen, statePart } from '../event.ts'
import { readinessWords } from '../facts.ts'
import { emptyPart, type Health, healthPart, type Trouble, troublePart } from './health.ts'
import { chip, sentPart } from './parts.ts'

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

/** More cards than this take the whole width. */
const few = 2

const titles: Record<Group, string> = {
  ask: 'To decide',
  stuck: 'Stuck',
  running: 'Running',
  waiting: 'Waiting for Azure',
}

export function groupOf(record: EventRecord, now: number): Group {
  const step = stepOf(record)
  if (step === 'started') return 'running'
  if (step === 'approved') return record.azure.stuckAt === undefined ? 'waiting' : 'stuck'
  return step === 'open' && asksFor(viewOf(record), now) ? 'ask' : 'waiting'
}

/** How many events people must decide. There may be more if the page shows no others: they come first. */
export function askedText(records: EventRecord[], more: boolean, now: number): string {
  const count = records.filter((record) => groupOf(record, now) === 'ask').length
  return more && count === records.length ? `${count}+` : String(count)
}

export function nowBody(
  { base, cards, answered, more, health, troubles, readOnly }: Now,
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
    ['ask', count('ask'), 'to decide', left],
    ['bad', count('stuck'), 'stuck', count('stuck') > 0 ? 'approved, but not started' : ''],
    ['wait', count('running'), 'running', ''],
    ['over', count('waiting'), 'waiting for Azure', ''],
  ]
  const records = cards.map(({ seen }) => seen.record)
  const textOf = (tone: string, value: number) =>
    tone === 'ask' ? askedText(records, more, now) : `${value}${more ? '+' : ''}`
  const shown = tiles.map(
    ([tone, value, words, hint]) =>
      html`<li class="${value > 0 ? tone : ''}"><b>${textOf(tone, value)}</b> ${words}<small>${hint}</small></li>`,
  )
  return html`<h1>Now</h1>
${healthPart(base, health)}
${troubles.map((one) => troublePart(one, now))}
<ul class="tiles">${shown}</ul>
${readOnly === undefined ? '' : html`<p class="note">${readOnly}</p>`}
${answered === undefined ? '' : answeredPart({ ...answered, place: cards.length }, now)}
${cards.length === 0 ? emptyPart(health) : ''}
${section('ask', all.get('ask') ?? [], now)}
<div class="groups">${groups.slice(1).map((group) => section(group, all.get(group) ?? [], now))}</div>
${more ? html`<p class="note">More events are open. <a href="${base}/events?step=open">Search all open events</a></p>` : ''}`
}

function answeredPart(card: Card & { place: number }, now: number): Html {
  return html`<section aria-labelledby="g-own"><h2 id="g-own">Your decision</h2>
<div class="cards">${cardPart(card, now)}</div></section>`
}

function section(group: Group, cards: (Card & { place: number })[], now: number): Html {
  if (cards.length === 0) return ''
  return html`<section${cards.length > few ? html` class="wide"` : ''} aria-labelledby="g-${group}">
<h2 id="g-${group}">${titles[group]} <span class="count">${cards.length}</span></h2>
<div class="cards">${cards.map((card) => cardPart(card, now))}</div></section>`
}

function cardPart(
  { seen, path, deliveries, choices, place }: Card & { place: number },
  now: number,
) {
  const { record } = seen
  const view = viewOf(record)
  const choice =
    choices === 'here'
      ? choicePart(seen, now, place, true)
      : choices === 'elsewhere'
        ? html`<p><a class="button slim" href="${path}">Open to decide</a></p>`
        : ''
  return html`<article class="item" id="e${place}" ${liveAttributes(seen)}>
<h2 id="h${place}"><a href="${path}">${drillMark(view)}${subjectOf(view)}</a></h2>
<p class="meta">${chip(record.fleet)} ${vmCount(record)}, requested by ${askedBy(view)}</p>
${statePart(seen, now)}
${unreadyPart(record)}
${deliveries === undefined ? '' : sentPart(deliveries, record.epoch, now)}
${choice}</article>`
}

function vmCount({ facts }: EventRecord): string {
  const count = vmCountOf(facts)
  return count === 1 ? '1 VM' : `${count} VMs`
}

/** How many VMs are in each state of readiness. */
function unreadyPart({ wait: { readiness } }: EventRecord): Html {
  if (readiness === undefined) return ''
  const counts = Object.entries(readiness.counts).filter(([, count]) => count > 0)
  const chips = counts.map(([state, count]) => {
    const tone =
      state === 'ready' ? 'good' : ['failed', 'refused', 'silent'].includes(state) ? 'bad' : 'ask'
    return chip(`${count} ${readinessWords[state as keyof typeof readinessWords]}`, tone)
  })
  return html`<p class="meta">Readiness: ${chips}</p>`
}
