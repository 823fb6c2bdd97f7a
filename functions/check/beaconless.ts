// Warns about subscriptions of no fleet, and about settings that need beacons, in fleets that have none.
import type { Config } from '../config/config.ts'
import { findFleet, isBeaconless } from '../core/rules/config.ts'

/** Subscriptions of `azure` of which the relay takes nothing, and where it tells Azure nothing. */
export function adviseOnSubscriptions(config: Config): string[] {
  const { azure } = config
  return (azure?.subscriptions ?? []).flatMap((id, i) =>
    findFleet(config, id) === undefined
      ? [
          `azure.subscriptions[${i}]: no fleet has it in "azureSubscriptions", so the relay takes no events of it and approves none there; add it to its fleet`,
        ]
      : [],
  )
}

export function adviseOnBeaconless({ fleets, policy }: Config): string[] {
  const without = Object.entries(fleets).filter(([, fleet]) => isBeaconless(fleet))
  if (without.length === 0) return []
  const expecting = without.filter(([, { expectedBeacons }]) => expectedBeacons !== undefined)
  const names = without.map(([name]) => name)
  const waiting = policy.flatMap(({ whenReady, match }, i) => {
    const isForNone = match.fleet?.every((name) => names.includes(name))
    const isForAll = without.length === Object.keys(fleets).length
    return whenReady && (isForNone ?? isForAll) ? [`policy[${i}].whenReady`] : []
  })
  return [
    ...expecting.map(
      ([name]) =>
        `fleets.${name}.expectedBeacons: the fleet has no "key" and no "entra", so no beacon can report; remove it, or add one of them`,
    ),
    ...waiting.map(
      (at) =>
        `${at}: its fleets have no beacons, so no hook runs, and people are asked each time; remove it`,
    ),
  ]
}

/** What fleets without beacons lack. One sentence each, to know and not to change. */
export function limitsOfBeaconless({ fleets }: Config): string[] {
  const without = Object.entries(fleets).filter(([, fleet]) => isBeaconless(fleet))
  return without.map(
    ([name]) =>
      `Fleet ${name} has no beacons: no hooks run, a message about a Preempt usually comes too late, and no alert says that a VM is silent.`,
  )
}
