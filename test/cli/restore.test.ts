// `npm run restore`: what it puts where, and what it refuses.
import { chmodSync, copyFileSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { restore } from '../../functions/cli/restore.ts'
import { databaseName, openFile } from '../../functions/store/sqlite-file.ts'
import { playCommand } from '../support/command.ts'
import { newFolder } from '../support/folder.ts'
import { commitOf, record } from '../support/records.ts'
import { openStore } from '../support/stores.ts'

/** A database with one event of this name. */
async function databaseAt(path: string, eventId: string) {
  const store = openStore(path)
  await store.commit(commitOf({ record: record({ eventId }) }))
  store.close()
  return path
}

async function eventsIn(path: string): Promise<string[]> {
  const store = openStore(path)
  const found = await store.listEvents({ limit: 10 })
  store.close()
  return found.map(({ eventId }) => eventId)
}

async function setUp() {
  const folder = newFolder('restore')
  const data = join(folder, 'data')
  const backup = await databaseAt(join(folder, 'backup.sqlite'), 'of-the-backup')
  const run = (file = backup) => playCommand('restore', restore, [file], { FOGHORN_DATA: data })
  return { folder, data, backup, run, path: join(data, databaseName) }
}

test('a backup takes the place of the database, which is kept', async () => {
  const { data, path, backup, run } = await setUp()
  await run()
  await databaseAt(path, 'newer')
  chmodSync(backup, 0o644)
  const { code, out } = await run()
  expect(code).toBe(0)
  expect(await eventsIn(path)).toEqual(['of-the-backup'])
  expect((statSync(path).mode & 0o777).toString(8)).toBe('600')
  const old = /The old database is (\S+)/.exec(out)![1]!
  expect((await eventsIn(old)).sort()).toEqual(['newer', 'of-the-backup'])
  expect(existsSync(backup)).toBe(true)
  expect(readdirSync(data).filter((name) => name.endsWith('.restoring'))).toEqual([])
})

test('in a folder that does not exist yet, also if the old database is damaged', async () => {
  const { path, run } = await setUp()
  expect((await run()).code).toBe(0)
  writeFileSync(path, 'no database')
  expect((await run()).code).toBe(0)
  expect(await eventsIn(path)).toEqual(['of-the-backup'])
})

test('not while a relay runs', async () => {
  const { path, run } = await setUp()
  await run()
  const relay = openFile(path)
  const { code, err } = await run()
  relay.close()
  expect(code).toBe(2)
  expect(err).toContain('Another relay is using')
})

test.each<[string, (place: Awaited<ReturnType<typeof setUp>>) => string, RegExp]>([
  ['is missing', ({ folder }) => join(folder, 'none'), /there is no file/],
  ['is a folder', ({ folder }) => folder, /cannot be opened|no database/],
  [
    'is no database',
    ({ backup }) => {
      writeFileSync(backup, 'x'.repeat(9_000))
      return backup
    },
    /is damaged, or no database/,
  ],
  [
    'is another database',
    ({ folder }) => {
      const file = join(folder, 'other')
      const other = new DatabaseSync(file)
      other.exec('CREATE TABLE t (x)')
      other.close()
      return file
    },
    /is no database of a relay/,
  ],
  [
    'was made by another version',
    ({ backup }) => {
      const old = new DatabaseSync(backup)
      old.exec('PRAGMA user_version = 99')
      old.close()
      return backup
    },
    /has format 99/,
  ],
  [
    'lacks its newest writes',
    ({ backup }) => {
      copyFileSync(backup, `${backup}-wal`)
      return backup
    },
    /no backup; make backups with "npm run backup"/,
  ],
])('not from a file that %s: nothing changes', async (_, spoil, sentence) => {
  const place = await setUp()
  await databaseAt(place.path, 'ours').catch(() => undefined)
  const { code, err } = await place.run(spoil(place))
  expect(code).toBe(2)
  expect(err.replace(/\s+/g, ' ')).toMatch(sentence)
  expect(existsSync(place.path) ? await eventsIn(place.path) : []).not.toContain('of-the-backup')
})

test('not from the database itself', async () => {
  const { path, run } = await setUp()
  await run()
  expect((await run(path)).err).toContain('is the database itself')
})
