// Reads everything about an event, for the API and the console.
import * as z from 'zod'
import type { Delivery } from '../core/delivery/delivery.ts'
import type { EventRecord } from '../core/event/event.ts'
import { maxAnswerVmBytes } from '../core/event/hit-vms.ts'
import { type PublicSighting, publicSightings } from '../core/event/public-view.ts'
import { extentOf } from '../core/event/reach.ts'
import { type EventView, viewOf } from '../core/event/view.ts'
import { wholeNumber } from '../schema/checks.ts'
import type { EventKey } from '../store/store.ts'
import type { Relay } from './relay.ts'

const maxPage = 200
const usualPage = 50

const timeRule = 'write a time such as the firstSeenAt of an event, 2026-11-21T12:00:00Z'
export const pageQuery = z.strictObject({
  fleet: z.string().optional().describe('Only events of this fleet.'),
  before: z
    .union([z.iso.datetime({ offset: true }), z.iso.date()], timeRule)
    .optional()
    .describe(
      'Only events that were first seen before this time: the last `firstSeenAt` of a page.',
    ),
  limit: wholeNumber(1, maxPage)
    .optional()
    .describe(`Events in the answer, ${usualPage} if absent. More if they share a millisecond.`),
})

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

/**
 * One page, newest first. The query may have `fleet`, `before` and `limit`. Without a fleet, the
 * page has the events of `fleets`, or of all fleets.
 */
export async function readPage(
  relay: Relay,
  query: (name: string) => string | undefined,
  fleets?: string[],
): Promise<PageRead> {
  const given = Object.keys(pageQuery.shape).map((name) => [name, query(name)] as const)
  const read = pageQuery.safeParse(
    Object.fromEntries(given.filter(([, value]) => value !== undefined)),
  )
  if (!read.success) {
    const [{ path, message }] = read.error.issues as [z.core.$ZodIssue]
    return { outcome: 'refused', reason: `${String(path[0])}: ${message}` }
  }
  const { fleet, limit = usualPage } = read.data
  const before = read.data.before === undefined ? undefined : Date.parse(read.data.before)
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
