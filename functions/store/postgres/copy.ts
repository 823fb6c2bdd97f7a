// All rows of a stopped relay, from a file of SQLite to PostgreSQL or back: an owner moves without losing an open event.
import { FoghornError } from '../../../shared/errors.ts'
import type { Row, Stored } from '../rows.ts'
import { type Sum, toWholeRow } from '../seal.ts'
import type { Database as SqliteDatabase } from '../sqlite.ts'
import type { Database } from './connect.ts'
import type { Query } from './rows.ts'
import { schemaName } from './schema.ts'

/** Rows of one step. A row has at most 480,000 characters, and most have few. */
const pageSize = 100
/** Who owns the place, and until when a relay listened there. */
const ownRows = ['relay owner', 'listening ']

/**
 * Nothing is copied, or all. Returns how many rows. Throws FoghornError `data_in_use` if a relay runs, or if there are
 * rows already, `data_damaged` if a row is.
 */
export function copyToPostgres(from: SqliteDatabase, to: Database, sum: Sum): Promise<number> {
  return to.alone(async (query) => {
    const before = `SELECT 1 FROM ${schemaName}.rows WHERE partition <> 'relay' LIMIT 1`
    if ((await query(before, [])).length > 0) {
      const remedy = `use another database, or remove what is there: DROP SCHEMA ${schemaName} CASCADE`
      throw new FoghornError(
        'data_in_use',
        `the database in PostgreSQL has rows already; ${remedy}`,
      )
    }
    await query(`TRUNCATE ${schemaName}.rows, ${schemaName}.entries`, [])
    let copied = 0
    for (const rows of pagesOfSqlite(from)) {
      const own = rows.filter(isOfAnyPlace)
      const entries = own.flatMap((row) =>
        keysIn(sum, row).map(({ index, key, summary = '' }) => {
          return { name: index, key, partition: row.partition, row: row.row, summary }
        }),
      )
      await insert(
        query,
        'rows',
        'partition text, "row" text, version text, keys text, body text',
        own,
      )
      const columns = 'name text, key text, partition text, "row" text, summary text'
      await insert(query, 'entries', columns, entries)
      copied += own.length
    }
    return copied
  })
}

async function insert(query: Query, table: string, columns: string, rows: object[]): Promise<void> {
  if (rows.length === 0) return
  const text = `INSERT INTO ${schemaName}.${table} SELECT * FROM json_to_recordset($1::json) AS r(${columns})`
  await query(text, [JSON.stringify(rows)])
}

/**
 * The file is new. Returns how many rows it copied. Throws FoghornError `data_in_use` if a relay runs, `data_damaged` if
 * a row is damaged.
 */
export function copyToSqlite(from: Database, to: SqliteDatabase, sum: Sum): Promise<number> {
  return from.alone(async (query) => {
    let copied = 0
    let [partition, row] = ['', '']
    for (;;) {
      const found = (await query(
        `SELECT partition, "row", version, keys, body FROM ${schemaName}.rows
         WHERE (partition, "row") > ($1, $2) ORDER BY partition, "row" LIMIT ${pageSize}`,
        [partition, row],
      )) as unknown as Stored[]
      const own = found.filter(isOfAnyPlace)
      to.transaction(() => {
        for (const one of own) insertIntoSqlite(to, one, sum)
      })
      copied += own.length
      if (found.length < pageSize) break
      ;({ partition, row } = found.at(-1)!)
    }
    if (copied === 0)
      throw new FoghornError('data_unusable', 'no relay has stored anything in this database')
    return copied
  })
}

function insertIntoSqlite(to: SqliteDatabase, stored: Stored, sum: Sum): void {
  const { partition, row, version, keys, body } = stored
  const text = 'INSERT INTO rows (partition, row, version, keys, body) VALUES (?, ?, ?, ?, ?)'
  to.run(text, partition, row, version, keys, body)
  for (const { index, key, summary = '' } of keysIn(sum, stored)) {
    const entry = 'INSERT INTO entries (name, key, partition, row, summary) VALUES (?, ?, ?, ?, ?)'
    to.run(entry, index, key, partition, row, summary)
  }
}

function* pagesOfSqlite(from: SqliteDatabase): Generator<Stored[]> {
  for (let last = 0; ; ) {
    const text =
      'SELECT id, partition, row, version, keys, body FROM rows WHERE id > ? ORDER BY id LIMIT ?'
    const found = from.all(text, last, pageSize)
    if (found.length > 0) yield found.map(({ id: _, ...columns }) => columns as unknown as Stored)
    if (found.length < pageSize) return
    last = Number(found.at(-1)!.id)
  }
}

function isOfAnyPlace({ partition, row }: Stored): boolean {
  return !ownRows.includes(`${partition} ${row}`)
}

/** Throws FoghornError `data_damaged`, which names the row. */
function keysIn(sum: Sum, stored: Stored): Row['keys'] {
  const whole = toWholeRow(sum, stored)
  if (whole === undefined) {
    const what = `row "${stored.row}" of "${stored.partition}" is damaged`
    throw new FoghornError('data_damaged', `${what}, so nothing was copied`)
  }
  return [...new Map(whole.keys.map((one) => [`${one.index} ${one.key}`, one])).values()]
}
