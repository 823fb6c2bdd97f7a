// What time brings: an event that settles as gone, whose VM is gone, that is stuck, or that is lost.
// Called by the sweep when an event's due time has come, and by a report that might settle it.
import { drillDueAt, moveDrill } from './drill.ts'
import {
  addHistory,
  type Beacon,
  type DrillPlan,
  type Ended,
  type EventRecord,
  type Inference,
  isHit,
  isOpen,
  type Moment,
  type Observer,
} from './event.ts'
import { settleMs } from './life.ts'
import { isNear, openPaceMs } from './pace.ts'
import { nextReminder, remind } from './reminder.ts'

/** A beacon not heard for this many of its own paces says nothing about the present. */
export const silentPaces = 3
/** Hit VMs silent this long after Preempt or Terminate began are taken to be gone. */
export const vmGoneMs = 2 * 60_000
/** Without any observer for this long, the event is given up as lost. */
export const lostMs = 10 * 60_000
/** Azure was told, and has not started it for so long: somebody has to look. */
export const notStartedMs = 10 * 60_000
/** An approval that no beacon could pass on for this long is told as stuck. */
export const stuckMs = 30_000

export interface Conclusion {
  record: EventRecord
  moments: Moment[]
  changed: boolean
}

/** Draws every conclusion that is due at `now`, and sets the time of the next look. */
export function conclude(
  record: EventRecord,
  observers: Observer[],
  now: number,
  reminders: number[] = [],
): Conclusion {
  if (!isOpen(record)) return { record, moments: [], changed: false }
  const { drillPlan } = record
  if (drillPlan !== undefined) return concludeDrill(record, drillPlan, now, reminders)
  const settled = settledSpan(record, observers, now)
  if (settled !== undefined)
    return end({ ...record, gone: settled }, judge(record, observers, settled))
  const ended = endedBySilence(record, observers, now)
  if (ended !== undefined) return end(record, ended)
  const unstuck = clearHiccup(record, observers, now)
  const stuck = isStuck(unstuck, now)
  const told = stuck
    ? addHistory({ ...unstuck, stuckAt: now }, { at: now, what: 'stuck' })
    : unstuck
  const reminded = remind(told, reminders, now)
  const noted = reminded ?? told
  const dueAt = nextLook(noted, observers, now, reminders)
  return {
    record: { ...noted, dueAt },
    moments: [...(stuck ? ['stuck' as const] : []), ...(reminded ? ['reminder' as const] : [])],
    changed: noted !== record || dueAt !== record.dueAt,
  }
}

/** A drill has no observers: what is concluded from silence does not hold for it. */
function concludeDrill(
  record: EventRecord,
  plan: DrillPlan,
  now: number,
  reminders: number[],
): Conclusion {
  const moved = moveDrill(record, plan, now)
  if ('ended' in moved) return end(record, moved.ended)
  const reminded = remind(moved.record, reminders, now)
  const noted = reminded ?? moved.record
  const dueAt = nextLook(noted, [], now, reminders)
  return {
    record: { ...noted, dueAt },
    moments: [...moved.moments, ...(reminded ? ['reminder' as const] : [])],
    changed: noted !== record || dueAt !== record.dueAt,
  }
}

function end(record: EventRecord, ended: Ended): Conclusion {
  const { dueAt: _, directive: _lease, ...rest } = record
  const phase = ended.outcome === 'lost' ? record.phase : ended.outcome
  const note = ended.inferred === undefined ? {} : { note: ended.inferred }
  const entry = { at: ended.at, what: ended.outcome, ...note }
  const noted = addHistory({ ...rest, phase, ended, watchers: [] }, entry)
  return { record: noted, moments: [ended.outcome], changed: true }
}

