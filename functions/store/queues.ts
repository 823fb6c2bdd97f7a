// The queues of pending deliveries: one for each channel and fleet, by time. Finds what can be sent next,
// and reads no more rows than it must.
import { storedChannel } from '../core/delivery/delivery.ts'
import { type Channels, toState } from './channels.ts'
import type { Deliveries, HeldDelivery, HeldPartition } from './deliveries.ts'
import {
  isLent,
  isPending,
  type PendingSummary,
  pendingIndex,
  rangeAround,
  subscribers,
} from './delivery-rows.ts'
import { findEnd, justAfter } from './keys.ts'
import type { Parts } from './parts.ts'
import { type Found, type Row, summaryIn } from './rows.ts'
import type { Pacing } from './store.ts'

/** Entries of one page. */
export const pageSize = 200
/** Pages of one search, to see each channel and fleet. A long queue needs two pages. */
const maxPages = 512
/** Pages of one queue, because the deliveries that are due longest may have to wait for others. */
const maxQueuePages = 25
/** Events that are read at once. */
const eventsAtOnce = 8
/** A VM with more waiting events than this has many: docs/decisions.md says what one VM with 100 did to others. */
const maxAhead = 5
/** Another worker's request may end long before its lease: look again after this time. */
const lookAgainMs = 2_000

/** A channel that may have pending deliveries. */
export interface Waiting {
  channel: string
  spentUntil: number
  row: Row | undefined
  fleets: FleetQueue[]
}

/** Pending deliveries of one fleet for one channel. */
export interface FleetQueue {
  channel: string
  fleet: string
  /** The entries are sorted by time. If they fill a page, there may be more. */
  entries: Found[]
}

/** A pending delivery. No earlier one of its event and channel is pending. */
export interface Pending extends HeldDelivery {
  partition: HeldPartition
  /** When the delivery can be sent. */
  at: number
  /** The VM that told of it has many. */
  isOfCrowd: boolean
}

/** A delivery that this worker has under way: it can be sent again when its lease ends. */
interface UnderWay {
  at: number
  one?: undefined
}

/** `until`: when the lease ends, if this worker has the entry under way. */
interface QueueEntry {
  entry: Found
  until: number | undefined
}

export type Partitions = Map<string, HeldPartition>

export class Queues {
  readonly #parts: Parts
  readonly #deliveries: Deliveries
  readonly #channels: Channels

  constructor(parts: Parts, deliveries: Deliveries, channels: Channels) {
    this.#parts = parts
    this.#deliveries = deliveries
    this.#channels = channels
  }

  /** The channels with room and their entries, and the health of all channels. */
  async look({ roomOf }: Pick<Pacing, 'roomOf'>) {
    const { together } = this.#parts
    const [rows, entries] = (await together<Map<string, Row> | Found[]>([
      () => this.#channels.list(),
      () => this.#scan(),
    ])) as [Map<string, Row>, Found[]]
    const queues = Map.groupBy(entries, ({ key }) => buildQueue(key))
    const channels = Map.groupBy(queues.values(), ([first]) => first!.key.split('|')[0]!)
    const waiting = [...channels.values()].flatMap((own): Waiting[] => {
      const fleets = own.flatMap((some): FleetQueue[] => {
        const named = this.#nameOf(some)
        return named === undefined ? [] : [{ ...named, entries: some }]
      })
      if (fleets.length === 0) return []
      const { channel } = fleets[0]!
      if (channel !== subscribers && roomOf(channel) <= 0) return []
      const row = rows.get(channel)
      return [{ channel, row, spentUntil: row ? toState(row).spentUntil : 0, fleets }]
    })
    const readHealth = (channel: string) => {
      const row = rows.get(channel)
      return row && toState(row).health
    }
    return { waiting, healthOf: readHealth }
  }

  /** Names a queue by its first entry that is not damaged. */
  #nameOf(entries: Found[]): Pick<FleetQueue, 'channel' | 'fleet'> | undefined {
    for (const entry of entries) {
      const [channel, fleet] = summaryIn<PendingSummary>(entry, this.#parts.rows, isPending) ?? []
      if (channel !== undefined && fleet !== undefined) return { channel, fleet }
    }
    return undefined
  }

