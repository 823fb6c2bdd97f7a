// The relay's own user has left links and a pipe in its folder, and waits for root to restore a backup.

import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { databaseName } from '../../functions/store/sqlite-file.ts'
import { whyForeign } from '../../shared/folder.ts'
import { ofRun } from '../support/process.ts'
import { commitOf, record } from '../support/records.ts'
import { openStore } from '../support/stores.ts'
import { baseConfig, prodKey } from '../support/world.ts'

const program = join(import.meta.dirname, '../../infra/foghorn.mjs')
/** *nobody* of most systems. */
const user = 65_534
const isRoot = process.getuid?.() === 0
const secret = 'only root may change this\n'

let place: string
let data: string
let backup: string
let roots: string

beforeEach(async () => {
  place = mkdtempSync(join(tmpdir(), 'foghorn-root-'))
  data = join(place, 'data')
  backup = join(place, 'backup.sqlite')
  roots = join(place, 'of-root')
  const store = openStore(backup)
  await store.commit(commitOf({ record: record({ eventId: 'of-the-backup' }) }))
  store.close()
  chmodSync(backup, 0o600)
  mkdirSync(data)
  writeFileSync(roots, secret, { mode: 0o600 })
  chownSync(data, user, user)
})
afterEach(() => rmSync(place, { recursive: true, force: true }))

/** The end of a journal, by which older versions of SQLite find the journal of several files, and remove it. */
function journalNaming(file: string): Buffer {
  const name = Buffer.from(file)
  const header = Buffer.alloc(512)
  Buffer.from('d9d505f920a163d7', 'hex').copy(header)
  const sum = Buffer.alloc(8)
  sum.writeUInt32BE(name.length, 0)
  sum.writeUInt32BE(
    name.reduce((all, byte) => all + byte, 0),
    4,
  )
  const lock = Buffer.alloc(4)
  return Buffer.concat([header, lock, name, sum, Buffer.from('d9d505f920a163d7', 'hex')])
}

/** As a program of its own, as it gives up its rights. */
function restore(file = backup) {
  const env = { ...process.env, ...ofRun(), FOGHORN_DATA: data }
  const limits = { timeout: 30_000, killSignal: 'SIGKILL' as const }
  const ended = spawnSync(process.execPath, [program, 'restore', file], {
    ...limits,
    env,
    encoding: 'utf8',
  })
  return { code: ended.status, text: ended.stdout + ended.stderr }
}

test.runIf(isRoot)("in root's folder, where the group may write, root restores nothing", () => {
  chmodSync(place, 0o755)
  chownSync(data, 0, user)
  chmodSync(data, 0o770)
  expect(restore()).toMatchObject({ code: 2, text: expect.stringContaining('others may write in') })
  expect(readdirSync(data)).toEqual([])
})

test.runIf(isRoot)("in root's folder below one of another user, root restores nothing", () => {
  chmodSync(place, 0o755)
  const own = join(data, 'of-root')
  mkdirSync(own, { mode: 0o700 })
  data = own
  expect(restore()).toMatchObject({ code: 2, text: expect.stringContaining('or above it') })
  expect(readdirSync(own)).toEqual([])
})

test.runIf(isRoot)(
  "a link that another user left in a folder like /tmp leads to no folder of root's",
  () => {
    chmodSync(place, 0o1777)
    const own = join(place, 'root')
    mkdirSync(own, { mode: 0o700 })
    data = join(place, 'link')
    symlinkSync(own, data)
    lchownSync(data, user, user)
    expect(restore()).toMatchObject({
      code: 2,
      text: expect.stringContaining('others may write in'),
    })
    expect(readdirSync(own)).toEqual([])
  },
)

test.runIf(isRoot)(
  "a link of root's into the folder of another user, who left a link there to root's",
  () => {
    chmodSync(place, 0o755)
    const own = join(place, 'root')
    mkdirSync(own, { mode: 0o700 })
    symlinkSync(own, join(data, 'foghorn'))
    const link = join(place, 'link')
    symlinkSync(join(data, 'foghorn'), link)
    data = link
    expect(restore()).toMatchObject({
      code: 2,
      text: expect.stringContaining('others may write in'),
    })
    expect(readdirSync(own)).toEqual([])
  },
)

describe.runIf(isRoot).each([
  ['in a folder that its owner reaches', 0o755],
  ['in a folder below one of root alone', 0o700],
  ['in a folder below one of the group of root', 0o750],
])('%s', (_, mode) => {
  beforeEach(() => {
    chmodSync(place, mode)
    // the folders of a test run are root's alone
    for (let up = tmpdir(); mode === 0o755 && up.startsWith('/tmp/'); up = join(up, '..')) {
      chmodSync(up, 0o755)
    }
  })

  test('what it restores belongs to the owner of the folder', () => {
    expect(restore()).toMatchObject({ code: 0 })
    const { uid, gid, mode: bits } = statSync(join(data, databaseName))
    expect([uid, gid, bits & 0o777]).toEqual([user, user, 0o600])
  })

  test.each(['', '-wal', '-shm', '-journal', '.restoring'])('a link in place of …%s', (end) => {
    symlinkSync(roots, join(data, databaseName + end))
    restore()
    expect(readFileSync(roots, 'utf8')).toBe(secret)
    expect(statSync(roots)).toMatchObject({ uid: 0, gid: 0 })
    expect(statSync(roots).mode & 0o777).toBe(0o600)
  })

  test('a link to a place where nothing is makes nothing', () => {
    const made = join(place, 'made')
    for (const end of ['', '-wal', '.restoring']) symlinkSync(made, join(data, databaseName + end))
    restore()
    expect(existsSync(made)).toBe(false)
  })

  test('a journal that names a file of root takes nothing away', () => {
    const path = join(data, databaseName)
    const store = openStore(path)
    store.close()
    writeFileSync(`${path}-journal`, journalNaming(roots))
    for (const end of ['', '-journal']) chownSync(path + end, user, user)
    expect(restore()).toMatchObject({ code: 0 })
    expect(readFileSync(roots, 'utf8')).toBe(secret)
  })

  test('a database in use is not replaced', async () => {
    const path = join(data, databaseName)
    const store = openStore(path)
    chownSync(path, user, user)
    try {
      expect(restore()).toMatchObject({
        code: 2,
        text: expect.stringMatching(/nother relay is us/),
      })
    } finally {
      store.close()
    }
    expect(restore()).toMatchObject({ code: 0 })
  })

  test('a pipe keeps nobody waiting', () => {
    spawnSync('mkfifo', [join(data, databaseName)])
    expect(restore()).toMatchObject({ code: 2, text: expect.stringContaining('is no file') })
    expect(lstatSync(join(data, databaseName)).isFIFO()).toBe(true)
  })
})

