// What one report, or passing time, means for one event: one pure function each, which answers with the
// new record, the moments that people are notified of, and why. `decide-by-person.ts` has the presses.

import { changeOf } from '../delivery/delivery.ts'
import type { PolicyRule } from '../rules/policy.ts'
import { armLookAt } from './arm.ts'
import { leaseOf, withLease } from './directive.ts'
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
import { endOf, nextEndAt, seemsOver } from './is-over.ts'
import { joinedBy, startsReported, withOwnSight } from './join-report.ts'
import type { Moment } from './moment.ts'
import type { EventNews } from './news.ts'
import { isNotBeforeNear, openPaceMs } from './pace.ts'
import { endedByAzure, inventoryDueAt, withResource } from './published.ts'
import { readinessOf, withReadiness } from './readiness.ts'
import { nextReminder, remind } from './reminder.ts'
import { isOutgrown, nextWeighingAt, weigh } from './rule-approves.ts'
import { expire, isWithin, mayExpire } from './scope.ts'
import { isAzure, isOlder, type Listening, type Reporter } from './sight.ts'
import type { Taken } from './slots.ts'

/** If Azure was told and has not started the event for this long, people must check. */
const notStartedMs = 10 * 60_000
/** An approval is stuck if no beacon could tell Azure for this long. */
export const stuckMs = 30_000
/** At most this many changes are sent in one epoch. Azure makes a few, an attacker any number. */
const maxChangesSent = 50

const never = Number.POSITIVE_INFINITY

/** What decisions need beside the event and its news. */
export interface Context {
  rules: PolicyRule[]
  /** Distances from NotBefore at which people are reminded, in seconds. */
  reminders: number[]
  /** Epoch ms. Before this time, the relay could hear no beacon. */
  listeningSince: number
  /** Why the fleet or the beacon may not have one more open event. */
  refusal?: string | undefined
  /** What the event got when it asked for its slot. */
  taken?: Taken | undefined
}

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
  return conclude(before, before, context, false, now)
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
  const measured = withReadiness(noted, readinessOf(noted, listening))
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
  const isVoid = record.azure.accepted !== undefined && isOutgrown(record, rules)
  if (isVoid) return { ...decision, isDirected: false }
  const lease = leaseOf(record, shown, reporter, now)
  const isGranted = lease === 'granted' && isOpen(record)
  return {
    ...decision,
    record: isGranted ? withLease(record, beacon, vm, now) : record,
    isDirected: lease !== 'not_due',
  }
}

/**
 * All that follows from the sights and the time: laws 4 to 6 and 9 to 11, reminders, the next due time.
 * `isShown`: a document shows the event now.
 */
function conclude(
  before: EventRecord | undefined,
  record: OpenRecord,
  context: Context,
  isShown: boolean,
  now: number,
): Decision {
  const { rules, reminders, listeningSince, taken } = context
  const listening = { now, listeningSince }
  const { drill } = record
  const life = drill === undefined ? record : drillMoved(record, drill, now)
  const ended = isOpen(life) ? (drill ? undefined : endOf(life, listening)) : life.ended
  if (ended !== undefined) return closed(isOpen(life) ? withEndNoted(life, ended) : life, ended)
  const open = heard(life as OpenRecord, now)
  const expired = open.drill ? open : withoutOutgrown(open, rules, now)
  const weighed = weigh(expired as OpenRecord, rules, listening, taken)
  const stuck = isStuck(weighed.record, listening)
  const checked = stuck
    ? addHistory(
        { ...weighed.record, azure: { ...weighed.record.azure, stuckAt: now } },
        { at: now, what: 'stuck' },
      )
    : weighed.record
  const reminded = remind(checked, reminders, now)
  const steps = lifeMoment(before, reminded ?? checked, expired !== open, isShown)
  const moments: Moment[] = [
    ...steps.moments,
    ...weighed.moments,
    ...(stuck ? ['stuck' as const] : []),
    ...(reminded ? ['reminder' as const] : []),
  ]
  const next = withDueAt(steps.record, context, listening)
  const isSame = before !== undefined && JSON.stringify(next) === JSON.stringify(before)
  return { record: isSame ? before : next, moments }
}