function endedBySilence(
  record: EventRecord,
  observers: Observer[],
  now: number,
): Ended | undefined {
  if (vmGoneAt(record, observers, now) <= now) {
    return { at: now, outcome: 'completed', inferred: 'vm_gone' }
  }
  if (lostAt(record, observers) <= now) {
    return { at: now, outcome: 'lost', inferred: 'nobody_left_to_see' }
  }
  return undefined
}

type Span = NonNullable<EventRecord['gone']>

/**
 * The span in which the event went, once somebody misses it, the settle time is over, and nobody
 * whose document is fresh still sees it. It ends at the first *gone* after the last sight: an earlier
 * one was an IMDS hiccup.
 */
function settledSpan(record: EventRecord, observers: Observer[], now: number): Span | undefined {
  const missing = missingOf(observers)
  const settleAt = settleAtOf(record, observers)
  if (missing.length === 0 || settleAt > now) return undefined
  if (stillSeeing(record, observers, now).length > 0) return undefined
  const lastSeenAt = Math.max(...missing.map((gone) => gone.lastSeenAt))
  const after = missing.filter((gone) => gone.firstAt >= lastSeenAt)
  return { lastSeenAt, firstAt: Math.min(...after.map((gone) => gone.firstAt)), settleAt }
}

/** Each *gone* that still stands settles by itself: two hiccups are not one absence. */
function settleAtOf(record: EventRecord, observers: Observer[]): number {
  const standing = missingOf(observers).map((gone) => gone.firstAt + settleMs)
  return Math.max(record.gone?.settleAt ?? 0, ...standing)
}

function missingOf(observers: Observer[]) {
  return observers.map((o) => o.sighting.gone).filter((gone) => gone !== undefined)
}

/** Observers whose document still shows the event and is fresh: a failing IMDS proves nothing. */
function stillSeeing(record: EventRecord, observers: Observer[], now: number): Observer[] {
  return observers.filter(
    (o) =>
      o.sighting.gone === undefined && freshUntil(o) >= now && !isTakenAway(record, observers, o),
  )
}

/** A VM that Preempt or Terminate took, silent since others miss the event: it sees nothing any more. */
function isTakenAway(record: EventRecord, observers: Observer[], { beacon }: Observer): boolean {
  const firstGoneAt = Math.min(...missingOf(observers).map((gone) => gone.firstAt))
  return takesVm(record) && isHit(record.facts, beacon.vm) && beacon.heardAt < firstGoneAt
}

function takesVm({ facts: { eventType } }: EventRecord): boolean {
  return eventType === 'Preempt' || eventType === 'Terminate'
}

function freshUntil({ beacon }: Observer): number {
  return polledAt(beacon) + silentPaces * beacon.paceMs
}

/** A beacon that is heard but can't poll repeats its last document with a growing age. */
function polledAt(beacon: Beacon): number {
  return beacon.polledAt ?? beacon.heardAt
}

/** Gone once, but nobody misses it any more: the document was wrong for a moment. */
function clearHiccup(record: EventRecord, observers: Observer[], now: number): EventRecord {
  const { gone, ...rest } = record
  const over = gone !== undefined && gone.settleAt <= now && missingOf(observers).length === 0
  return over ? addHistory(rest, { at: now, what: 'seen_again' }) : record
}

/** What *gone* means, judged on the span from last seen to first gone, never on when we concluded. */
function judge(record: EventRecord, observers: Observer[], { lastSeenAt, firstAt }: Span): Ended {
  if (record.phase === 'started') return { at: firstAt, outcome: 'completed' }
  const why = startNotSeen(record, observers, lastSeenAt, firstAt)
  return why === undefined
    ? { at: firstAt, outcome: 'cancelled', inferred: 'gone_before_its_time' }
    : { at: firstAt, outcome: 'completed', inferred: why }
}

