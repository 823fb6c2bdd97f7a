// Tells Azure through Resource Manager that an approved event may start, if no beacon has told it in time.
import { messageOf } from '../../shared/errors.ts'
import { isAsRead } from '../../shared/report.ts'
import {
  type ArmResult,
  confirmedBy,
  mayTry,
  withArmResult,
  withArmTry,
} from '../core/event/arm.ts'
import { withDueAt } from '../core/event/decide.ts'
import { type EventRecord, isOpen } from '../core/event/event.ts'
import type { AzureResource } from '../core/event/outside.ts'
import type { Published } from '../core/event/published.ts'
import { isCovered } from '../core/event/rule-approves.ts'
import { listSubscriptions } from '../core/rules/config.ts'
import type { EventKey } from '../store/store.ts'
import { commitEvent } from './commit-event.ts'
import { knownIn } from './learn-vms.ts'
import { joinListed, noteForbidden } from './published.ts'
import { buildContext, type Relay } from './relay.ts'
import { raiseTrouble } from './trouble.ts'

/** The identity of the relay lacks the role. */
const forbidden = 403

/** Whether the relay may tell Azure about the event, and should now. */
export function mustTellAzure(relay: Relay, record: EventRecord, now: number): boolean {
  const { outside, config, listeningSince } = relay
  const isOwn = outside.azure !== undefined && listSubscriptions(config, record.fleet).length > 0
  return isOwn && isCovered(record, config.policy) && mayTry(record, { now, listeningSince })
}

export async function tellAzure(relay: Relay, key: EventKey, known: EventRecord): Promise<void> {
  const context = buildContext(relay)
  const { listeningSince } = context
  const tried = await commitEvent(relay, key, {
    known,
    decide: (before, now) => {
      const isDue = before !== undefined && isOpen(before) && mustTellAzure(relay, before, now)
      const record = isDue
        ? withDueAt(withArmTry(before, now), { ...context, listening: { now, listeningSince } })
        : before
      return { record, moments: [], isTried: isDue }
    },
  })
  // another worker tries it
  if (tried.outcome !== 'committed' || !tried.decision.isTried) return
  const { result, subscriptionId = '', listed = [] } = await tell(relay, tried.record!)
  const { outcome } = result
  const why = outcome === 'failed' ? { status: result.status, error: result.reason } : {}
  const fields = { ...key, ...why }
  if (outcome === 'failed' && result.status === forbidden) {
    const about = { name: subscriptionId, reason: result.reason }
    await raiseTrouble(relay, key.fleet, { kind: 'azure_refuses', ...about })
  }
  if (outcome === 'accepted') relay.log.info('azure_acknowledged', fields)
  else relay.log.warn('azure_acknowledge_failed', fields)
  await commitEvent(relay, key, {
    decide: (before, now) => {
      const told = before && withArmResult(before, result, now)
      if (told === undefined || !isOpen(told)) return { record: before, moments: [] }
      const record = withDueAt(told, { ...context, listening: { now, listeningSince } })
      return { record, moments: [] }
    },
  })
  // only now: with the result, the event is not stuck. The rest of the list is joined at its own times
  const own = listed.filter(({ event }) => event.eventId === key.eventId)
  await joinListed(relay, own)
}

interface Told {
  result: ArmResult
  subscriptionId?: string
  listed?: Published[]
}

/** What Azure's inventory says otherwise of the VMs than the rule has read. Undefined: nothing. */
async function contradictionIn(
  relay: Relay,
  decided: EventRecord['decided'],
  resource: AzureResource,
): Promise<string | undefined> {
  const read = decided?.scope?.vms ?? []
  if (read.length === 0) return undefined
  try {
    const machines = await relay.outside.azure!.graph.listMachines(
      [resource.subscriptionId],
      'rules',
    )
    const other = read.find(
      (vm) => !knownIn(machines, resource, vm.name).some((is) => isAsRead(vm, is)),
    )
    return other && `Azure's inventory says otherwise of ${other.name} than the rule has read`
  } catch (error) {
    return messageOf(error)
  }
}

/** Nothing is told to Azure that Azure does not say itself. */
async function tell(relay: Relay, record: EventRecord): Promise<Told> {
  const { fleet, eventId, decided } = record
  const { graph, manager } = relay.outside.azure!
  const failed = (reason: string, listed?: Published[]): Told => {
    return { result: { outcome: 'failed', reason, isFinal: false }, ...(listed && { listed }) }
  }
  let listed: Published[]
  try {
    listed = await graph.listEvents(listSubscriptions(relay.config, fleet))
  } catch (error) {
    await noteForbidden(relay, fleet, error)
    return failed(messageOf(error))
  }
  const resource = confirmedBy(record, listed)
  if ('refusal' in resource) return failed(resource.refusal, listed)
  const other = await contradictionIn(relay, decided, resource)
  if (other !== undefined) return failed(other, listed)
  const now = await relay.store.readEvent({ fleet, eventId })
  const isSame = now?.phase === 'scheduled' && now.decided?.at === decided?.at
  const isValid = isSame && isCovered(now, relay.config.policy)
  if (!isValid) return failed('the event changed meanwhile', listed)
  const { subscriptionId } = resource
  return { result: await manager.acknowledge(resource, eventId), subscriptionId, listed }
}
