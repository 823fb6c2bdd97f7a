// Open events as rows of "Now", each with what a reader needs to find and decide it. Events of one scale set are
// together, with one decision for all.
import { html } from 'hono/html'
import type { Delivery } from '../../core/delivery/delivery.ts'
import { knownVms } from '../../core/event/drill.ts'
import type { EventRecord } from '../../core/event/event.ts'

import { chooseStep } from '../../core/event/summary.ts'
import { lastingClock, remaining, span } from '../../core/event/time.ts'
import { toView } from '../../core/event/view.ts'
import { maxReasonLength } from '../../core/limits.ts'
import { drillMark } from '../../core/message/message.ts'
import { chooseVerb, describeSubject, plain, typeIn, vmsIn } from '../../core/message/phrases.ts'
import { approvesUnready } from '../../core/message/readiness.ts'
import { findWait } from '../../core/message/step.ts'
import { minuteMs } from '../../core/units.ts'
import { displays } from '../../features/rules.ts'
import {
  cancelPart,
  choicePart,
  type Html,
  liveAttributes,
  noDefault,
  type Seen,
  saidPart,
  takenPart,
} from '../event.ts'
import { readinessWords } from '../facts.ts'
import { describeBriefly, describeState, isDecidable } from '../state.ts'
import { whole } from '../times.ts'
import { chip, untoldPart } from './parts.ts'

export interface Card {
  seen: Seen
  /** Path of the event's own page. */
  path: string
  /** Absent: they were not read. */
  deliveries?: Delivery[]
  /** `elsewhere`: only the event's own page can tell whether the viewer may decide. */
  choices: 'here' | 'elsewhere' | 'none'
  group: Group
}

/** What went wrong comes first, what needs nobody last. */
export const groups = ['stuck', 'ask', 'started', 'rule', 'azure', 'advice'] as const

export type Group = (typeof groups)[number]

export function chooseGroup(record: EventRecord, now: number): Group {
  const step = chooseStep(record)
  if (step === 'started' || step === 'stuck') return step
  const wait = findWait(toView(record), now)
  return step === 'open' || wait === 'advice' ? wait : 'azure'
}

export function dueAt({ seen }: Card): number {
  return seen.record.facts.notBeforeAt ?? Number.POSITIVE_INFINITY
}

/** The time until Azure may start it. */
export function leftPart(card: Card, now: number): Html {
  const at = dueAt(card)
  if (at === Number.POSITIVE_INFINITY) return 'no time given'
  return html`<span data-left="${at}">${remaining(Math.max(0, at - now))}</span>`
}

/** `Reboot of web_3`, `Freeze of 6 in edge`, or `Freeze of 6 in edge, the last at 12:18`. */
export function describeCluster(cards: Placed[], now: number): string {
  const { record } = cards[0]!.seen
  if (cards.length === 1) return `${drillMark(toView(record))}${describeSubject(record)}`
  const all = `${typeIn(record)} of ${cards.length} in ${plain(findSet(record)!)}`
  const lastAt = Math.max(...cards.map(dueAt))
  const isAtOnce = lastAt - dueAt(cards[0]!) < minuteMs || lastAt === Number.POSITIVE_INFINITY
  return isAtOnce || record.decided ? all : `${all}, the last at ${lastingClock(lastAt, now)}`
}

/** Nobody can tell Azure about an approval of these. */
export function silencePart(cards: Placed[], now: number): Html {
  const unheard = cards.flatMap(({ seen }) => seen.record.unheard ?? [])
  if (cards.length === 1 || unheard.length === 0) return unheardChip(cards[0]!.seen.record, now)
  const since = Math.max(...unheard.map((one) => one.since))
  return html`<span class="chip bad">${unheard.length} of ${cards.length} silent since ${whole(lastingClock(since, now))}</span> `
}

/** `isNext`: it is the most urgent of those to decide, and its button has the colour. */
export type Placed = Card & { place: number; isNext?: boolean }

/** Events of one host update come this close together. */
export const togetherMs = 30 * 60_000

/** Undecided or stuck events of one type and scale set are together, at the place of the most urgent. */
export function listClusters(cards: Placed[]): Placed[][] {
  const clusters: Placed[][] = []
  const sets = new Map(cards.map(({ seen: { record } }) => [record, findSet(record)]))
  for (const card of cards) {
    const { record } = card.seen
    const isNear = ([first]: Placed[]) =>
      sets.get(record) === sets.get(first!.seen.record) &&
      belongTogether(first!.seen.record, record)
    const mayJoin = ['ask', 'stuck'].includes(card.group) && sets.get(record) !== undefined
    const own = mayJoin ? clusters.find(isNear) : undefined
    if (own === undefined) clusters.push([card])
    else own.push(card)
  }
  return clusters
}

/** Two of one scale set. */
function belongTogether(one: EventRecord, other: EventRecord): boolean {
  const due = one.facts.notBeforeAt ?? 0
  return (
    one.fleet === other.fleet &&
    one.facts.eventType === other.facts.eventType &&
    Math.abs((other.facts.notBeforeAt ?? 0) - due) <= togetherMs
  )
}

