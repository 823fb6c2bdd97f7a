// What one report, or passing time, means for one event: one pure function each, which answers with the
// new record, the moments that people are notified of, and why. `decide-by-person.ts` has the presses.

import type { PolicyRule } from '../rules/policy.ts'
import { judgeLease, withLease } from './directive.ts'
import { endedByDoubt } from './doubt.ts'
import { beginDrill, type DrillWish, drillDueAt, moveDrill } from './drill.ts'
import {
  type DrillPlan,
  type Ended,
  type EndedRecord,
  type EventRecord,
  isOpen,
  type OpenRecord,
  withEnd,
} from './event.ts'
import { addHistory } from './history.ts'
import { endedAnew } from './is-back.ts'
import { findEnd, nextEndAt } from './is-over.ts'
import { joinedBy, startsReported, withOwnSight } from './join-report.ts'
import type { Moment } from './moment.ts'
import type { EventNews } from './news.ts'
import { endedByAzure, withResource } from './published.ts'
import { judgeReadiness, withReadiness } from './readiness.ts'
import { isCovered } from './rule-approves.ts'
import { isAzure, isOlder, type Listening, type Reporter } from './sight.ts'
import { type Conclusion, type Context, type Life, never, type Times } from './stage.ts'
import { stages } from './stages.ts'

/** The new record, and the moments to notify of. An unchanged record is the same object. */
export interface Decision {
  record: EventRecord | undefined
  moments: Moment[]
}

interface ReportDecision extends Decision {
  /** The beacon shall start the event. */
  isDirected: boolean
  refusal?: string
}

export function decideReport(
  before: EventRecord | undefined,
  reporter: Reporter,
  news: EventNews,
  context: Context,
  now: number,
): ReportDecision {
  const unchanged: ReportDecision = { record: before, moments: [], isDirected: false }
  // no document shows a drill, so a report changes nothing of it
  if (before?.drill) return { ...unchanged, record: undefined }
  const known = before?.sights.find(({ beacon }) => beacon === reporter.beacon)
  // events only go forward, so what Azure says of their end is not outdated by what it says of before
  const isOutdated = known !== undefined && isOlder(reporter, known)
  if (isOutdated && news.over === undefined) return unchanged
  const listening = { now, listeningSince: context.listeningSince }
  const valued = joinedBy(before, known, reporter, news, listening)
  if (valued === undefined) return unchanged
  const joined = withResource(valued, news)
  const opens = isOpen(joined) && (before === undefined || !isOpen(before))
  if (opens && context.refusal !== undefined) {
    return { ...unchanged, refusal: context.refusal }
  }
  const sighted = withOwnSight(joined, known, reporter, news, listening)
  const started = startsReported(sighted, reporter, news)
  const said =
    endedByAzure(started, reporter, news, listening) ??
    endedByDoubt(started, reporter, news, listening)
  if (said !== undefined) return { ...said, isDirected: false }
  if (!isOpen(started)) {
    return { ...decideAfterEnd(started, reporter, news, listening), isDirected: false }
  }
  const isShown = news.shown !== undefined
  const concluded =
    started === before && mayWait(started, isShown, now)
      ? { record: started, moments: [] }
      : conclude(before, started, context, isShown, now)
  return directed(concluded, reporter, news, context.rules, now)
}

/** Whether a report that changes nothing leaves nothing to conclude. */
function mayWait(record: OpenRecord, isShown: boolean, now: number): boolean {
  // an approval may expire a minute after Azure accepted it, and `dueAt` does not know that time
  const isApproved = record.phase === 'scheduled' && record.decided?.decision === 'approved'
  // an earlier report may have named it without showing it
  const isFirstShown = isShown && record.notified?.epoch !== record.epoch
  return (record.dueAt ?? never) > now && !isApproved && !isFirstShown
}

/** What passing time brings. */
export function decideTime(
  before: EventRecord | undefined,
  context: Context,
  now: number,
): Decision {
  if (before === undefined || !isOpen(before)) return { record: before, moments: [] }
  return conclude(before, before, context, false, now, true)
}

/** A drill begins. One that exists stays as it is. */
export function decideDrill(
  before: EventRecord | undefined,
  wish: DrillWish,
  id: string,
  context: Context,
  now: number,
): Decision {
  if (before !== undefined) return { record: before, moments: [] }
  return conclude(before, beginDrill(wish, id, now), context, true, now)
}