  /** Finds all entries of each channel and fleet, or one full page of them. */
  async #scan(): Promise<Found[]> {
    const found: Found[] = []
    let from = ''
    for (let pages = 0; pages < maxPages; pages++) {
      const page = await this.#parts.rows.find(pendingIndex, from, '~', pageSize)
      const last = page.at(-1)
      if (last === undefined || page.length < pageSize) return this.#timed([...found, ...page])
      const queue = buildQueue(last.key)
      // if the last queue begins within this page, read it again from its start
      const isCut = buildQueue(page[0]!.key) !== queue
      found.push(...page.filter(({ key }) => !isCut || buildQueue(key) !== queue))
      from = isCut ? `${queue}|` : `${queue}|~`
    }
    return this.#timed(found)
  }

  /** Without those whose keys have no time: they are damaged, and others of their channel would wait for them. */
  async #timed(found: Found[]): Promise<Found[]> {
    const odd = found.filter(({ key }) => !Number.isFinite(readTime(key)))
    if (odd.length === 0) return found
    await this.#parts.rows.tidy(odd, 0)
    return found.filter((entry) => !odd.includes(entry))
  }

  /**
   * The deliveries of a queue that need not wait for an earlier one of their event, by time, but those of VMs with
   * many come last, or first. What is too late is left out.
   */
  async *sendableIn(
    queue: FleetQueue,
    partitions: Partitions,
    now: number,
    isFree: (entry: Found) => boolean,
    isLate: (at: number) => boolean,
    crowdFirst = false,
  ): AsyncGenerator<Pending | UnderWay> {
    const shown = new Set<string>()
    const isDue = ({ key }: Found) => !isLate(readTime(key))
    const look = ({ entry, until }: QueueEntry, isOfCrowd: boolean): (Pending | UnderWay)[] => {
      if (until !== undefined) return [{ at: until }]
      const heads = isDue(entry) ? listHeads(entry, queue.channel, partitions, now, shown) : []
      return heads.map((one) => ({ ...one, isOfCrowd }))
    }
    for await (const page of this.#pagesOf(queue)) {
      for (const { entries, isOfCrowd } of buildChunks(page.filter(isDue), crowdFirst)) {
        const free = entries.filter(isDue).filter(isFree)
        const looked = await this.#loadFree(free, partitions, now)
        for (const one of looked) yield* look(one, isOfCrowd)
      }
      if (!page.every(isDue)) return
    }
  }

  /** Reads the events of those entries that this worker has not under way. */
  async #loadFree(entries: Found[], partitions: Partitions, now: number): Promise<QueueEntry[]> {
    const looked = entries.map((entry) => ({ entry, until: this.#underWayUntil(entry.key, now) }))
    const free = looked.filter(({ until }) => until === undefined).map(({ entry }) => entry)
    await this.#load(free, partitions)
    return looked
  }

  async *#pagesOf({ channel, fleet, entries }: FleetQueue): AsyncGenerator<Found[]> {
    let page = entries
    for (let pages = 1; pages <= maxQueuePages; pages++) {
      yield page
      const last = page.at(-1)
      if (last === undefined || page.length < pageSize) return
      const from = justAfter(last.key)
      page = await this.#parts.rows.find(pendingIndex, from, findEnd(channel, fleet), pageSize)
    }
  }

  /** The messages of one event are often due in several channels, so the first of each are read together. */
  async loadFirst(
    waiting: Waiting[],
    partitions: Partitions,
    { now, roomOf }: Pick<Pacing, 'now' | 'roomOf'>,
  ): Promise<void> {
    const queues = waiting.flatMap(({ fleets }) => fleets)
    const first = queues.flatMap(({ entries }) => entries.slice(0, eventsAtOnce))
    const free = first.filter(({ key }) => this.isDueAndFree(key, now))
    await this.#load(
      free.filter((one) => hasRoom(one, roomOf)),
      partitions,
    )
  }

  isDueAndFree(key: string, now: number): boolean {
    return readTime(key) <= now && this.#underWayUntil(key, now) === undefined
  }

  #underWayUntil(key: string, now: number): number | undefined {
    const until = this.#deliveries.underWay.get(key)
    if (until === undefined || until > now) return until
    this.#deliveries.underWay.delete(key)
    return undefined
  }

  async #load(entries: Found[], partitions: Partitions): Promise<void> {
    const missing = new Map(entries.map((entry) => [chooseGroup(entry), entry]))
    const works = [...missing]
      .filter(([name]) => !partitions.has(name))
      .map(([name, { partition, row }]) => async () => {
        partitions.set(name, await this.#deliveries.load(partition, rangeAround(row)))
      })
    await this.#parts.together(works)
  }
}

