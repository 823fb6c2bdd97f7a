// Reads everything about an event, for the API and the console.
import type { Delivery } from '../core/delivery/delivery.ts'
import type { EventRecord } from '../core/event/event.ts'
import { maxAnswerVmBytes } from '../core/event/hit-vms.ts'
import { type PublicSighting, publicSightings } from '../core/event/public-view.ts'
import { extentOf } from '../core/event/reach.ts'
import { type EventView, viewOf } from '../core/event/view.ts'
import type { EventKey } from '../store/store.ts'
import type { Relay } from './relay.ts'

const maxPage = 200
const usualPage = 50

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
  if (record === undefined || record.alert !== undefined) return undefined
  const [deliveries, observers] = await Promise.all([
    relay.store.readDeliveries(key),
    relay.store.readObservers(key),
  ])
  const listening = { now: relay.now(), listeningSince: relay.listeningSince }
  const { vms = [], ...spared } = extentOf(record, observers, listening, maxAnswerVmBytes)
  const view = { ...viewOf(record), ...spared, vms }
  return { record, view, deliveries, seenBy: publicSightings(record, observers) }
}

type PageRead =
  | { outcome: 'read'; records: EventRecord[]; more: boolean }
  | { outcome: 'refused'; reason: string }

/** One page, newest first. The query may have `fleet`, `before` and `limit`. */
export async function readPage(
  relay: Relay,
  query: (name: string) => string | undefined,
): Promise<PageRead> {
  const fleet = query('fleet')
  const limit = Number(query('limit') ?? usualPage)
  const since = query('before')
  const before = since === undefined ? undefined : Date.parse(since)
  if (!Number.isInteger(limit) || limit < 1 || limit > maxPage) {
    return { outcome: 'refused', reason: `limit must be a whole number from 1 to ${maxPage}` }
  }
  if (Number.isNaN(before)) {
    const reason = 'before must be a time, such as the firstSeenAt of an event'
    return { outcome: 'refused', reason }
  }
  const records = await relay.store.listEvents({
    limit,
    ...(fleet === undefined ? {} : { fleet }),
    ...(before === undefined ? {} : { before }),
  })
  return { outcome: 'read', records, more: records.length >= limit }
}
