// Adds one observation of a beacon to the record of an event. Within an epoch the phase only rises.
// Duplicates change nothing. After the end, an observation reopens or corrects the event.
import type { ScheduledEvent } from '../../../shared/document.ts'
import { isWithin } from './agreed.ts'
import {
  type EndedRecord,
  type EventRecord,
  type Facts,
  isHit,
  isOpen,
  type OpenRecord,
  type StartedRecord,
  type StartKind,
  withEnd,
  withStarted,
} from './event.ts'
import { addHistory } from './history.ts'
import type { Moment } from './moment.ts'
import { addedByNewcomer, merge, noteOf, replaced, transition } from './new-values.ts'
import type { SightedEvent } from './observer.ts'
import { seemsOver } from './undecided.ts'

/** How long *gone* must last before it counts. An IMDS hiccup must not cancel an event. */
export const confirmMs = 10_000
/** After more returns than these, *gone* must last longer before it counts. */
const usualReturns = 3
const longestConfirmMs = 10 * 60_000

/** Each further return doubles the time. So an event that flickers does not flood people. */
export function confirmMsOf({ epoch }: Pick<EventRecord, 'epoch'>): number {
  const returns = Math.max(0, epoch - 1 - usualReturns)
  return Math.min(confirmMs * 2 ** returns, longestConfirmMs)
}

interface Observed {
  /** Poll time by the relay's clock: receipt minus reported age. */
  at: number
  vm: string
  /** False for a change from the spool, which never reopens an event. */
  live: boolean
}

export interface Seen extends Observed {
  kind: 'seen'
  event: ScheduledEvent
  /** What this beacon saw before. Only its own documents show a change. */
  previous?: SightedEvent
  /** What its last report showed. A change since then may be in the same report. */
  reported?: SightedEvent | undefined
  /** A change from the spool that the document of the same report shows, too. */
  isShown?: boolean
  /** This beacon polled before, without it. A document alone does not show that. */
  appeared: boolean
  /** This beacon had seen the event, and then a document of this beacon lacked it. */
  missedBefore: boolean
  /** The first poll of this beacon that showed the event. */
  since: number
}

export interface Gone extends Observed {
  kind: 'gone'
  lastSeenAt: number
}

export type Observation = Seen | Gone

interface Step {
  record: EventRecord | undefined
  moments: Moment[]
  reason: StepReason
}

export type StepReason =
  | 'new'
  | 'reopened'
  | 'started'
  | 'changed'
  | 'learned'
  | 'gone'
  | 'corrected'
  | 'nothing_new'
  | 'concluded_before'
  | 'unknown_event'

export function advance(
  known: EventRecord | undefined,
  observation: Observation,
  now: number,
  key: { fleet: string; eventId: string },
): Step {
  if (observation.kind === 'gone') return vanish(known, observation, now)
  if (known === undefined) return { ...begin(key, observation, 1), reason: 'new' }
  if (isOpen(known)) return join(known, observation)
  if (!reopens(known, observation)) return correct(known, observation)
  return { ...reopen(known, observation), reason: 'reopened' }
}

function begin(
  { fleet, eventId }: { fleet: string; eventId: string },
  seen: Seen,
  epoch: number,
): { record: OpenRecord; moments: Moment[] } {
  const { eventId: _, status, ...facts } = seen.event
  const started = status === 'Started'
  const record: OpenRecord = {
    fleet,
    eventId,
    epoch,
    facts,
    firstSeenAt: seen.at,
    ...(started
      ? { phase: 'started', startedAt: seen.at, startKind: startKindOf(seen) }
      : { phase: 'scheduled' }),
    policy: { decide: 'ask', rule: 'default' },
    watchers: [],
    history: [{ at: seen.at, what: started ? 'started' : 'seen', note: seen.vm }],
    sequence: 0,
  }
  return { record, moments: [started ? 'started' : 'scheduled'] }
}

