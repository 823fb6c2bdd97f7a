// A full disk, as SQLite itself reports it. The error names the file and the remedy.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { explainDisk } from '../../functions/store/sqlite/disk.ts'
import { openFile } from '../../functions/store/sqlite/file.ts'
import { SharedWrites } from '../../functions/store/sqlite/shared-writes.ts'
import { newFolder } from '../support/folder.ts'

const path = '/data/foghorn.sqlite'

test.each([undefined, setImmediate])(
  'a write that meets the full disk explains it (%o)',
  async (soon) => {
    const db = openFile(join(newFolder('disk'), 'foghorn.sqlite'))
    db.prepare('PRAGMA max_page_count = 1').all()
    const writes = new SharedWrites(db, soon ?? ((flush) => flush()))
    const insert = db.prepare('INSERT INTO channels VALUES (?, 1)')
    const outcome = writes.write(() => insert.run('x'.repeat(1_000_000)))
    await expect(outcome).rejects.toMatchObject({ code: 'disk_full' })
    await expect(outcome).rejects.toThrow(/foghorn\.sqlite" is full\. Free space on it/)
    await expect(outcome).rejects.not.toThrow(/FOGHORN_DATA|another folder/)
    expect(db.prepare('SELECT count(*) AS n FROM channels').get()).toEqual({ n: 0 })
    db.close()
  },
)

test('a directory that cannot be created, too; any other error stays as it is', () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
  expect(explainDisk(full, path)).toMatchObject({ code: 'disk_full', cause: full })
  const other = Object.assign(new Error('database is locked'), { errcode: 5 })
  expect(explainDisk(other, path)).toBe(other)
  expect(explainDisk('text', path)).toBe('text')
})
