// Stores for tests: on a file of SQLite, in memory, or on the rows of Azure over a table in memory.
import { randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { AzureRows } from '../../functions/store/azure/rows.ts'
import type { Table } from '../../functions/store/azure/table.ts'
import { PostgresRows } from '../../functions/store/postgres/rows.ts'
import { RelayStore } from '../../functions/store/relay-store.ts'
import type { Rows } from '../../functions/store/rows.ts'
import { SqlRows } from '../../functions/store/sqlite.ts'
import { openFile } from '../../functions/store/sqlite-file.ts'
import type { Store } from '../../functions/store/store.ts'
import { MemoryTable } from './memory-table.ts'
import { newTestDatabase } from './postgres.ts'

/** With `azure` or `postgres` in this variable, use cases and HTTP are tried on those rows. */
const { FOGHORN_TEST_ROWS: rowsOfTests = 'sqlite' } = process.env

/** Tests replace single methods of it. */
export type TestStore = Store &
  Pick<RelayStore, 'freeLeases' | 'open'> & {
    rows: Rows
    close(): void
    /** All that is stored, for "nothing was changed". A promise on PostgreSQL. */
    contents(): unknown
    /** SQL, on a file of SQLite: what flipped bits do. */
    alter(text: string, ...values: string[]): void
  }

export function openStore(path = ':memory:'): TestStore {
  const file = openFile(path)
  const rows = new SqlRows(file, { nonce: randomUUID(), sum: crc32 })
  const contents = () => [
    // that a page was opened is noted
    file.all(`SELECT * FROM rows WHERE row NOT LIKE 'own|opened%' ORDER BY id`),
    file.all('SELECT * FROM entries ORDER BY name, key'),
  ]
  const alter: TestStore['alter'] = (text, ...values) => file.run(text, ...values)
  return Object.assign(
    storeOver(rows, () => file.close(), contents),
    { alter },
  )
}

/** A worker's handle on rows that others may use, too. */
export function storeOver(
  rows: Rows,
  close = () => {},
  contents: () => unknown = () => undefined,
): TestStore {
  const store = new RelayStore({ rows, newId: randomUUID, random: Math.random })
  const alter = () => {
    throw new Error('it is no file of SQLite')
  }
  return Object.assign(store, { rows, close, contents, alter })
}

export function azureRows(table: Table, now: () => number = Date.now): AzureRows {
  return new AzureRows({ table, newId: randomUUID, now })
}

/** With a clock that a test moves, nothing would ever be old enough to be read: so it reads at once. */
export function storeOnTable(table: MemoryTable, now: () => number): TestStore {
  const rows = new AzureRows({ table, newId: randomUUID, now, lagMs: 0 })
  return storeOver(rows, undefined, () => table.contents())
}

/** The store of a test of use cases: see `rowsOfTests`. */
export function openTestStore(path: string | undefined, now: () => number): TestStore {
  if (path !== undefined || rowsOfTests === 'sqlite') return openStore(path)
  if (rowsOfTests === 'postgres') {
    const database = newTestDatabase()
    const rows = new PostgresRows({
      query: database.query,
      nonce: randomUUID(),
      lagMs: 0,
    })
    // that a page was opened is noted
    const statements = [
      `SELECT * FROM foghorn.rows WHERE "row" NOT LIKE 'own|opened%' ORDER BY partition, "row"`,
      'SELECT * FROM foghorn.entries ORDER BY name, key, partition, "row"',
    ]
    const contents = () => Promise.all(statements.map((one) => database.query(one, [])))
    return storeOver(rows, undefined, contents)
  }
  return storeOnTable(new MemoryTable(), now)
}
