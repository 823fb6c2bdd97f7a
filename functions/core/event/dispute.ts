// Beacons that contradict each other about one event. An attacker with a fleet's key can report
// false values, and rules read them. So if beacons disagree, people decide.
import { isWithin } from './agreed.ts'
import {
  type Disputable,
  disputable,
  type EventRecord,
  type Facts,
  isHit,
  type Values,
} from './event.ts'
import { addHistory } from './history.ts'
import type { Moment } from './moment.ts'
import { noteOf, replaced } from './new-values.ts'
import type { Observer, SightedEvent } from './observer.ts'
import { namesKey } from './vm-names.ts'
import { freshUntil, polledAt } from './witness.ts'

/** After a change, the documents of beacons may differ for this long. */
export const changeLagMs = 60_000
/** How long a silent beacon's last document counts. */
const rememberedMs = 10 * 60_000

interface Reconciled {
  record: EventRecord
  moments: Moment[]
}

/** The values in a beacon's own document that contradict the known ones. */
export function contradictions(facts: Facts, event: SightedEvent): Disputable[] {
  return disputable.filter((name) => {
    const [ours, theirs] = [comparable(name, facts), comparable(name, event)]
    return ours !== undefined && theirs !== undefined && ours !== theirs
  })
}

/** Whether the event may need the values of this document, see `reconcile`. */
export function differs(facts: Facts, event: SightedEvent): boolean {
  const { notBeforeAt = facts.notBeforeAt } = event
  return contradictions(facts, event).length > 0 || notBeforeAt !== facts.notBeforeAt
}

/** Whether the documents of all beacons that see the event agree with what is known. */
export function isUndisputed(record: EventRecord, observers: Observer[], now: number): boolean {
  const seen = seenNow(observers, now)
  return seen.every(({ sighting }) => contradictions(record.facts, sighting.event).length === 0)
}

/**
 * If a contradiction lasts, takes the value that most affected VMs see, or most observers if no
 * affected VM reports. Keeps the list of VMs. Values that are still contradicted are disputed.
 */
export function reconcile(record: EventRecord, observers: Observer[], now: number): Reconciled {
  const seen = seenNow(observers, now)
  const timed = withNotBefore(record, observers, now)
  const agreed = withMajority(timed, seen, lastingIn(record, seen, now), now)
  const disputed = lastingIn(agreed, seen, now)
  const { disputed: before = [], ...rest } = agreed
  const news = agreed !== record || disputed.some((name) => !before.includes(name))
  if (!news && disputed.length === before.length) return { record, moments: [] }
  return {
    record: disputed.length === 0 ? rest : { ...agreed, disputed },
    moments: news ? ['changed'] : [],
  }
}

/**
 * The values that a beacon still contradicts, long enough after the beacon first saw the event and
 * after the value was learned. A silent beacon's last document counts as well.
 */
function lastingIn(record: EventRecord, seen: Observer[], now: number): Disputable[] {
  const { facts, verdict } = record
  const lasting = seen.flatMap(({ sighting: { event, firstSeenAt } }) => {
    // what a rule approved may start at any moment, so a new beacon that shows more counts at once
    const isUrgent = verdict?.how === 'policy' && !isWithin(verdict.agreed, event)
    return contradictions(facts, event).filter((name) => {
      const changedAt = record.changedAt?.[name]
      const since = isUrgent ? (changedAt ?? 0) : Math.max(firstSeenAt, learnedAt(record, name))
      return since + changeLagMs <= now
    })
  })
  return disputable.filter((name) => lasting.includes(name))
}

/** The event as a beacon sees it, without values that changed after its poll. */
export function withoutOutdated(record: EventRecord, { beacon, sighting }: Observer): SightedEvent {
  const { facts, changedAt = {} } = record
  const outdated = disputable.filter((name) => (changedAt[name] ?? 0) > polledAt(beacon))
  const { namesHash, ...event } = sighting.event
  const isPart = namesHash !== undefined && !outdated.includes('resources')
  const known = Object.fromEntries(outdated.map((name) => [name, facts[name]]))
  return { ...event, ...(isPart && { namesHash }), ...known }
}

