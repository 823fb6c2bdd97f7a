// Changes and outcomes that the relay has not accepted yet. The beacon works on the copy in memory.
// Only a restart reads the file: if the disk is full, we lose durability, not reports.
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import * as z from 'zod/mini'
import { messageOf } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import { changeSchema, maxChanges, type Start, startSchema } from '../shared/report.ts'
import { ageMsOf, type Clock, type Instant, instantOf } from './clock.ts'
import { freeSpaceOn, isDiskFull, openDatabase } from './database.ts'
import type { Step } from './watch.ts'

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

/** Opens the state directory for this process alone; throws as `openDatabase` does. */
export function openSpool(options: { directory: string; clock: Clock; log: Log }): Spool {
  return new FileSpool(openDatabase(options.directory, options.log), options)
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

  constructor(database: DatabaseSync, options: { directory: string; clock: Clock; log: Log }) {
    this.#database = database
    this.#directory = options.directory
    this.#clock = options.clock
    this.#log = options.log
    this.#insert = database.prepare(
      'INSERT INTO item (sequence, seen_at, last_seen_at, body) VALUES (?, ?, ?, ?)',
    )
    this.#remove = database.prepare('DELETE FROM item WHERE sequence <= ?')
    this.#entries = load(database, options.log)
    this.#sequence = lastSequence(database)
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
      ageMs: () => ageMsOf(this.#clock, seen),
      lastSeenAgeMs: () => (lastSeen === undefined ? undefined : ageMsOf(this.#clock, lastSeen)),
    }))
  }

  dropThrough(sequence: number): void {
    const count = this.#entries.findIndex((entry) => entry.sequence > sequence)
    this.#entries.splice(0, count === -1 ? this.#entries.length : count)
    this.#write(() => this.#remove.run(sequence))
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
      seen: instantOf(this.#clock, seenAt),
      lastSeen: lastSeenAt === undefined ? undefined : instantOf(this.#clock, lastSeenAt),
    }
  }

  #write(what: () => void): void {
    try {
      this.#database.exec('BEGIN IMMEDIATE')
      what()
      this.#database.exec('COMMIT')
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      const isFull = isDiskFull(error, this.#directory)
      const hint = isFull
        ? freeSpaceOn(this.#directory)
        : `check the disk that holds ${this.#directory}`
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
