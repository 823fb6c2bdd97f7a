// Changes and outcomes that the relay has not accepted yet. The beacon works on the copy in memory.
// Only a restart reads the file: without the file we lose durability, not reports.
import { chmodSync, closeSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import * as z from 'zod/mini'
import { FoghornError, messageOf } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import { changeSchema, maxChanges, type Start, startSchema } from '../shared/report.ts'
import { type Clock, type Instant, measureAgeMs, toInstant } from './clock.ts'
import type { Step } from './watch.ts'

/** The module is not imported: an old Node without it would exit before it prints which version it needs. */
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
/** Busy, locked, read-only, error of the disk, full, cannot be opened. */
const sqliteOfDisk: readonly number[] = [sqliteBusy, 6, 8, 10, 13, 14]

/** The outcome of a directive, at `seenAt` (monotonic ms). */
export interface StartResult extends Pick<Start, 'eventId' | 'outcome'> {
  kind: 'start'
  seenAt: number
  status?: number
}

export type Item = Step | StartResult

/** A waiting item. It has ages, because monotonic instants mean nothing after a restart. */
export interface Pending {
  /** Grows with each item. */
  sequence: number
  item: Body
  /** Ms since the item was seen, as of the call. */
  ageMs(): number
  lastSeenAgeMs(): number | undefined
}

export interface Spool {
  /** Keeps items until they are dropped. Above `maxChanges` it drops the oldest. */
  append(items: readonly Item[]): void
  /** All waiting items, oldest first. */
  read(): readonly Pending[]
  /** Drops all items up to and including `sequence`. */
  dropThrough(sequence: number): void
  /** Drops what an earlier process stored. */
  forget(): void
  /** Frees the directory for the next beacon. */
  close(): void
}

const bodySchema = z.union([
  z.extend(z.omit(startSchema, { ageMs: true }), { kind: z.literal('start') }),
  z.omit(changeSchema, { ageMs: true, lastSeenAgeMs: true }),
])
type Body = z.infer<typeof bodySchema>

interface Entry {
  sequence: number
  body: Body
  seen: Instant
  lastSeen: Instant | undefined
}

/**
 * Opens the state directory for this process alone. Throws FoghornError `state_dir_in_use` if
 * another beacon has it. If the directory cannot be used, the spool is in memory and has no lock.
 */
export function openSpool(options: SpoolOptions): Spool {
  const { directory, log } = options
  const file = join(directory, spoolFileName)
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    return openFile(file, options)
  } catch (error) {
    if (sqliteCode(error) === sqliteBusy) {
      throw new FoghornError(
        'state_dir_in_use',
        `the state directory ${directory} is in use by another beacon, or on a network drive without locks: stop that beacon, or set FOGHORN_STATE_DIR to a directory of its own on a disk of this VM`,
      )
    }
    const hint = `let the beacon write to ${directory}, free space on its disk, then restart the beacon`
    log.error('state_dir_unusable', { error: messageOf(error), hint })
    return spoolAt(inMemory, options)
  }
}

interface SpoolOptions {
  directory: string
  clock: Clock
  log: Log
}

class FileSpool implements Spool {
  readonly #database: DatabaseSync
  readonly #directory: string
  readonly #insert: StatementSync
  readonly #remove: StatementSync
  readonly #clock: Clock
  readonly #log: Log
  readonly #entries: Entry[]
  #sequence: number
  /** The last that an earlier process stored. */
  readonly #loaded: number

