// Copies of the database of a relay on Node: whole while the relay writes, and gone after the answer.
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { DatabaseCopy } from '../../../functions/features/backup/ability.ts'
import { createBackup } from '../../../functions/features/backup/node.ts'
import { SqlRows } from '../../../functions/store/sqlite.ts'
import { openFile } from '../../../functions/store/sqlite-file.ts'
import { newFolder } from '../../support/folder.ts'
import { commitOf, record } from '../../support/records.ts'
import { openStore, storeOver, type TestStore } from '../../support/stores.ts'

let folder: string
let file: ReturnType<typeof openFile>
let store: TestStore
beforeEach(() => {
  folder = newFolder('backup')
  file = openFile(join(folder, 'foghorn.sqlite'))
  const rows = new SqlRows(file, { nonce: randomUUID(), soon: setImmediate })
  store = storeOver(rows, () => file.close())
})
afterEach(() => {
  store.close()
  rmSync(folder, { recursive: true })
})

const copies = () => readdirSync(folder).filter((name) => name.startsWith('backup-'))

function made(backup: DatabaseCopy) {
  if (backup.outcome !== 'made') throw new Error(backup.outcome)
  return backup
}

test('a copy has what was stored, also while the relay goes on writing', async () => {
  const history = [{ at: 0, what: 'seen' as const, note: 'x'.repeat(4_000) }]
  const write = (i: number) =>
    store.commit(commitOf({ record: record({ eventId: `e${i}`, history }) }))
  for (let i = 0; i < 1_500; i++) await write(i)
  const backUp = createBackup({ folder, copyTo: (path) => file.copyTo(path) })
  let later = 1_500
  let isDone = false
  const copying = backUp().finally(() => {
    isDone = true
  })
  while (!isDone) {
    await write(later++)
    await new Promise(setImmediate)
  }
  const { bytes, body } = made(await copying)
  const [name] = copies()
  expect(statSync(join(folder, name!)).mode & 0o777).toBe(0o600)
  const content = await buffer(body as never)
  expect(content.length).toBe(bytes)
  const path = join(folder, 'copy.sqlite')
  writeFileSync(path, content)
  const copy = openStore(path)
  const found = await copy.listEvents({ limit: 9_999 })
  expect(found.length).toBeGreaterThanOrEqual(1_500)
  expect(found.length).toBeLessThanOrEqual(later)
  for (let i = 0; i < found.length; i++) {
    expect(await copy.readEvent({ fleet: 'prod', eventId: `e${i}` })).toBeDefined()
  }
  copy.close()
})

test('one at a time, and its file is removed once it was read or given up', async () => {
  const backUp = createBackup({ folder, copyTo: (path) => file.copyTo(path) })
  const first = made(await backUp())
  expect(await backUp()).toEqual({ outcome: 'busy' })
  await buffer(first.body as never)
  await gone()
  const second = made(await backUp())
  await second.body.cancel()
  await gone()
  expect(made(await backUp()).bytes).toBe(first.bytes)
})

/** The file is closed in a later turn. */
async function gone(): Promise<void> {
  for (let turns = 0; copies().length > 0 && turns < 10_000; turns++)
    await new Promise(setImmediate)
  expect(copies()).toEqual([])
}

test('a copy that fails leaves no file, and the next one works', async () => {
  let fails = true
  const source = {
    copyTo: async (path: string) => {
      if (fails) throw new Error('the disk is full')
      await file.copyTo(path)
    },
  }
  const backUp = createBackup({ folder, copyTo: (path) => source.copyTo(path) })
  await expect(backUp()).rejects.toThrow('the disk is full')
  expect(copies()).toEqual([])
  fails = false
  expect((await backUp()).outcome).toBe('made')
})

test('files of a process that was killed are removed at the start, and nothing else', () => {
  const left = ['', '-journal', '-wal', '-shm'].map((end) => `backup-${randomUUID()}.sqlite${end}`)
  const others = ['backup-2026.sqlite', 'my-backup.sqlite']
  for (const name of [...left, ...others]) writeFileSync(join(folder, name), '')
  createBackup({ folder, copyTo: (path) => file.copyTo(path) })
  expect(left.filter((name) => existsSync(join(folder, name)))).toEqual([])
  expect(others.filter((name) => existsSync(join(folder, name)))).toEqual(others)
})
