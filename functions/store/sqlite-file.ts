// Opens a database file with `node:sqlite`: sets its mode, locks it and checks its format. A
// transaction is on disk once it returns.
import { chmodSync, closeSync, openSync } from 'node:fs'
import { backup, DatabaseSync, type StatementSync } from 'node:sqlite'
import { FoghornError, messageOf } from '../../shared/errors.ts'
import { type Database, formatVersion, schema } from './sqlite.ts'

export const databaseName = 'foghorn.sqlite'
const inMemory = ':memory:'
/** Only the relay's own user may read events, names of VMs and decisions. */
const ownerOnly = 0o600
/** SQLite creates these with the mode of the database, but a person may have copied them here. */
const companions = ['-wal', '-shm', '-journal']

/** Pages of 4 KB. The more there are, the less often a busy page is copied into the file. */
const checkpointPages = 8_000
const cacheKib = 16_384

/**
 * Locks out every other process. Throws FoghornError `data_in_use` if another process uses the file,
 * `data_version` if another version of the relay wrote it, `data_damaged`, `data_unusable` or
 * `disk_full`.
 */
export function openFile(path: string): DatabaseFile {
  if (path !== inMemory) keepPrivate(path)
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(path)
    lockFile(db, path)
    const isNew = checkVersion(db, path) === 'empty'
    db.exec(`BEGIN IMMEDIATE; ${schema} PRAGMA user_version = ${formatVersion}; COMMIT`)
    return new DatabaseFile(db, path, isNew)
  } catch (error) {
    db?.close()
    throw explainOpening(error, path)
  }
}

/**
 * Throws FoghornError `data_damaged` if the file is not the whole database of a relay, or has more than that: a
 * trigger would run with the first write. `data_version` if another version made it, unless that does not
 * matter.
 */
export function checkBackup(path: string, { ofAnyVersion = false } = {}): void {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(path, { readOnly: true })
    // not `quick_check`, which compares no index with its table
    const found = db.prepare('PRAGMA integrity_check').get()?.integrity_check
    if (found !== 'ok') throw new FoghornError('data_damaged', `"${path}" is damaged: ${found}`)
    const [rows] = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'rows'").all()
    if (rows === undefined) {
      throw new FoghornError('data_damaged', `"${path}" is no database of a relay`)
    }
    if (!ofAnyVersion) checkVersion(db, path)
    const foreign = foreignIn(db, ofAnyVersion)
    if (foreign !== undefined) {
      throw new FoghornError('data_damaged', `"${path}" has ${foreign}, which no relay made`)
    }
  } catch (error) {
    throw explainOpening(error, path)
  } finally {
    db?.close()
  }
}

/** What a relay did not make. Of another version, only what runs by itself is known. */
function foreignIn(db: DatabaseSync, ofAnyVersion: boolean): string | undefined {
  const own = new DatabaseSync(inMemory)
  own.exec(schema)
  const known = new Set(splitDatabase(own).map((one) => JSON.stringify(one)))
  own.close()
  const foreign = splitDatabase(db).find((one) =>
    ofAnyVersion ? ['trigger', 'view'].includes(one.type) : !known.has(JSON.stringify(one)),
  )
  return foreign && `a ${foreign.type} "${foreign.name}"`
}

function splitDatabase(db: DatabaseSync) {
  const found = db.prepare('SELECT type, name, sql FROM sqlite_schema').all()
  return found.map(({ type, name, sql }) => {
    return { type: String(type), name: String(name), sql: String(sql).replace(/\s+/g, ' ') }
  })
}

/** Pages of one step. Between two steps, the relay goes on working. */
const copiedPages = 500

class DatabaseFile implements Database {
  /** Whether there was none before. */
  readonly isNew: boolean
  /** After an error of the disk, SQLite refuses every write until the file is opened anew. */
  onBroken: (error: unknown) => void = () => {}
  /** A part cannot be read. The rest works. */
  onDamaged: (sentence: string) => void = () => {}
  readonly #db: DatabaseSync
  readonly #path: string
  /** Preparing a statement takes longer than running most of them. */
  readonly #prepared = new Map<string, StatementSync>()
  /** While a copy is made: what waits for the end of its step. */
  #held: (() => void)[] | undefined

  constructor(db: DatabaseSync, path: string, isNew: boolean) {
    this.#db = db
    this.#path = path
    this.isNew = isNew
  }

  run(text: string, ...values: (string | number)[]): void {
    this.#statement(text).run(...values)
  }