/** A lost event whose VM is back ends anew. Any other report after the end changes only sights and history. */
function decideAfterEnd(
  record: EndedRecord,
  { beacon, vm }: Reporter,
  { past }: EventNews,
  listening: Listening,
): Decision {
  const sight = record.sights.find((one) => one.beacon === beacon)
  const anew = sight && endedAnew(record, sight, listening)
  const began = past.find(({ kind, event }) => kind === 'seen' && event.status === 'Started')
  const isNoted = record.history.some(({ what }) => what === 'started')
  const noted =
    began && !isNoted ? addHistory(record, { at: began.at, what: 'started', note: vm }) : record
  const measured = withReadiness(noted, judgeReadiness(noted, listening))
  if (anew === undefined) return { record: measured, moments: [] }
  return { record: anew, moments: [anew.ended.outcome] }
}

/** The beacon that shows the event as Scheduled now may have to start it. */
function directed(
  decision: Decision,
  reporter: Reporter,
  { shown }: EventNews,
  rules: PolicyRule[],
  now: number,
): ReportDecision {
  const { record } = decision
  const { beacon, vm, goodbye } = reporter
  // a beacon that stops carries out no directive
  const isAble = !isAzure(reporter) && goodbye === undefined
  if (record === undefined || shown?.status !== 'Scheduled' || !isAble) {
    return { ...decision, isDirected: false }
  }
  // it does not expire while Azure may be starting the event, but nobody tells Azure again
  const isVoid = record.azure.accepted !== undefined && !isCovered(record, rules)
  if (isVoid) return { ...decision, isDirected: false }
  const lease = judgeLease(record, shown, reporter, now)
  const isGranted = lease === 'granted' && isOpen(record)
  return {
    ...decision,
    record: isGranted ? withLease(record, beacon, vm, now) : record,
    isDirected: lease !== 'not_due',
  }
}

/**
 * All that follows from the sights and the time: the end by laws 4 to 6, or the stages of an open event.
 * `isShown`: a document shows the event now. `isLook`: time alone brings it.
 */
function conclude(
  before: EventRecord | undefined,
  record: OpenRecord,
  context: Context,
  isShown: boolean,
  now: number,
  isLook = false,
): Decision {
  const { rules, reminders, listeningSince, slot } = context
  const listening = { now, listeningSince }
  const { drill } = record
  const moved = drill === undefined ? record : drillMoved(record, drill, now)
  const ended = isOpen(moved) ? (drill ? undefined : findEnd(moved, listening)) : moved.ended
  if (ended !== undefined) return closed(isOpen(moved) ? withEndNoted(moved, ended) : moved, ended)
  const from = moved as OpenRecord
  const at: Conclusion = { before, from, isShown, rules, reminders, listening, slot }
  const life = stages.reduce<Life>((so, stage) => stage.step(so, at), { record: from, moments: [] })
  const next = withDueAt(life.record, at, isLook ? undefined : before)
  const isSame = before !== undefined && JSON.stringify(next) === JSON.stringify(before)
  return { record: isSame ? before : next, moments: life.moments }
}

function drillMoved(record: OpenRecord, plan: DrillPlan, now: number): EventRecord {
  const moved = moveDrill(record, plan, now)
  return 'ended' in moved ? withEndNoted(record, moved.ended) : moved.record
}

function withEndNoted(record: OpenRecord, ended: Ended): EventRecord {
  const note = ended.inferred === undefined ? {} : { note: ended.inferred }
  return addHistory(withEnd(record, ended), { at: ended.at, what: ended.outcome, ...note })
}

function closed(record: EventRecord, { outcome }: Ended): Decision {
  return { record, moments: [outcome] }
}

/**
 * Adds the earliest time when time alone may change the event. It may be too early, and lies in the
 * future. But where `before` is due, it stays due: a report does not do all that a look at the event
 * does.
 */
export function withDueAt<State extends OpenRecord>(
  record: State,
  at: Times,
  before?: EventRecord,
): State {
  const { drill } = record
  const { now } = at.listening
  const wasDueAt = before?.dueAt ?? never
  const endAt = drill === undefined ? nextEndAt(record, at.listening) : drillDueAt(record, drill)
  const next = Math.min(endAt, ...stages.map((stage) => stage.nextAt(record, at)))
  const dueAt = wasDueAt <= now ? wasDueAt : Math.max(now + 1, next)
  return dueAt === record.dueAt ? record : { ...record, dueAt }
}
