// Joins one observation of a beacon into the record of an event. Within an epoch the phase only rises.
// Duplicates change nothing; a late observation can only correct the record, see `correct`.
// What passing time concludes is in conclude.ts.
import { limits, type ScheduledEvent } from '../../../shared/document.ts'
import {
  addHistory,
  disputable,
  type EndedRecord,
  type EventRecord,
  type Facts,
  isHit,
  isOpen,
  type Moment,
  type OpenRecord,
  type StartedRecord,
  type StartKind,
  type Values,
  withEnd,
  withStarted,
} from './event.ts'

/** How long *gone* must stand before it counts: an IMDS hiccup must not cancel an event. */
export const confirmMs = 10_000

interface Observed {
  /** Poll time by the relay's clock: receipt minus the reported age. */
  at: number
  vm: string
  /** False for a change from the spool: it informs the record and never reopens anything. */
  live: boolean
}

export interface Seen extends Observed {
  kind: 'seen'
  event: ScheduledEvent
  /** What this beacon saw before, for telling a change from another api-version's lesser knowledge. */
  previous?: ScheduledEvent
  /** No earlier poll of this beacon could have shown it. */
  firstPoll: boolean
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

/** Joins one observation into what is known. */
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
  return seen.firstPoll ? 'already_running' : 'none'
}

/** A late document may still show an event that is over, but not for longer than this. */
const lagMs = 60_000

/**
 * A poll after the first *gone* proves that a concluded event is alive, unless the document is
 * late. So the beacon must have missed the event before. A hit VM, or a VM that saw the event only
 * after its end, must see it for long enough.
 */
function reopens(known: EndedRecord, seen: Seen): boolean {
  const { at, outcome, inferred } = known.ended
  const overFrom = known.gone?.firstAt ?? at
  if (!seen.live || seen.at <= overFrom) return false
  const isOfHit = isHit(known.facts, seen.vm)
  if (inferred === 'vm_gone') return isOfHit
  if (outcome === 'lost' || seen.missedBefore) return true
  const isNewcomer = seen.since > overFrom
  return (isOfHit || isNewcomer) && seen.at - Math.max(seen.since, overFrom) >= lagMs
}

/**
 * A late report can still show that the event was announced before it started, or that it started
 * and was not cancelled.
 */
function correct(known: EndedRecord, seen: Seen): Step {
  const startKind = known.startedAt === undefined ? undefined : lateStartKind(known, seen)
  if (startKind !== undefined) {
    return { record: { ...known, startKind }, moments: [], reason: 'learned' }
  }
  const wrong = known.ended.outcome === 'cancelled' && seen.event.status === 'Started'
  if (!wrong) return nothing(known, 'concluded_before')
  const { at } = known.ended
  // a document that lags shows the start after the end
  const startedAt = Math.min(seen.at, at)
  const noted = addHistory(known, { at: startedAt, what: 'started', note: seen.vm })
  const completed = addHistory(noted, { at, what: 'completed' })
  const record = { ...withEnd(completed, { at, outcome: 'completed' }), startedAt }
  return { record, moments: ['completed'], reason: 'corrected' }
}

function reopen(known: EndedRecord, seen: Seen): { record: OpenRecord; moments: Moment[] } {
  const { record: begun, moments } = begin(known, seen, known.epoch + 1)
  // what it says now counts, also where it is not what was known
  const facts = merge(begun.facts, { ...seen.event, ...known.facts })
  const { firstSeenAt, sequence } = known
  const { history } = addHistory(known, { at: seen.at, what: 'reopened', note: seen.vm })
  const kept = { ...stands(known), firstSeenAt, history, sequence }
  const record = { ...begun, facts, reopenedAt: seen.at, ...kept }
  return { record: record.phase === 'started' ? asAnnounced(record, known) : record, moments }
}

/** An event that was known before it started was announced, even if this beacon did not see that. */
function asAnnounced({ startKind: _, ...begun }: StartedRecord, known: EndedRecord): StartedRecord {
  return known.startKind === undefined ? begun : { ...begun, startKind: known.startKind }
}

/** An approval that Azure confirmed stands, and a person's *not now*; what never left does not. */
function stands({ passedOn, verdict }: EventRecord): Pick<EndedRecord, 'passedOn' | 'verdict'> {
  if (verdict === undefined) return {}
  if (verdict.decision === 'declined') return { verdict }
  return passedOn === undefined ? {} : { passedOn, verdict }
}

