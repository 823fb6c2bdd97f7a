// Telling Azure from outside the VMs, through Azure Resource Manager: when the relay tries it, what Azure's
// own list must say before, and with what result. Beacons come first. That Azure is told twice is harmless.
import { isOfAffected } from './directive.ts'
import { type EventRecord, isOpen, type OpenRecord } from './event.ts'
import type { ShownEvent } from './facts.ts'
import { addHistory } from './history.ts'
import { type AzureResource, isSameResource } from './outside.ts'
import type { Published } from './published.ts'
import { isWithin } from './scope.ts'
import { isAzure, isElsewhere, isSeeing, type Listening, type Sight } from './sight.ts'

/** How long beacons that show the event have after the approval. If no beacon does, the relay tries soon. */
const patienceMs = 30_000
const soonMs = 1_000
const againMs = 60_000
/** Two tries shortly before NotBefore are at least this far apart. */
const leastMs = 5_000
/** A longer pause is cut. */
const longestMs = 10 * 60_000
/** If an affected VM says that Azure accepted, and if another one says so. */
const ofAffectedMs = 2 * 60_000
const ofOnlookerMs = 60_000
/** If the look at the due time was missed, the next ones are this far apart. */
const lookMs = 30_000
const never = Number.POSITIVE_INFINITY

type Arm = NonNullable<EventRecord['azure']['arm']>

function shows(sight: Sight, listening: Listening): boolean {
  return sight.missing === undefined && isSeeing(sight, listening)
}

/** Whether the newest document of a VM shows it, so that its beacon may tell Azure. */
function isShownByBeacon({ facts, sights }: EventRecord, listening: Listening): boolean {
  return sights.some((one) => !isAzure(one) && !isElsewhere(facts, one) && shows(one, listening))
}

/** How long after an approval the relay leaves it to beacons. That one of them told Azure is only its word. */
function patienceWith(record: EventRecord, listening: Listening): number {
  const { azure } = record
  if (azure.accepted !== undefined) {
    return isOfAffected(record, azure.accepted.beacon) ? ofAffectedMs : ofOnlookerMs
  }
  return isShownByBeacon(record, listening) ? patienceMs : soonMs
}

/**
 * When the relay tries next: also if a beacon says that Azure accepted, and Azure does not start the event. A
 * try that would come after NotBefore is not made: Azure starts it then.
 */
function armDueAt(record: EventRecord, listening: Listening): number {
  const { phase, decided, azure, drill, facts } = record
  const waits = isOpen(record) && phase === 'scheduled' && drill === undefined
  const { accepted } = azure
  if (!waits || decided?.decision !== 'approved' || accepted?.through !== undefined) return never
  if (!isWithin(decided.scope, facts) || azure.arm?.failure?.isFinal) return never
  const from = decided.at + patienceWith(record, listening)
  const { notBeforeAt = never } = facts
  const at = azure.arm === undefined ? from : Math.max(from, againAt(azure.arm, notBeforeAt))
  return at < notBeforeAt ? at : never
}

/**
 * The next attempt comes after the pause that Azure asks for, or a minute. If less than two minutes are
 * left, it comes after half of what is left.
 */
function againAt({ at, failure }: Arm, notBeforeAt: number): number {
  const { retryAfterMs } = failure ?? {}
  if (retryAfterMs !== undefined) return at + Math.min(Math.max(retryAfterMs, soonMs), longestMs)
  const halfMs = Math.ceil((notBeforeAt - at) / 2)
  return at + Math.max(Math.min(againMs, halfMs), leastMs)
}

/** When to look whether to try. A report may come between the due time and the look, and must not move it. */
export function armLookAt(record: EventRecord, listening: Listening): number {
  const { now } = listening
  const due = armDueAt(record, listening)
  if (due > now) return due
  const next = due + (Math.floor((now - due) / lookMs) + 1) * lookMs
  return next < (record.facts.notBeforeAt ?? never) ? next : never
}

/**
 * Whether to try now. If nobody shows the event, nobody knows whether Azure has added a VM that nobody
 * approved. From NotBefore on, Azure starts it anyway.
 */
