// Events that ended long ago go, and with them what no due time leads to any more: a crash leaves no row and no
// entry behind that a later call would not find.

import type { EventKey } from '../store.ts'
import { type Found, partitions } from './index.ts'
import { newestFirst, timeKey } from './keys.ts'
import { tidyOpen } from './open.ts'
import type { Parts } from './parts.ts'
import { maxChanges, type Range } from './rows.ts'
import {
  eventBody,
  eventPartition,
  eventRow,
  isSameEntry,
  ranges,
  readHeldEvent,
  toHeldEvent,
} from './stored.ts'

/** Transactions that one event is forgotten in; what is left then is left for the next time. */
const maxForgetSteps = 100
const end = '~'

export class Forgetting {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Those that ended before, at most `limit`, the longest ended first. Returns how many went. */
  async events(
    before: number,
    limit: number,
    forgetSightings: (key: EventKey) => Promise<void>,
  ): Promise<number> {
    const { rows, index, together } = this.#parts
    const range = { from: '', to: timeKey(before), limit }
    const ended = await index.list(partitions.ended, range)
    const works = ended.map((entry) => async () => {
      const event = await readHeldEvent(rows, entry.target)
      if (!isSameEntry(event?.stored.ended, entry)) {
        await index.tidy([entry], before)
        return false
      }
      await forgetSightings(entry.target)
      return this.#forgetOne(entry)
    })
    const gone = (await together(works)).filter((done) => done).length
    await this.#tidyLists(before, limit, fleetsOf(ended))
    return gone
  }

  /**
   * The event's own row last, and its entries after it: what was begun is found again until it is done.
   * Each step takes hold of that row, so that an event which is reopened meanwhile loses nothing new.
   */
  async #forgetOne(entry: Found): Promise<boolean> {
    const { rows, index } = this.#parts
    const partition = eventPartition(entry.target)
    for (let step = 0; step < maxForgetSteps; step++) {
      const all = await rows.list(partition, ranges.whole)
      const { event, deliveries } = toHeldEvent(all)
      if (event === undefined || !isSameEntry(event.stored.ended, entry)) return false
      const { etag, stored } = event
      const others = all.filter(({ row }) => row !== eventRow).slice(0, maxChanges - 1)
      if (others.length === 0) {
        const removal = { kind: 'remove' as const, row: eventRow, etag }
        if ((await rows.change(partition, [removal])) === 'conflict') return false
        await index.drop([stored.due ?? [], ...stored.listed].flat())
        // the last one: it leads to the fleet whose list may hold what a crash left behind
        await index.drop([entry])
        return true
      }
      const hold = { kind: 'replace' as const, row: eventRow, body: eventBody(stored), etag }
      const removals = others.map(({ row }) => ({ kind: 'remove' as const, row }))
      if ((await rows.change(partition, [hold, ...removals])) === 'conflict') return false
      const removed = deliveries.filter((one) => others.some(({ row }) => row === one.row))
      await index.drop(removed.flatMap((one) => one.stored.entry ?? []))
    }
    return false
  }

  /**
   * Entries that no due time ever leads to: those of events and deliveries that were never written. What
   * stands in the list of one fleet alone goes when any event of that fleet does.
   */
  async #tidyLists(before: number, limit: number, fleets: string[]): Promise<void> {
    const older = { from: newestFirst(before), to: end, limit }
    const listed = await this.#tidyList(partitions.listed(), older, before)
    for (const fleet of new Set([...fleets, ...fleetsOf(listed)])) {
      await this.#tidyList(partitions.listed(fleet), older, before)
      const open = await this.#parts.index.list(partitions.open(fleet), {
        from: '',
        to: end,
        limit,
      })
      await tidyOpen(this.#parts, open, before)
    }
    await this.#tidyList(partitions.failed, { from: '', to: timeKey(before), limit }, before)
  }

  /** Returns what it looked at. */
  async #tidyList(partition: string, range: Range, before: number): Promise<Found[]> {
    const { rows, index } = this.#parts
    const found = await index.list(partition, range)
    const isNamed = async ({ target }: Found) => (await readHeldEvent(rows, target)) !== undefined
    await index.tidyUnnamed(found, isNamed, before)
    return found
  }
}

function fleetsOf(found: Found[]): string[] {
  return found.map(({ target }) => target.fleet)
}
