// What a feature knows of beacons that do not report. The pages "Now" and "Beacons" show it.
import type { Relay } from '../../use-cases/relay.ts'

interface AbsentNames {
  /** Of VMs whose beacon is silent. Empty if a VM has no name. */
  silent: string[]
  /** Of VMs that are expected, and never reported. */
  missing: string[]
  /** How many the fleet has to have. */
  expected?: number
}

/** Of one fleet. Only what `wants` names is read. */
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
