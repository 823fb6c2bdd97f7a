// Whether an event that ended is back: law 7. After an end by silence, the first document of a VM that
// saw the event decides.
import { hits } from '../../../shared/document.ts'
import { keptFields } from '../../features/rules.ts'
import { isDoubtful, isTooEarly } from './doubt.ts'
import {
  type Ended,
  type EndedRecord,
  type EventRecord,
  fresh,
  type OpenRecord,
  withEnd,
} from './event.ts'
import { type Facts, type ShownEvent, withVms } from './facts.ts'
import { addHistory } from './history.ts'
import { goneAt, whyCompleted } from './is-over.ts'
import type { EventNews } from './news.ts'
import { isWithin } from './scope.ts'
import {
  eventGrid,
  isAffected,
  isAzure,
  isElsewhere,
  isSeeing,
  isSpeaker,
  type Listening,
  lagMs,
  listShowing,
  namesItself,
  type Reporter,
  resourceGraph,
  type Sight,
  saidBy,
} from './sight.ts'
import { withNamedOnce } from './whose.ts'

/** Onlookers bring an event back that as many others lack once in this time. */
const onlookersAgainMs = 10 * 60_000

/** `known`: the sight of this beacon before this document. */
export function isBack(
  record: EndedRecord,
  known: Sight | undefined,
  reporter: Reporter,
  news: EventNews,
  listening: Listening,
): boolean {
  const { facts, ended } = record
  const { shown } = news
  if (shown === undefined || reporter.polledAt <= ended.at) return false
  if (ended.inferred === 'vm_gone')
    return isNamed(facts, reporter, shown) && !isAgain(record, reporter)
  if (ended.outcome === 'lost') return !isElsewhere(facts, reporter)
  // others may send in its name: first an end, then what they like
  if (reporter.beacon === eventGrid) return false
  // one of two may be made up, too
  if (isAgain(record, reporter) && !mostShow(record, reporter, listening, 2)) return false
  const speaks = isSpeaker(record, reporter, shown, listening)
  if (ended.by !== undefined && refutesEnd(record, reporter, shown, speaks)) return true
  const isSeenAnew = isAfterGap(ended, known, reporter, news)
  if (speaks && (isSeenAnew || isStillAhead(ended, reporter, shown, listening))) return true
  return isMovedAway(record, reporter, shown, listening)
}

/** Onlookers contradict each other for as long as they like, and people would hear of each change. */
function isAgain(record: EndedRecord, reporter: Reporter): boolean {
  const { facts, backAt } = record
  const isSoon = reporter.polledAt < (backAt ?? Number.NEGATIVE_INFINITY) + onlookersAgainMs
  // whoever named it first: the VM of an event may always deny a start that nobody else saw
  const mayDeny = isAffected(facts, reporter) && isOfStart(record)
  return isSoon && !isOwnOf(reporter, facts) && !mayDeny
}

/** The beacon has lacked the event, or first saw it after its end. */
function isAfterGap(
  ended: Ended,
  known: Sight | undefined,
  { polledAt }: Reporter,
  { past }: EventNews,
): boolean {
  const hasLacked = known?.missing !== undefined || past.some(({ kind }) => kind === 'gone')
  const firstSeenAt = known?.firstSeenAt ?? past[0]?.at ?? polledAt
  return hasLacked || firstSeenAt >= ended.at + lagMs
}

/** No VM's document lags so long behind an end that came before NotBefore. Azure's list does. */
const longestLagMs = 2 * lagMs

/** Long after the end, the document shows that the event waits for a NotBefore that lies ahead. */
function isStillAhead(
  ended: Ended,
  { beacon, polledAt }: Reporter,
  { status, notBeforeAt = 0 }: ShownEvent,
  { now }: Listening,
): boolean {
  if (beacon === resourceGraph || status !== 'Scheduled') return false
  return notBeforeAt > now && polledAt >= ended.at + longestLagMs
}

function isNamed(facts: Facts, reporter: Reporter, shown: ShownEvent): boolean {
  return isAffected(facts, reporter) || namesItself(facts, reporter, shown)
}

/** An affected VM, and none that at first only itself named. */
function isOwnOf(reporter: Reporter, facts: Facts): boolean {
  return isAffected(facts, reporter) && !facts.namedOnce?.includes(reporter.vm.toLowerCase())
}

