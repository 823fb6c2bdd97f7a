// A full disk, as SQLite itself reports it. The error names the file and the remedy.
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { explainDisk } from '../../functions/store/sqlite/disk.ts'
import { SharedWrites } from '../../functions/store/sqlite/shared-writes.ts'

const path = '/data/foghorn.sqlite'

function fullDatabase(): DatabaseSync {
  const db = new DatabaseSync(':memory:')
  db.exec('CREATE TABLE t (text TEXT); PRAGMA max_page_count = 3')
  return db
}

test.each([undefined, setImmediate])(
  'a write that meets the full disk explains it (%o)',
  async (soon) => {
    const db = fullDatabase()
    const explain = (error: unknown) => explainDisk(error, path)
    const writes = new SharedWrites(db, { soon: soon ?? ((flush) => flush()), explain })
    const fill = () => db.prepare('INSERT INTO t VALUES (?)').run('x'.repeat(100_000))
    const outcome = writes.write(fill)
    await expect(outcome).rejects.toMatchObject({ code: 'disk_full' })
    await expect(outcome).rejects.toThrow(/"\/data\/foghorn\.sqlite" is full\. Free space on it/)
    await expect(outcome).rejects.not.toThrow(/FOGHORN_DATA|another folder/)
    expect(db.prepare('SELECT count(*) AS n FROM t').get()).toEqual({ n: 0 })
  },
)

test('a directory that cannot be created, too; any other error stays as it is', () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
  expect(explainDisk(full, path)).toMatchObject({ code: 'disk_full', cause: full })
  const other = Object.assign(new Error('database is locked'), { errcode: 5 })
  expect(explainDisk(other, path)).toBe(other)
  expect(explainDisk('text', path)).toBe('text')
})
