// Writes of one turn of the event loop share one transaction, and so one wait for the disk. Each of
// them succeeds or fails by itself, and resolves once all are durable. Patient writes block nobody:
// the thread goes on while the disk works, and the patient writes of that time share the next wait.
import type { Database } from './database.ts'

interface Waiting {
  /** Writes. The returned function answers the caller once the write is durable. */
  run: () => () => void
  reject: (error: unknown) => void
  isPatient: boolean
}

export class SharedWrites {
  readonly #db: Database
  readonly #soon: (flush: () => void) => void
  readonly #undone: () => void
  readonly #waiting: Waiting[] = []
  #isPlanned = false
  #isSyncing = false

  /**
   * `soon` chooses when the waiting writes go to disk. Calls `undone` if a transaction was undone:
   * then nothing is true that `work` noted elsewhere.
   */
  constructor(db: Database, soon: (flush: () => void) => void, undone: () => void = () => {}) {
    this.#db = db
    this.#soon = soon
    this.#undone = undone
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
    const isPatient = this.#db.sync !== undefined && batch.every((one) => one.isPatient)
    const reject = (error: unknown) => {
      for (const one of batch) one.reject(this.#db.explain(error))
    }
    let answers: (() => void)[]
    try {
      answers = this.#db.transaction(() => batch.map(({ run }) => run()), { isPatient })
    } catch (error) {
      this.#undone()
      if (batch.length === 1) reject(error)
      // so that a write fails only by its own fault
      else for (const one of batch) this.#commit([one])
      return
    }
    const answer = () => {
      for (const one of answers) one()
    }
    if (isPatient) void this.#during(this.#db.sync!().then(answer, reject))
    else answer()
  }

  /** Meanwhile, patient writes gather. */
  async #during(syncing: Promise<void>): Promise<void> {
    this.#isSyncing = true
    await syncing
    this.#isSyncing = false
    if (this.#waiting.length > 0) this.#plan()
  }
}
