// Tells Azure through Resource Manager that an approved event may start, if no beacon has told it in time.
import { armTargetOf, mayTry, withArmResult, withArmTry } from '../core/event/arm.ts'
import { withDueAt } from '../core/event/decide.ts'
import { type EventRecord, isOpen } from '../core/event/event.ts'
import type { EventKey } from '../store/store.ts'
import { commitEvent } from './commit-event.ts'
import { noteOccurrence } from './problems.ts'
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
  const { reminders, listeningSince } = contextOf(relay)
  const tried = await commitEvent(relay, key, {
    known,
    decide: (before, now) => {
      const isDue = before !== undefined && isOpen(before) && mustTellAzure(relay, before, now)
      const record = isDue
        ? withDueAt(withArmTry(before, now), reminders, { now, listeningSince })
        : before
      return { record, moments: [], reason: 'told_azure', isTried: isDue }
    },
  })
  // another worker tries it
  if (tried.outcome !== 'committed' || !tried.decision.isTried) return
  const target = armTargetOf(tried.record!)!
  const result = await relay.azure!.manager.acknowledge(target, key.eventId)
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
      if (told === undefined || !isOpen(told))
        return { record: before, moments: [], reason: 'told' }
      const record = withDueAt(told, reminders, { now, listeningSince })
      return { record, moments: [], reason: 'told_azure' }
    },
  })
}
