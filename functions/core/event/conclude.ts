// What passing time brings: the event is over (`is-over.ts`), its approval is stuck, a reminder is due.
// Runs in the sweep, and for a report that may confirm the end.
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
import {
  lostAt,
  nextAbsenceLook,
  nextRestartLook,
  overIn,
  removalAt,
  vmGoneAt,
  vmGoneMs,
} from './is-over.ts'
import type { Moment } from './moment.ts'
import type { Witness } from './observer.ts'
import { isNotBeforeNear, openPaceMs } from './pace.ts'
import { nextReminder, remind } from './reminder.ts'
import { hasOutlier, missingIn, rowLagMs } from './witness.ts'

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
  const over = overIn(record, witnesses, now)
  if (over !== undefined) return end(over.record, over.ended)
  const steady = withoutHiccup(record, witnesses, now)
  const stuck = isStuck(steady, now)
  const checked = stuck
    ? addHistory({ ...steady, stuckAt: now }, { at: now, what: 'stuck' })
    : steady
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
          Math.min(vmGoneAt(record, witnesses, now), Math.max(removalAt(record), now) + vmGoneMs),
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
  const silentFrom = Math.max(removalAt(record), ...hit.map(({ beacon }) => beacon.heardAt))
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
