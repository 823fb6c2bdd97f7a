// Passes an approval on: which beacon tells Azure to start the event, and with what result. Law 11.
import { hits, type ScheduledEvent } from '../../../shared/document.ts'
import { directiveLeaseMs, freshDocumentMs, type Start } from '../../../shared/report.ts'
import { type EventRecord, isOpen, type OpenRecord } from './event.ts'
import { addHistory } from './history.ts'
import { isWithin } from './scope.ts'
import type { Reporter } from './sight.ts'

/** If Azure was told and still shows the event as Scheduled, it is told again after this time. */
const retellMs = 60_000

type Lease = 'granted' | 'held_already' | 'not_due'

/**
 * Whether the beacon may have the directive. `own` is the event in its document, where it is
 * Scheduled. The approval must cover both `own` and the record.
 */
export function leaseOf(
  record: EventRecord,
  { beacon, vm, polledAt }: Pick<Reporter, 'beacon' | 'vm' | 'polledAt'>,
  own: ScheduledEvent,
  now: number,
): Lease {
  const { decided, azure } = record
  const { directive, accepted } = azure
  const due =
    isOpen(record) &&
    record.phase === 'scheduled' &&
    now - polledAt <= freshDocumentMs &&
    decided?.decision === 'approved' &&
    isWithin(decided.scope, record.facts) &&
    isWithin(decided.scope, own)
  if (!due) return 'not_due'
  const isOfAffected = hits(own, vm)
  if (accepted !== undefined && now < tellsAgainAt(record, beacon, isOfAffected)) return 'not_due'
  if (directive === undefined) return 'granted'
  const { beacon: holder, until, failed } = directive
  if (holder !== beacon) return failed || until <= now ? 'granted' : 'not_due'
  // if its lease ended without a result, the holder waits one more, so that another beacon comes first
  if (until + directiveLeaseMs <= now) return 'granted'
  return failed || until <= now ? 'not_due' : 'held_already'
}

/**
 * Azure accepted, and has not started the event for a minute. The beacon that told Azure waits for two,
 * so that another one comes first. What another beacon says does not outweigh the document of an affected
 * VM: its own beacon tells Azure, too.
 */
function tellsAgainAt(
  { azure: { accepted, directive } }: EventRecord,
  beacon: string,
  isOfAffected: boolean,
): number {
  if (accepted === undefined) return 0
  if (isOfAffected && isWordOfOther(accepted, beacon)) return accepted.at + directiveLeaseMs
  return accepted.at + (directive?.beacon === beacon ? 2 * retellMs : retellMs)
}

/** Another beacon says that Azure accepted. Resource Manager is Azure itself. */
export function isWordOfOther(
  accepted: NonNullable<EventRecord['azure']['accepted']>,
  beacon: string,
): boolean {
  return accepted.through === undefined && accepted.beacon !== beacon
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
  { beacon, vm }: Pick<Reporter, 'beacon' | 'vm'>,
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
    const accepted = { vm, beacon, at }
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
