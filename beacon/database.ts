// The SQLite file of the state directory, and the lock on both. A damaged file never prevents a
// start: the next report matters more than the file's content.
import { chmodSync, closeSync, mkdirSync, openSync, renameSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { FoghornError, messageOf } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'

/** Not imported: an old Node without it would exit before it prints which version it needs. */
const sqlite = process.getBuiltinModule('node:sqlite')

export const spoolFileName = 'spool.db'
const inMemory = ':memory:'
/** SQLite writes a `-journal` until the file has its log. */
const companions = ['-wal', '-journal']
/** Pages of 4 KB. The log never has many more. */
const checkpointPages = 100
const schemaVersion = 1
/** Only the beacon's own user may read the names of VMs and Azure's plans for them. */
const ownerOnly = 0o600
const sqliteBusy = 5
const sqliteLocked = 6
const sqliteCorrupt = 11
const sqliteIoError = 10
const sqliteFull = 13
const sqliteCannotOpen = 14
const sqliteNotADatabase = 26
/** With less free space SQLite cannot write a journal. */
const leastFreeBytes = 64 * 1024

/**
 * Opens the state directory for this process alone. Throws FoghornError `state_dir_in_use` if
 * another beacon has it, `state_dir_unusable` if it cannot be written. A damaged file is moved
 * aside. If the disk is full, the database is in memory and has no lock, so that the beacon still
 * runs.
 */
export function openDatabase(directory: string, log: Log): DatabaseSync {
  const file = join(directory, spoolFileName)
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    try {
      return lockedDatabase(file)
    } catch (error) {
      if (!isDamaged(error)) throw error
      // One name for all damaged files, so that they cannot fill the disk.
      renameSync(file, `${file}.damaged`)
      for (const companion of companions) rmSync(`${file}${companion}`, { force: true })
      log.error('spool_damaged', { movedTo: `${file}.damaged`, error: messageOf(error) })
      return lockedDatabase(file)
    }
  } catch (error) {
    const code = sqliteCode(error)
    if (code === sqliteBusy || code === sqliteLocked) {
      throw new FoghornError(
        'state_dir_in_use',
        `the state directory ${directory} is in use by another beacon: stop that one, or set FOGHORN_STATE_DIR to a directory of its own`,
      )
    }
    if (isDiskFull(error, directory)) {
      const hint = `${freeSpaceOn(directory)}, then restart the beacon. A restart loses changes that are not reported yet`
      log.error('state_dir_full', { error: messageOf(error), hint })
      return lockedDatabase(inMemory)
    }
    throw new FoghornError(
      'state_dir_unusable',
      `the state directory ${directory} cannot be used (${messageOf(error)}): set FOGHORN_STATE_DIR to a directory that this user may write to`,
    )
  }
}

/** What to do about a full disk. */
export function freeSpaceOn(directory: string): string {
  return `free space on the disk that holds ${directory}`
}

/**
 * On a full disk SQLite may only report that a file cannot be opened. Then check the disk itself.
 */
export function isDiskFull(error: unknown, directory: string): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const sqliteError = sqliteCode(error)
  if (code === 'ENOSPC' || code === 'EDQUOT' || sqliteError === sqliteFull) return true
  if (sqliteError !== sqliteIoError && sqliteError !== sqliteCannotOpen) return false
  try {
    return !hasSpace(directory)
  } catch {
    return false
  }
}

/** Whether SQLite can write there. Throws if the directory cannot be read. */
export function hasSpace(directory: string): boolean {
  const { bavail, bsize, ffree, files } = statfsSync(directory)
  return bavail * bsize >= leastFreeBytes && (files === 0 || ffree > 0)
}

/**
 * Exclusive from the first statement on until closed; the kernel frees it when the process is
 * killed.
 */
function lockedDatabase(file: string): DatabaseSync {
  if (file !== inMemory) keepPrivate(file)
  const database = new sqlite.DatabaseSync(file, { timeout: 0 })
  try {
    // With a rollback journal each write would wait for the disk four times.
    database.exec(`PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${checkpointPages}; BEGIN EXCLUSIVE`)
    const version = database.prepare('PRAGMA user_version').get()?.user_version
    const checked = database.prepare('PRAGMA quick_check(1)').get()?.quick_check
    if ((version !== 0 && version !== schemaVersion) || checked !== 'ok') {
      throw new DamagedError(`schema version ${version}, check: ${checked}`)
    }
    database.exec(`
      CREATE TABLE IF NOT EXISTS item (
        sequence INTEGER PRIMARY KEY, seen_at REAL NOT NULL, last_seen_at REAL, body TEXT NOT NULL
      ) STRICT;
      PRAGMA user_version = ${schemaVersion};
      COMMIT`)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** If modes cannot be set (Windows, some file systems), the files keep the modes they have. */
function keepPrivate(file: string): void {
  attempt(() => closeSync(openSync(file, 'wx', ownerOnly)))
  for (const one of ['', ...companions, '.damaged'].map((end) => file + end)) {
    attempt(() => chmodSync(one, ownerOnly))
  }
}

/** Ignore system errors: if SQLite cannot open the file, SQLite reports it. */
function attempt(change: () => void): void {
  try {
    change()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
  }
}

class DamagedError extends Error {}

function isDamaged(error: unknown): boolean {
  const code = sqliteCode(error)
  return error instanceof DamagedError || code === sqliteCorrupt || code === sqliteNotADatabase
}

/** The primary result code; the upper bytes of `errcode` only refine it. */
function sqliteCode(error: unknown): number | undefined {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined
  return typeof code === 'number' ? code & 0xff : undefined
}
