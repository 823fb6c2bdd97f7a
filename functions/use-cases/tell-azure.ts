// Tells Azure through Resource Manager that an approved event may start, if no beacon has told it in time.
import { messageOf } from '../../shared/errors.ts'
import {
  type ArmResult,
  type ArmTarget,
  armTargetOf,
  mayTry,
  withArmResult,
  withArmTry,
} from '../core/event/arm.ts'
import { withDueAt } from '../core/event/decide.ts'
import { type EventRecord, isOpen } from '../core/event/event.ts'
import { isWithin } from '../core/event/scope.ts'
import type { EventKey } from '../store/store.ts'
import { commitEvent } from './commit-event.ts'
import { noteOccurrence } from './problems.ts'
import { readList } from './published.ts'
import { contextOf, type Relay } from './relay.ts'

/** The identity of the relay lacks the role. */
const forbidden = 403

/** Whether the relay may tell Azure about the event, and should now. */
export function mustTellAzure(relay: Relay, record: EventRecord, now: number): boolean {
  const { azure, listeningSince } = relay
  const target = armTargetOf(record)
  if (azure === undefined || target === undefined) return false
  if (!mayTry(record, { now, listeningSince })) return false
  const id = target.subscriptionId.toLowerCase()
  return azure.subscriptions.includes(id)
}

export async function tellAzure(relay: Relay, key: EventKey, known: EventRecord): Promise<void> {
  const context = contextOf(relay)
  const { listeningSince } = context
  const tried = await commitEvent(relay, key, {
    known,
    decide: (before, now) => {
      const isDue = before !== undefined && isOpen(before) && mustTellAzure(relay, before, now)
      const record = isDue
        ? withDueAt(withArmTry(before, now), context, { now, listeningSince })
        : before
      return { record, moments: [], isTried: isDue }
    },
  })
  // another worker tries it
  if (tried.outcome !== 'committed' || !tried.decision.isTried) return
  const target = armTargetOf(tried.record!)!
  const result = await tell(relay, tried.record!, target)
  const { outcome } = result
  const why = outcome === 'failed' ? { status: result.status, error: result.reason } : {}
  const fields = { ...key, ...why }
  if (outcome === 'failed' && result.status === forbidden) {
    const about = { name: target.subscriptionId, reason: result.reason }
    await noteOccurrence(relay, key.fleet, 'azure_refuses', about)
  }
  if (outcome === 'accepted') relay.log.info('azure_acknowledged', fields)
  else relay.log.warn('azure_acknowledge_failed', fields)
  await commitEvent(relay, key, {
    decide: (before, now) => {
      const told = before && withArmResult(before, result, now)
      if (told === undefined || !isOpen(told)) return { record: before, moments: [] }
      const record = withDueAt(told, context, { now, listeningSince })
      return { record, moments: [] }
    },
  })
}

async function tell(relay: Relay, record: EventRecord, target: ArmTarget): Promise<ArmResult> {
  const isPublished = record.azure.outside !== undefined
  const reason = isPublished ? await whyUnsure(relay, record, target) : undefined
  if (reason !== undefined) return { outcome: 'failed', reason, isFinal: false }
  return relay.azure!.manager.acknowledge(target, record.eventId)
}

/** Azure's own list must show what was approved, and no more: a document of a VM may lag. */
async function whyUnsure(
  relay: Relay,
  { fleet, eventId, decided }: EventRecord,
  { subscriptionId }: ArmTarget,
): Promise<string | undefined> {
  try {
    const listed = await readList(relay, [subscriptionId.toLowerCase()])
    const own = listed.find(({ event, ending }) => event.eventId === eventId && !ending)
    if (own === undefined) return 'Azure Resource Graph does not list the event'
    const { event } = own
    const isCovered = event.vmCount === undefined && isWithin(decided?.scope, event)
    if (!isCovered) return 'Azure Resource Graph lists more than was approved'
  } catch (error) {
    return messageOf(error)
  }
  const now = await relay.store.readEvent({ fleet, eventId })
  const isValid = now?.phase === 'scheduled' && now.decided?.at === decided?.at
  return isValid ? undefined : 'the event changed meanwhile'
}
