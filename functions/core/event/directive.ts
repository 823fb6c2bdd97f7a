// Passes an approval on: which beacon tells Azure to start the event, and with what result.
import type { ScheduledEvent } from '../../../shared/document.ts'
import { directiveLeaseMs, freshDocumentMs, type Start } from '../../../shared/report.ts'
import { isWithin } from './agreed.ts'
import { type EventRecord, isOpen, type OpenRecord } from './event.ts'
import { addHistory } from './history.ts'
import { saidUnready } from './hook-state.ts'
import type { Beacon } from './observer.ts'

/** If Azure was told and still shows the event as Scheduled, it is told again after this time. */
const retellMs = 60_000

/**
 * A beacon gets a second lease in a row only this long after its first one ended. By then, another
 * beacon has reported, if one watches the event: watchers report every 2 s.
 */
const leaveToOthersMs = 3_000

type Lease = 'granted' | 'held_already' | 'not_due'

/**
 * Whether the beacon may have the directive. `own` is the event in its document, where it is
 * Scheduled. The approval must cover both `own` and the record.
 */
export function leaseOf(
  record: EventRecord,
  { beacon, polledAt = 0 }: Pick<Beacon, 'beacon' | 'polledAt'>,
  own: ScheduledEvent,
  now: number,
): Lease {
  const { verdict, directive, passedOn } = record
  const due =
    // Azure does not know drills
    record.drill === undefined &&
    isOpen(record) &&
    record.phase === 'scheduled' &&
    now - polledAt <= freshDocumentMs &&
    verdict?.decision === 'approved' &&
    isWithin(verdict.agreed, record.facts) &&
    isWithin(verdict.agreed, own) &&
    !isUnprepared(record)
  if (!due) return 'not_due'
  if (passedOn !== undefined && !isPassedOnInVain(record, beacon, now)) return 'not_due'
  if (directive === undefined) return 'granted'
  const { beacon: holder, until, failed } = directive
  if (holder !== beacon) return failed || until <= now ? 'granted' : 'not_due'
  if (until + leaveToOthersMs <= now) return 'granted'
  return failed || until <= now ? 'not_due' : 'held_already'
}

/** The rule approved because all VMs were ready, but the beacon of one of them now says otherwise. */
function isUnprepared({ verdict, policy, readiness }: EventRecord): boolean {
  if (verdict?.how !== 'policy' || policy.whenReady !== true) return false
  return saidUnready.some((state) => readiness?.counts[state] !== undefined)
}

/** Whether Azure must be told again. Another beacon is asked before the one that told Azure. */
function isPassedOnInVain(
  { passedOn, directive }: EventRecord,
  beacon: string,
  now: number,
): boolean {
  const patienceMs = directive?.beacon === beacon ? 2 * retellMs : retellMs
  return passedOn !== undefined && now >= passedOn.at + patienceMs
}

export function withLease(record: OpenRecord, beacon: string, vm: string, now: number): OpenRecord {
  const again = record.passedOn !== undefined
  const directive = {
    beacon,
    vm,
    until: now + directiveLeaseMs,
    failed: false,
    ...(again && { again: true as const }),
    ...(mayBePassedOn(record) && { mayBePassedOn: true as const }),
  }
  const first = record.directive?.again === undefined
  const noted =
    again && first ? addHistory(record, { at: now, what: 'not_started' as const }) : record
  return addHistory({ ...noted, directive }, { at: now, what: 'directed', note: vm })
}

/** Whether a beacon that had a directive may have told Azure, though none confirmed that. */
export function mayBePassedOn({ directive }: EventRecord): boolean {
  return directive !== undefined && (!directive.failed || directive.mayBePassedOn === true)
}

/** If IMDS did not answer or answered 5xx, it may still have carried out the request. */
function isUncertain({ outcome, status = 0 }: Start): boolean {
  return outcome === 'unreachable' || status >= 500
}

/**
 * Applies the result of a directive. Only the holder of the last lease counts, even after its lease
 * ended. Undefined if nothing changes.
 */
export function withStart(
  record: EventRecord,
  beacon: string,
  start: Start,
  at: number,
): EventRecord | undefined {
  const { directive } = record
  if (!isOpen(record) || directive?.beacon !== beacon) return undefined
  if (record.passedOn !== undefined && !isAskedAgain(record)) return undefined
  if (start.outcome === 'accepted') {
    const passedOn = { vm: directive.vm, at }
    const { startFailure: _, ...accepted } = record
    return addHistory({ ...accepted, passedOn }, { at, what: 'passed_on', note: directive.vm })
  }
  // a repeated report may contain the failure of an earlier lease
  const isEarlier = at < directive.until - directiveLeaseMs
  if (directive.failed || isEarlier) return undefined
  const { outcome, status } = start
  const note = `${directive.vm}: ${outcome}${status === undefined ? '' : ` (HTTP ${status})`}`
  const startFailure = { vm: directive.vm, outcome, at, ...(status !== undefined && { status }) }
  const failed = {
    ...directive,
    failed: true,
    ...(isUncertain(start) && { mayBePassedOn: true as const }),
  }
  return addHistory(
    { ...record, directive: failed, startFailure },
    { at, what: 'start_failed', note },
  )
}

/** Whether the last directive is newer than the last time that Azure was told. */
function isAskedAgain({ passedOn, directive }: EventRecord): boolean {
  return directive?.again === true && directive.until - directiveLeaseMs > (passedOn?.at ?? 0)
}
