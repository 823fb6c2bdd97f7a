// Adds, lists and removes deliveries to subscriptions. Each has two entries in the history: one among
// all subscriptions, the oldest first, and one in the list of its own. Whatever a crash leaves, the
// first leads to the rest, so it is dropped last.
import { type Delivery, subscriptionOf } from '../../core/delivery/delivery.ts'
import type { DeliveryList, DeliveryPage } from '../store.ts'
import { additionWrites } from './commit.ts'
import { justAfter, timeKey } from './keys.ts'
import type { Parts } from './parts.ts'
import {
  deliveryPartition,
  deliveryRow,
  type Held,
  held,
  isPending,
  isSameEntry,
  ownViewRow,
  ranges,
  type StoredDelivery,
  toDelivery,
  toHeldEvent,
} from './stored.ts'
import { type Entry, type Found, graceMs, partitions, withTwin } from './time-index.ts'
import { addEntries, changeRows, dropEntries } from './write.ts'

/** Entries that one call to forget looks at, at once. */
const pageSize = 100
/** Pages of one call to forget, because pending deliveries stay. */
const maxForgetPages = 50
/** Each delivery of a list is one call. */
const maxBrief = 3
/** Pages of one list, because it skips stale entries. */
const maxListPages = 5
/** The form of an entry's name. No other text reaches a query. */
const placePattern = /^[\w|.=!-]{1,300}$/
const end = '~'

interface Listed {
  entry: Found
  delivery: Delivery
}

export class SubscriptionDeliveries {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Those of one event and subscription become readable in the given order. */
  async add(deliveries: Delivery[]): Promise<void> {
    const { index, together } = this.#parts
    const reads = deliveries.map((one) => async () => ((await this.#read(one)) ? [] : [one]))
    const missing = (await together(reads)).flat()
    if (missing.length === 0) return
    const all = missing.map((one) => {
      return { partition: deliveryPartition(one), writes: additionWrites(one, index) }
    })
    // entries must not look old enough to be stale while their rows are being written
    const now = missing.reduce((last, one) => Math.max(last, one.nextAt, one.plannedAt), 0)
    await addEntries(this.#parts, all, now)
    const works = [...Map.groupBy(all, ({ partition }) => partition)].map(([partition, own]) => {
      return async () => {
        // after a conflict, the row is there
        for (const { writes } of own) await changeRows(this.#parts, partition, writes)
      }
    })
    await together(works)
  }

  async list(channel: string, { before, limit: most, brief }: DeliveryPage): Promise<DeliveryList> {
    const subscription = subscriptionOf(channel)
    const isPlace = before === undefined || placePattern.test(before)
    if (subscription === undefined || !isPlace) return { deliveries: [] }
    const { index, together } = this.#parts
    const limit = brief ? Math.min(most, maxBrief) : most
    const size = limit + 1
    const found: Listed[] = []
    let last = before
    for (let pages = 0; pages < maxListPages && found.length < size; pages++) {
      const range = { from: last === undefined ? '' : justAfter(last), to: end, limit: size }
      const entries = await index.list(partitions.history(subscription), range)
      const works = entries.map((entry) => () => this.#listed(entry))
      found.push(...(await together(works)).flat())
      last = entries.length < size ? undefined : entries.at(-1)?.row
      if (last === undefined) break
    }
    const page = found.slice(0, limit)
    const next = found.length > limit ? page.at(-1)?.entry.row : last
    const deliveries = page.map(({ delivery }) => delivery)
    return { deliveries, ...(next !== undefined && { next }) }
  }

  /** Removes those that were planned before a time and are not pending. Returns how many. */
  async forget(before: number, limit: number): Promise<number> {
    const { index, together } = this.#parts
    let removed = 0
    let from = ''
    for (let pages = 0; pages < maxForgetPages; pages++) {
      const range = { from, to: timeKey(before), limit: pageSize }
      const entries = await index.list(partitions.history(), range)
      for (let i = 0; i < entries.length && removed < limit; ) {
        const some = entries.slice(i, i + limit - removed)
        i += some.length
        const works = some.map((entry) => () => this.#forgetOne(entry, before))
        removed += (await together(works)).filter((done) => done).length
      }
      if (entries.length < pageSize || removed >= limit) break
      from = justAfter(entries.at(-1)!.row)
    }
    return removed
  }

  async #forgetOne(entry: Found, before: number): Promise<boolean> {
    const { rows } = this.#parts
    const { target, writtenAt } = entry
    const partition = deliveryPartition(target)
    const one = await this.#read(target)
    const isIts = one !== undefined && names(one, entry)
    if (isIts && isPending(one)) return false
    // an entry that no row names may belong to a write under way
    if (!isIts && before - writtenAt <= graceMs) return false
    if (isIts) {
      const removal = { kind: 'remove' as const, row: one.row, etag: one.etag }
      if ((await rows.change(partition, [removal])) === 'conflict') return false
    }
    // a view that has gone before is a conflict, which changes nothing
    const view = { kind: 'remove' as const, row: ownViewRow(target.id ?? '') }
    if (isIts || one === undefined) await rows.change(partition, [view])
    const twins = withTwin(entry, subscriptionOf(target.channel ?? '') ?? '')
    await dropEntries(this.#parts, [
      ...(isIts && one.stored.entry ? [one.stored.entry] : []),
      ...twins,
    ])
    return isIts
  }

  /** The delivery that an entry leads to, if its row names the entry. */
  async #listed(entry: Found): Promise<Listed[]> {
    const { target } = entry
    const { deliveries, views } = toHeldEvent(
      await this.#parts.rows.list(deliveryPartition(target), ranges.whole),
    )
    const one = deliveries.find((own) => names(own, entry))
    const view = one && views.get(one.stored.view)
    // it was removed meanwhile
    if (one === undefined || view === undefined) return []
    return [{ entry, delivery: toDelivery(one.stored, view) }]
  }

  async #read(of: Parameters<typeof deliveryPartition>[0] & { id?: string }) {
    const row = await this.#parts.rows.read(deliveryPartition(of), deliveryRow(of.id ?? ''))
    return row && held<StoredDelivery>(row)
  }
}

function names({ stored }: Held<StoredDelivery>, entry: Entry): boolean {
  return stored.history?.some((own) => isSameEntry(own, entry)) ?? false
}