function startKindOf(seen: Seen): StartKind {
  return seen.appeared ? 'none' : 'already_running'
}

/** A late document may show an event for at most this long after the event is over. */
const lagMs = 60_000

/**
 * A poll after the first *gone* proves that the event is back, unless the document is late. So the
 * beacon must have missed the event before, or its document must have changed `lagMs` after a
 * cancellation. Otherwise it must be on an affected VM, or have first seen the event after its end,
 * and it must see the event for `lagMs`.
 */
function reopens(known: EndedRecord, seen: Seen): boolean {
  const { at, outcome, inferred } = known.ended
  const overFrom = known.gone?.firstAt ?? at
  if (!seen.live || seen.at <= overFrom) return false
  const isOfHit = isHit(known.facts, seen.vm)
  if (inferred === 'vm_gone') return isOfHit
  if (outcome === 'lost' || seen.missedBefore) return true
  const isLate = seen.at - overFrom < lagMs
  if (outcome === 'cancelled' && !isLate && hasChanged(known, seen)) return true
  const isNewcomer = seen.since > overFrom
  return (isOfHit || isNewcomer) && seen.at - Math.max(seen.since, overFrom) >= lagMs
}

function hasChanged(known: EventRecord, seen: Seen): boolean {
  const { reported, event } = seen
  if (reported === undefined) return false
  const changes = transition(known, { ...seen, previous: reported })
  return reported.status !== event.status || Object.keys(changes).length > 0
}

/**
 * A late report can show that the event was announced, or that it started and was not cancelled.
 */
function correct(known: EndedRecord, seen: Seen): Step {
  const startKind = known.startedAt === undefined ? undefined : lateStartKind(known, seen)
  if (startKind !== undefined) {
    return { record: { ...known, startKind }, moments: [], reason: 'learned' }
  }
  const wrong = known.ended.outcome === 'cancelled' && seen.event.status === 'Started'
  if (!wrong || seen.isShown) return nothing(known, 'concluded_before')
  const { at } = known.ended
  // a late document shows the start after the end
  const startedAt = Math.min(seen.at, at)
  const noted = addHistory(known, { at: startedAt, what: 'started', note: seen.vm })
  const completed = addHistory(noted, { at, what: 'completed' })
  const record = { ...withEnd(completed, { at, outcome: 'completed' }), startedAt }
  return { record, moments: ['completed'], reason: 'corrected' }
}

function reopen(known: EndedRecord, seen: Seen): { record: OpenRecord; moments: Moment[] } {
  const { record: begun, moments } = begin(known, seen, known.epoch + 1)
  // its values now replace those known before
  const facts = merge(begun.facts, { ...seen.event, ...known.facts })
  const { firstSeenAt, sequence } = known
  const { history } = addHistory(known, { at: seen.at, what: 'reopened', note: seen.vm })
  const kept = { ...stillValid(known, facts), firstSeenAt, history, sequence }
  const record = { ...begun, facts, reopenedAt: seen.at, ...kept }
  return { record: record.phase === 'started' ? asAnnounced(record, known) : record, moments }
}

/** The event was announced in an earlier epoch, even if this beacon did not see that. */
function asAnnounced({ startKind: _, ...begun }: StartedRecord, known: EndedRecord): StartedRecord {
  return known.startKind === undefined ? begun : { ...begun, startKind: known.startKind }
}

/**
 * A new epoch keeps a *not now*, and an approval that Azure accepted and that covers the event. If
 * it does not cover the event, only that Azure was told.
 */
function stillValid(
  { passedOn, passedOnBefore, verdict }: EventRecord,
  facts: Facts,
): Pick<EndedRecord, 'passedOn' | 'passedOnBefore' | 'verdict'> {
  const told = passedOnBefore === undefined ? {} : { passedOnBefore }
  if (verdict?.decision === 'declined') return { ...told, verdict }
  if (verdict === undefined || passedOn === undefined) return told
  const isValid = isWithin(verdict.agreed, facts)
  return isValid ? { ...told, passedOn, verdict } : { passedOnBefore: passedOn }
}

