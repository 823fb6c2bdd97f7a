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
   * `soon` chooses when the waiting writes are committed. Calls `undone` if a transaction was
   * undone: then the notes that `work` made elsewhere are wrong.
   */
  constructor(db: Database, soon: (flush: () => void) => void, undone: () => void = () => {}) {
    this.#db = db
    this.#soon = soon
    this.#undone = undone
  }

  /**
   * Runs `work` in the next transaction, together with other writes. If one of them throws, all are
   * undone, and each runs again in a transaction of its own. So `work` may run twice.
   */
  write<T>(work: () => T): Promise<T> {
    const written = this.#add(work)
    if (this.#waiting.length === 1) this.#soon(() => this.#flush())
    return written
  }

  /** Runs `work` at once, in one transaction with all waiting writes. */
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
      // repeat each write alone, so that only the faulty one fails
      else for (const one of batch) this.#commit([one])
      return
    }
    for (const answer of answers) answer()
  }
}