/** The scale set of its VMs, as far as they are known. Undefined if it is not one. */
function findSet(record: EventRecord): string | undefined {
  const names = new Set(record.facts.resources.map((name) => name.toLowerCase()))
  const affected = knownVms(record).filter(({ vm }) => names.has(vm.toLowerCase()))
  const sets = affected.map(({ scaleSet }) => scaleSet)
  const [set = ''] = sets
  return set !== '' && sets.every((one) => one === set) ? set : undefined
}

/** One host update freezes many VMs of a set: one decision may be enough. */
export function clusterPart(cards: Placed[], now: number): Html {
  const [{ seen, place }] = cards as [Placed]
  const { record } = seen
  const ours = cards.filter(
    ({ choices, seen: one }) => choices === 'here' && isDecidable(one.record),
  )
  const isStuck = cards[0]!.group === 'stuck'
  const isDue = dueAt(cards[0]!) <= now
  const time = isDue ? describeDuration(record, now) : leftPart(cards[0]!, now)
  const briefly = isStuck
    ? html` <span class="note">${whole(describeBriefly(record, now))}</span>`
    : ''
  const stuckFor = isStuck ? [`stuck ${describeStuck(record, now)}`] : []
  const badges = [...new Set(cards.flatMap((card) => composeBadges(card.seen.record)))]
  const head = html`<span class="when"><b>${time}</b></span><h3 id="c${place}">${whole(describeCluster(cards, now))} ${chip(record.fleet)}${stuckFor.map((text) => chip(text, 'bad'))}${badges.map((badge) => chip(badge, 'ask'))}${silencePart(cards, now)}</h3>${briefly}`
  const bulk = ours.length < 2 ? '' : bulkPart(ours, now)
  return html`<div class="cluster" role="group" aria-labelledby="c${place}">
${foldPart(cards, head, bulk, now)}</div>`
}

/** A longer group would push what is as urgent out of sight. */
export const foldedFrom = 5

function foldPart(cards: Placed[], head: Html, bulk: Html, now: number): Html {
  // where one press decides all, that button has the colour
  const colored = ({ isNext = false }: Placed) => bulk === '' && isNext
  const rows = html`${cards.map((card) => rowPart({ ...card, isNext: colored(card) }, now))}`
  if (cards.length < foldedFrom && cards[0]!.group !== 'stuck')
    return html`<div class="head">${head}</div>
${bulk}
${rows}`
  const { record } = cards[0]!.seen
  const wasPressed = cards.some(({ seen: one }) => one.said !== undefined)
  return html`<details class="fold" id="${clusterId('rows', record)}"${wasPressed ? html` open` : ''}><summary class="head">${head} <span class="all">Show all ${cards.length}</span></summary>
${rows}</details>
${bulk}`
}

function clusterId(what: string, record: EventRecord): string {
  const { fleet, facts } = record
  return `${what}-${encodeURIComponent(`${fleet}/${findSet(record)}/${facts.eventType}`)}`
}

/** The second step names each event, as the buttons decide about all of them. Many names would push the buttons out of sight. */
function bulkPart(cards: Placed[], now: number): Html {
  const [{ seen, place }] = cards as [Placed]
  const { record } = seen
  const all = `all ${cards.length}`
  const isUnready = cards.some(({ seen: one }) => approvesUnready(one.record) !== '')
  const unheard = cards.filter(({ seen: one }) => one.record.unheard !== undefined).length
  const [look, when] =
    isUnready || unheard > 0 ? [isUnready ? 'risky' : 'quiet', 'anyway'] : ['go', 'now']
  const undecided = cards.filter(({ seen: one }) => one.record.decided === undefined)
  const fields = (some: Placed[]) =>
    some.map(
      ({ seen: one }) =>
        html`<input type="hidden" name="event" value="${one.name}"><input type="hidden" name="form" value="${one.form}">`,
    )
  const verb = chooseVerb(record)
  const question = `${verb} ${all} in ${findSet(record)!} (${record.fleet})?`
  return html`<details class="after bulk" id="${clusterId('bulk', record)}"><summary class="button${cards.some(({ isNext }) => isNext) ? '' : ' plain'}">Decide ${all}…</summary>
<div><p><b>${plain(question)}</b> You cannot undo an approval.</p>
${unheard === 0 ? '' : html`<p class="unready">Nobody can tell Azure about ${unheard} of these now, as no VM that sees ${unheard === 1 ? 'it' : 'them'} reports. Such an approval waits until a VM reports.</p>`}
${isUnready ? html`<p class="unready">Not every VM is ready. If you start them now, Azure does not wait.</p>` : ''}
<form method="post">${noDefault}${fields(cards)}
<label class="why" for="rc${place}">Reason, if others should know it
<input id="rc${place}" name="reason" maxlength="${maxReasonLength}" autocomplete="off"></label>
${undecided.length === cards.length ? html`<button name="decision" value="not_now">Let Azure ${verb.toLowerCase()} ${all}</button>` : ''}
<button class="${look}" name="decision" value="approve">${verb} ${all} ${when}</button>${cancelPart}</form>
<ul>${cards.map(({ seen: one }) => html`<li>${vmsIn(toView(one.record))} <span class="note">${whole(describeDue(one.record, now))}${approvesUnready(one.record) === '' ? '' : ', not ready'}${one.record.unheard === undefined ? '' : ', silent'}</span></li>`)}</ul></div></details>`
}

