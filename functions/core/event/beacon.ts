// One beacon: who it is, and what its last report said.
import type { Goodbye, Hook } from '../../../shared/report.ts'

/**
 * Why a beacon will not come back. `removed`: its package was removed. `terminated`: Azure took the
 * VM. `replaced`: another beacon reports for the VM. `owner`: an owner said so.
 */
export type Departure = 'removed' | 'terminated' | 'replaced' | 'owner'

/** The state of a beacon, for people. */
export type BeaconState = 'heard' | 'silent' | 'left'

/** One beacon, with what decisions about events need. */
export interface Beacon {
  fleet: string
  /** The beacon's key, in lower case. */
  beacon: string
  vm: string
  resourceGroup: string
  scaleSet: string
  /** These four are for inventories only. Absent if unknown or empty. */
  vmId?: string
  subscriptionId?: string
  placementGroup?: string
  zone?: string
  tags: Record<string, string>
  bootId: string
  retiredBootIds: string[]
  /** When the first report of this boot was received. */
  bootHeardAt: number
  counter: number
  /** When its last stored report was received. At most one pace old. */
  heardAt: number
  /** Poll time of the document in that report. */
  polledAt?: number
  paceMs: number
  /** When its operating system started, by the relay's clock. */
  bootedAt: number
  /** Ids of the events in its last document. */
  sees: string[]
  /** The version of the beacon's software. */
  version: string
  /** The beacon's last report was signed by a key of the fleet that is about to be replaced. */
  oldKey?: true
  /** Hooks that its VM has. Absent if none are set up. */
  hooks?: Hook[]
  /** The beacon's last report said that it stops. */
  goodbye?: { reason: Goodbye; at: number }
  /** When the relay looks whether it is silent. Absent once that is decided. */
  silentAt?: number
  /** The event that explains why it is not heard. */
  explainedBy?: string
  /**
   * The beacon was not heard since `since`, and is silent from `from` on. This stays for a moment after
   * it is heard again.
   */
  silence?: { since: number; from: number }
  left?: { why: Departure; at: number }
}

/** The fields of a beacon that a list shows. Its tags and the ids of its events may be large. */
export const listedFields = [
  'beacon',
  'vm',
  'resourceGroup',
  'scaleSet',
  'heardAt',
  'paceMs',
  'version',
  'oldKey',
  'hooks',
  'goodbye',
  'explainedBy',
  'silence',
  'left',
] as const

export interface ListedBeacon extends Pick<Beacon, (typeof listedFields)[number]> {
  seesEvents: number
}
