// How often beacons report: fast for a few while a decision can be near, slow for everybody else.
import type { EventRecord } from './event.ts'
import { isOpen } from './event.ts'

/** A silent beacon costs one report in this time; see README, "Cost". */
export const idlePaceMs = 15 * 60_000
export const openPaceMs = 60_000
export const nearPaceMs = 2_000
/** Before NotBefore, people decide within this time. */
export const nearMs = 30 * 60_000
export const maxWatchers = 4
/** A watcher that died is replaced after this time; three others are there meanwhile. */
export const watcherLeaseMs = 3 * 60_000

/** Whether an approval may have to be passed on within seconds. `watched`: its page was opened lately. */
export function isDecisionNear(record: EventRecord, now: number, watched: boolean): boolean {
  if (!isOpen(record) || record.phase !== 'scheduled' || record.passedOn !== undefined) return false
  if (record.verdict?.decision === 'approved') return true
  if (record.policy.decide === 'ignore') return false
  return watched || isNear(record, now)
}

/** Whether people may be deciding: NotBefore is near, or not known. */
export function isNear({ facts: { notBeforeAt } }: EventRecord, now: number): boolean {
  return notBeforeAt === undefined || notBeforeAt - now <= nearMs
}

/**
 * The record with this beacon among its watchers, or the same record where it already is one, where
 * there are enough, or where no decision is near.
 */
export function watch(
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

/** The pace of a beacon that sees these events. */
export function paceFor(seen: Seen[], beacon: string, now: number): number {
  const open = seen.filter(({ record }) => isOpen(record))
  const watches = open.some(
    ({ record, watched }) =>
      isDecisionNear(record, now, watched) &&
      record.watchers.some((watcher) => watcher.beacon === beacon),
  )
  // it also sees an event that ended: only more reports tell a late document from a live event
  return watches ? nearPaceMs : seen.length > 0 ? openPaceMs : idlePaceMs
}
