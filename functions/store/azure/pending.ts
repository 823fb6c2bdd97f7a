// What is owed to each channel, as far as the index knows, and which of it may be sent as far as its event goes.
// However much waits for one channel, or has to wait for something earlier, it hides nothing else.

import type { Pacing } from '../store.ts'
import { type Found, partitions, timeOf } from './index.ts'
import { endOf, keyOf, startOf } from './keys.ts'
import type { Parts } from './parts.ts'
import type { Row } from './rows.ts'
import {
  deliveryRow,
  eventPartition,
  type Held,
  type HeldEvent,
  isInOrder,
  isOwed,
  isSameEntry,
  ranges,
  type StoredDelivery,
  toHeldEvent,
} from './stored.ts'

/** Entries of one page. */
const pageSize = 200
/** Pages of a shard, until each channel and fleet in it was seen. A long queue takes two pages. */
const maxPages = 512
/** Pages of one channel and fleet, if the messages that are due longest must wait for others. */
const maxChannelPages = 25
/** Events looked into at once. */
const eventsAtOnce = 8

export const channelsPartition = keyOf('channels')

/** A channel that something may be owed to. */
export interface Waiting {
  channel: string
  spentUntil: number
  /** Version of the row that says so. */
  spent: Held<Spent> | undefined
  fleets: FleetQueue[]
}

/** Pending deliveries of one fleet for one channel. */
export interface FleetQueue {
  channel: string
  fleet: string
  /** By time; where they fill a page, there may be more. */
  entries: Found[]
}

export interface Spent {
  channel: string
  spentUntil: number
  /** The fleet that had the last turn. */
  fleet?: string | undefined
}

/** A delivery that may be sent as far as its event goes. */
export interface Owed {
  held: Held<StoredDelivery>
  partition: string
  nextAt: number
}

export class OwedDeliveries {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Channels with room, and what the index says is owed to them. */
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
      // if a queue begins within this page, the next page begins with the same queue
      const isCut = !isLast(page[0]!)
      found.push(...page.filter((one) => !isCut || !isLast(one)))
      from = (isCut ? startOf : endOf)(last.channel!, last.fleet)
    }
    return found
  }

  #page(partition: string, from: string, to: string): Promise<Found[]> {
    return this.#parts.index.list(partition, { from, to, limit: pageSize })
  }

  /** The entries of a queue, page by page, even if many wait for an earlier one of their event. */
  async *#pagesOf({ channel, fleet, entries }: FleetQueue): AsyncGenerator<Found[]> {
    let page = entries
    for (let pages = 1; pages <= maxChannelPages; pages++) {
      yield page
      const last = page.at(-1)
      if (last === undefined || page.length < pageSize) return
      page = await this.#page(last.partition, `${last.row}~`, endOf(channel, fleet))
    }
  }

  /**
   * One fleet's deliveries that a channel may be sent, as far as their events allow, by time of
   * entry.
   */
  async *owedTo(
    queue: FleetQueue,
    events: Map<string, HeldEvent>,
    stale: Found[],
  ): AsyncGenerator<Owed & { entry: number }> {
    for await (const entries of this.#pagesOf(queue)) {
      for (let i = 0; i < entries.length; i += eventsAtOnce) {
        const some = entries.slice(i, i + eventsAtOnce)
        await this.#load(some, events)
        for (const entry of some) {
          const partition = eventPartition(entry.target)
          const event = events.get(partition)!
          const row = deliveryRow(entry.target.id!)
          const held = event.deliveries.find((one) => one.row === row)
          if (held === undefined || !isOwed(held) || !isSameEntry(held.stored.entry, entry)) {
            stale.push(entry)
          } else if (isInOrder(held, event)) {
            const { nextAt } = held.stored.delivery
            yield { held, partition, nextAt, entry: timeOf(entry) }
          }
        }
      }
    }
  }

  async #load(entries: Found[], events: Map<string, HeldEvent>): Promise<void> {
    const partitions = new Set(entries.map(({ target }) => eventPartition(target)))
    const missing = [...partitions].filter((partition) => !events.has(partition))
    const works = missing.map((partition) => async () => {
      events.set(partition, toHeldEvent(await this.#parts.rows.list(partition, ranges.decided)))
    })
    await this.#parts.together(works)
  }
}

export function toSpent({ row, etag, body }: Row): Held<Spent> {
  return { row, etag, stored: JSON.parse(body) as Spent }
}