/** What a reader needs to find and decide an event. Its page has the sentences. */
export function rowPart(card: Placed, now: number): Html {
  const { seen, path, deliveries, place } = card
  const { record } = seen
  const view = toView(record)
  const { headline, until } = describeState(record, now)
  const left = until === undefined ? '' : remaining(until - now)
  const brief = describeBriefly(record, now)
  return html`<article class="row" id="e${place}" ${liveAttributes(seen)}>${saidPart(seen)}
<p class="when"><b data-left="${until ?? ''}">${until === undefined ? describeDuration(record, now) : left}</b><small>${whole(describeDue(record, now))}</small></p>
<div class="what"><h3 id="h${place}"><a href="${path}">${drillMark(view)}${vmsIn(view)}</a></h3>
${troublePart(record, now)}${brief === '' ? '' : html`<p class="note">${whole(brief)}</p>`}${takenPart(record, now)}<span class="away" data-headline>${describeSubject(view)}: ${headline}</span></div>
<div class="kind"><p class="fleet">${chip(record.fleet)}${composeBadges(record).map((badge) => chip(badge, 'ask'))}</p>
<p class="type">${typeIn(view)}${describePause(record)}</p></div>
<div class="news"><p class="ready">${readinessPart(record)}</p>
<p class="told">${deliveries === undefined ? '' : untoldPart(deliveries, record.epoch)}</p></div>
<div class="act">${rowChoice(card, now)}</div></article>`
}

function rowChoice({ seen, path, choices, place, isNext }: Placed, now: number): Html {
  const lead = (text: string) => html`<a class="button plain" href="${path}">${text}</a>`
  if (isStuck(seen.record)) return lead('What to do')
  if (choices === 'here') return choicePart(seen, now, place, isNext ? 'next_row' : 'row')
  return choices === 'elsewhere' ? lead('Open to decide') : ''
}

function isStuck(record: EventRecord): boolean {
  return chooseStep(record) === 'stuck'
}

function troublePart(record: EventRecord, now: number): Html {
  const stuck = isStuck(record) ? chip(`stuck ${describeStuck(record, now)}`, 'bad') : ''
  const unheard = unheardChip(record, now)
  return stuck === '' && unheard === '' ? '' : html`<p>${stuck} ${unheard}</p>`
}

/** Nobody can tell Azure about an approval. */
function unheardChip({ unheard }: EventRecord, now: number): Html {
  if (unheard === undefined) return ''
  const who = unheard.count === 1 ? plain(unheard.vms[0]!) : `all ${unheard.count} VMs`
  return html`<span class="chip bad">${who} ${unheard.isBlind ? 'blind' : 'silent'} since ${whole(lastingClock(unheard.since, now))}</span> `
}

function composeBadges(record: EventRecord): string[] {
  return displays.map((display) => display.badge(record)).filter(Boolean)
}

/** Writes the duration of a Freeze, if it is known: ` ~30 s`. */
function describePause({ facts: { eventType, durationSeconds = -1 } }: EventRecord): string {
  return eventType === 'Freeze' && durationSeconds > 0 ? ` ~${durationSeconds}\u00a0s` : ''
}

export function describeStuck({ decided }: EventRecord, now: number): string {
  return span(Math.max(0, now - (decided?.at ?? now)))
}

/** How long it has been in its state, if no time is left. */
export function describeDuration(record: EventRecord, now: number): string {
  const { started, decided, facts } = record
  if (started !== undefined) return span(Math.max(0, now - started.at))
  if (decided?.decision === 'approved') return describeStuck(record, now)
  return facts.notBeforeAt === undefined ? 'no time given' : 'due'
}

function describeDue(
  { started, decided, facts: { notBeforeAt } }: EventRecord,
  now: number,
): string {
  if (started !== undefined) return `since ${lastingClock(started.at, now)}`
  if (decided?.decision === 'approved' && notBeforeAt === undefined)
    return `approved ${lastingClock(decided.at, now)}`
  return notBeforeAt === undefined ? '' : lastingClock(notBeforeAt, now)
}

/** How many VMs are in each state of readiness. */
function readinessPart({ facts, wait: { readiness } }: EventRecord): Html {
  if (readiness === undefined) return ''
  const counts = Object.entries(readiness.counts).filter(([, count]) => count > 0)
  return html`${counts.map(([state, count]) => {
    const tone =
      state === 'ready' ? 'good' : ['failed', 'refused', 'silent'].includes(state) ? 'bad' : 'ask'
    const words = readinessWords[state as keyof typeof readinessWords]
    return chip(facts.resources.length === 1 ? words : `${count} ${words}`, tone)
  })}`
}