function startNotSeen(
  record: EventRecord,
  observers: Observer[],
  lastSeenAt: number,
  firstAt: number,
): Inference | undefined {
  const hit = observers.filter((o) => isHit(record.facts, o.beacon.vm))
  const rebooted = hit.some(
    (o) =>
      (o.beacon.bootedAt > lastSeenAt && o.beacon.bootedAt <= firstAt) || wasSilent(o, firstAt),
  )
  if (rebooted) return 'start_not_seen_vm_rebooted'
  if (record.verdict?.decision === 'approved' && wasPassedOn(record)) {
    return 'start_not_seen_approved'
  }
  const { notBeforeAt } = record.facts
  if (notBeforeAt !== undefined && notBeforeAt <= firstAt) return 'start_not_seen_not_before_passed'
  return undefined
}

/** Not heard by then, or without a poll between its own last sight of the event and its first miss. */
function wasSilent({ beacon, sighting }: Observer, firstAt: number): boolean {
  const silentMs = silentPaces * beacon.paceMs
  const { gone } = sighting
  return gone === undefined
    ? beacon.heardAt + silentMs < firstAt
    : gone.firstAt - gone.lastSeenAt > silentMs
}

/** Confirmed, or handed to a beacon that may not have lived to say so. */
function wasPassedOn(record: EventRecord): boolean {
  return record.passedOn !== undefined || record.directive !== undefined
}

/** When the silence of the hit VMs proves a Preempt or Terminate done; Infinity where it never does. */
function vmGoneAt(record: EventRecord, observers: Observer[], now: number): number {
  const beganAt = record.startedAt ?? record.facts.notBeforeAt
  if (!takesVm(record) || beganAt === undefined) return Number.POSITIVE_INFINITY
  const hit = observers.filter((o) => isHit(record.facts, o.beacon.vm))
  // a VM without a beacon is always silent: then the others' documents count for more
  if (hit.length === 0 && stillSeeing(record, observers, now).length > 0) {
    return Number.POSITIVE_INFINITY
  }
  return Math.max(beganAt, ...hit.map((o) => o.beacon.heardAt)) + vmGoneMs
}

function lostAt(record: EventRecord, observers: Observer[]): number {
  const decided = record.verdict?.decision === 'approved' ? record.verdict.at : undefined
  const expectedAt = record.startedAt ?? decided ?? record.facts.notBeforeAt ?? record.firstSeenAt
  return Math.max(expectedAt, ...observers.map((o) => polledAt(o.beacon))) + lostMs
}

function stuckAt(record: EventRecord): number {
  const waits =
    record.phase === 'scheduled' &&
    record.verdict?.decision === 'approved' &&
    record.stuckAt === undefined
  if (!waits) return Number.POSITIVE_INFINITY
  const { at } = record.verdict!
  // told again meanwhile, as long as VMs see it as Scheduled
  if (record.passedOn !== undefined) return at + notStartedMs
  // far from NotBefore, beacons come back at the slow pace only
  return at + (isNear(record, at) ? 0 : openPaceMs) + stuckMs
}

function isStuck(record: EventRecord, now: number): boolean {
  return stuckAt(record) <= now
}

/**
 * The earliest time at which another look may change anything; always in the future. Without
 * observers it is too early rather than too late, which costs one look.
 */
export function nextLook(
  record: EventRecord,
  observers: Observer[],
  now: number,
  reminders: number[] = [],
): number {
  const reminder = nextReminder(record, reminders)
  const past = (record.facts.notBeforeAt ?? 0) <= now
  const times = reminder === undefined || past ? [] : [reminder.at]
  const { drillPlan } = record
  if (drillPlan !== undefined) times.push(drillDueAt(record, drillPlan))
  else times.push(vmGoneAt(record, observers, now), lostAt(record, observers), stuckAt(record))
  if (record.gone !== undefined || missingOf(observers).length > 0) {
    const seeing = stillSeeing(record, observers, now)
    const stale = Math.min(...seeing.map((o) => freshUntil(o) + 1))
    times.push(Math.max(settleAtOf(record, observers), seeing.length === 0 ? 0 : stale))
  }
  return Math.max(now + 1, Math.min(...times))
}
