// Opens the file of the SQLite store: who may have it, how it is written, and which relay can read it.
import { DatabaseSync } from 'node:sqlite'
import { FoghornError } from '../../shared/errors.ts'
import { schema, schemaVersion, upgrades } from './sql.ts'

/** Of 4 KB each. A page that changes often is copied into the file once in so many, not each time. */
const checkpointPages = 8_000
const cacheKib = 65_536

/**
 * With `alone`, every other process is kept off. Throws FoghornError `data_in_use` where another one is
 * alone on the file, or this one cannot be; `data_version` where another version of the relay wrote it.
 */
export function openFile(path: string, alone: boolean): DatabaseSync {
  const db = new DatabaseSync(path)
  try {
    takeHold(db, path, alone)
    checkVersion(db, path)
    db.exec(schema)
    return db
  } catch (error) {
    db.close()
    throw error
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
    db.exec(`BEGIN; ${upgrade}; PRAGMA user_version = ${schemaVersion}; COMMIT`)
    return
  }
  const remedy = 'start the relay that wrote it, or give this one another FOGHORN_DATA'
  const what = `"${path}" has format ${found}, and this relay writes ${schemaVersion}`
  throw new FoghornError('data_version', `${what}; ${remedy}`)
}
