// What is switched on in Azure: which sets and VMs publish their events outside the VMs, which VMs have no
// beacon, and what keeps the relay from reading that.
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
    const known = new Set(
      beacons
        .filter((one) => one.left === undefined)
        .flatMap(({ resourceGroup, vm, scaleSet }) => [
          keyOf('virtualMachines', resourceGroup, vm),
          keyOf('virtualMachineScaleSets', resourceGroup, scaleSet),
        ]),
    )
    const sets = new Map(machines.map((one) => [keyOf(one.type, one.resourceGroup, one.name), one]))
    const setOf = (one: Machine) => sets.get(keyOfSet(one))
    const filled = new Set(machines.map(keyOfSet))
    const units = machines.filter((one) => setOf(one) === undefined)
    const isLacking = ({ type, resourceGroup, name }: Machine) => {
      const key = keyOf(type, resourceGroup, name)
      // the inventory does not list the VMs of a uniform scale set
      const isUniform = type === 'virtualMachineScaleSets' && !filled.has(key)
      return (type === 'virtualMachines' || isUniform) && !known.has(key)
    }
    const lacking = machines.filter(isLacking)
    return {
      ...own,
      publishing: namesOf(units.filter(({ publishes }) => publishes)),
      silent: namesOf(units.filter(({ publishes }) => !publishes)),
      withoutBeacon: namesOf(lacking),
      blind: namesOf(lacking.filter((one) => !(setOf(one) ?? one).publishes)),
    }
  } catch (error) {
    const problem = messageOf(error)
    return { ...own, problem, publishing: [], silent: [], withoutBeacon: [], blind: [] }
  }
}

/** Names in Azure have no case. */
function keyOf(type: Machine['type'], resourceGroup: string, name: string): string {
  return `${type}/${resourceGroup}/${name}`.toLowerCase()
}

/** Of the set that a VM is in. No set has that of a VM that is in none. */
function keyOfSet({ scaleSet, availabilitySet, resourceGroup }: Machine): string {
  const type = scaleSet === '' ? 'availabilitySets' : 'virtualMachineScaleSets'
  return keyOf(type, resourceGroup, scaleSet || availabilitySet)
}

function namesOf(machines: Machine[]): string[] {
  return machines.map(({ resourceGroup, name }) => `${resourceGroup}/${name}`).sort()
}