/**
 * The first pending delivery of an event to a channel, and when it can be sent. If a later one was
 * planned since its last attempt, it does not wait for its own time: people need one of them now.
 */
function buildHead({ deliveries }: HeldPartition, channel: string, now: number) {
  const pending = deliveries.filter(({ one }) => one.channel === channel && one.state === 'pending')
  const [head] = pending
  if (head === undefined) return undefined
  if (isLent(head.one, now)) return { ...head, at: Math.min(head.one.nextAt, now + lookAgainMs) }
  const { triedAt = Number.NEGATIVE_INFINITY, nextAt } = head.one
  const newer = pending.filter(({ one }) => one.plannedAt > triedAt).map(({ one }) => one.nextAt)
  return { ...head, at: Math.min(nextAt, ...newer) }
}

/** What is read together for an entry: deliveries that wait for each other. */
function chooseGroup({ partition, row }: Found): string {
  return `${partition} ${rangeAround(row)[0]}`
}

/** False: no stored channel of the row has room, so nobody needs to read it. */
export function hasRoom(entry: Found, roomOf: Pacing['roomOf']): boolean {
  const [channel, , , , ids] = summaryIn<PendingSummary>(entry, undefined, isPending) ?? []
  const isFree = (one: string) => roomOf(storedChannel(one)) > 0
  return channel !== subscribers || (ids?.some(isFree) ?? true)
}

/** The next delivery of the entry's event to each of the entry's channels, each only once. */
function listHeads(
  entry: Found,
  channel: string,
  partitions: Partitions,
  now: number,
  shown: Set<string>,
): Omit<Pending, 'isOfCrowd'>[] {
  const partition = partitions.get(chooseGroup(entry))!
  return listChannels(entry, channel, partition).flatMap((own) => {
    const head = buildHead(partition, own, now)
    if (head === undefined || shown.has(head.one.id)) return []
    shown.add(head.one.id)
    return [{ ...head, partition }]
  })
}

/** The channels of an entry's deliveries: one, or stored channels whose deliveries share a row. */
function listChannels(entry: Found, channel: string, { deliveries }: HeldPartition): string[] {
  if (channel !== subscribers) return [channel]
  const own = deliveries.filter(
    ({ heldRow, one }) => heldRow.row === entry.row && one.state === 'pending',
  )
  return own.map(({ one }) => one.channel)
}

/** Entries whose events are read together. */
function buildChunks(
  entries: Found[],
  crowdFirst: boolean,
): { entries: Found[]; isOfCrowd: boolean }[] {
  const crowd = new Set(entries.length <= maxAhead ? [] : findCrowds(entries))
  const cut = (some: Found[], isOfCrowd: boolean) =>
    Array.from({ length: Math.ceil(some.length / eventsAtOnce) }, (_, i) => {
      return { entries: some.slice(i * eventsAtOnce, (i + 1) * eventsAtOnce), isOfCrowd }
    })
  const few = cut(
    entries.filter((one) => !crowd.has(one)),
    false,
  )
  const many = cut([...crowd], true)
  return crowdFirst ? [...many, ...few] : [...few, ...many]
}

function findCrowds(entries: Found[]): Found[] {
  const named = entries.map((entry) => {
    const [channel, , , , names] = summaryIn<PendingSummary>(entry, undefined, isPending) ?? []
    return { entry, vm: channel === subscribers ? undefined : names?.[0] }
  })
  const counts = Map.groupBy(named, ({ vm }) => vm)
  return named
    .filter(({ vm }) => vm !== undefined && counts.get(vm)!.length > maxAhead)
    .map(({ entry }) => entry)
}

/** The channel and fleet of an entry. */
function buildQueue(key: string): string {
  return key.split('|', 2).join('|')
}

function readTime(key: string): number {
  return Number(key.split('|')[2])
}

/** No delivery of the channel is due earlier. */
export function firstEntryAt({ fleets }: Waiting): number {
  return Math.min(...fleets.map(({ entries }) => readTime(entries[0]!.key)))
}

/** The one that is due longest comes first. */
export function byDue(a: Pending, b: Pending): number {
  return a.at - b.at || a.one.seq - b.one.seq
}
