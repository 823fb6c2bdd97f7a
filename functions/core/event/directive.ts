// How an approval reaches Azure: which beacon tells Azure to start the event, and with what result. Law 11.
import type { ScheduledEvent } from '../../../shared/document.ts'
import { directiveLeaseMs, freshDocumentMs, type Start } from '../../../shared/report.ts'
import { type EventRecord, isOpen, type OpenRecord } from './event.ts'
import { addHistory } from './history.ts'
import { isWithin } from './scope.ts'
import { isAffected, isElsewhere, mayBeHit, type Reporter } from './sight.ts'

/** If Azure was told and still shows the event as Scheduled, it is told again after this time. */
const retellMs = 60_000

type Lease = 'granted' | 'held_already' | 'not_due'

type Own = Pick<
  Reporter,
  'beacon' | 'bootId' | 'vm' | 'polledAt' | 'resourceGroup' | 'subscriptionId'
>

/**
 * Whether the beacon may have the directive. `own` is the event in its document, where it is
 * Scheduled. The approval must cover both `own` and the record.
 */
export function judgeLease(
  record: EventRecord,
  own: ScheduledEvent,
  reporter: Own,
  now: number,
): Lease {
  const { decided, azure, facts, phase } = record
  const due =
    isOpen(record) &&
    phase === 'scheduled' &&
    now - reporter.polledAt <= freshDocumentMs &&
    decided?.decision === 'approved' &&
    isWithin(decided.scope, facts) &&
    isWithin(decided.scope, own)
  if (!due || isElsewhere(facts, reporter) || now < tellsAgainAt(record, reporter)) return 'not_due'
  const { directive } = azure
  if (directive === undefined) return 'granted'
  const { beacon: holder, until, failed } = directive
  if (holder === reporter.beacon && !failed && until > now) return 'held_already'
  const isNext = freeAt(record, reporter) <= now || mayTakeOver(record, reporter, now)
  return isNext ? 'granted' : 'not_due'
}

/**
 * When this beacon may have it next. Those that had it last wait longer, so that another one comes first: if Azure was
 * told in vain, for two minutes, as onlookers report once a minute, and two in turns would keep it.
 */
function freeAt({ azure, sights }: EventRecord, own: Own): number {
  const { beacon, until, failed, earlier, again } = azure.directive!
  const hadItLast = beacon === own.beacon || earlier === own.beacon
  if (failed) return hadItLast ? until : 0
  if (!hadItLast) return until
  const others = sights.filter((one) => ![beacon, earlier].includes(one.beacon))
  const isAwaited = again && others.some(({ missing }) => missing === undefined)
  return until + (isAwaited ? 2 * retellMs : directiveLeaseMs)
}

/** Onlookers that say nothing keep an affected VM from telling Azure for one lease, and no longer. */
function mayTakeOver(record: EventRecord, own: Own, now: number): boolean {
  const { decided, azure, facts } = record
  const { beacon, earlier } = azure.directive!
  if (beacon === own.beacon || earlier === own.beacon) return false
  const isNearer = mayBeHit(facts, own) && !isOfAffected(record, beacon)
  return isNearer && decided!.at + directiveLeaseMs <= now
}

/** Whether one who knows names the beacon's VM, not only that VM itself. */
export function isOfAffected({ facts, sights }: EventRecord, beacon: string | undefined): boolean {
  return sights.some((one) => one.beacon === beacon && isAffected(facts, one))
}

/**
 * Azure accepted, and has not started the event for a minute. The beacon that told Azure waits for two,
 * so that another one comes first. What another beacon says does not outweigh the document of an affected
 * VM: its own beacon tells Azure, too.
 */
function tellsAgainAt(record: EventRecord, reporter: Own): number {
  const { accepted, directive } = record.azure
  const { facts } = record
  if (accepted === undefined) return 0
  if (mayBeHit(facts, reporter) && isWordOfOther(accepted, reporter))
    return accepted.at + directiveLeaseMs
  return accepted.at + (directive?.beacon === reporter.beacon ? 2 * retellMs : retellMs)
}

/**
 * Another beacon says that Azure accepted, or one that uses the same id: a beacon has one boot. Resource
 * Manager is Azure itself.
 */
export function isWordOfOther(
  { through, beacon, bootId }: NonNullable<EventRecord['azure']['accepted']>,
  own: Pick<Reporter, 'beacon' | 'bootId'>,
): boolean {
  const isOwn = beacon === own.beacon && (bootId ?? own.bootId) === own.bootId
  return through === undefined && !isOwn
}

export function withLease(record: OpenRecord, beacon: string, vm: string, now: number): OpenRecord {
  const { azure } = record
  const again = azure.accepted !== undefined
  const { directive: before } = azure
  const earlier = before?.beacon === beacon ? before.earlier : before?.beacon
  const directive = {
    beacon,
    vm,
    until: now + directiveLeaseMs,
    failed: false,
    ...(earlier !== undefined && { earlier }),
    ...(again && { again: true as const }),
  }
  const isFirstRepeat = azure.directive?.again === undefined
  const noted =
    again && isFirstRepeat ? addHistory(record, { at: now, what: 'not_started' as const }) : record
  return addHistory(
    { ...noted, azure: { ...azure, directive } },
    { at: now, what: 'directed', note: vm },
  )
}

/**
 * Applies the result of a directive: of the holder of the last lease, even after its lease ended. What
 * Azure accepted is a fact, so it also counts from the holder before, whose directive came late.
 * Undefined if nothing changes.
 */
export function withStartResult(
  record: EventRecord,
  { beacon, bootId, vm }: Pick<Reporter, 'beacon' | 'bootId' | 'vm'>,
  start: Start,
  at: number,
): EventRecord | undefined {
  const { azure } = record
  const { directive } = azure
  if (!isOpen(record) || directive === undefined) return undefined
  const wasHolder = directive.earlier === beacon && start.outcome === 'accepted'
  if (directive.beacon !== beacon && !wasHolder) return undefined
  if (azure.accepted !== undefined && !isAskedAgain(record)) return undefined
  if (start.outcome === 'accepted') {
    const { failure: _, ...rest } = azure
    const accepted = { vm, beacon, bootId, at }
    const entry = { at, what: 'azure_accepted' as const, note: vm }
    return addHistory({ ...record, azure: { ...rest, accepted } }, entry)
  }
  // a repeated report may contain the failure of an earlier lease
  const isEarlier = at < directive.until - directiveLeaseMs
  if (directive.failed || isEarlier) return undefined
  const { outcome, status } = start
  const note = `${directive.vm}: ${outcome}${status === undefined ? '' : ` (HTTP ${status})`}`
  const failure = { vm: directive.vm, outcome, at, ...(status !== undefined && { status }) }
  const failed = { ...azure, directive: { ...directive, failed: true }, failure }
  return addHistory({ ...record, azure: failed }, { at, what: 'start_failed', note })
}

/** Whether the last directive is newer than the last time that Azure was told. */
function isAskedAgain({ azure: { accepted, directive } }: EventRecord): boolean {
  return directive?.again === true && directive.until - directiveLeaseMs > (accepted?.at ?? 0)
}