/** Without a mute that may be over. If it is not, the commit puts it back. */
function heard(record: OpenRecord, now: number): OpenRecord {
  const { muted, ...rest } = record
  return muted === undefined || muted.lookAt > now ? record : rest
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

/** Law 10. People must decide again. */
function withoutOutgrown(record: OpenRecord, rules: PolicyRule[], now: number): EventRecord {
  if (!mayExpire(record, now)) return record
  const isCovered = isWithin(record.decided.scope, record.facts) && !isOutgrown(record, rules)
  return isCovered ? record : expire(record, now)
}

/** At most one moment of the event's life: the step from what people know to what is known now. */
function lifeMoment(
  before: EventRecord | undefined,
  record: OpenRecord,
  isExpiry: boolean,
  isShown: boolean,
): { record: OpenRecord; moments: Moment[] } {
  const { epoch, phase, notified, drill } = record
  const last = changeOf(record)
  const count = notified?.epoch === epoch ? notified.count : 0
  const withNotified = (changes: number) => ({
    ...record,
    notified: { epoch, count: changes, last },
  })
  if (phase === 'started') {
    const wasStarted = before?.phase === 'started' && before.epoch === epoch
    return wasStarted
      ? { record, moments: [] }
      : { record: withNotified(count), moments: ['started'] }
  }
  if (notified?.epoch !== epoch) {
    // no document shows the event now: it may be over already, so people are not asked
    if (!isShown && !drill) return { record, moments: [] }
    return { record: withNotified(0), moments: ['scheduled'] }
  }
  const isChanged = record.changed?.at !== before?.changed?.at && notified.last !== last
  if (!(isChanged || isExpiry) || count >= maxChangesSent) return { record, moments: [] }
  return { record: withNotified(count + 1), moments: ['changed'] }
}

function stuckAt(record: EventRecord, { listeningSince }: Listening): number {
  const { phase, decided, azure } = record
  const isWaiting = phase === 'scheduled' && decided?.decision === 'approved'
  if (!isWaiting || azure.stuckAt !== undefined || record.drill) return never
  // far from NotBefore, beacons report at the slow pace
  const usualMs = (isNotBeforeNear(record, decided.at) ? 0 : openPaceMs) + stuckMs
  // while the relay was away, no beacon could ask for the approval
  const from = Math.max(decided.at, listeningSince)
  return from + (azure.accepted === undefined ? usualMs : notStartedMs)
}

/** If all affected VMs lack the event, it may be over, so it is not stuck. */
function isStuck(record: EventRecord, listening: Listening): boolean {
  return stuckAt(record, listening) <= listening.now && !seemsOver(record)
}

/** With the earliest time when time alone may change the event. Always in the future; it may be too early. */
export function withDueAt<State extends OpenRecord>(
  record: State,
  { reminders, rules }: Pick<Context, 'reminders' | 'rules'>,
  listening: Listening,
): State {
  const { now } = listening
  const { drill, facts } = record
  const reminder = nextReminder(record, reminders)
  const isPast = (facts.notBeforeAt ?? 0) <= now
  const stuck = stuckAt(record, listening)
  const times = [
    drill === undefined ? nextEndAt(record, listening) : drillDueAt(record, drill),
    stuck > now ? stuck : never,
    armLookAt(record, listening),
    inventoryDueAt(record),
    record.muted?.lookAt ?? never,
    nextWeighingAt(record, rules, listening),
    ...(reminder === undefined || isPast ? [] : [reminder.at]),
  ]
  const dueAt = Math.max(now + 1, Math.min(...times))
  return dueAt === record.dueAt ? record : { ...record, dueAt }
}
