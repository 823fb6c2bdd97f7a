// Writes of one turn of the event loop share one transaction, and so one wait for the disk. Each of
// them succeeds or fails by itself, and resolves once all are durable.

/** The part of a SQLite database that it uses. */
interface Database {
  exec(sql: string): void
  readonly isTransaction: boolean
}

interface Waiting {
  /** Writes. The returned function answers the caller once the write is durable. */
  run: () => () => void
  reject: (error: unknown) => void
}

export class SharedWrites {
  readonly #db: Database
  readonly #soon: (flush: () => void) => void
  readonly #explain: (error: unknown) => unknown
  readonly #waiting: Waiting[] = []

  /** `soon` chooses when the waiting writes go to disk. `explain` replaces the error of a write. */
  constructor(
    db: Database,
    soon: (flush: () => void) => void,
    explain: (error: unknown) => unknown = (error) => error,
  ) {
    this.#db = db
    this.#soon = soon
    this.#explain = explain
  }

  /** Runs `work` in the next transaction. If it throws, only its own part is undone. */
  write<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = () => {
        this.#db.exec('SAVEPOINT one')
        try {
          const value = work()
          this.#db.exec('RELEASE one')
          return () => resolve(value)
        } catch (error) {
          // if the disk is full, SQLite has already ended the whole transaction
          if (!this.#db.isTransaction) throw error
          this.#db.exec('ROLLBACK TO one; RELEASE one')
          return () => reject(this.#explain(error))
        }
      }
      this.#waiting.push({ run, reject })
      if (this.#waiting.length === 1) this.#soon(() => this.#flush())
    })
  }

  #flush(): void {
    const batch = this.#waiting.splice(0)
    try {
      this.#db.exec('BEGIN IMMEDIATE')
      const answers = batch.map(({ run }) => run())
      this.#db.exec('COMMIT')
      for (const answer of answers) answer()
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      for (const { reject } of batch) reject(this.#explain(error))
    }
  }
}
