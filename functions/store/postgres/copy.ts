// All rows of a stopped relay, from a file of SQLite to PostgreSQL or back: an owner moves without losing an open event.
import { FoghornError } from '../../../shared/errors.ts'
import type { Key } from '../rows.ts'
import type { Database as SqliteDatabase } from '../sqlite.ts'
import type { Database } from './connect.ts'
import { schemaName } from './schema.ts'

/** A row as it is stored: `keys` and `body` are JSON. */
interface StoredRow {
  partition: string
  row: string
  version: string
  keys: string
  body: string
}

/** Rows of one step. A row has at most 480,000 characters, and most have few. */
const pageSize = 100
/** What is true of one place only: who owns it, its format, and until when a relay listened there. */
const ownPartitions = ['relay', 'listening']

/** Returns how many rows it copied. Throws FoghornError `data_in_use` if there is something already. */
export async function copyToPostgres(from: SqliteDatabase, to: Database): Promise<number> {
  await checkAlone(to)
  if ((await to.query(`SELECT 1 FROM ${schemaName}.rows LIMIT 1`, [])).length > 0)
    throw inUse('the database in PostgreSQL has rows already')
  try {
    return await copyAll(from, to)
  } catch (error) {
    // it was empty before
    await to.query(`TRUNCATE ${schemaName}.rows, ${schemaName}.entries`, [])
    throw error
  }
}

async function copyAll(from: SqliteDatabase, to: Database): Promise<number> {
  let copied = 0
  for (const rows of pagesOfSqlite(from)) {
    const own = rows.filter(isOfAnyPlace)
    const entries = own.flatMap((row) =>
      keysIn(row).map(({ index, key, summary = '' }) => {
        return { name: index, key, partition: row.partition, row: row.row, summary }
      }),
    )
    await insert(to, 'rows', 'partition text, "row" text, version text, keys text, body text', own)
    const columns = 'name text, key text, partition text, "row" text, summary text'
    await insert(to, 'entries', columns, entries)
    copied += own.length
  }
  return copied
}

async function insert(to: Database, table: string, columns: string, rows: object[]): Promise<void> {
  if (rows.length === 0) return
  const text = `INSERT INTO ${schemaName}.${table} SELECT * FROM json_to_recordset($1::json) AS r(${columns})`
  await to.query(text, [JSON.stringify(rows)])
}

/** The file is new. Returns how many rows it copied. */
export async function copyToSqlite(from: Database, to: SqliteDatabase): Promise<number> {
  await checkAlone(from)
  let copied = 0
  let [partition, row] = ['', '']
  for (;;) {
    const found = (await from.query(
      `SELECT partition, "row", version, keys, body FROM ${schemaName}.rows
       WHERE (partition, "row") > ($1, $2) ORDER BY partition, "row" LIMIT ${pageSize}`,
      [partition, row],
    )) as unknown as StoredRow[]
    const own = found.filter(isOfAnyPlace)
    to.transaction(() => {
      for (const one of own) insertIntoSqlite(to, one)
    })
    copied += own.length
    if (found.length < pageSize) return copied
    ;({ partition, row } = found.at(-1)!)
  }
}

function insertIntoSqlite(to: SqliteDatabase, stored: StoredRow): void {
  const { partition, row, version, keys, body } = stored
  const text = 'INSERT INTO rows (partition, row, version, keys, body) VALUES (?, ?, ?, ?, ?)'
  to.run(text, partition, row, version, keys, body)
  for (const { index, key, summary = '' } of keysIn(stored)) {
    const entry = 'INSERT INTO entries (name, key, partition, row, summary) VALUES (?, ?, ?, ?, ?)'
    to.run(entry, index, key, partition, row, summary)
  }
}

function* pagesOfSqlite(from: SqliteDatabase): Generator<StoredRow[]> {
  for (let last = 0; ; ) {
    const text =
      'SELECT id, partition, row, version, keys, body FROM rows WHERE id > ? ORDER BY id LIMIT ?'
    const found = from.all(text, last, pageSize)
    if (found.length > 0)
      yield found.map(({ id: _, ...columns }) => columns as unknown as StoredRow)
    if (found.length < pageSize) return
    last = Number(found.at(-1)!.id)
  }
}

function isOfAnyPlace({ partition }: StoredRow): boolean {
  return !ownPartitions.includes(partition)
}

function keysIn({ keys }: StoredRow): Key[] {
  const all = keys === '' ? [] : (JSON.parse(keys) as Key[])
  return [...new Map(all.map((one) => [`${one.index} ${one.key}`, one])).values()]
}

/** A relay that runs would write meanwhile. */
async function checkAlone(database: Database): Promise<void> {
  const [found] = await database.query(
    `SELECT count(*)::int AS others FROM pg_stat_activity
     WHERE application_name = 'foghorn' AND datname = current_database() AND query ILIKE 'LISTEN%'`,
    [],
  )
  if (Number(found?.others) > 0)
    throw inUse('a relay uses the database in PostgreSQL; stop it first')
}

function inUse(why: string): FoghornError {
  return new FoghornError('data_in_use', why)
}
