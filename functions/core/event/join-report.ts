// What a report makes of the record of an event, before anything is concluded: its values, the sight of
// the beacon, and what Azure answered. decide.ts concludes.
import { hits } from '../../../shared/document.ts'
import { withStartResult } from './directive.ts'
import { isTooEarly } from './doubt.ts'
import {
  type EventRecord,
  fresh,
  isOpen,
  type OpenRecord,
  type StartedRecord,
  type StartKind,
  withEnd,
  withStarted,
} from './event.ts'
import type { Facts, ShownEvent } from './facts.ts'
import { addHistory } from './history.ts'
import { withRuns } from './hook-state.ts'
import { isBack, reopened } from './is-back.ts'
import { seemsOver } from './is-over.ts'
import type { EventNews } from './news.ts'
import { namedByList } from './outside.ts'
import { toShown } from './shown.ts'
import {
  heardAt,
  isAffected,
  isAzure,
  isElsewhere,
  isNews,
  type Listening,
  type Missing,
  namesItself,
  type Reporter,
  readHome,
  type Sight,
  saidBy,
  withSight,
} from './sight.ts'
import { withValues } from './values.ts'

/**
 * The event with the values of the report: a new one, an open one, or one that ended. Undefined: the report says
 * nothing of it.
 */
export function joinedBy(
  before: EventRecord | undefined,
  known: Sight | undefined,
  reporter: Reporter,
  news: EventNews,
  listening: Listening,
): EventRecord | undefined {
  if (before === undefined) return traceRecord(reporter, news) ?? begun(reporter, news)
  const { home } = before.facts
  if (home?.listed && isElsewhere(before.facts, reporter)) return undefined
  if (isMoved(before, news)) return anew(before, reporter, news.shown!)
  return isOpen(before)
    ? joinedTo(before, reporter, news, listening)
    : afterEnd(before, known, reporter, news, listening)
}

/** Azure's list says that the event is in another place than the VM that spoke for it until now. */
function isMoved({ facts }: EventRecord, { isListed, shown, resource }: EventNews): boolean {
  if (!isListed || shown === undefined || resource === undefined || facts.home?.listed) return false
  return isElsewhere(facts, { beacon: '', ...resource })
}

/**
 * Begins a new epoch with the event as Azure's list shows it: earlier messages and decisions were about
 * other VMs. The list is two minutes old.
 */
function anew(record: EventRecord, reporter: Reporter, shown: ShownEvent): OpenRecord {
  const { fleet, eventId, firstSeenAt, sequence } = record
  const { eventId: _, status: _s, ...facts } = shown
  const { history } = addHistory(record, {
    at: reporter.heardAt,
    what: 'reopened',
    note: reporter.vm,
  })
  const waits: OpenRecord = {
    ...fresh,
    ...{ fleet, eventId, epoch: record.epoch + 1, facts, firstSeenAt, sequence, history },
    ...{ sights: record.sights.filter(isAzure), backAt: reporter.heardAt, phase: 'scheduled' },
  }
  return shown.status === 'Started' ? withStarted(waits, { at: reporter.polledAt }) : waits
}

/** Azure's word about the end of an event that nobody knows: so an older word about its begin asks nobody. */
function traceRecord(
  { vm }: Reporter,
  { fleet, eventId, over, trace }: EventNews,
): EventRecord | undefined {
  if (over === undefined || trace === undefined) return undefined
  const { eventId: _, status: _s, ...facts } = trace
  const began: OpenRecord = {
    ...fresh,
    ...{ fleet, eventId, epoch: 1, facts, firstSeenAt: over.at, sights: [], sequence: 0 },
    ...{ phase: 'scheduled', history: [{ at: over.at, what: over.outcome, note: vm }] },
  }
  return { ...withEnd(began, { ...over, by: 'azure' }), trace: true }
}

