// Rows in SQLite: a file of one process, or the storage of one Durable Object. Changes that arrive
// together share one transaction, which checks the condition of each: a conflict spares the others.
import type { FoghornError } from '../../shared/errors.ts'
import { justAfter } from './keys.ts'
import {
  buildRow,
  type Change,
  checkSizes,
  type Found,
  isDamaged,
  isNamed,
  type Key,
  Positions,
  type Row,
  type Rows,
  toFound,
} from './rows.ts'
import { buildSeal, type Sum, toWholeRow } from './seal.ts'

/** Increase this if an older relay would not understand the changed rows. */
export const formatVersion = 7

export const schema = `
CREATE TABLE IF NOT EXISTS rows (
  id INTEGER PRIMARY KEY, partition TEXT NOT NULL, row TEXT NOT NULL, version TEXT NOT NULL,
  keys TEXT NOT NULL, body TEXT NOT NULL, UNIQUE (partition, row)
) STRICT;
CREATE TABLE IF NOT EXISTS entries (
  name TEXT NOT NULL, key TEXT NOT NULL, partition TEXT NOT NULL, row TEXT NOT NULL,
  summary TEXT NOT NULL, PRIMARY KEY (name, key, partition, row)
) STRICT, WITHOUT ROWID;`

const sql = {
  read: 'SELECT partition, row, version, keys, body FROM rows WHERE partition = ? AND row = ?',
  list: `SELECT partition, row, version, keys, body FROM rows
    WHERE partition = ? AND row >= ? AND row < ? ORDER BY row LIMIT ?`,
  /** From the index alone, whose pages are others than those of the rows. */
  names: `SELECT row FROM rows
    WHERE partition = ? AND row >= ? AND row < ? ORDER BY row LIMIT ?`,
  version: 'SELECT version FROM rows WHERE partition = ? AND row = ?',
  insert: 'INSERT INTO rows (version, keys, body, partition, row) VALUES (?, ?, ?, ?, ?)',
  replace: 'UPDATE rows SET version = ?, keys = ?, body = ? WHERE partition = ? AND row = ?',
  remove: 'DELETE FROM rows WHERE partition = ? AND row = ?',
  find: `SELECT key, summary, partition, row FROM entries
    WHERE name = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?`,
  addEntry: `INSERT INTO entries (summary, name, key, partition, row) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET summary = excluded.summary`,
  dropEntry: 'DELETE FROM entries WHERE name = ? AND key = ? AND partition = ? AND row = ?',
  entry: 'SELECT 1 FROM entries WHERE name = ? AND key = ? AND partition = ? AND row = ?',
  last: 'SELECT max(id) AS id FROM rows',
  addMissing: `INSERT OR IGNORE INTO entries (summary, name, key, partition, row)
    SELECT coalesce(one.value ->> 'summary', ''), one.value ->> 'index', one.value ->> 'key', partition, row
    FROM rows, json_each(iif(json_valid(keys), keys, '[]')) AS one
    WHERE rows.id > ? AND rows.id <= ? AND one.type = 'object'`,
}

/** Rows that are looked through at once, when an entry is missing and nobody knows of which row. */
const rowsAtOnce = 5_000

type Value = string | number
type Columns = Record<string, unknown>

/** What `SqlRows` needs of a database. */
export interface Database {
  run(text: string, ...values: Value[]): void
  all(text: string, ...values: Value[]): Columns[]
  /** Stores all writes of `work` durably, or none if it throws. */
  transaction<Result>(work: () => Result): Result
  /** Calls `work`, which begins a transaction and throws nothing, at a moment when it can. */
  whenFree(work: () => void): void
  /** Replaces an error of the database by one that names cause and remedy, if it knows them. */
  explain(error: unknown): unknown
  /** Tells the host of a part that is damaged. `what`: such as `row "event" of "event|prod|…"`. */
  damaged(what: string): FoghornError
  /** Tells the host in a whole sentence that a part cannot be read. */
  tellDamaged(sentence: string): void
}

interface Waiting {
  partition: string
  changes: Change[]
  resolve: (outcome: Row[] | 'conflict') => void
  reject: (error: unknown) => void
}

