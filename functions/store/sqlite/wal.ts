// Flushes SQLite's log to disk in the background, so that the thread can go on. SQLite appends each
// commit to the file `-wal`. With `synchronous=NORMAL`, a commit does not wait for the disk. SQLite
// still waits before it moves pages from the log into the database.
import { closeSync, fdatasync, openSync } from 'node:fs'
import { promisify } from 'node:util'

/** Resolves once all that was written before the call is on disk. */
type Sync = () => Promise<void>

export class Wal {
  readonly #sync: Sync
  readonly #close: () => void
  #written = 0
  #synced = 0
  /** The wait that has begun. Commits of the meantime share the next one. */
  #round: Promise<void> | undefined
  #failure: unknown
  #isClosed = false
  #isPlanned = false

  constructor(sync: Sync, close: () => void = () => {}) {
    this.#sync = sync
    this.#close = close
  }

  /** Call this after each commit. */
  note(): void {
    this.#written += 1
    if (this.#isPlanned) return
    this.#isPlanned = true
    // after all that follows from the commit, such as a claim: then one wait is enough for both
    queueMicrotask(() => process.nextTick(() => this.#begin()))
  }

  /**
   * Resolves once all commits so far are on disk; undefined if they are. After a failure it always
   * rejects: then nobody knows which commits the disk has, until a restart reads them.
   */
  durable(): Promise<void> | undefined {
    if (this.#failure === undefined && this.#synced === this.#written) return undefined
    return this.#reached(this.#written)
  }

  close(): void {
    this.#isClosed = true
    if (this.#round === undefined) this.#close()
  }

  async #reached(commit: number): Promise<void> {
    while (this.#failure === undefined && this.#synced < commit) {
      if (this.#isClosed) throw new Error('the file is closed')
      await (this.#round ?? new Promise<void>((resolve) => process.nextTick(resolve)))
    }
    if (this.#failure !== undefined) throw this.#failure
  }

  #begin(): void {
    this.#isPlanned = false
    if (this.#round !== undefined || this.#isClosed || this.#failure !== undefined) return
    const upTo = this.#written
    this.#round = this.#sync()
      .then(() => {
        this.#synced = upTo
      })
      .catch((error) => {
        this.#failure = error
      })
      .then(() => {
        this.#round = undefined
        if (this.#isClosed) this.#close()
        else if (this.#synced < this.#written) this.#begin()
      })
  }
}

const sync = promisify(fdatasync)

/** Call this once the database is open: then the file exists. */
export function openWal(path: string): Wal {
  const file = openSync(`${path}-wal`, 'r+')
  return new Wal(
    () => sync(file),
    () => closeSync(file),
  )
}
