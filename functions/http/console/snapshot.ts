// The open events of some fleets, read once for all who look at the same time: fifty open pages cost
// one read in two seconds.
import type { Delivery } from '../../core/delivery/delivery.ts'
import type { RemovedChannel } from '../../core/delivery/health.ts'
import { knownVms } from '../../core/event/drill.ts'
import type { EventRecord } from '../../core/event/event.ts'
import type { Mute } from '../../core/rules/mute.ts'
import { channelsInTrouble } from '../../use-cases/channel-health.ts'
import { mutesFor } from '../../use-cases/mutes.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { removedChannels } from '../../use-cases/reroute.ts'
import { createShortCache } from '../../use-cases/short-cache.ts'
import { etagOf } from '../page.ts'
import { type Overview, readOverview } from './overview.ts'

const keptMs = 2_000
/** More open events than this are found by a search. */
const maxShown = 60
/** Open events that a filter looks at. */
const maxFiltered = 300
/** Reading the deliveries of an event costs a call of the storage. */
const maxNotified = 13

type Troubles = Awaited<ReturnType<typeof channelsInTrouble>>

export interface Snapshot {
  records: EventRecord[]
  more: boolean
  /** Of the first events, in the order of `records`. */
  deliveries: Delivery[][]
  troubles: Troubles
  removed: RemovedChannel[]
  overview: Overview
  /** Of all fleets. */
  mutes: Mute[]
  /** Changes with the content. */
  version: string
}

/** Empty: all. */
interface OpenFilter {
  type: string
  /** Part of the name of a VM or a scale set, or the beginning of an event's id. */
  q: string
}

const noFilter: OpenFilter = { type: '', q: '' }

export interface Snapshots {
  read(fleets: string[], filter?: OpenFilter): Promise<Snapshot>
  /** A decision drops them, so that the next read shows it. */
  drop(): void
}

export function createSnapshots(relay: Relay): Snapshots {
  const cache = createShortCache(relay, keptMs, ([filter, ...fleets]) =>
    readOpen(relay, fleets, JSON.parse(filter!) as OpenFilter),
  )
  return {
    read: (fleets, filter = noFilter) => cache.read([JSON.stringify(filter), ...fleets]),
    drop: cache.drop,
  }
}

async function readOpen(relay: Relay, fleets: string[], filter: OpenFilter): Promise<Snapshot> {
  const { store } = relay
  const isFiltered = filter.type !== '' || filter.q !== ''
  const found = await store.listOpen(fleets, isFiltered ? maxFiltered : maxShown + 1)
  const wanted = found.filter((record) => matches(record, filter))
  const records = wanted.slice(0, maxShown)
  const [troubles, overview, mutes, ...deliveries] = await Promise.all([
    channelsInTrouble(relay),
    readOverview(relay, fleets),
    mutesFor(relay, { by: 'admin' }),
    ...records.slice(0, maxNotified).map((record) => store.readDeliveries(record)),
  ])
  const removed = removedChannels(relay)
  const content = [
    records.map(({ fleet, eventId, sequence }) => [fleet, eventId, sequence]),
    deliveries.flat().map(({ id, state, attempts, nextAt }) => [id, state, attempts, nextAt]),
    troubles,
    removed,
    overview,
    mutes,
  ]
  const version = await etagOf(JSON.stringify(content))
  return {
    records,
    more: wanted.length > maxShown || (isFiltered && found.length === maxFiltered),
    deliveries,
    troubles,
    removed,
    overview,
    mutes,
    version,
  }
}

function matches(record: EventRecord, { type, q }: OpenFilter): boolean {
  const { eventId, facts } = record
  if (type !== '' && facts.eventType !== type) return false
  const text = q.toLowerCase()
  const names = [...facts.resources, ...knownVms(record).map(({ scaleSet }) => scaleSet)]
  return eventId.startsWith(text) || names.some((name) => name.toLowerCase().includes(text))
}
