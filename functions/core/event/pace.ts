// How often beacons report: a few often while a decision can be near, all others slowly.
import type { EventRecord } from './event.ts'
import { isOpen } from './event.ts'

export const openPaceMs = 60_000
export const nearPaceMs = 2_000
/** If NotBefore is nearer than this, people may be deciding. */
export const nearMs = 30 * 60_000
/** The answer to a watcher is held this long. Azure's Application Gateway gives up after 20 s. */
export const holdMs = 15_000
export const maxWatchers = 4
/** A watcher that died is replaced after this time. */
export const watcherLeaseMs = 3 * 60_000

/**
 * Whether Azure may have to be told of an approval within seconds. `watched`: its page was opened
 * lately.
 */
export function isDecisionNear(record: EventRecord, now: number, watched: boolean): boolean {
  if (!isOpen(record) || record.phase !== 'scheduled' || record.passedOn !== undefined) return false
  if (isUnderWay(record)) return true
  if (record.policy.decide === 'ignore') return false
  return watched || isNotBeforeNear(record, now)
}

/** Whether people may be deciding: NotBefore is near or unknown. */
export function isNotBeforeNear({ facts: { notBeforeAt } }: EventRecord, now: number): boolean {
  return notBeforeAt === undefined || notBeforeAt - now <= nearMs
}

/**
 * Adds the beacon to the watchers. Returns the same record if it is one already, if there are
 * enough, or if no decision is near.
 */
export function withWatcher(
  record: EventRecord,
  beacon: string,
  now: number,
  watched: boolean,
): EventRecord {
  if (!isDecisionNear(record, now, watched)) return record
  const own = record.watchers.find((watcher) => watcher.beacon === beacon)
  if (own !== undefined && own.until - now > watcherLeaseMs / 2) return record
  const others = record.watchers.filter((w) => w.beacon !== beacon && w.until > now)
  if (own === undefined && others.length >= maxWatchers) return record
  return { ...record, watchers: [...others, { beacon, until: now + watcherLeaseMs }] }
}

/** An event that a beacon sees, and whether its page was opened lately. */
export interface Seen {
  record: EventRecord
  watched: boolean
}

/** The pace of a beacon that sees these events. `idleMs` is the host's, because it costs money. */
export function paceFor(seen: Seen[], beacon: string, now: number, idleMs: number): number {
  const open = seen.filter(({ record }) => isOpen(record))
  const watches = open.some(
    ({ record, watched }) =>
      isDecisionNear(record, now, watched) &&
      record.watchers.some((watcher) => watcher.beacon === beacon),
  )
  // ended events count as well: only further reports show whether such an event is back
  return watches ? nearPaceMs : seen.length > 0 ? openPaceMs : idleMs
}

/**
 * How long the relay may hold its answer to the next report of a beacon with this pace. Undefined
 * if it must not: an approval under way has a lease, so another beacon may have to start the event.
 */
export function holdFor(seen: Seen[], paceMs: number): number | undefined {
  const isFree = paceMs === nearPaceMs && !seen.some(({ record }) => isUnderWay(record))
  return isFree ? holdMs : undefined
}

function isUnderWay({ verdict, passedOn }: EventRecord): boolean {
  return verdict?.decision === 'approved' && passedOn === undefined
}

/** Whether beacons with a held answer must report again after this commit, to get what is new. */
export function concernsBeacons(before: EventRecord | undefined, after: EventRecord): boolean {
  const orders = (record: EventRecord) => [
    record.verdict?.decision,
    record.verdict?.at,
    record.prepareNow?.at,
    record.turn?.state,
  ]
  return before !== undefined && orders(before).some((one, i) => one !== orders(after)[i])
}