/** A new event, from a document or from a change since the last report. */
function begun(reporter: Reporter, news: EventNews): OpenRecord | undefined {
  const { fleet, eventId, shown, past } = news
  const seen = past.filter(({ kind }) => kind === 'seen')
  const last = shown ?? seen.at(-1)?.event
  if (last === undefined) return undefined
  const { eventId: _, status: _s, ...values } = last
  const home = isAffected(values, reporter) ? readHome(reporter) : undefined
  const facts = { ...values, ...(home && { home }) }
  // Azure's list is two minutes old, and says nothing of when the event was new
  const readAt = news.isListed ? reporter.heardAt : reporter.polledAt
  const firstSeenAt = Math.max(seen[0]?.at ?? readAt, oldestBelieved(reporter, facts))
  const statuses = [...seen.map(({ event }) => event.status), ...(shown ? [shown.status] : [])]
  const wasScheduled = statuses[0] !== 'Started'
  const kept = {
    ...fresh,
    ...{ fleet, eventId, epoch: 1, facts, firstSeenAt, sights: [], sequence: 0 },
    ...(reporter.heardAt - firstSeenAt > lateMs && { firstHeardAt: reporter.heardAt }),
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
  const record: OpenRecord = {
    ...kept,
    phase: 'started',
    started: { at: startedAt, kind: startKind, ...saidBy(reporter, facts) },
  }
  return wasScheduled
    ? addHistory(record, { at: startedAt, what: 'started', note: reporter.vm })
    : record
}

/** A relay that heard of an event later was not reached for a while. */
const lateMs = 60_000
/** How long ago an onlooker may have seen an event first. Affected VMs may say more. */
const onlookerAgeMs = 2 * 3_600_000

function oldestBelieved(reporter: Reporter, facts: Facts): number {
  const isKnowing = isAzure(reporter) || isAffected(facts, reporter)
  return isKnowing ? 0 : reporter.heardAt - onlookerAgeMs
}

/** A VM that restarts is heard again by then. */
const standsForMs = 10 * 60_000

/**
 * Where the event's VMs are, as the first of them says. Azure's list may say otherwise later, and so may the next one if
 * no VM stands for it: the first one may have been made up.
 */
function withHome(record: OpenRecord, reporter: Reporter, listening: Listening): OpenRecord {
  const { home, ...facts } = record.facts
  const mayBeWrong = home !== undefined && home.listed !== true && isElsewhere({ home }, reporter)
  if (home !== undefined && !mayBeWrong) return record
  const own = isAffected(facts, reporter) ? readHome(reporter) : undefined
  if (own === undefined || (mayBeWrong && standsFor(record, reporter, listening))) return record
  return { ...record, facts: { ...facts, home: own } }
}

/** Whether another of the event's VMs is in the place that it has. */
function standsFor(
  { facts, sights }: OpenRecord,
  { beacon }: Reporter,
  listening: Listening,
): boolean {
  const others = sights.filter((one) => one.beacon !== beacon && isAffected(facts, one))
  return others.some((one) => listening.now < heardAt(one, listening) + standsForMs)
}

/** Law 3, and *Started* counts from any VM. */
function joinedTo(
  before: OpenRecord,
  reporter: Reporter,
  { shown, past }: EventNews,
  listening: Listening,
): OpenRecord {
  const placed = withHome(before, reporter, listening)
  const valued = shown === undefined ? placed : withValues(placed, reporter, shown, listening)
  const isSeen = shown?.status === 'Started'
  const earlier = past.find(({ kind, event }) => kind === 'seen' && event.status === 'Started')
  if (!isSeen && earlier === undefined) return valued
  const at = Math.max(earlier?.at ?? reporter.polledAt, waitedUntil(valued, reporter))
  if (valued.phase === 'started') return confirmed(valued, reporter, at)
  const { by } = saidBy(reporter, valued.facts)
  if (isTooEarly(valued, by, reporter, listening)) return valued
  const started = withStarted(valued, { at, ...saidBy(reporter, valued.facts) })
  return addHistory(started, { at, what: 'started', note: reporter.vm })
}

/** When another affected VM last showed that the event waits. Anybody's start counts only after that. */
function waitedUntil({ facts, sights }: OpenRecord, { beacon }: Reporter): number {
  const waiting = sights.filter(
    (one) => one.beacon !== beacon && isAffected(facts, one) && one.shows.status === 'Scheduled',
  )
  return Math.max(0, ...waiting.map(({ missing, polledAt }) => missing?.lastSeenAt ?? polledAt))
}

/** A start that one who knows shows, too. An affected VM knows when it was. */
function confirmed(record: StartedRecord, reporter: Reporter, at: number): StartedRecord {
  const { by: before, vm, onlooker: _, ...started } = record.started
  const said = saidBy(reporter, record.facts)
  const isKnown = before === undefined && (vm === undefined || hits(record.facts, vm))
  if (isKnown || said.by === 'azure' || said.by === before) return record
  // one that has restarted since then shows when it was back
  const wasThere = said.vm !== undefined && reporter.bootedAt <= started.at
  const knownAt = wasThere && before === 'onlooker' ? at : started.at
  return { ...record, started: { ...started, at: knownAt, ...said } }
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
  return isAgain ? reopened(before, reporter, news.shown!, listening) : before
}

/** The record with the sight of this beacon, if the report says more than that it is heard. */
export function withOwnSight(
  record: EventRecord,
  known: Sight | undefined,
  reporter: Reporter,
  news: EventNews,
  listening: Listening,
): EventRecord {
  const sight = sightAfter(record, known, reporter, news, listening.now)
  if (sight === undefined || !isNews(known, sight)) return record
  const sights = withSight(record, namedByList(record), sight, listening)
  if (sights === record.sights) return record
  const next: EventRecord = { ...record, sights }
  const [was, is] = [seemsOver(record), seemsOver(next)]
  if (was === is || !isOpen(record)) return next
  const at = is ? (sight.missing?.firstAt ?? sight.polledAt) : sight.polledAt
  return addHistory(next, { at, what: is ? 'gone' : 'seen_again', note: sight.vm })
}

function firstIn(past: EventNews['past'], trace: ShownEvent | undefined): ShownEvent | undefined {
  return past.findLast(({ kind }) => kind === 'seen')?.event ?? trace
}

function countRenames(known: Sight | undefined, { names }: Sight['shows']) {
  const isRenamed = known !== undefined && known.shows.names !== names
  const renames = (known?.renames ?? 0) + Number(isRenamed)
  return renames > 0 && { renames }
}

function namedItself(known: Sight | undefined, { heardAt }: Reporter) {
  return { isHit: true as const, firstHeardAt: known?.firstHeardAt ?? heardAt }
}

/** Undefined if this beacon never saw the event. */
function sightAfter(
  record: EventRecord,
  known: Sight | undefined,
  reporter: Reporter,
  { shown, isLacking, past, runs, trace }: EventNews,
  now: number,
): Sight | undefined {
  const last = past.at(-1)
  // a change that the document does not show replaces nothing that is known
  const first = known === undefined ? firstIn(past, trace) : undefined
  const event = shown ?? first
  if (known === undefined && event === undefined) return undefined
  const shows = event === undefined ? known!.shows : toShown(event)
  const isOwn =
    event === undefined ? known!.isHit === true : namesItself(record.facts, reporter, event)
  const firstSeenAt = known?.firstSeenAt ?? past[0]?.at ?? reporter.polledAt
  const hooks = withRuns(known?.hooks ?? {}, runs, shown !== undefined, now)
  // what it lacked before the end counts until the event is back
  const missing =
    shown !== undefined && isOpen(record)
      ? undefined
      : missingAfter(known, reporter, isLacking, last)
  const { workloads: _, ...who } = reporter
  return {
    ...who,
    ...chooseRun(known, reporter, shown !== undefined),
    firstSeenAt: record.epoch > 1 && known === undefined ? reporter.polledAt : firstSeenAt,
    shows,
    ...(isOwn && namedItself(known, reporter)),
    ...countRenames(known, shows),
    ...(missing && { missing }),
    ...(hooks && { hooks }),
  }
}

/**
 * What a node ran before the event, not what it runs afterwards. While no runner answers, what was known
 * of it still holds.
 */
function chooseRun(
  known: Sight | undefined,
  { restores = known?.restores, node = known?.node, workloads }: Reporter,
  isShown: boolean,
): Pick<Sight, 'restores' | 'node' | 'workloads'> {
  const ran = isShown && workloads !== undefined ? workloads : known?.workloads
  return { ...(restores && { restores }), ...(node && { node }), ...(ran && { workloads: ran }) }
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

export function startsReported(record: EventRecord, reporter: Reporter, { starts }: EventNews) {
  return starts.reduce(
    (known, { start, at }) => withStartResult(known, reporter, start, at) ?? known,
    record,
  )
}
