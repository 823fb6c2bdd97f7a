// Opens the file of the SQLite store with `node:sqlite`: sets its mode, locks it and checks its
// format. On a file that others may use, a transaction is durable once it returns. A process that is
// alone goes on at once: it sends nothing that depends on a transaction before `durable` resolves.
import { chmodSync, closeSync, openSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { FoghornError } from '../../../shared/errors.ts'
import type { Database, Statement, Value } from './database.ts'
import { explainDisk } from './disk.ts'
import { schema, schemaVersion } from './sql.ts'
import { openWal, type Wal } from './wal.ts'

const inMemory = ':memory:'
/** Only the relay's own user may read events, names of VMs and decisions. */
const ownerOnly = 0o600
/** SQLite creates these with the mode of the database, but a person may have copied them here. */
const companions = ['-wal', '-shm', '-journal']

/** Pages of 4 KB. The more there are, the less often a busy page is copied into the file. */
const checkpointPages = 8_000
const cacheKib = 16_384

/**
 * With `alone`, locks out every other process. Throws FoghornError `data_in_use` if another process
 * uses the file, `data_version` if another version of the relay wrote it, or `disk_full`.
 */
export function openFile(path: string, { alone = false } = {}): DatabaseFile {
  if (path !== inMemory) keepPrivate(path)
  const db = new DatabaseSync(path)
  try {
    lockFile(db, path, alone)
    checkVersion(db, path)
    db.exec(`BEGIN IMMEDIATE; ${schema} PRAGMA user_version = ${schemaVersion}; COMMIT`)
    return new DatabaseFile(db, path, alone && path !== inMemory ? openWal(path) : undefined)
  } catch (error) {
    db.close()
    throw explainDisk(error, path)
  }
}

/** Pages of one step. Between two steps, the relay goes on working. */
const copiedPages = 500

class DatabaseFile implements Database {
  readonly #db: DatabaseSync
  readonly #path: string
  readonly #wal: Wal | undefined
  /** While a copy is made: what waits for the end of its step. */
  #held: (() => void)[] | undefined

  /** With a `wal`, the process is alone on the file. */
  constructor(db: DatabaseSync, path: string, wal: Wal | undefined) {
    this.#db = db
    this.#path = path
    this.#wal = wal
  }

  get isAlone(): boolean {
    return this.#wal !== undefined || this.#path === inMemory
  }

  between(work: () => void): void {
    if (this.#held === undefined) work()
    else this.#held.push(work)
  }

  durable(): Promise<void> | undefined {
    return this.#wal?.durable()
  }

  prepare(text: string): Statement {
    const statement = this.#db.prepare(text)
    return {
      run: (...values: Value[]) => Number(statement.run(...values).changes),
      get: (...values: Value[]) => statement.get(...values),
      all: (...values: Value[]) => statement.all(...values),
      each: (...values: Value[]) => statement.iterate(...values),
    }
  }

  transaction<Result>(work: () => Result): Result {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      const result = work()
      this.#db.exec('COMMIT')
      this.#wal?.note()
      return result
    } catch (error) {
      // if the disk is full, SQLite has already ended the transaction
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      throw error
    }
  }

  explain(error: unknown): unknown {
    return explainDisk(error, this.#path)
  }

  close(): void {
    this.#wal?.close()
    this.#db.close()
  }

  /**
   * Copies a database in use into one file that needs no companions. Writes meanwhile are in the
   * copy, too. Throws FoghornError `disk_full`.
   */
  async copyTo(path: string): Promise<void> {
    // a step fails if it begins within a transaction, and steps begin on another thread
    this.#held = []
    try {
      await backup(this.#db, path, { rate: copiedPages, progress: () => this.#runHeld() })
      const copy = new DatabaseSync(path)
      copy.exec('PRAGMA journal_mode=DELETE')
      copy.close()
    } catch (error) {
      throw this.explain(error)
    } finally {
      this.#runHeld()
      this.#held = undefined
    }
  }

  #runHeld(): void {
    for (const work of this.#held?.splice(0) ?? []) work()
  }
}

/** If modes cannot be set (Windows, some network shares), the files keep the modes they have. */
function keepPrivate(path: string): void {
  attempt(() => closeSync(openSync(path, 'wx', ownerOnly)))
  // do not open an existing file here: closing it would end the locks of an open SQLite connection
  for (const file of ['', ...companions]) attempt(() => chmodSync(path + file, ownerOnly))
}

/** Ignore system errors: if SQLite cannot open the file, SQLite reports it. */
function attempt(change: () => void): void {
  try {
    change()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
  }
}

function lockFile(db: DatabaseSync, path: string, alone: boolean): void {
  const wait = alone ? 'NORMAL' : 'FULL'
  const locking = alone ? 'locking_mode=EXCLUSIVE' : 'busy_timeout=5000'
  try {
    db.exec(`PRAGMA ${locking}; PRAGMA journal_mode=WAL; PRAGMA synchronous=${wait};
      PRAGMA cache_size=-${cacheKib}; PRAGMA wal_autocheckpoint=${checkpointPages}`)
    // with `locking_mode=EXCLUSIVE`, SQLite keeps this lock until the file is closed
    if (alone) db.exec('BEGIN EXCLUSIVE; COMMIT')
  } catch (error) {
    if (!(error instanceof Error && error.message.includes('locked'))) throw error
    const remedy = 'Stop it, or set FOGHORN_DATA to a different folder.'
    throw new FoghornError('data_in_use', `Another relay is using "${path}". ${remedy}`)
  }
}

function checkVersion(db: DatabaseSync, path: string): void {
  const found = Number(db.prepare('PRAGMA user_version').get()?.user_version)
  const tables = db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE type = 'table'").get()
  if (found === schemaVersion || Number(tables?.n) === 0) return
  const remedy = 'Start the version that wrote it, or set FOGHORN_DATA to a different folder.'
  const what = `"${path}" has format ${found}, but this relay needs format ${schemaVersion}.`
  throw new FoghornError('data_version', `${what} ${remedy}`)
}
