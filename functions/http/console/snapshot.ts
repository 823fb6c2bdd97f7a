// The open events of some fleets, read once for all who look at the same time: fifty open pages cost
// one read in two seconds.
import type { Delivery } from '../../core/delivery/delivery.ts'
import type { RemovedChannel } from '../../core/delivery/health.ts'
import { knownVms } from '../../core/event/drill.ts'
import type { EventRecord } from '../../core/event/event.ts'
import type { EventSummary } from '../../core/event/summary.ts'
import type { Html } from '../../pages/event.ts'
import { channelsInTrouble } from '../../use-cases/channel-health.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { removedChannels } from '../../use-cases/reroute.ts'
import { createShortCache } from '../../use-cases/short-cache.ts'
import { buildEtag } from '../page.ts'
import type { ReadAbsent } from './absent.ts'
import { type Overview, readOverview } from './overview.ts'

const keptMs = 2_000
/** More open events than this are found by a search. */
const maxShown = 60
/** Open events that a filter looks at. */
const maxFiltered = 300
/** Reading the deliveries of an event costs a call of the storage. */
const maxNotified = 13

type Troubles = Awaited<ReturnType<typeof channelsInTrouble>>

/** What a feature says on "Now". */
interface NowPart {
  /** The content for all fleets, as JSON. If it changes, the page changes. */
  content: unknown
  /** What it says in some words, such as `1 mute`, and in full. Empty: nothing to say. */
  brief(now: NowShown): Html
  line(now: NowShown): Html
  /** The link to the part's page. */
  link(base: string): Html
}

interface NowShown {
  base: string
  fleets: string[]
  /** The events that the page shows. */
  records: EventRecord[]
  /** Whether people have to decide it. */
  asks(record: EventRecord): boolean
  at: number
}

export interface Snapshot {
  records: EventRecord[]
  more: boolean
  /** The newest event, while none is open. */
  last?: EventSummary | undefined
  /** The deliveries of the first events, in the order of `records`. */
  deliveries: Delivery[][]
  troubles: Troubles
  removed: RemovedChannel[]
  overview: Overview
  parts: NowPart[]
  /** Changes with the content. */
  version: string
}

/** Empty: all. */
interface OpenFilter {
  type: string
  /** Part of the name of a VM or a scale set, or the beginning of an event's id. */
  q: string
}

/** Reads a feature's part, with the open events. */
export type ReadPart = (relay: Relay) => Promise<NowPart>

const noFilter: OpenFilter = { type: '', q: '' }

export interface Snapshots {
  read(fleets: string[], filter?: OpenFilter): Promise<Snapshot>
  /** A decision drops them, so that the next read shows it. */
  drop(): void
}

/** What features bring. */
interface FeatureReads {
  readParts: readonly ReadPart[]
  absentReaders: readonly ReadAbsent[]
}

export function createSnapshots(relay: Relay, features: FeatureReads): Snapshots {
  const cache = createShortCache(relay, keptMs, ([filter, ...fleets]) =>
    readOpen(relay, features, fleets, JSON.parse(filter!) as OpenFilter),
  )
  return {
    read: (fleets, filter = noFilter) => cache.read([JSON.stringify(filter), ...fleets]),
    drop: cache.drop,
  }
}

async function readOpen(
  relay: Relay,
  { readParts, absentReaders }: FeatureReads,
  fleets: string[],
  filter: OpenFilter,
): Promise<Snapshot> {
  const { store } = relay
  const isFiltered = filter.type !== '' || filter.q !== ''
  let looked = 0
  let matching = 0
  const isShown = (record: EventRecord) => {
    looked += 1
    if (!matches(record, filter)) return false
    matching += 1
    return matching <= maxShown
  }
  const most = isFiltered ? maxFiltered : maxShown + 1
  const records = await store.listOpen(fleets, most, isShown)
  const [troubles, overview, parts, ...deliveries] = await Promise.all([
    channelsInTrouble(relay),
    readOverview(relay, absentReaders, fleets),
    Promise.all(readParts.map((read) => read(relay))),
    // if some rows named channels and others did not, the others would look untroubled
    ...(records.length > maxNotified ? [] : records).map((record) => store.readDeliveries(record)),
  ])
  const removed = removedChannels(relay)
  const newest = records.length > 0 ? undefined : await store.findEvents({ fleets, limit: 1 })
  const last = newest?.events[0]
  const content = [
    last?.eventId,
    records.map(({ fleet, eventId, sequence }) => [fleet, eventId, sequence]),
    deliveries.flat().map(({ id, state, attempts, nextAt }) => [id, state, attempts, nextAt]),
    troubles,
    removed,
    overview,
    parts.map(({ content }) => content),
  ]
  const version = await buildEtag(JSON.stringify(content))
  return {
    records,
    last,
    more: matching > maxShown || (isFiltered && looked === maxFiltered),
    deliveries,
    troubles,
    removed,
    overview,
    parts,
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
