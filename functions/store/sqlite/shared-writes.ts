// Writes of one turn of the event loop share one transaction. Each of them succeeds or fails by itself.
import type { Database } from './database.ts'

interface Waiting {
  /** Writes. The returned function answers the caller once the transaction is committed. */
  run: () => () => void
  reject: (error: unknown) => void
}

export class SharedWrites {
  readonly #db: Database
  readonly #soon: (flush: () => void) => void
  readonly #undone: () => void
  readonly #waiting: Waiting[] = []

  /**
   * `soon` chooses when the waiting writes are committed. Calls `undone` if a transaction was undone:
   * then nothing is true that `work` noted elsewhere.
   */
  constructor(db: Database, soon: (flush: () => void) => void, undone: () => void = () => {}) {
    this.#db = db
    this.#soon = soon
    this.#undone = undone
  }

  /**
   * Runs `work` in the next transaction. If it throws, only its own part is undone. It may run twice,
   * as a failure undoes all of them.
   */
  write<T>(work: () => T): Promise<T> {
    const written = this.#add(work)
    if (this.#waiting.length === 1) this.#soon(() => this.#flush())
    return written
  }

  /** The same in a transaction of this moment, together with all that wait. */
  writeNow<T>(work: () => T): Promise<T> {
    const written = this.#add(work)
    this.#flush()
    return written
  }

  #flush(): void {
    this.#db.between(() => {
      if (this.#waiting.length > 0) this.#commit(this.#waiting.splice(0))
    })
  }

  #add<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = () => {
        const value = work()
        return () => resolve(value)
      }
      this.#waiting.push({ run, reject })
    })
  }

  #commit(batch: Waiting[]): void {
    let answers: (() => void)[]
    try {
      answers = this.#db.transaction(() => batch.map(({ run }) => run()))
    } catch (error) {
      this.#undone()
      if (batch.length === 1) batch[0]!.reject(this.#db.explain(error))
      // so that a write fails only by its own fault
      else for (const one of batch) this.#commit([one])
      return
    }
    for (const answer of answers) answer()
  }
}
