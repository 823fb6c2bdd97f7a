// Finds pending deliveries by the index, and which of them can be sent because no earlier one of
// their event waits. A long queue does not hide the others.
import type { Pacing } from '../store.ts'
import { endOf, justAfter, keyOf, startOf } from './keys.ts'
import type { Parts } from './parts.ts'
import type { Row } from './rows.ts'
import {
  deliveryPartition,
  deliveryRow,
  type Held,
  type HeldEvent,
  isInOrder,
  isPending,
  isSameEntry,
  ranges,
  type StoredDelivery,
  toHeldEvent,
} from './stored.ts'
import { type Found, partitions, timeOf } from './time-index.ts'

/** Entries of one page. */
const pageSize = 200
/** Pages of a shard, to see each of its channels and fleets. A long queue needs two pages. */
const maxPages = 512
/** Pages of one queue, because the deliveries that are due longest may have to wait for others. */
const maxChannelPages = 25
/** Events that are read at once. */
const eventsAtOnce = 8

export const channelsPartition = keyOf('channels')

/** A channel that may have pending deliveries. */
export interface Waiting {
  channel: string
  spentUntil: number
  /** The row of `spentUntil`. */
  spent: Held<Spent> | undefined
  fleets: FleetQueue[]
}

/** Pending deliveries of one fleet for one channel. */
export interface FleetQueue {
  channel: string
  fleet: string
  /** By time. If they fill a page, there may be more. */
  entries: Found[]
}

export interface Spent {
  channel: string
  spentUntil: number
  /** The fleet that had the last turn. */
  fleet?: string | undefined
}

/** A pending delivery. No earlier one of its event and channel is pending. */
export interface Pending {
  held: Held<StoredDelivery>
  /** Its event, with the views of deliveries if they were read. */
  event: HeldEvent
  partition: string
  nextAt: number
}

export class PendingDeliveries {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The channels with room, and their entries in the index. */
  async look({ roomOf }: Pick<Pacing, 'roomOf'>) {
    const all = { from: '', to: '~' }
    const works = partitions.all('owed').map((partition) => () => this.#scan(partition))
    const [spent = [], ...found] = await this.#parts.together<Row[] | Found[]>([
      () => this.#parts.rows.list(channelsPartition, all),
      ...works,
    ])
    const spends = new Map((spent as Row[]).map(toSpent).map((one) => [one.stored.channel, one]))
    const entries = Map.groupBy((found as Found[][]).flat(), ({ target }) => target.channel!)
    const waiting = [...entries]
      .filter(([channel]) => roomOf(channel) > 0)
      .map(([channel, group]): Waiting => {
        const own = spends.get(channel)
        const byFleet = Map.groupBy(group, ({ target }) => target.fleet)
        const fleets = [...byFleet].map(([fleet, of]) => ({ channel, fleet, entries: of }))
        return { channel, spent: own, spentUntil: own?.stored.spentUntil ?? 0, fleets }
      })
    return { waiting, events: new Map<string, HeldEvent>() }
  }

  /** For each channel and fleet in a shard: all entries, or one full page of them. */
  async #scan(partition: string): Promise<Found[]> {
    const found: Found[] = []
    let from = ''
    for (let pages = 0; pages < maxPages; pages++) {
      const page = await this.#page(partition, from, '~')
      const last = page.at(-1)?.target
      if (last === undefined || page.length < pageSize) return [...found, ...page]
      const isLast = ({ target }: Found) =>
        target.channel === last.channel && target.fleet === last.fleet
      // if the last queue begins within this page, read it again from its start
      const isCut = !isLast(page[0]!)
      found.push(...page.filter((one) => !isCut || !isLast(one)))
      from = (isCut ? startOf : endOf)(last.channel!, last.fleet)
    }
    return found
  }

  #page(partition: string, from: string, to: string): Promise<Found[]> {
    return this.#parts.index.list(partition, { from, to, limit: pageSize })
  }

  async *#pagesOf({ channel, fleet, entries }: FleetQueue): AsyncGenerator<Found[]> {
    let page = entries
    for (let pages = 1; pages <= maxChannelPages; pages++) {
      yield page
      const last = page.at(-1)
      if (last === undefined || page.length < pageSize) return
      page = await this.#page(last.partition, justAfter(last.row), endOf(channel, fleet))
    }
  }

  /**
   * The deliveries of a queue that need not wait for an earlier one of their event, by time. Ends
   * at an entry that is too late.
   */
  async *sendableIn(
    queue: FleetQueue,
    events: Map<string, HeldEvent>,
    stale: Found[],
    isLate: (entryAt: number) => boolean,
  ): AsyncGenerator<Pending> {
    for await (const entries of this.#pagesOf(queue)) {
      for (let i = 0; i < entries.length; i += eventsAtOnce) {
        const some = entries.slice(i, i + eventsAtOnce).filter((one) => !isLate(timeOf(one)))
        if (some.length === 0) return
        await this.#load(some, events)
        for (const entry of some) {
          if (isLate(timeOf(entry))) return
          const partition = deliveryPartition(entry.target)
          const event = events.get(partition)!
          const row = deliveryRow(entry.target.id!)
          const held = event.deliveries.find((one) => one.row === row)
          if (held === undefined || !isPending(held) || !isSameEntry(held.stored.entry, entry)) {
            stale.push(entry)
          } else if (isInOrder(held, event)) {
            const { nextAt } = held.stored.delivery
            yield { held, event, partition, nextAt }
          }
        }
      }
    }
  }

  async #load(entries: Found[], events: Map<string, HeldEvent>): Promise<void> {
    const partitions = new Set(entries.map(({ target }) => deliveryPartition(target)))
    const missing = [...partitions].filter((partition) => !events.has(partition))
    const works = missing.map((partition) => async () => {
      events.set(
        partition,
        toHeldEvent(await this.#parts.rows.list(partition, ranges.withoutViews)),
      )
    })
    await this.#parts.together(works)
  }
}

export function toSpent({ row, etag, body }: Row): Held<Spent> {
  return { row, etag, stored: JSON.parse(body) as Spent }
}
