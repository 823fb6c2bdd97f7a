// Conclusions from passing time: an event is lost or stuck, a reminder is due, or silent VMs end it.
// `is-over.ts` decides whether missing documents end it. Runs in the sweep, and for a report that may
// confirm the end.

import { lastPassedOn } from './agreed.ts'
import { drillDueAt, moveDrill } from './drill.ts'
import {
  type DrillPlan,
  type Ended,
  type EventRecord,
  isHit,
  isOpen,
  type OpenRecord,
  withEnd,
} from './event.ts'
import { addHistory } from './history.ts'
import { confirmedSpan, endingOf, nextAbsenceLook, nextRestartLook } from './is-over.ts'
import type { Moment } from './moment.ts'
import type { Witness } from './observer.ts'
import { isNotBeforeNear, openPaceMs } from './pace.ts'
import { nextReminder, remind } from './reminder.ts'
import { hasLeft, hasOutlier, missingIn, polledAt, rowLagMs, seeingIn, takesVm } from './witness.ts'

/** A Preempt or Terminate is completed if its VMs were silent for this long after its start. */
export const vmGoneMs = 2 * 60_000
/** An event is lost if no observer was heard for this long. */
export const lostMs = 10 * 60_000
/** Or if all observers that are heard could not poll for this long. */
export const blindMs = 60 * 60_000
/** If Azure was told and has not started the event for this long, people must check. */
const notStartedMs = 10 * 60_000
/** An approval is stuck if no beacon could pass it on for this long. */
export const stuckMs = 30_000

export type ConcludeReason = Ended['outcome'] | 'drill_moved' | 'stuck' | 'reminder' | 'look_later'

/** An unchanged record is the same object. */
interface Conclusion {
  record: EventRecord
  moments: Moment[]
  reason: ConcludeReason
}

/** Draws all conclusions that are due, and sets the time of the next look. */
export function conclude(
  record: EventRecord,
  witnesses: Witness[],
  now: number,
  reminders: number[] = [],
): Conclusion {
  if (!isOpen(record)) return { record, moments: [], reason: 'look_later' }
  const { drillPlan } = record
  if (drillPlan !== undefined) return concludeDrill(record, drillPlan, now, reminders)
  const confirmed = confirmedSpan(record, witnesses, now)
  if (confirmed !== undefined) {
    return end({ ...record, gone: confirmed }, endingOf(record, witnesses, confirmed, now))
  }
  const ended = endedBySilence(record, witnesses, now)
  if (ended !== undefined) {
    const { gone, ...rest } = record
    return end(gone?.denied ? rest : record, ended)
  }
  const unstuck = withoutHiccup(record, witnesses, now)
  const stuck = isStuck(unstuck, now)
  const checked = stuck
    ? addHistory({ ...unstuck, stuckAt: now }, { at: now, what: 'stuck' })
    : unstuck
  const reminded = remind(checked, reminders, now)
  const noted = reminded ?? checked
  const moments = [...(stuck ? ['stuck' as const] : []), ...(reminded ? ['reminder' as const] : [])]
  return {
    record: withDueAt(record, noted, nextLook(noted, witnesses, now, reminders)),
    moments,
    reason: moments[0] ?? 'look_later',
  }
}

function withDueAt(before: OpenRecord, record: OpenRecord, dueAt: number): OpenRecord {
  return record === before && dueAt === before.dueAt ? before : { ...record, dueAt }
}

/** No beacon observes a drill, so silence means nothing. */
function concludeDrill(
  record: OpenRecord,
  plan: DrillPlan,
  now: number,
  reminders: number[],
): Conclusion {
  const moved = moveDrill(record, plan, now)
  if ('ended' in moved) return end(record, moved.ended)
  const reminded = remind(moved.record, reminders, now)
  const noted = reminded ?? moved.record
  const moments = [...moved.moments, ...(reminded ? ['reminder' as const] : [])]
  return {
    record: withDueAt(record, noted, nextLook(noted, [], now, reminders)),
    moments,
    reason: moments.length === 0 ? 'look_later' : reminded ? 'reminder' : 'drill_moved',
  }
}

function end(record: OpenRecord, ended: Ended): Conclusion {
  const note = ended.inferred === undefined ? {} : { note: ended.inferred }
  const entry = { at: ended.at, what: ended.outcome, ...note }
  const noted = addHistory(withEnd(record, ended), entry)
  return { record: noted, moments: [ended.outcome], reason: ended.outcome }
}

function endedBySilence(record: EventRecord, witnesses: Witness[], now: number): Ended | undefined {
  if (vmGoneAt(record, witnesses, now) <= now) {
    return { at: now, outcome: 'completed', inferred: 'vm_gone' }
  }
  if (lostAt(record, witnesses) <= now) {
    return { at: now, outcome: 'lost', inferred: 'nobody_left_to_see' }
  }
  return undefined
}

/**
 * If no beacon misses the event any more, a document was wrong for a moment. If only outliers do,
 * people and rules go on as well.
 */
function withoutHiccup(record: OpenRecord, witnesses: Witness[], now: number): OpenRecord {
  const { gone, ...rest } = record
  if (gone === undefined || gone.confirmAt > now) return record
  const isDenied = missingIn(record, witnesses).length === 0
  if (isDenied && !hasOutlier(witnesses)) return addHistory(rest, { at: now, what: 'seen_again' })
  const { denied = false, ...span } = gone
  if (denied === isDenied) return record
  return { ...rest, gone: isDenied ? { ...span, denied: true } : span }
}

