// What a feature knows of beacons that do not report. The pages "Now" and "Beacons" show it.
import type { Relay } from '../../use-cases/relay.ts'

interface AbsentNames {
  /** Names of the VMs whose beacon is silent. The name is empty if a VM has none. */
  silent: string[]
  /** Names of the VMs that are expected, and never reported. */
  missing: string[]
  /** How many the fleet has to have. */
  expected?: number
}

/** Reads the absent beacons of one fleet. Reads only what `wants` names. */
export type ReadAbsent = (
  relay: Relay,
  fleet: string,
  wants: { silent: boolean; missing: boolean },
) => Promise<AbsentNames>

const none: AbsentNames = { silent: [], missing: [] }

export async function readAbsentBy(
  readers: readonly ReadAbsent[],
  ...of: Parameters<ReadAbsent>
): Promise<AbsentNames> {
  return readers[0]?.(...of) ?? none
}
