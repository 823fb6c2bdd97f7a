// How long the storage has not answered: tells a storage that hangs from a process that has too much to do.
import type { Table } from './table.ts'

export class WatchedTable implements Table {
  readonly #table: Table
  readonly #now: () => number
  /** When each call under way began, the first one first. */
  readonly #begun = new Set<{ at: number }>()

  /** `now`: of a clock that is never set. */
  constructor(table: Table, now: () => number) {
    this.#table = table
    this.#now = now
  }

  /** How long the oldest call has not returned. 0: none is under way. */
  waitsMs(): number {
    const [first] = this.#begun
    return first === undefined ? 0 : this.#now() - first.at
  }

  readonly read: Table['read'] = (...call) => this.#during(() => this.#table.read(...call))
  readonly list: Table['list'] = (...call) => this.#during(() => this.#table.list(...call))
  readonly change: Table['change'] = (...call) => this.#during(() => this.#table.change(...call))

  async #during<T>(call: () => Promise<T>): Promise<T> {
    const begun = { at: this.#now() }
    this.#begun.add(begun)
    try {
      return await call()
    } finally {
      this.#begun.delete(begun)
    }
  }
}
