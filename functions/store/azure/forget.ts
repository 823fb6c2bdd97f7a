// Removes events that ended long ago. After a crash in between, a later call finds every row and
// entry that is left.
import { subscriptionOf } from '../../core/delivery/delivery.ts'
import type { EventKey } from '../store.ts'
import type { Browse } from './browse.ts'
import { newestFirst, timeKey } from './keys.ts'
import { tidyOpen } from './open-counts.ts'
import type { Parts } from './parts.ts'
import { maxChanges, type Range } from './rows.ts'
import {
  deliveryPartition,
  deliveryRow,
  eventBody,
  eventPartition,
  eventRow,
  isSameEntry,
  ranges,
  readHeldEvent,
  toHeldEvent,
} from './stored.ts'
import { type Found, partitions } from './time-index.ts'

/** Transactions to remove one event. The next call removes the rest. */
const maxForgetSteps = 100
const end = '~'

export class Forgetting {
  readonly #parts: Parts
  readonly #browse: Browse

  constructor(parts: Parts, browse: Browse) {
    this.#parts = parts
    this.#browse = browse
  }

  /** Removes events that ended before a time, the oldest first. Returns how many it removed. */
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
   * Removes the event's own row last, and its entries after it, so a later call can finish the
   * work. Each step also replaces that row: if the event is reopened meanwhile, the step fails.
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
        await this.#browse.forget(stored.record)
        // last: it leads to the fleet's list, where a crash may have left entries
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
   * Removes entries of events and deliveries that were never written, which no due time leads to.
   * The lists of a fleet are tidied when one of its events is removed.
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

  /** Returns all entries of the range. */
  async #tidyList(partition: string, range: Range, before: number): Promise<Found[]> {
    const { rows, index } = this.#parts
    const found = await index.list(partition, range)
    const isNamed = async ({ target }: Found) => {
      if (subscriptionOf(target.channel ?? '') === undefined)
        return (await readHeldEvent(rows, target)) !== undefined
      const row = deliveryRow(target.id ?? '')
      return (await rows.read(deliveryPartition(target), row)) !== undefined
    }
    await index.tidyUnnamed(found, isNamed, before)
    return found
  }
}

function fleetsOf(found: Found[]): string[] {
  return found.map(({ target }) => target.fleet)
}
