// Writes of one turn of the event loop share one transaction, and so one wait for the disk. Each of
// them succeeds or fails by itself, and resolves once all are durable. Patient writes block nobody:
// the thread goes on while the disk works, and the patient writes of that time share the next wait.

/** The part of a SQLite database that it uses. */
interface Database {
  exec(sql: string): void
  readonly isTransaction: boolean
}

interface Waiting {
  /** Writes. The returned function answers the caller once the write is durable. */
  run: () => () => void
  reject: (error: unknown) => void
  isPatient: boolean
}

interface Options {
  /** Chooses when the waiting writes go to disk. */
  soon: (flush: () => void) => void
  /** Replaces the error of a write. */
  explain?: (error: unknown) => unknown
  /** Resolves once all commits so far are on disk. Without it, each commit waits for the disk. */
  sync?: (() => Promise<void>) | undefined
}

export class SharedWrites {
  readonly #db: Database
  readonly #soon: Options['soon']
  readonly #explain: NonNullable<Options['explain']>
  readonly #sync: Options['sync']
  readonly #waiting: Waiting[] = []
  #isPlanned = false
  #isSyncing = false
  #waitsForDisk = true

  constructor(db: Database, { soon, explain = (error) => error, sync }: Options) {
    this.#db = db
    this.#soon = soon
    this.#explain = explain
    this.#sync = sync
  }

  /**
   * Runs `work` in the next transaction. If it throws, only its own part is undone. It may run twice,
   * as a failure undoes all of them. What a patient write wrote can be read before it is durable.
   */
  write<T>(work: () => T, { isPatient = false } = {}): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = () => {
        const value = work()
        return () => resolve(value)
      }
      this.#waiting.push({ run, reject, isPatient })
      if (!isPatient || !this.#isSyncing) this.#plan()
    })
  }

  #plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    this.#soon(() => this.#flush())
  }

  #flush(): void {
    this.#isPlanned = false
    this.#commit(this.#waiting.splice(0))
  }

  #commit(batch: Waiting[]): void {
    const sync = batch.every(({ isPatient }) => isPatient) ? this.#sync : undefined
    const reject = (error: unknown) => {
      for (const one of batch) one.reject(this.#explain(error))
    }
    let answers: (() => void)[]
    try {
      this.#waitForDisk(sync === undefined)
      this.#db.exec('BEGIN IMMEDIATE')
      answers = batch.map(({ run }) => run())
      this.#db.exec('COMMIT')
    } catch (error) {
      // if the disk is full, SQLite has already ended the transaction
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      if (batch.length === 1) reject(error)
      // so that a write fails only by its own fault
      else for (const one of batch) this.#commit([one])
      return
    }
    const answer = () => {
      for (const one of answers) one()
    }
    if (sync === undefined) answer()
    else void this.#during(sync().then(answer, reject))
  }

  /** Meanwhile, patient writes gather. */
  async #during(syncing: Promise<void>): Promise<void> {
    this.#isSyncing = true
    await syncing
    this.#isSyncing = false
    if (this.#waiting.length > 0) this.#plan()
  }

  #waitForDisk(waits: boolean): void {
    if (waits === this.#waitsForDisk) return
    this.#db.exec(`PRAGMA synchronous=${waits ? 'FULL' : 'NORMAL'}`)
    this.#waitsForDisk = waits
  }
}