/**
 * When the silence of the hit VMs proves the end of a Preempt or Terminate. Infinity if it does
 * not.
 */
function vmGoneAt(record: EventRecord, witnesses: Witness[], now: number): number {
  const isSeen = seeingIn(record, witnesses, now).length > 0
  const from = takenFrom(record, isSeen)
  const hit = witnesses.filter((one) => isHit(record.facts, one.beacon.vm) && !hasLeft(one))
  // a VM without a beacon is always silent, so the documents of others decide
  if (hit.length === 0 && isSeen) return Number.POSITIVE_INFINITY
  // its beacon may be about to report for the first time
  const heard = hit.length === 0 ? witnesses : hit
  return Math.max(from, ...heard.map(({ beacon }) => beacon.heardAt)) + vmGoneMs
}

/**
 * When a Preempt or Terminate begins to remove its VM. Infinity for other events. Once Azure was
 * told, it may begin at any time, unless a VM still sees it Scheduled.
 */
function takenFrom(record: EventRecord, isSeen = false): number {
  const passedOnAt = isSeen ? undefined : lastPassedOn(record)?.at
  const beganAt = record.startedAt ?? passedOnAt ?? record.facts.notBeforeAt
  return takesVm(record) && beganAt !== undefined ? beganAt : Number.POSITIVE_INFINITY
}

function lostAt(record: EventRecord, witnesses: Witness[]): number {
  const decided = record.verdict?.decision === 'approved' ? record.verdict.at : undefined
  const expectedAt = record.startedAt ?? decided ?? record.facts.notBeforeAt ?? record.firstSeenAt
  return Math.max(expectedAt, ...witnesses.map(({ beacon }) => watchedAt(beacon))) + lostMs
}

/** A beacon that reports may be able to poll again soon. */
function watchedAt(beacon: Witness['beacon']): number {
  return Math.min(beacon.heardAt, polledAt(beacon) + blindMs)
}

function stuckAt(record: EventRecord): number {
  const waits =
    record.phase === 'scheduled' &&
    record.verdict?.decision === 'approved' &&
    record.stuckAt === undefined
  if (!waits) return Number.POSITIVE_INFINITY
  const { at } = record.verdict!
  // far from NotBefore, beacons report at the slow pace
  const passOnMs = (isNotBeforeNear(record, at) ? 0 : openPaceMs) + stuckMs
  const waitMs = record.passedOn === undefined ? passOnMs : notStartedMs
  // an event that is gone may be over
  return Math.max(at + waitMs, record.gone?.confirmAt ?? 0)
}

function isStuck(record: EventRecord, now: number): boolean {
  return stuckAt(record) <= now
}

/** The earliest time when time alone may change the event. Always in the future. */
export function nextLook(
  record: EventRecord,
  witnesses: Witness[],
  now: number,
  reminders: number[] = [],
): number {
  const { drillPlan } = record
  const times =
    drillPlan === undefined
      ? [
          lostAt(record, witnesses),
          nextAbsenceLook(record, witnesses, now),
          rowsWrittenAt(record, now),
          // silence may begin after this look, so look again after the full time of silence
          Math.min(vmGoneAt(record, witnesses, now), Math.max(takenFrom(record), now) + vmGoneMs),
        ]
      : [drillDueAt(record, drillPlan)]
  return earliest(record, times, now, reminders)
}

/** When the rows of beacons that reported last are written: they may miss the event, too. */
function rowsWrittenAt({ gone, heard }: EventRecord, now: number): number {
  const at = gone === undefined || heard === undefined ? 0 : heard.beacon.heardAt + rowLagMs
  return at > now ? at : Number.POSITIVE_INFINITY
}

/**
 * The same if only the reporting beacon is known. The result may be too early, which costs one
 * look, but never too late.
 */
export function nextLookOf(record: EventRecord, now: number, reminders: number[] = []): number {
  const { drillPlan, heard } = record
  if (drillPlan !== undefined) return nextLook(record, [], now, reminders)
  const reporter = heard === undefined ? [] : [heard]
  const hit = reporter.filter(({ beacon }) => isHit(record.facts, beacon.vm))
  const silentFrom = Math.max(takenFrom(record), ...hit.map(({ beacon }) => beacon.heardAt))
  const times = [
    lostAt(record, reporter),
    record.gone?.confirmAt ?? Number.POSITIVE_INFINITY,
    nextRestartLook(record, now),
    silentFrom + vmGoneMs,
  ]
  return earliest(record, times, now, reminders)
}

function earliest(record: EventRecord, times: number[], now: number, reminders: number[]): number {
  const reminder = nextReminder(record, reminders)
  const past = (record.facts.notBeforeAt ?? 0) <= now
  const reminderAt = reminder === undefined || past ? [] : [reminder.at]
  const stuck = record.drillPlan === undefined ? [stuckAt(record)] : []
  return Math.max(now + 1, Math.min(...times, ...reminderAt, ...stuck, ruleLooksAt(record)))
}

function ruleLooksAt({ phase, verdict, lookAt }: EventRecord): number {
  const waits = phase === 'scheduled' && verdict?.decision !== 'approved'
  return (waits ? lookAt : undefined) ?? Number.POSITIVE_INFINITY
}
