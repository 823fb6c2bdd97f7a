// What one report, or passing time, means for one event: one pure function each, which answers with the
// new record, the moments that people are notified of, and why. `decide-by-person.ts` has the presses.
import { changeOf } from '../delivery/delivery.ts'
import { leaseOf, withLease, withStart } from './directive.ts'
import { beginDrill, type DrillWish, drillDueAt, moveDrill } from './drill.ts'
import {
  type DrillPlan,
  type Ended,
  type EventRecord,
  isOpen,
  type OpenRecord,
  type StartKind,
  withEnd,
  withStarted,
} from './event.ts'
import { isHit } from './facts.ts'
import { addHistory } from './history.ts'
import { withRuns } from './hooks.ts'
import { endedAnew, isBack, reopened } from './is-back.ts'
import { endOf, nextEndAt, seemsOver } from './is-over.ts'
import type { Moment } from './moment.ts'
import type { EventNews } from './news.ts'
import { isNotBeforeNear, openPaceMs } from './pace.ts'
import { readinessOf, withReadiness } from './readiness.ts'
import { nextReminder, remind } from './reminder.ts'
import { isOutgrown, nextWeighingAt, type Rules, type Taken, weigh } from './rule-approves.ts'
import { isWithin, lapse, mayLapse } from './scope.ts'
import {
  isNews,
  isOlder,
  type Listening,
  type Missing,
  type Reporter,
  type Sight,
  shownOf,
  withSight,
} from './sight.ts'
import { withValues } from './values.ts'

/** If Azure was told and has not started the event for this long, people must check. */
const notStartedMs = 10 * 60_000
/** An approval is stuck if no beacon could tell Azure for this long. */
export const stuckMs = 30_000
/** At most this many changes are sent in one epoch. Azure makes a few, an attacker any number. */
const maxChangesSent = 50

const never = Number.POSITIVE_INFINITY

/** What decisions need beside the event and its news. */
export interface Context {
  rules: Rules
  /** Distances from NotBefore at which people are reminded, in seconds. */
  reminders: number[]
  /** Epoch ms. Before this time, the relay could hear no beacon. */
  listeningSince: number
  /** Why the fleet or the beacon may not have one more open event. */
  refusal?: string | undefined
  /** What the event got when it asked for its turn. */
  taken?: Taken | undefined
}

/** The new record, the moments to notify of, and why. An unchanged record is the same object. */
export interface Decision<Reason extends string = string> {
  record: EventRecord | undefined
  moments: Moment[]
  reason: Reason
}

interface ReportDecision extends Decision {
  /** The beacon shall start the event. */
  isDirected: boolean
  refusal?: string
}

/** What the news is, for the moments of the event's life. */
interface Told {
  /** A document shows it now. */
  isShown: boolean
}

export function decideReport(
  before: EventRecord | undefined,
  reporter: Reporter,
  news: EventNews,
  context: Context,
  now: number,
): ReportDecision {
  const unchanged = (reason: string): ReportDecision => {
    return { record: before, moments: [], reason, isDirected: false }
  }
  // no beacon sees these: what a report says of them changes nothing
  if (before?.drill) return { ...unchanged('relays_own'), record: undefined }
  const known = before?.sights.find(({ beacon }) => beacon === reporter.beacon)
  if (known !== undefined && isOlder(reporter, known)) return unchanged('older_report')
  const listening = { now, listeningSince: context.listeningSince }
  const joined = joinedBy(before, known, reporter, news, listening)
  if (joined === undefined) return unchanged('unknown_event')
  const opens = isOpen(joined) && (before === undefined || !isOpen(before))
  if (opens && context.refusal !== undefined) {
    return { ...unchanged('refused'), refusal: context.refusal }
  }
  const sighted = withOwnSight(joined, known, reporter, news, listening)
  const started = startsReported(sighted, reporter, news)
  if (!isOpen(started)) {
    return unchangedOr(before, lateWords(started, reporter, news, listening))
  }
  const isApproved = started.phase === 'scheduled' && started.verdict?.decision === 'approved'
  const isIdle = started === before && (started.dueAt ?? never) > now && !isApproved
  const told = { isShown: news.shown !== undefined }
  const concluded = isIdle
    ? { record: started, moments: [], reason: 'nothing_new' }
    : conclude(before, started, context, told, now)
  return directed(concluded, reporter, news, now)
}

