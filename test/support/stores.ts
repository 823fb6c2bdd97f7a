// Stores for tests: on a file of SQLite, in memory, or on the rows of Azure over a table in memory.
import { randomUUID } from 'node:crypto'
import { AzureRows } from '../../functions/store/azure/rows.ts'
import type { Table } from '../../functions/store/azure/table.ts'
import { RelayStore } from '../../functions/store/relay-store.ts'
import type { Rows } from '../../functions/store/rows.ts'
import { SqlRows } from '../../functions/store/sqlite.ts'
import { openFile } from '../../functions/store/sqlite-file.ts'
import { MemoryTable } from './memory-table.ts'

/** With `azure` in this variable, use cases and HTTP are tried on the rows of Azure. */
export const rowsOfTests = process.env.FOGHORN_TEST_ROWS === 'azure' ? 'azure' : 'sqlite'

export type TestStore = RelayStore & { rows: Rows; close(): void }

export function openStore(path = ':memory:'): TestStore {
  const file = openFile(path)
  const rows = new SqlRows(file, { nonce: randomUUID() })
  return storeOver(rows, () => file.close())
}

/** A worker's handle on rows that others may use, too. */
export function storeOver(rows: Rows, close = () => {}): TestStore {
  const store = new RelayStore({ rows, newId: randomUUID, random: Math.random })
  return Object.assign(store, { rows, close })
}

export function azureRows(table: Table, now: () => number = Date.now): AzureRows {
  return new AzureRows({ table, newId: randomUUID, now })
}

/** The store of a test of use cases: see `rowsOfTests`. */
export function openTestStore(path: string | undefined, now: () => number): TestStore {
  if (path !== undefined || rowsOfTests === 'sqlite') return openStore(path)
  return storeOver(azureRows(new MemoryTable(), now))
}
