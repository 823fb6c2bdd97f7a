// What is switched on in Azure: which sets and VMs publish their events outside the VMs, which VMs have no
// beacon, and what keeps the relay from reading that.
import { isSameName } from '../../shared/document.ts'
import { messageOf } from '../../shared/errors.ts'
import { fleetOf } from '../core/rules/config.ts'
import { listFleet } from './beacons.ts'
import type { Machine, Relay } from './relay.ts'

export interface AzureState {
  subscriptionId: string
  /** The fleet that its events belong to. Absent: the relay takes none. */
  fleet?: string
  /** Why the relay cannot read the subscription. Then the lists are empty. */
  problem?: string
  /** Sets, and VMs that are in none, as `resource group/name`. */
  publishing: string[]
  silent: string[]
  /** VMs of which no beacon is known. Of a uniform scale set: the set, if it has none at all. */
  withoutBeacon: string[]
  /** Of those: nobody sees their events, as Azure does not publish them. */
  blind: string[]
}

export async function checkAzure(relay: Relay, fleets: string[]): Promise<AzureState[]> {
  const { azure, config } = relay
  const states: AzureState[] = []
  for (const subscriptionId of azure?.subscriptions ?? []) {
    const fleet = fleetOf(config, subscriptionId)
    if (fleet !== undefined && !fleets.includes(fleet)) continue
    states.push(await stateOf(relay, subscriptionId, fleet))
  }
  return states
}

async function stateOf(
  relay: Relay,
  subscriptionId: string,
  fleet: string | undefined,
): Promise<AzureState> {
  const own = { subscriptionId, ...(fleet !== undefined && { fleet }) }
  try {
    const machines = await relay.azure!.graph.listMachines([subscriptionId], 'people')
    const beacons = fleet === undefined ? [] : await listFleet(relay, fleet)
    const units = machines.filter((one) => setOf(one, machines) === undefined)
    const hasBeacon = ({ type, name, resourceGroup }: Machine) =>
      beacons.some(
        (one) =>
          one.left === undefined &&
          isSameName(one.resourceGroup, resourceGroup) &&
          isSameName(type === 'virtualMachines' ? one.vm : one.scaleSet, name),
      )
    const isOfVms = (one: Machine) => one.type === 'virtualMachines' || isUniform(one, machines)
    const lacking = machines.filter((one) => isOfVms(one) && !hasBeacon(one))
    return {
      ...own,
      publishing: namesOf(units.filter(({ publishes }) => publishes)),
      silent: namesOf(units.filter(({ publishes }) => !publishes)),
      withoutBeacon: namesOf(lacking),
      blind: namesOf(lacking.filter((one) => !(setOf(one, machines) ?? one).publishes)),
    }
  } catch (error) {
    const problem = messageOf(error)
    return { ...own, problem, publishing: [], silent: [], withoutBeacon: [], blind: [] }
  }
}

/** The set that a VM is in. */
function setOf(vm: Machine, machines: Machine[]): Machine | undefined {
  const { scaleSet, availabilitySet, resourceGroup } = vm
  if (scaleSet === '' && availabilitySet === '') return undefined
  const type = scaleSet === '' ? 'availabilitySets' : 'virtualMachineScaleSets'
  const name = scaleSet || availabilitySet
  const isNear = (one: Machine) => isSameName(one.resourceGroup, resourceGroup)
  return machines.find((one) => one.type === type && isSameName(one.name, name) && isNear(one))
}

/** The inventory does not list the VMs of a uniform scale set. */
function isUniform({ type, name, resourceGroup }: Machine, machines: Machine[]): boolean {
  if (type !== 'virtualMachineScaleSets') return false
  return !machines.some(
    (one) => isSameName(one.scaleSet, name) && isSameName(one.resourceGroup, resourceGroup),
  )
}

function namesOf(machines: Machine[]): string[] {
  return machines.map(({ resourceGroup, name }) => `${resourceGroup}/${name}`).sort()
}