/** The event with the values of the report: a new one, an open one, or one that ended. */
function joinedBy(
  before: EventRecord | undefined,
  known: Sight | undefined,
  reporter: Reporter,
  news: EventNews,
  listening: Listening,
): EventRecord | undefined {
  if (before === undefined) return begun(reporter, news)
  return isOpen(before)
    ? joinedTo(before, reporter, news, listening)
    : afterEnd(before, known, reporter, news, listening)
}

/** What passing time brings. */
export function decideTime(
  before: EventRecord | undefined,
  context: Context,
  now: number,
): Decision {
  if (before === undefined) return { record: before, moments: [], reason: 'forgotten' }
  if (!isOpen(before)) return { record: before, moments: [], reason: 'ended_before' }
  return conclude(before, before, context, { isShown: false }, now)
}

/** A drill begins. One that exists stays as it is. */
export function decideDrill(
  before: EventRecord | undefined,
  wish: DrillWish,
  id: string,
  context: Context,
  now: number,
): Decision {
  if (before !== undefined) return { record: before, moments: [], reason: 'exists' }
  return conclude(before, beginDrill(wish, id, now), context, { isShown: true }, now)
}

/** A new event, from a document or from a change since the last report. */
function begun(reporter: Reporter, news: EventNews): OpenRecord | undefined {
  const { fleet, eventId, shown, past } = news
  const seen = past.filter(({ kind }) => kind === 'seen')
  const last = shown ?? seen.at(-1)?.event
  if (last === undefined) return undefined
  const { eventId: _, status: _s, ...facts } = last
  const firstSeenAt = seen[0]?.at ?? reporter.polledAt
  const statuses = [...seen.map(({ event }) => event.status), ...(shown ? [shown.status] : [])]
  const wasScheduled = statuses[0] !== 'Started'
  const kept = {
    ...{ fleet, eventId, epoch: 1, facts, firstSeenAt, sights: [], sequence: 0 },
    ...{ azure: {}, wait: {}, reminders: { passed: [] } },
    policy: { decide: 'ask' as const, rule: 'default' },
    history: [
      {
        at: firstSeenAt,
        what: wasScheduled ? ('seen' as const) : ('started' as const),
        note: reporter.vm,
      },
    ],
  }
  if (!statuses.includes('Started')) return { ...kept, phase: 'scheduled' }
  const startedAt = seen.find(({ event }) => event.status === 'Started')?.at ?? reporter.polledAt
  const startKind: StartKind = wasScheduled
    ? 'reported_late'
    : seen[0]?.appeared
      ? 'none'
      : 'already_running'
  const record: OpenRecord = { ...kept, phase: 'started', startedAt, startKind }
  return wasScheduled
    ? addHistory(record, { at: startedAt, what: 'started', note: reporter.vm })
    : record
}

/** Law 3, and *Started* counts from anybody. */
function joinedTo(
  before: OpenRecord,
  reporter: Reporter,
  { shown, past }: EventNews,
  listening: Listening,
): OpenRecord {
  const valued = shown === undefined ? before : withValues(before, reporter, shown, listening)
  if (valued.phase === 'started') return valued
  const isSeen = shown?.status === 'Started'
  const earlier = past.find(({ kind, event }) => kind === 'seen' && event.status === 'Started')
  if (!isSeen && earlier === undefined) return valued
  const at = earlier?.at ?? reporter.polledAt
  return addHistory(withStarted(valued, at), { at, what: 'started', note: reporter.vm })
}

/** Law 7. */
function afterEnd(
  before: Exclude<EventRecord, OpenRecord>,
  known: Sight | undefined,
  reporter: Reporter,
  news: EventNews,
  listening: Listening,
): EventRecord {
  const isAgain = isBack(before, known, reporter, news, listening)
  return isAgain ? reopened(before, reporter, news.shown!) : before
}

/** The record with the sight of this beacon, if the report says more than that it is heard. */
function withOwnSight(
  record: EventRecord,
  known: Sight | undefined,
  reporter: Reporter,
  news: EventNews,
  listening: Listening,
): EventRecord {
  const sight = sightAfter(record, known, reporter, news, listening.now)
  if (sight === undefined || !isNews(known, sight)) return record
  const sights = withSight(record, sight, listening)
  if (sights === record.sights) return record
  const next: EventRecord = { ...record, sights }
  const [was, is] = [seemsOver(record), seemsOver(next)]
  if (was === is || !isOpen(record)) return next
  const at = is ? (sight.missing?.firstAt ?? sight.polledAt) : sight.polledAt
  return addHistory(next, { at, what: is ? 'gone' : 'seen_again', note: sight.vm })
}

