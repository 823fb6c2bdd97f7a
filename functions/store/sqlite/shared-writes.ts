// Writes of one turn of the event loop share one transaction, and so one wait for the disk. Each of
// them succeeds or fails by itself, and resolves once all are durable.
import type { Database } from './database.ts'

interface Waiting {
  /** Writes. The returned function answers the caller once the write is durable. */
  run: () => () => void
  reject: (error: unknown) => void
}

export class SharedWrites {
  readonly #db: Database
  readonly #soon: (flush: () => void) => void
  readonly #waiting: Waiting[] = []

  /** `soon` chooses when the waiting writes go to disk. */
  constructor(db: Database, soon: (flush: () => void) => void) {
    this.#db = db
    this.#soon = soon
  }

  /** Runs `work` in the next transaction. If it throws, only its own part is undone. */
  write<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = () => {
        try {
          const value = this.#db.part(work)
          return () => resolve(value)
        } catch (error) {
          if (!this.#db.isTransaction) throw error
          return () => reject(this.#db.explain(error))
        }
      }
      this.#waiting.push({ run, reject })
      if (this.#waiting.length === 1) this.#soon(() => this.#flush())
    })
  }

  #flush(): void {
    const batch = this.#waiting.splice(0)
    try {
      const answers = this.#db.transaction(() => batch.map(({ run }) => run()))
      for (const answer of answers) answer()
    } catch (error) {
      for (const { reject } of batch) reject(this.#db.explain(error))
    }
  }
}
