// The open events of some fleets, read once for all who look at the same time: fifty open pages cost
// one read in two seconds.
import type { Delivery } from '../../core/delivery/delivery.ts'
import type { RemovedChannel } from '../../core/delivery/health.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { channelsInTrouble } from '../../use-cases/channel-health.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { removedChannels } from '../../use-cases/reroute.ts'
import { createShortCache, type ShortCache } from '../../use-cases/short-cache.ts'
import { etagOf } from '../page.ts'
import { type Overview, readOverview } from './overview.ts'

const keptMs = 2_000
/** More open events than this are found by a search. */
const maxShown = 60
/** Reading the deliveries of an event costs a call of the storage. */
const maxNotified = 14

type Troubles = Awaited<ReturnType<typeof channelsInTrouble>>

export interface Snapshot {
  records: EventRecord[]
  more: boolean
  /** Of the first events, in the order of `records`. */
  deliveries: Delivery[][]
  troubles: Troubles
  removed: RemovedChannel[]
  overview: Overview
  /** Changes with the content. */
  version: string
}

/** A decision drops them, so that the next read shows it. */
export type Snapshots = ShortCache<Snapshot>

export function createSnapshots(relay: Relay): Snapshots {
  return createShortCache(relay, keptMs, (fleets) => readOpen(relay, fleets))
}

async function readOpen(relay: Relay, fleets: string[]): Promise<Snapshot> {
  const { store } = relay
  const found = await store.listOpen(fleets, maxShown + 1)
  const records = found.slice(0, maxShown)
  const [troubles, overview, ...deliveries] = await Promise.all([
    channelsInTrouble(relay),
    readOverview(relay, fleets),
    ...records.slice(0, maxNotified).map((record) => store.readDeliveries(record)),
  ])
  const removed = removedChannels(relay)
  const content = [
    records.map(({ fleet, eventId, sequence }) => [fleet, eventId, sequence]),
    deliveries.flat().map(({ id, state, attempts, nextAt }) => [id, state, attempts, nextAt]),
    troubles,
    removed,
    overview,
  ]
  const version = await etagOf(JSON.stringify(content))
  return {
    records,
    more: found.length > maxShown,
    deliveries,
    troubles,
    removed,
    overview,
    version,
  }
}