/** All its VMs lack it. Two onlookers at least, and most of all, go on showing it for VMs that may have no beacon. */
function isMovedAway(
  record: EndedRecord,
  reporter: Reporter,
  shown: ShownEvent,
  listening: Listening,
): boolean {
  const { facts, ended, sights } = record
  const affected = sights.filter((one) => isAffected(facts, one))
  const others = listShowing(sights, listening).filter(({ beacon }) => beacon !== reporter.beacon)
  return (
    affected.length > 0 &&
    affected.every(({ vm, missing }) => missing !== undefined && !hits(shown, vm)) &&
    shown.resources.length > 0 &&
    others.length > 0 &&
    reporter.polledAt >= ended.at + lagMs &&
    mostShow(record, reporter, listening, 1)
  )
}

/**
 * With Azure's list, so many more show the event now than lacked it last. Who lacks an ended event is not noted again.
 * `ofOwn`: how many a VM is that lacks what it has shown as its own.
 */
function mostShow(
  { facts, sights, ended }: EndedRecord,
  { beacon }: Reporter,
  listening: Listening,
  ofOwn: number,
): boolean {
  const isOwn = ({ vm, isHit }: Sight) =>
    isHit === true && !facts.namedOnce?.includes(vm.toLowerCase())
  const others = sights.filter((one) => one.beacon !== beacon && one.beacon !== eventGrid)
  const lacking = others.filter(({ missing }) => missing !== undefined)
  // a list from before the end says nothing of it
  const isOld = (one: Sight) => one.beacon === resourceGraph && one.polledAt <= ended.at
  const showing = others.filter(
    (one) => !lacking.includes(one) && !isOld(one) && isSeeing(one, listening),
  )
  const against = lacking.reduce((sum, one) => sum + (isOwn(one) ? ofOwn : 1), 0)
  return 1 + showing.length > against
}

/** The end was a word, or onlookers proved it: who shows its start, or goes on showing it, is right. */
function refutesEnd(
  { ended, started }: EndedRecord,
  { polledAt }: Reporter,
  { status }: ShownEvent,
  speaks: boolean,
): boolean {
  const isNewStart = status === 'Started' && started === undefined
  return isNewStart || (speaks && polledAt >= ended.at + lagMs)
}

/** The event in a new epoch. Its values, its phase and its sights come from the document that shows it. */
export function reopened(
  { phase: _p, ended, started: before, ...record }: EndedRecord,
  reporter: Reporter,
  shown: ShownEvent,
  listening: Listening,
): OpenRecord {
  const { fleet, eventId, facts, firstSeenAt, sights, sequence } = record
  const { vm, polledAt } = reporter
  const { eventId: _, status, ...values } = shown
  // one that only itself names changes nothing that a VM has shown as its own
  const affected = sights.filter((one) => isAffected(facts, one))
  const isWrongStart = isOfStart({ ...record, ended, ...(before && { started: before }) })
  const knows =
    isAffected(facts, reporter) ||
    ended.outcome === 'lost' ||
    ended.inferred === 'vm_gone' ||
    (!isWrongStart && affected.every(({ missing }) => missing !== undefined))
  const next = knows
    ? withVms({ ...facts, ...values }, values.resources.length === 0 ? facts : values)
    : facts
  // of what Azure alone has told, no VM has shown anything before
  const isByItself = !record.trace && !isAffected(facts, reporter) && isAffected(next, reporter)
  const now = isByItself ? withNamedOnce(next, [vm]) : next
  const { history } = addHistory(record as EndedRecord, {
    at: polledAt,
    what: 'reopened',
    note: vm,
  })
  const keep = (isStarted: boolean) => ({
    ...fresh,
    ...{ fleet, eventId, epoch: record.epoch + 1, facts: now, firstSeenAt, sights, sequence },
    ...{ history, backAt: polledAt },
    ...(record.notified && { notified: record.notified }),
    ...(isWrongStart && { wrongStart: wrongTellers(record, before) }),
    ...stillValid(withoutLostSlot(record, isStarted), ended, now),
    ...(ended.by !== undefined && unbroken(record, isStarted)),
  })
  const waits: OpenRecord = { ...keep(false), phase: 'scheduled' }
  const said = saidBy(reporter, now)
  if (status !== 'Started' || isTooEarly(waits, said.by, reporter, listening)) return waits
  const { by: _b, onlooker: _o, ...known } = before ?? {}
  const started = { ...known, at: polledAt, ...said }
  return { ...keep(true), phase: 'started', started }
}