/** Undefined if this beacon never saw the event. */
function sightAfter(
  record: EventRecord,
  known: Sight | undefined,
  reporter: Reporter,
  { shown, isLacking, past, runs }: EventNews,
  now: number,
): Sight | undefined {
  const last = past.at(-1)
  const event = shown ?? past.findLast(({ kind }) => kind === 'seen')?.event
  if (known === undefined && event === undefined) return undefined
  const shows = event === undefined ? known!.shows : shownOf(event)
  const isOwn = event === undefined ? known!.isHit === true : isHit(event, reporter.vm)
  const firstSeenAt = known?.firstSeenAt ?? past[0]?.at ?? reporter.polledAt
  const hooks = withRuns(known?.hooks ?? {}, runs, shown !== undefined, now)
  // what it lacked before the end counts until the event is back
  const missing =
    shown !== undefined && isOpen(record)
      ? undefined
      : missingAfter(known, reporter, isLacking, last)
  return {
    ...reporter,
    firstSeenAt: record.epoch > 1 && known === undefined ? reporter.polledAt : firstSeenAt,
    shows,
    ...(isOwn && { isHit: true as const }),
    ...(missing && { missing }),
    ...(hooks && { hooks }),
  }
}

/** First missed and last seen by the beacon's changes, or else by its documents. */
function missingAfter(
  known: Sight | undefined,
  { polledAt, bootedAt }: Reporter,
  isLacking: boolean,
  last: EventNews['past'][number] | undefined,
): Missing | undefined {
  if (!isLacking) return last === undefined ? known?.missing : undefined
  if (known?.missing !== undefined && last === undefined) return known.missing
  const { firstAt, lastSeenAt } =
    last?.kind === 'gone'
      ? { firstAt: last.at, lastSeenAt: last.lastSeenAt }
      : {
          firstAt: polledAt,
          lastSeenAt: Math.min(polledAt, last?.at ?? known?.polledAt ?? polledAt),
        }
  const hasRestarted = bootedAt > lastSeenAt && bootedAt <= firstAt
  return { firstAt, lastSeenAt, ...(hasRestarted && { restarted: true as const }) }
}

function startsReported(record: EventRecord, { beacon }: Reporter, { starts }: EventNews) {
  return starts.reduce(
    (known, { start, at }) => withStart(known, beacon, start, at) ?? known,
    record,
  )
}

/** A lost event whose VM is back ends anew. Other late words change only sights and history. */
function lateWords(
  record: EventRecord,
  { beacon, vm }: Reporter,
  { past }: EventNews,
  listening: Listening,
): Decision {
  if (isOpen(record)) return { record, moments: [], reason: 'nothing_new' }
  const sight = record.sights.find((one) => one.beacon === beacon)
  const anew = sight && endedAnew(record, sight, listening)
  const began = past.find(({ kind, event }) => kind === 'seen' && event.status === 'Started')
  const isNoted = record.history.some(({ what }) => what === 'started')
  const noted =
    began && !isNoted ? addHistory(record, { at: began.at, what: 'started', note: vm }) : record
  const measured = withReadiness(noted, readinessOf(noted, listening))
  if (anew === undefined) return { record: measured, moments: [], reason: 'ended_before' }
  return { record: anew, moments: [anew.ended.outcome], reason: 'ended_anew' }
}

function unchangedOr(before: EventRecord | undefined, decision: Decision): ReportDecision {
  const isSame = decision.record === before
  return { ...decision, reason: isSame ? 'nothing_new' : decision.reason, isDirected: false }
}

/** The beacon that shows the event as Scheduled now may have to start it. */
function directed(
  decision: Decision,
  { beacon, vm, polledAt, goodbye }: Reporter,
  { shown }: EventNews,
  now: number,
): ReportDecision {
  const { record } = decision
  // a beacon that stops carries out no directive
  if (record === undefined || shown?.status !== 'Scheduled' || goodbye !== undefined) {
    return { ...decision, isDirected: false }
  }
  const lease = leaseOf(record, { beacon, polledAt }, shown, now)
  const isGranted = lease === 'granted' && isOpen(record)
  return {
    ...decision,
    record: isGranted ? withLease(record, beacon, vm, now) : record,
    reason: isGranted && decision.moments.length === 0 ? 'directed' : decision.reason,
    isDirected: lease !== 'not_due',
  }
}

