// The whole database behind a relay, for "nothing was changed": every row of every table.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { newFolder } from './folder.ts'

export interface Tables {
  path: string
  /** Rows of each table, in a fixed order. */
  read(): Record<string, unknown[]>
  remove(): void
}

export function createTables(): Tables {
  const directory = newFolder('tables')
  const path = join(directory, 'foghorn.sqlite')
  return {
    path,
    read() {
      const db = new DatabaseSync(path, { readOnly: true })
      const names = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
      const rows = names.all().map(({ name }) => {
        const all = db.prepare(`SELECT * FROM ${String(name)}`).all()
        return [String(name), all.map((row) => JSON.stringify(row)).sort()] as const
      })
      db.close()
      return Object.fromEntries(rows)
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  }
}