function join(known: OpenRecord, seen: Seen): Step {
  const differing =
    seen.previous === undefined ? newcomersNews(known, seen) : transition(known, seen)
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
    // a moved NotBefore is a new deadline to be reminded of
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

/** A spooled change or a late document can show that a started event was Scheduled before. */
function lateStartKind(known: EventRecord, seen: Seen): StartKind | undefined {
  const wasScheduled = seen.event.status === 'Scheduled' && known.phase !== 'scheduled'
  return wasScheduled && known.startKind !== undefined && known.startKind !== 'reported_late'
    ? 'reported_late'
    : undefined
}

/** Fills in what was not known; keys keep their order, so that equal facts are equal text. */
function merge(known: Facts, event: ScheduledEvent): Facts {
  const { eventId: _id, status: _status, ...told } = event
  return {
    ...known,
    ...told,
    ...known,
    eventType: known.eventType === 'Unknown' ? told.eventType : known.eventType,
    resources: known.resources.length === 0 ? told.resources : known.resources,
  }
}

/** The values that this beacon saw change, and that the record does not hold yet. */
function transition({ facts, changedAt }: EventRecord, seen: Seen): Partial<Values> {
  const { event, previous, at } = seen
  const names = [...disputable, 'notBeforeAt', 'description'] as const
  const differing: Partial<Values> = {}
  for (const name of names) {
    const value = event[name]
    if (isUnknown(value)) continue
    // a newer api-version shows more values, which is no change
    if (sinceNewer.includes(name) && previous?.[name] === undefined && facts[name] === undefined) {
      continue
    }
    if (at < (changedAt?.[name] ?? 0)) continue
    const same = (other: unknown) => textOf(other) === textOf(value)
    if (!same(previous?.[name]) && !same(facts[name])) Object.assign(differing, { [name]: value })
  }
  return differing
}

/** Values that older api-versions do not show. */
const sinceNewer = ['source', 'durationSeconds', 'description']

/** A value that the document does not give, or a type that it left empty. */
function isUnknown(value: unknown): boolean {
  return value === undefined || value === 'Unknown' || (Array.isArray(value) && value.length === 0)
}

/**
 * A beacon that sees the event for the first time knows of no change. But VMs that only its document
 * names are hit as well, and whoever decides has to know: they are added, and none is taken away.
 */
function newcomersNews(
  { facts, changedAt, firstSeenAt }: EventRecord,
  seen: Seen,
): Partial<Values> {
  const isNews = seen.live && seen.at > (changedAt?.resources ?? firstSeenAt)
  const known = facts.resources.map((name) => name.toLowerCase())
  const more = seen.event.resources.filter((name) => !known.includes(name.toLowerCase()))
  // an event without any gets them as what was not known
  if (!isNews || known.length === 0 || more.length === 0) return {}
  const resources = [...facts.resources, ...more].slice(0, limits.resources)
  return resources.length === known.length ? {} : { resources }
}

/** Names are a set: neither their order nor their case means anything. */
function textOf(value: unknown): string {
  const names = Array.isArray(value)
    ? value.map((name) => String(name).toLowerCase()).sort()
    : value
  return JSON.stringify(names) ?? ''
}

function replaced(known: Facts, differing: Partial<Values>): Partial<Values> {
  return Object.fromEntries(Object.entries(known).filter(([name]) => name in differing))
}

/** The record names up to this many VMs. If there are more, it gives the number. */
const maxNamedVms = 5

function noteOf(values: Partial<Values>): string {
  return Object.entries(values)
    .map(([name, value]) => {
      if (name === 'notBeforeAt') return `NotBefore ${new Date(Number(value)).toISOString()}`
      if (Array.isArray(value) && value.length > maxNamedVms) return `${name}: ${value.length} VMs`
      return `${name} ${JSON.stringify(value)}`
    })
    .join(', ')
}

function vanish(known: EventRecord | undefined, gone: Gone, now: number): Step {
  if (known === undefined) return { record: undefined, moments: [], reason: 'unknown_event' }
  if (!isOpen(known)) return heardAfterLost(known, gone, now)
  if (known.gone !== undefined) return nothing(known, 'nothing_new')
  return { record: withGone(known, gone, now), moments: [], reason: 'gone' }
}

/** Somebody came back and can say how a lost event ended: it gets its proper end. */
function heardAfterLost(known: EndedRecord, gone: Gone, now: number): Step {
  if (known.ended.outcome !== 'lost' || !gone.live) return nothing(known, 'concluded_before')
  const { ended: _, verdict: _v, passedOn: _p, stuckAt: _s, startFailure: _f, ...kept } = known
  const { phase: _phase, startedAt, startKind, ...undecided } = kept
  // what is told from now on is told for the second time; that it is there, if somebody sees it
  const entry = { at: gone.at, what: 'reopened' as const, note: gone.vm }
  const rest = { ...undecided, ...stands(known), epoch: known.epoch + 1 }
  const open: OpenRecord =
    startedAt === undefined
      ? { ...rest, phase: 'scheduled', heldBack: 'scheduled' }
      : { ...rest, phase: 'started', startedAt, startKind }
  return { record: withGone(addHistory(open, entry), gone, now), moments: [], reason: 'gone' }
}

function withGone(known: OpenRecord, gone: Gone, now: number): OpenRecord {
  const noted = addHistory(known, { at: gone.at, what: 'gone', note: gone.vm })
  const { at: firstAt, lastSeenAt } = gone
  return { ...noted, gone: { firstAt, lastSeenAt, confirmAt: now + confirmMs } }
}

function nothing(record: EventRecord, reason: Step['reason']): Step {
  return { record, moments: [], reason }
}
