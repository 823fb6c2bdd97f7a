// Reads everything about an event, for the API and the console.
import type { Delivery } from '../core/delivery/delivery.ts'
import type { EventRecord } from '../core/event/event.ts'
import { maxAnswerVmBytes } from '../core/event/hit-vms.ts'
import { type PublicSighting, publicSightings } from '../core/event/public-view.ts'
import { extentOf } from '../core/event/reach.ts'
import { type EventView, viewOf } from '../core/event/view.ts'
import type { EventKey } from '../store/store.ts'
import type { Relay } from './relay.ts'

interface WholeRecord {
  record: EventRecord
  /** With the extent of the event. */
  view: EventView
  deliveries: Delivery[]
  seenBy: PublicSighting[]
}

/** Undefined if there is no such event. Ids are stored in lower case. */
export async function readRecord(
  relay: Relay,
  { fleet, eventId }: EventKey,
): Promise<WholeRecord | undefined> {
  const key = { fleet, eventId: eventId.toLowerCase() }
  const record = await relay.store.readEvent(key)
  if (record === undefined) return undefined
  const deliveries = await relay.store.readDeliveries(key)
  const listening = { now: relay.now(), listeningSince: relay.listeningSince }
  const { vms = [], ...spared } = extentOf(record, listening, maxAnswerVmBytes)
  const view = { ...viewOf(record), ...spared, vms }
  return { record, view, deliveries, seenBy: publicSightings(record) }
}
