// Opens the file of the SQLite store: who may have it, how it is written, and which relay can read it.
import { chmodSync, closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { FoghornError } from '../../../shared/errors.ts'
import { explainDisk } from './disk.ts'
import { schema, schemaVersion, upgrades } from './sql.ts'

const inMemory = ':memory:'
/** Only the relay's own user may read events, names of VMs and decisions. */
const ownerOnly = 0o600
/**
 * SQLite creates these with the mode of the database. An older relay may have left them open to
 * others.
 */
const companions = ['-wal', '-shm', '-journal']

/** Of 4 KB each. A page that changes often is copied into the file once in so many, not each time. */
const checkpointPages = 8_000
const cacheKib = 65_536

/**
 * With `alone`, keeps every other process off. Throws FoghornError `data_in_use` if another process
 * has the file alone, or this one cannot get it alone; `data_version` if another version of the relay
 * wrote it; `disk_full`.
 */
export function openFile(path: string, alone: boolean): DatabaseSync {
  if (path !== inMemory) keepPrivate(path)
  const db = new DatabaseSync(path)
  try {
    takeHold(db, path, alone)
    checkVersion(db, path)
    db.exec(schema)
    return db
  } catch (error) {
    db.close()
    throw explainDisk(error, path)
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

function takeHold(db: DatabaseSync, path: string, alone: boolean): void {
  const locking = alone ? 'locking_mode=EXCLUSIVE' : 'busy_timeout=5000'
  try {
    db.exec(`PRAGMA ${locking}; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
      PRAGMA cache_size=-${cacheKib}; PRAGMA wal_autocheckpoint=${checkpointPages}`)
    // whoever is alone keeps what this takes
    if (alone) db.exec('BEGIN EXCLUSIVE; COMMIT')
  } catch (error) {
    if (!(error instanceof Error && error.message.includes('locked'))) throw error
    const remedy = 'stop it, or give this one a folder of its own with FOGHORN_DATA'
    throw new FoghornError('data_in_use', `another relay works on "${path}"; ${remedy}`)
  }
}

function checkVersion(db: DatabaseSync, path: string): void {
  const found = Number(db.prepare('PRAGMA user_version').get()?.user_version)
  const tables = db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE type = 'table'").get()
  if (found === schemaVersion || Number(tables?.n) === 0) return
  const upgrade = upgrades[found]
  if (upgrade !== undefined) {
    db.exec(`BEGIN; ${upgrade} PRAGMA user_version = ${schemaVersion}; COMMIT`)
    return
  }
  const remedy = 'start the relay that wrote it, or give this one another FOGHORN_DATA'
  const what = `"${path}" has format ${found}, and this relay writes ${schemaVersion}`
  throw new FoghornError('data_version', `${what}; ${remedy}`)
}
