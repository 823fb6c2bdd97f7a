// Reads everything about an event, for the API and the console.
import type { Delivery } from '../core/delivery/delivery.ts'
import type { EventRecord } from '../core/event/event.ts'
import { type PublicSighting, publicSightings } from '../core/event/public-view.ts'
import type { EventKey } from '../store/store.ts'
import type { Relay } from './relay.ts'

const maxPage = 200
const usualPage = 50

interface WholeRecord {
  record: EventRecord
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
  return { record, deliveries, seenBy: publicSightings(record, observers) }
}

type PageRead =
  | { outcome: 'read'; records: EventRecord[]; more: boolean }
  | { outcome: 'refused'; reason: string }

/**
 * One page, newest first. The query may have `fleet`, `before` and `limit`. Without a fleet, the
 * page has the events of `fleets`, or of all fleets.
 */
export async function readPage(
  relay: Relay,
  query: (name: string) => string | undefined,
  fleets?: string[],
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
  const page = { limit, ...(before === undefined ? {} : { before }) }
  const wanted = fleet === undefined ? fleets : [fleet]
  const records =
    wanted === undefined ? await relay.store.listEvents(page) : await listOf(relay, wanted, page)
  return { outcome: 'read', records, more: records.length >= limit }
}

/** As `listEvents`, of several fleets. Keeps one page at a time. */
async function listOf(
  { store }: Relay,
  fleets: string[],
  page: { before?: number; limit: number },
): Promise<EventRecord[]> {
  let records: EventRecord[] = []
  for (const fleet of fleets) {
    const found = [...records, ...(await store.listEvents({ ...page, fleet }))]
    found.sort((a, b) => b.firstSeenAt - a.firstSeenAt)
    const last = found[page.limit - 1]?.firstSeenAt ?? Number.NEGATIVE_INFINITY
    records = found.filter(({ firstSeenAt }) => firstSeenAt >= last)
  }
  return records
}