function join(known: OpenRecord, seen: Seen): Step {
  const differing =
    seen.previous === undefined ? addedByNewcomer(known, seen) : transition(known, seen)
  const changed = Object.keys(differing).length > 0
  const facts = { ...merge(known.facts, seen.event), ...differing }
  const learned = JSON.stringify(facts) !== JSON.stringify(known.facts)
  const rises = known.phase === 'scheduled' && seen.event.status === 'Started'
  const late = lateStartKind(known, seen)
  if (!learned && !rises && late === undefined) return nothing(known, 'nothing_new')
  let record: OpenRecord = { ...known, facts }
  if (late !== undefined && record.phase === 'started') record = { ...record, startKind: late }
  const moments: Moment[] = []
  if (changed) {
    record = addHistory(record, { at: seen.at, what: 'changed', note: noteOf(differing) })
    const times = Object.keys(differing).map((name) => [name, seen.at])
    record = {
      ...record,
      changedAt: { ...known.changedAt, ...Object.fromEntries(times) },
      changedFrom: replaced(known.facts, differing),
    }
    // a moved NotBefore starts new reminders
    if (differing.notBeforeAt !== undefined) record = { ...record, remindedBeforeSeconds: [] }
    if (!rises && record.phase === 'scheduled') moments.push('changed')
  }
  if (rises) {
    record = addHistory(record, { at: seen.at, what: 'started', note: seen.vm })
    record = withStarted(record, seen.at)
    moments.push('started')
  }
  return { record, moments, reason: rises ? 'started' : changed ? 'changed' : 'learned' }
}

/** A spooled change or a late document can show that a started event had been Scheduled. */
function lateStartKind(known: EventRecord, seen: Seen): StartKind | undefined {
  const wasScheduled = seen.event.status === 'Scheduled' && known.phase !== 'scheduled'
  return wasScheduled && known.startKind !== undefined && known.startKind !== 'reported_late'
    ? 'reported_late'
    : undefined
}

function vanish(known: EventRecord | undefined, gone: Gone, now: number): Step {
  if (known === undefined) return { record: undefined, moments: [], reason: 'unknown_event' }
  if (!isOpen(known)) return missedAfterLost(known, gone, now)
  if (seemsOver(known)) return nothing(known, 'nothing_new')
  return { record: withGone(known, gone, now), moments: [], reason: 'gone' }
}

/** A beacon came back and shows how a lost event ended, so it is concluded again. */
function missedAfterLost(known: EndedRecord, gone: Gone, now: number): Step {
  if (known.ended.outcome !== 'lost' || !gone.live) return nothing(known, 'concluded_before')
  const { ended: _, verdict: _v, passedOn: _p, stuckAt: _s, startFailure: _f, ...kept } = known
  const { phase: _phase, startedAt, startKind, ...undecided } = kept
  // a new epoch sends its messages again; "scheduled" only if a beacon sees the event again
  const entry = { at: gone.at, what: 'reopened' as const, note: gone.vm }
  const rest = { ...undecided, ...stillValid(known, known.facts), epoch: known.epoch + 1 }
  const open: OpenRecord =
    startedAt === undefined
      ? { ...rest, phase: 'scheduled', heldBack: 'scheduled' }
      : { ...rest, phase: 'started', startedAt, startKind }
  return { record: withGone(addHistory(open, entry), gone, now), moments: [], reason: 'gone' }
}

function withGone(known: OpenRecord, gone: Gone, now: number): OpenRecord {
  const noted = addHistory(known, { at: gone.at, what: 'gone', note: gone.vm })
  const { at: firstAt, lastSeenAt } = gone
  return { ...noted, gone: { firstAt, lastSeenAt, confirmAt: now + confirmMsOf(known) } }
}

function nothing(record: EventRecord, reason: Step['reason']): Step {
  return { record, moments: [], reason }
}
