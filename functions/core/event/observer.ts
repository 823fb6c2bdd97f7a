// Beacons, and what each of them saw of an event.
import type { ScheduledEvent } from '../../../shared/document.ts'
import type { Goodbye, Hook } from '../../../shared/report.ts'
import type { HookStates } from './hook-state.ts'

/**
 * Why a beacon will not come back. `removed`: its package was removed. `terminated`: Azure took the
 * VM. `replaced`: another beacon reports for the VM. `owner`: an owner said so.
 */
export type Departure = 'removed' | 'terminated' | 'replaced' | 'owner'

/** One beacon, with what decisions about events need. */
export interface Beacon {
  fleet: string
  /** Its key, in lower case. */
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
  /** Of its software. */
  version: string
  /** Hooks that its VM has. Absent if none are set up. */
  hooks?: Hook[]
  /** Its last report said that it stops. */
  goodbye?: { reason: Goodbye; at: number }
  /** When the relay looks whether it is silent. Absent once that is decided. See silence.ts. */
  silentAt?: number
  /** The event that explains why it is not heard. */
  explainedBy?: string
  /**
   * Not heard since `since`, and silent from `from` on. Stays for a moment after it is heard again.
   */
  silence?: { since: number; from: number }
  left?: { why: Departure; at: number }
}

/** What rules read about a VM. Its own beacon reports it. */
export type KnownVm = Pick<Beacon, 'vm' | 'resourceGroup' | 'scaleSet' | 'tags'>

/** An event as a sighting has it, see vm-names.ts. */
export type SightedEvent = ScheduledEvent & {
  /** Of the whole list, if `resources` is only a part of it. */
  namesHash?: string
}

export interface Gone {
  /** The first poll without the event, and the last one with it. */
  firstAt: number
  lastSeenAt: number
  /** Between the two, the beacon was not heard for some paces: its VM may have paused. */
  paused?: true
}

/** What one beacon last saw of one event. */
export interface Sighting {
  eventId: string
  beacon: string
  /** First poll that showed it. */
  firstSeenAt: number
  /** As in the last document that contained it. */
  event: SightedEvent
  /** Set while the beacon's document lacks the event. */
  gone?: Gone
  /** Runs of its VM's hooks for the event. Absent if there are none. */
  hooks?: HookStates
}

/** A beacon that has seen an event, and its sighting. */
export interface Observer {
  beacon: Beacon
  sighting: Sighting
}

/** What conclusions need of an observer: whether it is heard, and whether it misses the event. */
export interface Witness {
  beacon: Pick<
    Beacon,
    | ('beacon' | 'vm' | 'bootId' | 'counter')
    | ('heardAt' | 'polledAt' | 'paceMs' | 'bootedAt' | 'bootHeardAt' | 'goodbye')
  >
  sighting: Pick<Sighting, 'gone' | 'hooks'> & {
    /** It misses the event, but that does not count, see witness.ts. */
    isOutlier?: boolean
  }
}
