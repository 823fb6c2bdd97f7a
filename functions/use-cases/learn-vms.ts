// Reads what Azure's inventory says of affected VMs that have no beacon, so that rules and routes can match
// their resource group, scale set and tags. Azure's list says first what the event belongs to.
import { isSameName } from '../../shared/document.ts'
import { messageOf } from '../../shared/errors.ts'
import { decideTime } from '../core/event/decide.ts'
import { type EventRecord, isOpen } from '../core/event/event.ts'
import type { AzureResource } from '../core/event/outside.ts'
import { inventoryDueAt, withInventory } from '../core/event/published.ts'
import type { KnownVm } from '../core/event/sight.ts'
import type { EventKey } from '../store/store.ts'
import { commitEvent } from './commit-event.ts'
import { readList } from './published.ts'
import { buildContext, type Machine, type Relay } from './relay.ts'

export function mustLearnVms(record: EventRecord, now: number): boolean {
  return isOpen(record) && inventoryDueAt(record) <= now
}

export async function learnVms(relay: Relay, key: EventKey, known: EventRecord): Promise<void> {
  const vms = await readVms(relay, await listed(relay, key, known))
  await commitEvent(relay, key, {
    decide: (before, now) => {
      if (before === undefined || !isOpen(before))
        return decideTime(before, buildContext(relay), now)
      return decideTime(withInventory(before, vms, now), buildContext(relay), now)
    },
    log: { event: 'event_concluded' },
  })
}

/** The event after Azure's list was read, if the list has not named its resource yet. */
async function listed(relay: Relay, key: EventKey, known: EventRecord): Promise<EventRecord> {
  const { listed, resource } = known.azure.outside!
  if (listed || !mayAsk(relay, resource)) return known
  await readList(relay)
  return (await relay.store.readEvent(key)) ?? known
}

function mayAsk({ outside }: Relay, { subscriptionId }: AzureResource): boolean {
  return outside.azure?.subscriptions.includes(subscriptionId) === true
}

/** Undefined if the inventory could not be read, or the list does not name the event. */
async function readVms(
  relay: Relay,
  { azure, facts }: EventRecord,
): Promise<KnownVm[] | undefined> {
  const { resource, listed } = azure.outside!
  if (!listed || !mayAsk(relay, resource)) return undefined
  try {
    const machines = await relay.outside.azure!.graph.listMachines(
      [resource.subscriptionId],
      'rules',
    )
    return facts.resources.flatMap((vm) => knownIn(machines, resource, vm))
  } catch (error) {
    relay.log.warn('azure_inventory_failed', { error: messageOf(error) })
    return undefined
  }
}

/** Instances of a uniform scale set are not in the inventory: their set has their tags. */
export function knownIn(machines: Machine[], resource: AzureResource, vm: string): KnownVm[] {
  const { resourceGroup, type, name } = resource
  const near = machines.filter((one) => isSameName(one.resourceGroup, resourceGroup))
  const find = (kind: AzureResource['type'], called: string) => {
    const found = near.filter((one) => one.type === kind && isSameName(one.name, called))
    // two that contradict each other say nothing
    return found.length === 1 ? found[0] : undefined
  }
  const own = find('virtualMachines', vm)
  const isOfSet = type === 'virtualMachineScaleSets'
  const set = isOfSet ? find(type, name) : undefined
  const found = own ?? set
  if (found === undefined) return []
  const scaleSet = isOfSet ? name : found.scaleSet
  return [{ vm, resourceGroup: found.resourceGroup, scaleSet, tags: found.tags }]
}