  all(text: string, ...values: (string | number)[]): Record<string, unknown>[] {
    try {
      return this.#statement(text).all(...values)
    } catch (error) {
      throw readCode(error) === sqliteCorrupt ? this.damaged('a page') : error
    }
  }

  damaged(what: string): FoghornError {
    const remedy = 'Restore a backup (npm run restore).'
    const error = new FoghornError(
      'data_damaged',
      `${what} in "${this.#path}" is damaged. ${remedy}`,
    )
    this.onDamaged(error.message)
    return error
  }

  tellDamaged(sentence: string): void {
    this.onDamaged(sentence)
  }

  whenFree(work: () => void): void {
    if (this.#held === undefined) work()
    else this.#held.push(work)
  }

  transaction<Result>(work: () => Result): Result {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      const result = work()
      this.#db.exec('COMMIT')
      return result
    } catch (error) {
      // if the disk is full or broken, SQLite has already ended the transaction
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      if (readCode(error) === sqliteIoError) this.onBroken(error)
      throw readCode(error) === sqliteCorrupt ? this.damaged('a page') : error
    }
  }

  explain(error: unknown): unknown {
    return explainDisk(error, this.#path)
  }

  close(): void {
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

  #statement(text: string): StatementSync {
    const known = this.#prepared.get(text)
    if (known !== undefined) return known
    const statement = this.#db.prepare(text)
    this.#prepared.set(text, statement)
    return statement
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

function lockFile(db: DatabaseSync, path: string): void {
  try {
    db.exec(`PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
      PRAGMA cache_size=-${cacheKib}; PRAGMA wal_autocheckpoint=${checkpointPages}`)
    // with `locking_mode=EXCLUSIVE`, SQLite keeps this lock until the file is closed
    db.exec('BEGIN EXCLUSIVE; COMMIT')
  } catch (error) {
    if (!(error instanceof Error && error.message.includes('locked'))) throw error
    const remedy =
      'Stop it, or set FOGHORN_DATA to a different folder. If there is none, the folder is on a ' +
      'network drive that grants no locks: use a disk of this machine.'
    throw new FoghornError('data_in_use', `Another relay is using "${path}". ${remedy}`)
  }
}

function checkVersion(db: DatabaseSync, path: string): 'empty' | 'ours' {
  const found = Number(db.prepare('PRAGMA user_version').get()?.user_version)
  const tables = db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE type = 'table'").get()
  if (Number(tables?.n) === 0) return 'empty'
  if (found === formatVersion) return 'ours'
  const remedy = 'Start the version that wrote it, or set FOGHORN_DATA to a different folder.'
  const what = `"${path}" has format ${found}, but this relay needs format ${formatVersion}.`
  throw new FoghornError('data_version', `${what} ${remedy}`)
}

/** sqlite.org/rescode.html */
const sqliteFull = 13
const sqliteIoError = 10
const sqliteCorrupt = 11
const sqliteCannotOpen = 14
const sqliteNotADatabase = 26

/** The primary result code; 0 if SQLite did not throw it. */
function readCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
}

/** SQLite's own sentences name no file and no remedy. */
function explainOpening(error: unknown, path: string): unknown {
  const errcode = readCode(error)
  if (errcode === sqliteCorrupt || errcode === sqliteNotADatabase) {
    const remedy =
      'Restore a backup (npm run restore), or move the file away: the relay then begins with an empty one.'
    const text = `"${path}" is damaged, or no database. ${remedy}`
    return new FoghornError('data_damaged', text, { cause: error })
  }
  if (errcode === sqliteCannotOpen || errcode === sqliteIoError) {
    const remedy =
      'Set FOGHORN_DATA to a folder on a disk of this machine that this user may write to. A network ' +
      'drive does not do: it grants no locks.'
    const text = `"${path}" cannot be opened (${messageOf(error)}). ${remedy}`
    return new FoghornError('data_unusable', text, { cause: error })
  }
  return explainDisk(error, path)
}

/** Replaces the error of a full disk, because SQLite's own names no disk and no remedy. */
export function explainDisk(error: unknown, path: string): unknown {
  if (!isFull(error)) return error
  const remedy = 'Free space on it. Until then, the relay cannot store anything.'
  const text = `The disk that holds "${path}" is full. ${remedy}`
  return new FoghornError('disk_full', text, { cause: error })
}

function isFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('errcode' in error && error.errcode === sqliteFull) return true
  return 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
}
