// A table that counts what Azure would bill, and how many waits for it follow each other.
import type { Rows } from '../../../functions/store/azure-rows.ts'
import { Table } from '../../sim/table.ts'

/** A page of an answer: https://learn.microsoft.com/rest/api/storageservices/query-timeout-and-pagination */
const pageRows = 1_000

interface Counts {
  reads: number
  lists: number
  changes: number
  /** Rows written in those changes; not billed. */
  changedRows: number
  /** Calls that began while none was under way: at least so often the caller waits. */
  waits: number
  /** Characters that were written and not removed; keys count too. */
  storedBytes: number
}

export class CountedRows implements Rows {
  readonly counts: Counts = {
    ...{ reads: 0, lists: 0, changes: 0, changedRows: 0, waits: 0, storedBytes: 0 },
  }
  readonly #rows = new Table().plain()
  readonly #sizes = new Map<string, number>()
  #underWay = 0

  async read(partition: string, row: string) {
    this.counts.reads += 1
    return this.#wait(() => this.#rows.read(partition, row))
  }

  async list(partition: string, range: Parameters<Rows['list']>[1]) {
    const found = await this.#wait(() => this.#rows.list(partition, range))
    this.counts.lists += Math.max(1, Math.ceil(found.length / pageRows))
    return found
  }

  async change(partition: string, changes: Parameters<Rows['change']>[1]) {
    if (changes.length === 0) return 'changed' as const
    this.counts.changes += 1
    const outcome = await this.#wait(() => this.#rows.change(partition, changes))
    if (outcome === 'conflict') return outcome
    this.counts.changedRows += changes.length
    for (const change of changes) {
      const name = `${partition}/${change.row}`
      const size = 'body' in change ? name.length + change.body.length : 0
      this.counts.storedBytes += size - (this.#sizes.get(name) ?? 0)
      this.#sizes.set(name, size)
    }
    return outcome
  }

  async #wait<T>(call: () => Promise<T>): Promise<T> {
    if (this.#underWay === 0) this.counts.waits += 1
    this.#underWay += 1
    try {
      return await call()
    } finally {
      this.#underWay -= 1
    }
  }
}

export function operations({ reads, lists, changes }: Counts): number {
  return reads + lists + changes
}