/** What people did with an event that never ended stays. Its VMs may be prepared or prepare themselves. */
function unbroken(
  { wait, ...record }: Omit<EndedRecord, 'phase' | 'ended' | 'started'>,
  isStarted: boolean,
) {
  const { prepareNow } = wait
  const held = (['taken', ...keptFields] as const).filter((name) => record[name] !== undefined)
  const kept = Object.fromEntries(held.map((name) => [name, record[name]]))
  return {
    ...kept,
    wait: { ...fresh.wait, ...(prepareNow && { prepareNow }), ...keepSlot({ wait }, isStarted) },
  }
}

/** The event's VMs may be prepared. The event asks for its slot again, as another one may have it by now. */
function keepSlot(
  { wait: { slot } }: Pick<EndedRecord, 'wait'>,
  isStarted: boolean,
): Pick<OpenRecord['wait'], 'slot'> {
  if (slot?.state !== 'held') return {}
  return { slot: isStarted ? slot : { state: 'waits', behind: [], at: 0 } }
}

/** A rule with slots approves again once the event has its slot again. */
function withoutLostSlot(
  { azure, decided, wait: { slot } }: Pick<EndedRecord, 'azure' | 'decided' | 'wait'>,
  isStarted: boolean,
): Pick<EndedRecord, 'azure' | 'decided'> {
  const isLost = slot?.state === 'held' && !isStarted && azure.accepted === undefined
  return isLost && decided?.how === 'policy' ? { azure } : { azure, ...(decided && { decided }) }
}

/** The beacons that told of starts that were none, with the one of `started` and all that show it. */
function wrongTellers(
  { wrongStart = [], sights }: Pick<EventRecord, 'wrongStart' | 'sights'>,
  started: EndedRecord['started'],
): true | string[] {
  if (wrongStart === true) return true
  const first = started?.onlooker ?? sights.find(({ vm }) => vm === started?.vm)?.beacon
  const showing = sights.filter(
    (one) => !isAzure(one) && one.missing === undefined && one.shows.status === 'Started',
  )
  const tellers = [first, ...showing.map(({ beacon }) => beacon)]
  return [...new Set([...wrongStart, ...tellers.filter((one) => one !== undefined)])]
}

/** A start that one alone told of was wrong. */
function isOfStart(record: Omit<EndedRecord, 'phase'>): boolean {
  const { ended, started } = record
  return ended.by === 'doubt' && started !== undefined && isDoubtful(started, record)
}

/**
 * A new epoch keeps a *not now*. It keeps an approval that covers the event, if Azure accepted it, or if the
 * end was doubtful. Of one that does not cover the event, it keeps that Azure was told.
 */
function stillValid(
  { azure, decided }: Pick<EndedRecord, 'azure' | 'decided'>,
  ended: Ended,
  facts: OpenRecord['facts'],
) {
  const { accepted, acceptedBefore, outside } = azure
  const before = { ...(outside && { outside }), ...(acceptedBefore && { acceptedBefore }) }
  if (decided?.decision === 'declined') return { azure: before, decided }
  // the event never ended
  const isUnbroken = ended.by !== undefined && decided !== undefined
  if (isUnbroken && accepted === undefined && isWithin(decided.scope, facts)) {
    return { azure: before, decided }
  }
  if (decided === undefined || accepted === undefined) return { azure: before }
  const isValid = isWithin(decided.scope, facts)
  return isValid
    ? { azure: { ...before, accepted }, decided }
    : { azure: { ...before, acceptedBefore: accepted } }
}

/** A lost event of which a VM now shows that it is over. People are told how it ended. */
export function endedAnew(
  record: EndedRecord,
  sight: Sight,
  listening: Listening,
): EndedRecord | undefined {
  const { missing } = sight
  if (record.ended.outcome !== 'lost' || missing === undefined) return undefined
  const at = Math.max(goneAt([missing]), record.started?.at ?? 0)
  const wasSeen = record.phase === 'started'
  const inferred = wasSeen ? undefined : whyCompleted(record, at, listening)
  const outcome = wasSeen || inferred !== undefined ? 'completed' : 'cancelled'
  const why = wasSeen ? undefined : (inferred ?? 'gone_before_its_time')
  const anew = withEnd(record, { at, outcome, ...(why && { inferred: why }) })
  const epoch = record.epoch + 1
  const noted = addHistory(anew, { at: missing.firstAt, what: 'reopened', note: sight.vm })
  return addHistory({ ...noted, epoch }, { at, what: outcome, ...(why && { note: why }) })
}
