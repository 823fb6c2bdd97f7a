// An event as planned by Azure and by the owner of its VMs.
import type { EventPatch, EventRequest } from '../simulator/requests.ts'

export type FleetName = 'prod' | 'test'

export interface PlannedEvent {
  id: string
  fleet: FleetName
  /** Ms after the world began. */
  afterMs: number
  request: EventRequest
  patches: { afterMs: number; patch: (now: number) => EventPatch }[]
  cancelAfterMs: number | undefined
  /** Someone approves it in Azure's portal. */
  approvedElsewhereAfterMs: number | undefined
  /** SmallRows lack it during this time, counted from its beginning. */
  hiddenMs?: { from: number; until: number }
  /** SmallRows show a NotBefore that is earlier than the real one by this much. */
  overdueMs?: number
  /** What changes under the same EventId. */
  alterations?: { afterMs: number; values: Alteration }[]
  /** From this time on, its documents show no event: it is in another place of Azure. */
  moves?: { vm: string; afterMs: number }
  /** The beacons of hit VMs stop for a minute before it is cancelled. */
  updatesBeacon?: boolean
}

export type Alteration = Pick<
  EventRequest,
  'EventType' | 'EventSource' | 'DurationInSeconds' | 'Resources'
>