interface Options {
  /** A text that no other process used on this database. It makes versions unique. */
  nonce: string
  /** When to commit what waits. Default: at once. */
  soon?: (commit: () => void) => void
  /** SQLite sees a page that it cannot read. By this, one shows that says something else. */
  sum?: Sum
}

export class SqlRows implements Rows {
  readonly lagMs = 0
  readonly positions = new Positions()
  readonly #db: Database
  readonly #nonce: string
  readonly #soon: (commit: () => void) => void
  readonly #sum: Sum
  #waiting: Waiting[] = []
  #versions = 0

  constructor(db: Database, { nonce, soon = (commit) => commit(), sum }: Options) {
    this.#db = db
    this.#nonce = nonce
    this.#soon = soon
    this.#sum = sum
  }

  async read(partition: string, row: string): Promise<Row | undefined> {
    const [found] = this.#db.all(sql.read, partition, row)
    return found && this.#whole(found)
  }

  async list(partition: string, from: string, to: string, limit = -1): Promise<Row[]> {
    const rows: Row[] = []
    for (let start = from; ; ) {
      const most = limit < 0 ? limit : limit - rows.length
      const { found, count, last } = this.#findPage(partition, start, to, most)
      for (const one of found) {
        const row = toWholeRow(this.#sum, one)
        if (row === undefined) this.#damaged(one)
        else rows.push(row)
      }
      // others take the place of those that are damaged
      if (limit < 0 || count < most || rows.length === limit) return rows
      start = justAfter(String(last))
    }
  }

  /** `count`: with those that cannot be read. `last`: the name of the last one. */
  #findPage(partition: string, from: string, to: string, most: number) {
    try {
      const found = this.#db.all(sql.list, partition, from, to, most)
      return { found, count: found.length, last: found.at(-1)?.row }
    } catch (error) {
      if (!isDamaged(error)) throw error
      // one page of the file cannot be read, and has a few of them
      const names = this.#db.all(sql.names, partition, from, to, most).map(({ row }) => String(row))
      const found = names.flatMap((row) => this.#unlessDamaged(partition, row))
      return { found, count: names.length, last: names.at(-1) }
    }
  }

  #unlessDamaged(partition: string, row: string): Columns[] {
    try {
      return this.#db.all(sql.read, partition, row)
    } catch (error) {
      if (!isDamaged(error)) throw error
      return []
    }
  }

  #whole(found: Columns): Row {
    const row = toWholeRow(this.#sum, found)
    if (row === undefined) throw this.#damaged(found)
    return row
  }

