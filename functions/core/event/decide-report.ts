// What one beacon's report means for one event: the new record, and the moments that people are
// notified of. The surprise: if the decision needs a fact, it returns its name and is called again.
// So the relay reads only the facts that matter.

import { holdBack, newlyRouted, type Rules, worthSending } from './apply-policy.ts'
import { conclude, nextLookOf } from './conclude.ts'
import {
  type Decision,
  type EventReport,
  follow,
  type Loaded,
  type Needs,
  type ReportReason,
  type Step,
} from './decision.ts'
import { leaseOf, withLease } from './directive.ts'
import { type EventRecord, isHit, isOpen } from './event.ts'
import { confirmMsOf } from './life.ts'
import { agree, type Observed, observe } from './observe.ts'
import type { Beacon, Observer } from './observer.ts'
import { openedBy, opens } from './open-limits.ts'
import { isDecisionNear, withWatcher } from './pace.ts'
import { witnessesOf } from './silence.ts'
import { weigh, withRule } from './when-ready.ts'
import { asHeard, rowLagMs, silentPaces } from './witness.ts'

export interface Context {
  rules: Rules
  /** Distances from NotBefore at which people are reminded, in seconds. */
  reminders: number[]
  /** Epoch ms. Before this time, the relay could hear no beacon. */
  listeningSince: number
}

interface ReportDecision extends Decision<ReportReason> {
  /** The beacon shall start the event. */
  isDirected: boolean
  /** Its page was opened lately, which makes this beacon report often. */
  isWatched: boolean
  refusal?: string
}

export function decideReport(
  before: EventRecord | undefined,
  report: EventReport,
  loaded: Loaded,
  context: Context,
  now: number,
): ReportDecision | Needs {
  const { reading, news } = report
  const { beacon } = reading
  // no beacon sees these: what a report says of them changes nothing
  if (before?.drill || before?.alert) return unchanged(undefined, 'relays_own')
  const isNew = before === undefined && news.observations.some(({ kind }) => kind === 'seen')
  // check this first, as the beacon repeats a refused event in every report
  if (isNew && loaded.room === undefined) return { needs: 'room' }
  if (isNew && loaded.room?.refusal !== undefined) return refused(before, loaded.room.refusal)

  const observed = observe(before, report, now)
  if (observed === undefined) return unchanged(undefined, 'unknown_event')
  const agreed = agree(before, observed, report, loaded, now)
  if ('needs' in agreed) return agreed
  const judged = applyRules(before, agreed, report, loaded, context, now)
  if ('needs' in judged) return judged
  const directed = direct(judged, report, loaded, now)
  if ('needs' in directed) return directed

  const record = withNextLook(before, directed.record, report, context, now)
  const { routed = [] } = directed
  const worth = worthSending([...directed.moments, ...routed], record, news.inDocument)
  const moments = worth.filter((moment) => directed.moments.includes(moment))
  const isOpening = opens(before, record)
  if (isOpening && loaded.room === undefined) return { needs: 'room' }
  if (isOpening && loaded.room?.refusal !== undefined) return refused(before, loaded.room.refusal)
  const held = holdBack(record, [...directed.moments, ...routed], worth)
  const { reason, isDirected, isWatched } = directed
  const own = isOpening && isOpen(held) ? openedBy(held, beacon.beacon) : held
  const again = worth.filter((moment) => !moments.includes(moment))
  return { record: own, moments, routed: again, reason, isDirected, isWatched }
}

function unchanged(record: EventRecord | undefined, reason: ReportReason): ReportDecision {
  return { record, moments: [], reason, isDirected: false, isWatched: false }
}

function refused(before: EventRecord | undefined, refusal: string): ReportDecision {
  return { ...unchanged(before, 'refused'), refusal }
}

