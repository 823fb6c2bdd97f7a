// What is switched on in Azure: which sets and VMs publish their events outside the VMs, which VMs have no
// beacon, and what keeps the relay from reading that.
import { messageOf } from '../../shared/errors.ts'
import { findFleet } from '../core/rules/config.ts'
import { listFleet } from './beacons.ts'
import type { Machine, Relay } from './relay.ts'
import { createShortCache } from './short-cache.ts'

export interface AzureState extends Lists {
  subscriptionId: string
  /** The fleet that its events belong to. Absent: the relay takes none. */
  fleet?: string
  /** Why the relay cannot read the subscription. Then the lists are empty. */
  problem?: string
}

interface Lists {
  /** Sets, and VMs that are in none, as `resource group/name`. */
  publishing: string[]
  silent: string[]
  /** VMs of which no beacon is known. Of a uniform scale set: the set, if it has none at all. */
  withoutBeacon: string[]
  /** The VMs in `withoutBeacon` whose events nobody sees, because Azure does not publish them. */
  blind: string[]
}

/** The lists are kept as long as the inventory that people look at. */
const keptMs = 60_000

/** People who look at the same subscription share what was found. */
export function createAzureCheck(relay: Relay): (fleets: string[]) => Promise<AzureState[]> {
  const lists = createShortCache(relay, keptMs, ([subscriptionId, ...fleets]) =>
    readLists(relay, subscriptionId!, fleets),
  )
  return async (fleets) => {
    const states: AzureState[] = []
    const areAll = Object.keys(relay.config.fleets).every((name) => fleets.includes(name))
    for (const subscriptionId of relay.outside.azure?.subscriptions ?? []) {
      const fleet = findFleet(relay.config, subscriptionId)
      // what belongs to no fleet may be anybody's
      if (fleet === undefined ? !areAll : !fleets.includes(fleet)) continue
      const own = { subscriptionId, ...(fleet !== undefined && { fleet }) }
      try {
        states.push({ ...own, ...(await lists.read(Object.values(own))) })
      } catch (error) {
        states.push({ ...own, problem: messageOf(error), ...nothing })
      }
    }
    return states
  }
}

const nothing: Lists = { publishing: [], silent: [], withoutBeacon: [], blind: [] }

/** `fleets`: the one that the subscription belongs to, if any. */
async function readLists(relay: Relay, subscriptionId: string, fleets: string[]): Promise<Lists> {
  const machines = await relay.outside.azure!.graph.listMachines([subscriptionId], 'people')
  const listed = await Promise.all(fleets.map((fleet) => listFleet(relay, fleet)))
  const known = new Set(
    listed
      .flat()
      .filter((one) => one.left === undefined)
      .flatMap(({ resourceGroup, vm, scaleSet }) => [
        buildKey('virtualMachines', resourceGroup, vm),
        buildKey('virtualMachineScaleSets', resourceGroup, scaleSet),
      ]),
  )
  const sets = new Map(
    machines.map((one) => [buildKey(one.type, one.resourceGroup, one.name), one]),
  )
  const toSet = (one: Machine) => sets.get(keyOfSet(one))
  const filled = new Set(machines.map(keyOfSet))
  const units = machines.filter((one) => toSet(one) === undefined)
  const isLacking = ({ type, resourceGroup, name }: Machine) => {
    const key = buildKey(type, resourceGroup, name)
    // the inventory does not list the VMs of a uniform scale set
    const isUniform = type === 'virtualMachineScaleSets' && !filled.has(key)
    return (type === 'virtualMachines' || isUniform) && !known.has(key)
  }
  const lacking = machines.filter(isLacking)
  return {
    publishing: joinNames(units.filter(({ publishes }) => publishes)),
    silent: joinNames(units.filter(({ publishes }) => !publishes)),
    withoutBeacon: joinNames(lacking),
    blind: joinNames(lacking.filter((one) => !(toSet(one) ?? one).publishes)),
  }
}

/** Names in Azure have no case. */
function buildKey(type: Machine['type'], resourceGroup: string, name: string): string {
  return `${type}/${resourceGroup}/${name}`.toLowerCase()
}

/** The key of the set that a VM is in. If a VM is in none, no set has its key. */
function keyOfSet({ scaleSet, availabilitySet, resourceGroup }: Machine): string {
  const type = scaleSet === '' ? 'availabilitySets' : 'virtualMachineScaleSets'
  return buildKey(type, resourceGroup, scaleSet || availabilitySet)
}

function joinNames(machines: Machine[]): string[] {
  return machines.map(({ resourceGroup, name }) => `${resourceGroup}/${name}`).sort()
}