  constructor(database: DatabaseSync, options: SpoolOptions) {
    this.#database = database
    this.#directory = options.directory
    this.#clock = options.clock
    this.#log = options.log
    this.#insert = database.prepare(
      'INSERT INTO item (sequence, seen_at, last_seen_at, body) VALUES (?, ?, ?, ?)',
    )
    this.#remove = database.prepare('DELETE FROM item WHERE sequence <= ?')
    this.#entries = load(database, options.log)
    this.#loaded = lastSequence(database)
    this.#sequence = this.#loaded
  }

  append(items: readonly Item[]): void {
    const added = items.map((item) => this.#entryOf(item))
    this.#entries.push(...added)
    this.#write(() => {
      for (const { sequence, seen, lastSeen, body } of added) {
        this.#insert.run(sequence, seen.wall, lastSeen?.wall ?? null, JSON.stringify(body))
      }
    })
    const oldest = this.#entries[this.#entries.length - maxChanges - 1]
    if (oldest === undefined) return
    const dropped = this.#entries.length - maxChanges
    this.#log.warn('spool_full', { dropped, limit: maxChanges })
    this.dropThrough(oldest.sequence)
  }

  read(): readonly Pending[] {
    return this.#entries.map(({ sequence, body, seen, lastSeen }) => ({
      sequence,
      item: body,
      ageMs: () => measureAgeMs(this.#clock, seen),
      lastSeenAgeMs: () =>
        lastSeen === undefined ? undefined : measureAgeMs(this.#clock, lastSeen),
    }))
  }

  dropThrough(sequence: number): void {
    const count = this.#entries.findIndex((entry) => entry.sequence > sequence)
    this.#entries.splice(0, count === -1 ? this.#entries.length : count)
    this.#write(() => this.#remove.run(sequence))
  }

  forget(): void {
    this.dropThrough(this.#loaded)
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close()
  }

  #entryOf({ seenAt, ...rest }: Item): Entry {
    this.#sequence += 1
    const lastSeenAt = 'lastSeenAt' in rest ? rest.lastSeenAt : undefined
    return {
      sequence: this.#sequence,
      body: bodySchema.parse(rest),
      seen: toInstant(this.#clock, seenAt),
      lastSeen: lastSeenAt === undefined ? undefined : toInstant(this.#clock, lastSeenAt),
    }
  }

  #write(what: () => void): void {
    try {
      this.#database.exec('BEGIN IMMEDIATE')
      what()
      this.#database.exec('COMMIT')
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      const hint = `check the disk that holds ${this.#directory}: it may be full`
      this.#log.error('spool_write_failed', { error: messageOf(error), hint })
    }
  }
}

const rowSchema = z.object({
  sequence: z.int(),
  seen_at: z.number(),
  last_seen_at: z.nullable(z.number()),
  body: z.string(),
})

/** Skips unreadable rows. The next drop removes them. */
function load(database: DatabaseSync, log: Log): Entry[] {
  const rows = database.prepare('SELECT * FROM item ORDER BY sequence LIMIT ?').all(maxChanges)
  return rows.flatMap((row) => {
    try {
      const { sequence, seen_at, last_seen_at, body } = rowSchema.parse(row)
      const lastSeen = last_seen_at === null ? undefined : { wall: last_seen_at }
      return [
        { sequence, body: bodySchema.parse(JSON.parse(body)), seen: { wall: seen_at }, lastSeen },
      ]
    } catch (error) {
      log.error('spool_item_unreadable', { error: messageOf(error) })
      return []
    }
  })
}

/** Unreadable rows count, too: no sequence is used twice. */
function lastSequence(database: DatabaseSync): number {
  const row = database.prepare('SELECT max(sequence) AS last FROM item').get()
  return typeof row?.last === 'number' ? row.last : 0
}

/** A damaged file is moved aside. */
function openFile(file: string, options: SpoolOptions): Spool {
  try {
    return spoolAt(file, options)
  } catch (error) {
    if (!isDamaged(error)) throw error
    // One name for all damaged files, so that they cannot fill the disk.
    renameSync(file, `${file}.damaged`)
    for (const companion of companions) rmSync(`${file}${companion}`, { force: true })
    options.log.error('spool_damaged', { movedTo: `${file}.damaged`, error: messageOf(error) })
    return spoolAt(file, options)
  }
}

function spoolAt(file: string, options: SpoolOptions): Spool {
  const database = openLocked(file)
  try {
    return new FileSpool(database, options)
  } catch (error) {
    database.close()
    throw error
  }
}

/** Exclusive until it is closed. If the process is killed, the kernel frees it. */
function openLocked(file: string): DatabaseSync {
  if (file !== inMemory) keepPrivate(file)
  const database = new sqlite.DatabaseSync(file, { timeout: 0 })
  try {
    // With a rollback journal each write would wait for the disk four times.
    database.exec(`PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${checkpointPages}; BEGIN EXCLUSIVE`)
    const version = database.prepare('PRAGMA user_version').get()?.user_version
    const checked = database.prepare('PRAGMA quick_check(1)').get()?.quick_check
    if ((version !== 0 && version !== schemaVersion) || checked !== 'ok') {
      throw new Error(`schema version ${version}, check: ${checked}`)
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

/** Whatever neither the system nor the disk is to blame for: the file has odd content. */
function isDamaged(error: unknown): boolean {
  const isOfSystem = error instanceof Error && 'syscall' in error
  return !isOfSystem && !sqliteOfDisk.includes(sqliteCode(error) ?? 0)
}

/** The primary result code; the upper bytes of `errcode` only refine it. */
function sqliteCode(error: unknown): number | undefined {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined
  return typeof code === 'number' ? code & 0xff : undefined
}