/** Applies the rules of the configuration, and confirms an end that is due. */
function applyRules(
  before: EventRecord | undefined,
  agreed: Observed,
  { reading: { beacon, known: lastRow }, news }: EventReport,
  loaded: Loaded,
  { rules, reminders, listeningSince }: Context,
  now: number,
): Step | Needs {
  const { record, isNews } = agreed
  const isConfirming = record.gone !== undefined && record.gone.confirmAt <= now && !news.inDocument
  // in a later epoch, a beacon may have reported the event before it was open again
  const isFirst =
    news.firstSighting || record.reopenedAt !== undefined || isLateRow(record, lastRow)
  const isNewcomer = isOpen(record) && isFirst && isHit(record.facts, beacon.vm)
  const isLately = isNews || isNewcomer || (news.inDocument && isHit(record.facts, beacon.vm))
  const isUndecided = isOpen(record) && record.verdict === undefined
  const approves = news.inDocument && record.policy.decide === 'approve'
  const isJudged = isUndecided && (isLately || approves)
  const hasHooks = record.readiness !== undefined && isHit(record.facts, beacon.vm)
  const isMeasured = news.ran || (hasHooks && news.inDocument)
  // other VMs may match other rules and routes
  const hasGrown = isNews && before?.facts.resources !== record.facts.resources
  const isDue = isConfirming || isJudged || isMeasured
  if (!(isDue || isNewcomer || hasGrown || agreed.moments.length > 0)) return agreed
  const { observers, deliveries } = loaded
  if (observers === undefined) return { needs: 'observers' }
  const mayMiss = (isNewcomer || hasGrown) && before !== undefined && agreed.moments.length === 0
  if (mayMiss && deliveries === undefined) return { needs: 'deliveries' }

  let step: Step = agreed
  const weighing = { rules, listeningSince, now, stored: before }
  if (isJudged && news.inDocument) {
    const weighed = weigh(record, observers, loaded, weighing)
    if ('needs' in weighed) return weighed
    step = follow(step, weighed.record, weighed.reason, weighed.moments)
  } else if (isJudged || isMeasured) {
    step = { ...step, record: withRule(record, observers, weighing).record }
  }
  if (mayMiss) {
    const routed = newlyRouted(rules, step.record, observers, deliveries!)
    if (routed.length > 0) step = { ...step, routed, reason: 'newly_routed' }
  }
  if (!isConfirming) return step
  const witnesses = witnessesOf(step.record, observers, listeningSince, now)
  const concluded = conclude(step.record, witnesses, now, reminders)
  return follow(step, concluded.record, concluded.reason, concluded.moments)
}

/** The event changed when this beacon's row may not have been written yet, so its tags were unknown. */
function isLateRow({ changedAt = {} }: EventRecord, row: Beacon | undefined): boolean {
  return row !== undefined && Object.values(changedAt).some((at) => at > row.heardAt - rowLagMs)
}

type Directed = Step & { isDirected: boolean; isWatched: boolean }

/** Whether this beacon must report often, and whether it must start the event. */
function direct(
  step: Step,
  { reading: { beacon }, news }: EventReport,
  loaded: Loaded,
  now: number,
): Directed | Needs {
  const { record } = step
  // a beacon that stops carries out no directive
  const isStopping = beacon.goodbye !== undefined
  if (!news.inDocument || news.status !== 'Scheduled' || isStopping) {
    return { ...step, isDirected: false, isWatched: false }
  }
  // read it only if it makes a difference
  const asks = !isDecisionNear(record, now, false) && isDecisionNear(record, now, true)
  if (asks && loaded.isWatched === undefined) return { needs: 'isWatched' }
  const isWatched = asks && loaded.isWatched === true
  const watched = follow(step, withWatcher(record, beacon.beacon, now, isWatched), 'watched')
  const lease = leaseOf(watched.record, beacon, news.sighting.event, now)
  const { record: open } = watched
  const leased =
    lease === 'granted' && isOpen(open)
      ? follow(watched, withLease(open, beacon.beacon, beacon.vm, now), 'directed')
      : watched
  return { ...leased, isDirected: lease !== 'not_due', isWatched }
}

/** The beacon's own row is written later, so the event records that it was heard. */
function withNextLook(
  before: EventRecord | undefined,
  record: EventRecord,
  report: EventReport,
  { reminders }: Context,
  now: number,
): EventRecord {
  const self = report.reading.asObserver(report.news)
  const isNews = report.news.inDocument
    ? isAboutToClose(record, report, now)
    : isMissedBeforeLook(record, report, now)
  if (record === before && !isNews) return withAbsence(record, self)
  if (!isOpen(record)) return record
  const heard = { ...record, heard: asHeard(self) }
  return { ...heard, dueAt: nextLookOf(heard, now, reminders) }
}

/** A conclusion that is this near must take the report into account. */
const aboutToCloseMs = 5_000

/** Whether the next look may come before the row of this beacon is written. */
function isMissedBeforeLook(record: EventRecord, { news }: EventReport, now: number): boolean {
  const isMissed = news.observations.some(({ kind }) => kind === 'gone')
  return isMissed && isOpen(record) && (record.dueAt ?? 0) <= now + aboutToCloseMs
}

/** Whether a conclusion is due soon that would ignore this beacon. */
function isAboutToClose(
  record: EventRecord,
  { reading: { known }, news: { firstSighting } }: EventReport,
  now: number,
): boolean {
  if (!isOpen(record) || record.dueAt === undefined) return false
  const wasHeard = known !== undefined && now - known.heardAt <= silentPaces * known.paceMs
  return record.dueAt <= now + aboutToCloseMs && (firstSighting || !wasHeard)
}

/** One more beacon misses the event, so its end may be confirmed earlier than planned. */
function withAbsence(record: EventRecord, { sighting: { gone } }: Observer): EventRecord {
  if (gone === undefined || !isOpen(record) || record.gone === undefined) return record
  const dueAt = Math.max(record.gone.confirmAt, gone.firstAt + confirmMsOf(record))
  return record.dueAt !== undefined && record.dueAt > dueAt ? { ...record, dueAt } : record
}