/** All that follows from the sights and the time: laws 4 to 6 and 9 to 11, reminders, the next due time. */
function conclude(
  before: EventRecord | undefined,
  record: OpenRecord,
  context: Context,
  told: Told,
  now: number,
): Decision {
  const { rules, reminders, listeningSince, taken } = context
  const listening = { now, listeningSince }
  const { drill } = record
  const life = drill === undefined ? record : drillMoved(record, drill, now)
  const ended = isOpen(life) ? (drill ? undefined : endOf(life, listening)) : life.ended
  if (ended !== undefined) return closed(isOpen(life) ? withEndNoted(life, ended) : life, ended)
  const open = life as OpenRecord
  const lapsed = open.drill ? open : withoutOutgrown(open, rules, now)
  const weighed = weigh(lapsed as OpenRecord, rules, listening, taken)
  const stuck = isStuck(weighed.record, now)
  const checked = stuck
    ? addHistory(
        { ...weighed.record, azure: { ...weighed.record.azure, stuckAt: now } },
        { at: now, what: 'stuck' },
      )
    : weighed.record
  const reminded = remind(checked, reminders, now)
  const steps = lifeMoment(before, reminded ?? checked, lapsed !== open, told)
  const moments: Moment[] = [
    ...steps.moments,
    ...weighed.moments,
    ...(stuck ? ['stuck' as const] : []),
    ...(reminded ? ['reminder' as const] : []),
  ]
  const next = withDueAt(steps.record, reminders, listening)
  const isSame = before !== undefined && JSON.stringify(next) === JSON.stringify(before)
  return { record: isSame ? before : next, moments, reason: moments[0] ?? 'look_later' }
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
  return { record, moments: [outcome], reason: outcome }
}

/** Law 10. People must decide again. */
function withoutOutgrown(record: OpenRecord, rules: Rules, now: number): EventRecord {
  if (!mayLapse(record, now)) return record
  const isCovered = isWithin(record.verdict.agreed, record.facts) && !isOutgrown(record, rules)
  return isCovered ? record : lapse(record, now)
}

/** At most one moment of the event's life: the step from what people know to what is known now. */
function lifeMoment(
  before: EventRecord | undefined,
  record: OpenRecord,
  isLapse: boolean,
  { isShown }: Told,
): { record: OpenRecord; moments: Moment[] } {
  const { epoch, phase, told, drill } = record
  const last = changeOf(record)
  const count = told?.epoch === epoch ? told.count : 0
  const now = (changes: number) => ({ ...record, told: { epoch, count: changes, last } })
  if (phase === 'started') {
    const wasStarted = before?.phase === 'started' && before.epoch === epoch
    return wasStarted ? { record, moments: [] } : { record: now(count), moments: ['started'] }
  }
  if (told?.epoch !== epoch) {
    // it is over already, or only a change of the past shows it
    if (!isShown && !drill) return { record, moments: [] }
    return { record: now(0), moments: ['scheduled'] }
  }
  const isChanged = record.changed?.at !== before?.changed?.at && told.last !== last
  if (!(isChanged || isLapse) || count >= maxChangesSent) return { record, moments: [] }
  return { record: now(count + 1), moments: ['changed'] }
}

function stuckAt(record: EventRecord): number {
  const { phase, verdict, azure } = record
  const isWaiting = phase === 'scheduled' && verdict?.decision === 'approved'
  if (!isWaiting || azure.stuckAt !== undefined || record.drill) return never
  // far from NotBefore, beacons report at the slow pace
  const usualMs = (isNotBeforeNear(record, verdict.at) ? 0 : openPaceMs) + stuckMs
  return verdict.at + (azure.accepted === undefined ? usualMs : notStartedMs)
}

/** An event that all affected VMs lack may be over. */
function isStuck(record: EventRecord, now: number): boolean {
  return stuckAt(record) <= now && !seemsOver(record)
}

/** With the earliest time when time alone may change the event. Always in the future; it may be too early. */
export function withDueAt<State extends OpenRecord>(
  record: State,
  reminders: number[],
  listening: Listening,
): State {
  const { now } = listening
  const { drill, facts } = record
  const reminder = nextReminder(record, reminders)
  const isPast = (facts.notBeforeAt ?? 0) <= now
  const times = [
    drill === undefined ? nextEndAt(record, listening) : drillDueAt(record, drill),
    stuckAt(record) > now ? stuckAt(record) : never,
    nextWeighingAt(record, listening),
    ...(reminder === undefined || isPast ? [] : [reminder.at]),
  ]
  const dueAt = Math.max(now + 1, Math.min(...times))
  return dueAt === record.dueAt ? record : { ...record, dueAt }
}
