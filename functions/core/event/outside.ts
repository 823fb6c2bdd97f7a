// What the relay knows of an event from outside the VMs.
import { hits } from '../../../shared/document.ts'
import type { Facts } from './facts.ts'
import type { KnownVm } from './sight.ts'

export const resourceTypes = [
  'virtualMachineScaleSets',
  'virtualMachines',
  'availabilitySets',
] as const

/** What the event belongs to in Azure: a scale set, an availability set, or a VM that is in none. */
export interface AzureResource {
  /** The id is in lower case. */
  subscriptionId: string
  resourceGroup: string
  type: (typeof resourceTypes)[number]
  name: string
}

/** Names in Azure have no case. */
export function isSameResource(one: AzureResource, other: AzureResource): boolean {
  const describeResource = ({ subscriptionId, resourceGroup, type, name }: AzureResource) =>
    [subscriptionId, resourceGroup, type, name].join('/').toLowerCase()
  return describeResource(one) === describeResource(other)
}

/** What is known of an event from outside the VMs. */
export interface Outside {
  resource: AzureResource
  /** Azure's own list named it, so Event Grid, in whose name others may send, changes it no more. */
  listed?: true
  /** The VMs that it named last. */
  names?: string[]
  /** The affected VMs, from the inventory. Absent until it was read, which is after the list. */
  vms?: KnownVm[]
  /** When the list or the inventory was last asked for. */
  askedAt?: number
}

/** The VMs that Azure's own list named last. */
export function namedByList({ azure }: { azure: { outside?: Outside } }): string[] {
  const { listed, names = [] } = azure.outside ?? {}
  return listed ? names : []
}

/** The VMs that only Azure's word from outside names: the documents of VMs, whose values count, do not. */
export function namedOnlyOutside({
  facts,
  azure,
}: {
  facts: Pick<Facts, 'resources'>
  azure: { outside?: Outside }
}): string[] {
  return azure.outside?.names?.filter((vm) => !hits(facts, vm)) ?? []
}