/** When the record learned the value that it holds. */
function learnedAt(
  { changedAt, reopenedAt, firstSeenAt }: EventRecord,
  name: keyof Values,
): number {
  return changedAt?.[name] ?? reopenedAt ?? firstSeenAt
}

/** The observers whose last document is recent enough to count, even if they are silent now. */
function seenNow(observers: Observer[], now: number): Observer[] {
  return observers.filter(
    ({ beacon, sighting }) => sighting.gone === undefined && polledAt(beacon) + rememberedMs >= now,
  )
}

function withMajority(
  record: EventRecord,
  seen: Observer[],
  names: Disputable[],
  now: number,
): EventRecord {
  const hit = seen.filter(({ beacon }) => isHit(record.facts, beacon.vm))
  const outvoted = names.flatMap((name) => {
    if (name === 'resources') return []
    // a document from before the value was learned cannot outvote it
    const known = (hit.length > 0 ? hit : seen)
      .filter(({ beacon }) => polledAt(beacon) >= learnedAt(record, name))
      .map(({ sighting }) => sighting.event)
      .filter((event) => comparable(name, event) !== undefined)
    const chosen = known.find(
      (event) => 2 * known.filter((other) => isSame(name, event, other)).length > known.length,
    )
    const differs = chosen !== undefined && !isSame(name, chosen, record.facts)
    return differs ? [[name, chosen[name]] as const] : []
  })
  if (outvoted.length === 0) return record
  return withValues(record, Object.fromEntries(outvoted), now)
}

/**
 * If a difference lasts, takes the NotBefore that most affected VMs show, or most VMs if no affected
 * one reports; of several, the earliest. No rule reads it, so it is never disputed.
 */
function withNotBefore(record: EventRecord, observers: Observer[], now: number): EventRecord {
  const since = learnedAt(record, 'notBeforeAt')
  const fresh = observers.filter(
    (one) =>
      one.sighting.gone === undefined &&
      one.sighting.event.notBeforeAt !== undefined &&
      freshUntil(one) >= now &&
      polledAt(one.beacon) > since,
  )
  const hit = fresh.filter(({ beacon }) => isHit(record.facts, beacon.vm))
  const voters = hit.length > 0 ? hit : fresh
  const votes = Map.groupBy(voters, ({ sighting }) => sighting.event.notBeforeAt!)
  const [first] = [...votes].sort(([a, one], [b, other]) => other.length - one.length || a - b)
  if (first === undefined || first[0] === record.facts.notBeforeAt) return record
  const [notBeforeAt, those] = first
  const isLasting = those.every(
    ({ sighting: { firstSeenAt } }) => Math.max(firstSeenAt, since) + changeLagMs <= now,
  )
  if (!isLasting) return record
  return { ...withValues(record, { notBeforeAt }, now), remindedBeforeSeconds: [] }
}

function withValues(record: EventRecord, values: Partial<Values>, now: number): EventRecord {
  const changed = addHistory(record, { at: now, what: 'changed', note: noteOf(values) })
  const times = Object.keys(values).map((name) => [name, now])
  return {
    ...changed,
    facts: { ...record.facts, ...values },
    changedAt: { ...record.changedAt, ...Object.fromEntries(times) },
    changedFrom: replaced(record.facts, values),
  }
}

function isSame(name: Disputable, one: Facts, other: Facts): boolean {
  return comparable(name, one) === comparable(name, other)
}

/** Ignores case. Undefined if the value is unknown. */
function comparable(name: Disputable, facts: Facts | SightedEvent): string | undefined {
  if (name === 'resources') return namesKey(facts)
  const value = facts[name]
  return value === undefined || value === 'Unknown' ? undefined : String(value).toLowerCase()
}