export function mayTry(record: EventRecord, listening: Listening): boolean {
  const { now } = listening
  const isShown = record.sights.some((one) => shows(one, listening))
  return isShown && armDueAt(record, listening) <= now && now < (record.facts.notBeforeAt ?? never)
}

/**
 * What to name to Azure, by Azure's own list of this fleet's subscriptions. Documents of VMs do not count
 * here: they may lag, and a holder of the fleet's key can write one.
 */
export function confirmedBy(
  { eventId, decided, azure, facts }: Pick<EventRecord, 'eventId' | 'decided' | 'azure' | 'facts'>,
  listed: Published[],
): AzureResource | { refusal: string } {
  const own = listed.filter(({ event, ending }) => event.eventId === eventId && !ending)
  const [first] = own
  if (first === undefined) return { refusal: 'Azure Resource Graph does not list the event' }
  const { scope } = decided ?? {}
  const isCovered = own.every(
    ({ event }) =>
      event.vmCount === undefined &&
      isWithin(scope, event) &&
      !lacksReadValue(decided, event) &&
      // it may hit any VM
      (event.resources.length > 0 || scope?.resources.length === 0),
  )
  if (!isCovered) return { refusal: 'Azure Resource Graph lists more than was approved' }
  // a rule has read the tags of another one's VMs
  const { outside } = azure
  const isRead = outside !== undefined && decided?.scope?.vms !== undefined
  const isMoved = isElsewhere(facts, { beacon: '', ...first.resource })
  const isOther = isMoved || (isRead && !isSameResource(outside.resource, first.resource))
  return isOther
    ? { refusal: 'Azure Resource Graph lists it for another resource' }
    : first.resource
}

/** A rule has read a value that the list does not show. */
function lacksReadValue(
  decided: EventRecord['decided'],
  { durationSeconds, source }: ShownEvent,
): boolean {
  if (decided?.how !== 'policy') return false
  const { scope } = decided
  const lacksDuration = scope?.durationSeconds !== undefined && durationSeconds === undefined
  return lacksDuration || (scope?.source !== undefined && source === undefined)
}

/** Noted before the try, so that one worker makes it, and a crash costs a minute. */
export function withArmTry(record: OpenRecord, now: number): OpenRecord {
  const { failure } = record.azure.arm ?? {}
  const arm = { at: now, ...(failure && { failure }) }
  return { ...record, azure: { ...record.azure, arm } }
}

export type ArmResult =
  /** `resource`: the name of the scale set, VM or availability set. */
  | { outcome: 'accepted'; resource: string }
  /** `retryAfterMs`: the pause that Azure asks for. */
  | { outcome: 'failed'; reason: string; status?: number; isFinal: boolean; retryAfterMs?: number }

/** Undefined if the result changes nothing. */
export function withArmResult(
  record: EventRecord,
  result: ArmResult,
  at: number,
): EventRecord | undefined {
  const { azure } = record
  const isTold = azure.accepted?.through !== undefined
  if (!isOpen(record) || azure.arm === undefined || isTold) return undefined
  if (result.outcome === 'accepted') {
    const { failure: _, ...rest } = azure
    const accepted = { vm: result.resource, at, through: 'resource_manager' as const }
    const entry = { at, what: 'azure_accepted' as const, note: `${armName}: ${result.resource}` }
    return addHistory({ ...record, azure: { ...rest, arm: { at: azure.arm.at }, accepted } }, entry)
  }
  const { reason, status, isFinal, retryAfterMs } = result
  const failure = {
    reason,
    ...(status !== undefined && { status }),
    ...(isFinal && { isFinal: true as const }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
  const isSame = JSON.stringify(failure) === JSON.stringify(azure.arm.failure)
  if (isSame) return undefined
  const failed = { ...record, azure: { ...azure, arm: { ...azure.arm, failure } } }
  return addHistory(failed, { at, what: 'start_failed', note: `${armName}: ${reason}` })
}

/** How notes of the history begin. */
export const armName = 'Azure Resource Manager'
