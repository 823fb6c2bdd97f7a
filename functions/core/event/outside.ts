// What the relay knows of an event from outside the VMs.
import type { KnownVm } from './sight.ts'

export const resourceTypes = [
  'virtualMachineScaleSets',
  'virtualMachines',
  'availabilitySets',
] as const

/** What the event belongs to in Azure: a scale set, an availability set, or a VM that is in none. */
export interface AzureResource {
  /** In lower case. */
  subscriptionId: string
  resourceGroup: string
  type: (typeof resourceTypes)[number]
  name: string
}

/** What is known of an event from outside the VMs. */
export interface Outside {
  resource: AzureResource
  /** The affected VMs, from the inventory. Absent until it was read. */
  vms?: KnownVm[]
  /** When the inventory was last asked for. */
  askedAt?: number
}