  #damaged({ partition, row }: Columns): FoghornError {
    return this.#db.damaged(`row "${String(row)}" of "${String(partition)}"`)
  }

  async find(index: string, from: string, to: string, limit: number): Promise<Found[]> {
    return this.#db.all(sql.find, index, from, to, limit).map((entry) => toFound(index, entry))
  }

  /** A transaction writes rows and entries, so an entry that no row names is damaged. The rows have what it was. */
  async tidy(unnamed: Found[]): Promise<void> {
    if (unnamed.length === 0) return
    try {
      const damaged = await this.#whenFree(() => this.#dropDamaged(unnamed))
      if (damaged.some(({ partition, row }) => !this.#exists(partition, row)))
        await this.#addMissing()
    } catch (error) {
      // what cannot be read stays as it is, and `damaged` has told it
      if (!isDamaged(error)) throw this.#db.explain(error)
    }
  }

  #whenFree<Result>(work: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#db.whenFree(() => {
        try {
          resolve(work())
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  #dropDamaged(unnamed: Found[]): Found[] {
    const damaged = unnamed.filter((entry) => this.#isDamaged(entry))
    if (damaged.length === 0) return []
    this.#db.transaction(() => {
      for (const { index, key, partition, row } of damaged) {
        this.#db.run(sql.dropEntry, index, key, partition, row)
        this.#index(partition, row, [], this.#wholeRow(partition, row)?.keys ?? [])
      }
    })
    for (const { index, key } of damaged) this.#db.damaged(`entry "${key}" of "${index}"`)
    return damaged
  }

  /** The entry that was damaged had another row, and only that row knows. */
  async #addMissing(): Promise<void> {
    const last = Number(this.#db.all(sql.last)[0]!.id)
    for (let from = 0; from < last; from += rowsAtOnce) {
      await new Promise<void>((resolve) => this.#soon(resolve))
      await this.#whenFree(() =>
        this.#db.transaction(() => this.#db.run(sql.addMissing, from, from + rowsAtOnce)),
      )
    }
  }

  /** Whether the entry is still there, and its row does not name it. */
  #isDamaged({ index, key, partition, row }: Found): boolean {
    if (this.#db.all(sql.entry, index, key, partition, row).length === 0) return false
    return !isNamed({ index, key }, this.#wholeRow(partition, row))
  }

  tellDamaged(sentence: string): void {
    this.#db.tellDamaged(sentence)
  }

  async change(partition: string, changes: Change[]): Promise<Row[] | 'conflict'> {
    if (changes.length === 0) return []
    checkSizes(partition, changes)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ partition, changes, resolve, reject })
      if (this.#waiting.length === 1) {
        this.#soon(() => this.#db.whenFree(() => this.#commit()))
      }
    })
  }

  #commit(): void {
    const batch = this.#waiting
    this.#waiting = []
    try {
      const outcomes = this.#db.transaction(() => batch.map((one) => this.#apply(one)))
      for (const [i, { resolve }] of batch.entries()) resolve(outcomes[i]!)
    } catch (error) {
      for (const { reject } of batch) reject(this.#db.explain(error))
    }
  }

  #apply({ partition, changes }: Waiting): Row[] | 'conflict' {
    if (!changes.every((change) => this.#fits(partition, change))) return 'conflict'
    return changes.map((change) => this.#write(partition, change))
  }

  #fits(partition: string, change: Change): boolean {
    if (change.kind === 'put') return true
    const [found] = this.#db.all(sql.version, partition, buildRow(change))
    // what is damaged counts as missing
    if (change.kind === 'insert')
      return found === undefined || this.#wholeRow(partition, change.row) === undefined
    return found?.version === change.was.version
  }

  #write(partition: string, change: Change): Row {
    if (change.kind === 'remove') {
      this.#index(partition, change.was.row, change.was.keys, [])
      this.#db.run(sql.remove, partition, change.was.row)
      return change.was
    }
    const { kind, body } = change
    const row = buildRow(change)
    const before = kind === 'replace' ? change.was.keys : []
    const keys = (kind === 'put' ? undefined : change.keys) ?? []
    const isNew = kind !== 'replace' && !this.#exists(partition, row)
    const text = keys.length === 0 ? '' : JSON.stringify(keys)
    const seal = buildSeal(this.#sum, { partition, row, keys: text, body })
    const version = `${this.#nonce}-${++this.#versions}${seal}`
    this.#db.run(isNew ? sql.insert : sql.replace, version, text, body, partition, row)
    this.#index(partition, row, before, keys)
    return { partition, row, body, keys, version }
  }

  /** Undefined also if it is damaged. */
  #wholeRow(partition: string, row: string): Row | undefined {
    const [found] = this.#db.all(sql.read, partition, row)
    return found && toWholeRow(this.#sum, found)
  }

  #exists(partition: string, row: string): boolean {
    return this.#db.all(sql.version, partition, row).length > 0
  }

  #index(partition: string, row: string, before: readonly Key[], after: readonly Key[]): void {
    if (before === after) return
    const old = new Map(before.map((one) => [chooseName(one), one]))
    for (const one of after) {
      const known = old.get(chooseName(one))
      old.delete(chooseName(one))
      if (known !== undefined && known.summary === one.summary) continue
      this.#db.run(sql.addEntry, one.summary ?? '', one.index, one.key, partition, row)
    }
    for (const { index, key } of old.values()) {
      this.#db.run(sql.dropEntry, index, key, partition, row)
    }
  }
}

function chooseName({ index, key }: Key): string {
  return `${index} ${key}`
}