test.runIf(isRoot)('its owner closes the folder: root gives up its rights all the same', () => {
  chownSync(place, user, user)
  chmodSync(data, 0)
  const { code, text } = restore()
  expect(code).not.toBe(0)
  expect(text).toContain('EACCES')
  chmodSync(data, 0o700)
  expect(readdirSync(data)).toEqual([])
  expect(readdirSync(place).sort()).toEqual(['backup.sqlite', 'data', 'of-root'])
})

test.each([
  ['trigger', 'CREATE TRIGGER t AFTER INSERT ON rows BEGIN DELETE FROM entries; END'],
  ['view', 'CREATE VIEW v AS SELECT 1'],
  ['table', 'CREATE TABLE more (x)'],
])('a backup with a foreign %s is refused', (what, sql) => {
  const db = new DatabaseSync(backup)
  db.exec(sql)
  db.close()
  const { code, text } = restore()
  expect(code).toBe(2)
  expect(text).toContain(`a ${what} "`)
  expect(existsSync(join(data, databaseName))).toBe(false)
})

/** As a program of its own, which would run on: it is refused at once. */
function start(script: string[], environment: Record<string, string>) {
  const env = { ...process.env, ...ofRun(), ...environment }
  const options = {
    timeout: 30_000,
    killSignal: 'SIGKILL' as const,
    env,
    encoding: 'utf8' as const,
  }
  const ended = spawnSync(process.execPath, script, options)
  return { code: ended.status, text: ended.stdout + ended.stderr }
}

test.runIf(isRoot)("root starts no relay and no beacon in another user's folder", () => {
  for (const link of ['foghorn.sqlite-journal', 'vm-id']) symlinkSync(roots, join(data, link))
  const config = join(place, 'config.json')
  writeFileSync(config, JSON.stringify(baseConfig))
  const linkKey = Buffer.alloc(32, 7).toString('base64')
  const relay = start([program, 'start'], {
    ...{ FOGHORN_DATA: data, FOGHORN_CONFIG: config, FOGHORN_LINK_KEY: linkKey, PORT: '0' },
  })
  expect(relay).toMatchObject({ code: 2, text: expect.stringContaining('no folder of others') })
  const beacon = start([join(import.meta.dirname, '../../beacon/main.ts')], {
    ...{ FOGHORN_STATE_DIR: data, FOGHORN_RELAY_URL: 'http://127.0.0.1:9', FOGHORN_FLEET: 'prod' },
    FOGHORN_FLEET_KEY: prodKey,
  })
  expect(beacon).toMatchObject({ code: 1, text: expect.stringContaining('no folder of others') })
  expect([readFileSync(roots, 'utf8'), statSync(roots).mode & 0o777]).toEqual([secret, 0o600])
  expect(readdirSync(data).sort()).toEqual(['foghorn.sqlite-journal', 'vm-id'])
})

test.runIf(isRoot).each([
  ['that others may write to', 0o777, 0o755],
  ['in one that others may write to', 0o700, 0o777],
])('root starts no relay and no beacon in a folder of its own %s', (_, own, above) => {
  const folder = join(place, 'above', 'own')
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, own)
  chmodSync(join(place, 'above'), above)
  expect(whyForeign(folder)).toMatch(/others can write to|can be written by others/)
  chmodSync(folder, 0o700)
  chmodSync(join(place, 'above'), 0o755)
  expect(whyForeign(folder)).toBeUndefined()
  // the group of root is root's own
  chmodSync(folder, 0o775)
  expect(whyForeign(folder)).toBeUndefined()
  symlinkSync('itself', join(place, 'itself'))
  expect(whyForeign(join(place, 'itself'))).toMatch(/others can write to/)
  // a folder that is not there yet
  expect(whyForeign(join(folder, 'new'))).toBeUndefined()
  expect(whyForeign(join(data, 'new'))).toMatch(/others can write to/)
})

test.runIf(isRoot)('root opens no backup that another user may have replaced by a link', () => {
  chmodSync(place, 0o755)
  const left = join(data, 'old.sqlite')
  const { code } = restore()
  expect(code).toBe(0)
  symlinkSync(backup, left)
  // only root may read what the link leads to
  expect(restore(left)).toMatchObject({
    code: 2,
    text: expect.stringContaining('cannot be opened'),
  })
})
