// Removes events that ended long ago, and deliveries to stored channels that were planned long ago.
import { endedIndex, toStoredDeliveries } from './delivery-rows.ts'
import { eventRow } from './events.ts'
import { justAfter, timeKey } from './keys.ts'
import { type Parts, unlessDamaged } from './parts.ts'
import { type Found, isNamed, type Row } from './rows.ts'

const pageSize = 100
/** Rows that one transaction removes: a large event has many of 100 kB. */
const rowsAtOnce = 25
/** Pages of one call, because pending deliveries stay. */
const maxPages = 50
/** Transactions to remove one event. The next call removes the rest. */
const maxSteps = 100

export class Forgetting {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** What ended before a time, the oldest first. Returns how many it removed. */
  async ended(before: number, limit: number): Promise<number> {
    const { rows, pause } = this.#parts
    let removed = 0
    let from = ''
    for (let page = 0; page < maxPages && removed < limit; page++) {
      const found = await rows.find(endedIndex, from, timeKey(before), pageSize)
      for (const entry of found) {
        if (removed >= limit) break
        // one at a time: large events would fill the memory
        await pause()
        if (await unlessDamaged(() => this.#forgetOne(entry, before))) removed += 1
      }
      if (found.length < pageSize) break
      from = justAfter(found.at(-1)!.key)
    }
    return removed
  }

  async #forgetOne(entry: Found, before: number): Promise<boolean> {
    const { rows } = this.#parts
    const row = await rows.read(entry.partition, entry.row)
    if (!isNamed(entry, row)) {
      await rows.tidy([entry], before)
      return false
    }
    if (entry.row === eventRow) return this.#forgetEvent(row)
    const isPending = toStoredDeliveries(row).deliveries.some(({ state }) => state === 'pending')
    if (isPending) return false
    return (await rows.change(row.partition, [{ kind: 'remove', was: row }])) !== 'conflict'
  }

  /**
   * Removes the event's own row last, so a later call can finish the work. Each step also replaces
   * that row: if the event is reopened meanwhile, the step fails.
   */
  async #forgetEvent(first: Row): Promise<boolean> {
    const { rows } = this.#parts
    const { partition } = first
    let event = first
    for (let step = 0; step < maxSteps; step++) {
      if (step > 0) await this.#parts.pause()
      const removals = (await rows.list(partition, '', '~', rowsAtOnce))
        .filter(({ row }) => row !== eventRow)
        .map((was) => ({ kind: 'remove' as const, was }))
      if (removals.length === 0) {
        const removed = await rows.change(partition, [{ kind: 'remove', was: event }])
        return removed !== 'conflict'
      }
      const { body, keys } = event
      const hold = { kind: 'replace' as const, was: event, body, keys }
      const held = await rows.change(partition, [hold, ...removals])
      if (held === 'conflict') return false
      event = held[0]!
    }
    return false
  }
}
