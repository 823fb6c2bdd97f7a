// The contracts on `node:sqlite`, and what a file must also promise, as it outlives its process.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RelayStore } from '../../functions/store/relay-store.ts'
import { SqlRows } from '../../functions/store/sqlite.ts'
import { checkBackup, explainDisk, openFile } from '../../functions/store/sqlite-file.ts'
import { messageOf } from '../../shared/errors.ts'
import { claim } from '../support/claims.ts'
import { newFolder } from '../support/folder.ts'
import { at, beaconOf, commitOf, delivery, key, record } from '../support/records.ts'
import { openStore, storeOver, type TestStore } from '../support/stores.ts'
import { storeContract } from './contract.ts'
import { rowsContract } from './rows-contract.ts'

const directory = newFolder('store')
afterAll(() => rmSync(directory, { recursive: true, force: true }))

function newPath(): string {
  return join(directory, `${randomUUID()}.sqlite`)
}

/** As the host on Node opens it. */
function openAlone(path: string) {
  const file = openFile(path)
  const rows = new SqlRows(file, { nonce: randomUUID(), soon: setImmediate, sum: crc32 })
  return { rows, close: () => file.close() }
}

rowsContract('SQLite', async () => openAlone(newPath()))
storeContract('SQLite, alone on the file', async () => {
  const { rows, close } = openAlone(newPath())
  const store = storeOver(rows)
  return { store, reopen: async () => storeOver(rows), close: async () => close() }
})

/** The file is closed when the test ends. */
function open(path = newPath()): TestStore {
  return openStore(path)
}

describe('only the owner can read the files', () => {
  const files = (path: string) => ['', '-wal', '-shm'].map((end) => path + end)
  const modesOf = (path: string) =>
    files(path)
      .filter((file) => existsSync(file))
      .map((file) => (statSync(file).mode & 0o777).toString(8))
  let umask: number
  beforeEach(() => {
    umask = process.umask(0)
  })
  afterEach(() => process.umask(umask))

  test('new ones', async () => {
    const path = newPath()
    const store = open(path)
    await store.commit(commitOf())
    expect(modesOf(path).length).toBeGreaterThan(1)
    expect(new Set(modesOf(path))).toEqual(new Set(['600']))
    store.close()
  })

  test('a file that a person copied here', async () => {
    const path = newPath()
    open(path).close()
    chmodSync(path, 0o644)
    const store = open(path)
    expect(modesOf(path)[0]).toBe('600')
    store.close()
  })

  test("if the folder does not exist, SQLite's own error names it", () => {
    expect(() => open(join(directory, 'nowhere', 'foghorn.sqlite'))).toThrow('unable to open')
  })
})

test('changes of one moment share a transaction, and a conflict of one spares the others', async () => {
  const { rows, close } = openAlone(newPath())
  const insert = (row: string, body: string) => rows.change('p', [{ kind: 'insert', row, body }])
  const outcomes = await Promise.all([insert('a', '1'), insert('a', '2'), insert('b', '3')])
  expect(outcomes.map((one) => one === 'conflict')).toEqual([false, true, false])
  expect((await rows.list('p', '', '~')).map(({ body }) => body)).toEqual(['1', '3'])
  close()
})

test('a relay locks out others until it closes the file', () => {
  const path = newPath()
  const first = open(path)
  expect(() => open(path)).toThrow(/Another relay is using .*FOGHORN_DATA/)
  first.close()
  open(path).close()
})

test('a file of another version is not changed, and the error has a remedy', () => {
  const path = newPath()
  open(path).close()
  open(path).close()
  const db = new DatabaseSync(path)
  db.exec('PRAGMA user_version = 99')
  db.close()
  expect(() => open(path)).toThrow(/format 99.*set FOGHORN_DATA/)
})

test.each<[string, (path: string) => void, string]>([
  ['no database', (path) => writeFileSync(path, 'x'.repeat(9_000)), 'data_damaged'],
  ['a folder', (path) => mkdirSync(path), 'data_unusable'],
])('a file that is %s is named, with a remedy', (_, make, code) => {
  const path = newPath()
  make(path)
  const message = expect.stringMatching(new RegExp(`^"${path}" .*(FOGHORN_DATA|npm run restore)`))
  expect(() => openFile(path)).toThrow(expect.objectContaining({ code, message }))
})

test('an error of the disk is said once more, because the file must be opened anew', () => {
  const file = openFile(newPath())
  const broken: unknown[] = []
  file.onBroken = (error) => broken.push(error)
  const fail = (errcode: number) => () => {
    throw Object.assign(new Error('disk I/O error'), { errcode })
  }
  // SQLITE_IOERR_FSYNC
  expect(() => file.transaction(fail(1_034))).toThrow('disk I/O error')
  expect(() => file.transaction(fail(5))).toThrow()
  expect(broken).toHaveLength(1)
  file.close()
})

describe('a flipped bit', () => {
  const own = { index: 'due', key: '0001|a', summary: '' }

  async function withRow() {
    const file = openFile(newPath())
    const told: string[] = []
    file.onDamaged = (sentence) => void told.push(sentence)
    const rows = new SqlRows(file, { nonce: 'a', sum: crc32 })
    const body = '{"fleets":["prod"]}'
    await rows.change('p', [{ kind: 'insert', row: 'a', body, keys: [own] }])
    await rows.change('p', [{ kind: 'insert', row: 'b', body }])
    return { file, rows, told }
  }

  test.each([
    ['of its content', `body = '{"fleetr":["prod"]}'`],
    ['of the names of its entries', "keys = replace(keys, '0001', '0003')"],
    ['of its own name', "row = 'c'"],
  ])('%s: the row is damaged, and the others are whole', async (_, change) => {
    const { file, rows, told } = await withRow()
    file.run(`UPDATE rows SET ${change} WHERE row = 'a'`)
    const name = change.startsWith('row') ? 'c' : 'a'
    await expect(rows.read('p', name)).rejects.toMatchObject({ code: 'data_damaged' })
    expect((await rows.list('p', '', '~')).map(({ row }) => row)).toEqual(['b'])
    expect(told[0]).toContain(`row "${name}" of "p"`)
    file.close()
  })

  test('others take the place of a damaged row in a page', async () => {
    const { file, rows } = await withRow()
    await rows.change('p', [{ kind: 'insert', row: 'c', body: '1' }])
    file.run(`UPDATE rows SET body = '{}' WHERE row = 'a'`)
    expect((await rows.list('p', '', '~', 2)).map(({ row }) => row)).toEqual(['b', 'c'])
    file.close()
  })

  test('a page of the file that cannot be read: a list has the rows of the others', async () => {
    const { file, rows, told } = await withRow()
    await rows.change('p', [{ kind: 'insert', row: 'c', body: '1' }])
    const all = file.all.bind(file)
    file.all = (text, ...values) => {
      const readsBodies = text.includes('body FROM rows')
      // a list, or the row itself
      if (readsBodies && (values.length > 2 || values[1] === 'a')) throw file.damaged('a page')
      return all(text, ...values)
    }
    expect((await rows.list('p', '', '~')).map(({ row }) => row)).toEqual(['b', 'c'])
    expect((await rows.list('p', '', '~', 2)).map(({ row }) => row)).toEqual(['b', 'c'])
    expect(told[0]).toContain('a page in')
    file.close()
  })

  test('what cannot be read stops nothing that is tidied beside it', async () => {
    const { file, rows, told } = await withRow()
    const [found] = await rows.find('due', '', '~', 9)
    file.all = () => {
      throw file.damaged('a page')
    }
    await rows.tidy([found!])
    expect(told).toEqual([expect.stringContaining('a page in')])
    file.all = () => {
      throw Object.assign(new Error('full'), { code: 'ENOSPC' })
    }
    await expect(rows.tidy([found!])).rejects.toMatchObject({ code: 'disk_full' })
    file.close()
  })

  test('in a row of an older relay, which wrote no checksum, nobody can know of it', async () => {
    const { file, rows } = await withRow()
    file.run(`UPDATE rows SET version = 'b-7' WHERE row = 'a'`)
    expect(await rows.read('p', 'a')).toMatchObject({ row: 'a', keys: [own] })
    file.close()
  })

  test('of an entry: it is made anew from its row, once', async () => {
    const { file, rows, told } = await withRow()
    file.run("UPDATE entries SET key = '000!|a'")
    const [wrong] = await rows.find('due', '', '~', 9)
    await rows.tidy([wrong!])
    expect((await rows.find('due', '', '~', 9)).map(({ key }) => key)).toEqual([own.key])
    expect(told).toEqual([expect.stringContaining('entry "000!|a" of "due"')])
    // another reader may have found the entry before
    await rows.tidy([wrong!])
    expect(told).toHaveLength(1)
    file.close()
  })

  test('of the row that an entry names: it is found, beside a row whose keys are none', async () => {
    const { file, rows } = await withRow()
    file.run(`UPDATE rows SET keys = '{"a":"b"}' WHERE row = 'b'`)
    file.run("UPDATE entries SET row = 'x'")
    await rows.tidy(await rows.find('due', '', '~', 9))
    expect(await rows.find('due', '', '~', 9)).toMatchObject([{ key: own.key, row: 'a' }])
    file.close()
  })

  test('an entry of a damaged row goes, and does not come back', async () => {
    const { file, rows } = await withRow()
    file.run(`UPDATE rows SET body = '{}' WHERE row = 'a'`)
    await rows.tidy(await rows.find('due', '', '~', 9))
    expect(await rows.find('due', '', '~', 9)).toEqual([])
    file.close()
  })
})

test('a beacon that saw many events is forgotten without reading one of them', async () => {
  const file = openFile(newPath())
  const store = storeOver(new SqlRows(file, { nonce: 'a' }))
  const sees = Array.from({ length: 50 }, (_, i) => `e-${i}`)
  await store.writeBeacon(beaconOf('old', { heardAt: at - 5, sees }))
  const read: string[] = []
  const all = file.all.bind(file)
  file.all = (text, ...values) => {
    read.push(String(values[0]))
    return all(text, ...values)
  }
  expect(await store.forget(at, 9)).toBe(1)
  expect(read.filter((partition) => partition.startsWith('event|'))).toEqual([])
  file.close()
})

test('events are forgotten one at a time, and what came in meanwhile goes first', async () => {
  const file = openFile(newPath())
  let pauses = 0
  const store = new RelayStore({
    ...{ rows: new SqlRows(file, { nonce: 'a' }), newId: randomUUID, random: Math.random },
    pause: async () => {
      pauses += 1
    },
  })
  for (const eventId of ['a', 'b', 'c']) {
    const ended = { at: at - 5, outcome: 'completed' as const }
    const over = { eventId, ended } as never
    await store.commit(commitOf({ record: record(over) }))
  }
  expect(await store.forget(at, 9)).toBe(3)
  // one before each event, and one between the two steps that remove it
  expect(pauses).toBe(6)
  file.close()
})

test('a backup whose index lacks a row of its table is refused', async () => {
  const path = newPath()
  const { rows, close } = openAlone(path)
  for (let i = 0; i < 40; i++)
    await rows.change('p', [{ kind: 'insert', row: `row-${i}`, body: '1' }])
  close()
  const bytes = readFileSync(path)
  const found = (pragma: string) => {
    const db = new DatabaseSync(path, { readOnly: true })
    try {
      return String(Object.values(db.prepare(`PRAGMA ${pragma}`).get()!)[0])
    } catch (error) {
      return messageOf(error)
    } finally {
      db.close()
    }
  }
  // a name in the index, which is another one then
  let at = -1
  do {
    at = bytes.indexOf('row-2', at + 1)
    expect(at).not.toBe(-1)
    const flipped = Buffer.from(bytes)
    flipped[at] = flipped[at]! ^ 1
    writeFileSync(path, flipped)
  } while (found('quick_check') !== 'ok' || found('integrity_check') === 'ok')
  expect(() => checkBackup(path)).toThrow(/is damaged/)
})

describe('a full disk', () => {
  test('a change that meets it explains it, and nothing is written', async () => {
    const file = openFile(newPath())
    const rows = new SqlRows(file, { nonce: 'a' })
    file.all('PRAGMA max_page_count = 1')
    const outcome = rows.change('p', [{ kind: 'put', row: 'a', body: `"${'x'.repeat(100_000)}"` }])
    await expect(outcome).rejects.toMatchObject({ code: 'disk_full' })
    await expect(outcome).rejects.toThrow(/\.sqlite" is full\. Free space on it/)
    expect(await rows.list('p', '', '~')).toEqual([])
    file.close()
  })

  test('a directory that cannot be created, too; any other error stays as it is', () => {
    const path = '/data/foghorn.sqlite'
    const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
    expect(explainDisk(full, path)).toMatchObject({ code: 'disk_full', cause: full })
    const other = Object.assign(new Error('database is locked'), { errcode: 5 })
    expect(explainDisk(other, path)).toBe(other)
    expect(explainDisk('text', path)).toBe('text')
  })
})

const enough = 25

/** Runs the writer until it has printed enough, and kills it. */
async function killWriter(path: string): Promise<string[]> {
  const script = join(import.meta.dirname, 'writer.ts')
  const child = spawn(process.execPath, [script, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const said: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    said.push(line)
    if (said.length === enough) child.kill('SIGKILL')
  }
  await ended
  return said
}

describe('a process that is killed', () => {
  test('every commit that it reported is complete in the file, and its leases can be freed', async () => {
    const path = newPath()
    const said = await killWriter(path)
    expect(said.length).toBeGreaterThanOrEqual(enough)
    const store = open(path)
    for (const line of said) {
      const [outcome, eventId = ''] = line.split(' ')
      expect(outcome).toBe('committed')
      const key = { fleet: 'prod', eventId }
      expect((await store.readEvent(key))?.sequence).toBe(1)
      expect(await store.readDeliveries(key)).toHaveLength(2)
    }
    const claimAll = () => claim(store, { leaseMs: 1_000, limit: 10_000 })
    const held = said.map((line) => line.split(' ')[2])
    const free = (await claimAll()).map(({ id }) => id)
    expect(held.filter((id) => free.includes(id!))).toEqual([])
    await store.freeLeases(at)
    store.close()
    const next = open(path)
    const freed = (await claim(next, { leaseMs: 1_000, limit: 10_000 })).map(({ id }) => id)
    expect(freed).toEqual(expect.arrayContaining(held))
    next.close()
  })

  test('an event is never there without its deliveries', async () => {
    const path = newPath()
    await killWriter(path)
    const store = open(path)
    for (const { fleet, eventId } of await store.listEvents({ limit: 10_000 })) {
      expect(await store.readDeliveries({ fleet, eventId })).toHaveLength(2)
    }
    store.close()
  })
})

test('freeing leases does not change attempts and outcomes', async () => {
  const path = newPath()
  const store = open(path)
  const deliveries = [delivery('a'), delivery('b', { channel: 'team' })]
  await store.commit(commitOf({ record: record(), deliveries }))
  const [first, second] = await claim(store, { now: at, leaseMs: 1_000, limit: 2 })
  await store.settle(first!, { state: 'delivered', nextAt: at, note: 'ok' }, at, [])
  store.close()
  const next = open(path)
  await next.freeLeases(at)
  const done = { state: 'delivered' as const, nextAt: at, note: 'from before' }
  expect(await next.settle(second!, done, at, [])).toBe('lost')
  const [again] = await claim(next, { now: at, leaseMs: 1_000, limit: 9 })
  expect(again).toMatchObject({ id: second!.id, attempts: 2 })
  const stored = await next.readDeliveries(key)
  const other = stored.find(({ id }) => id === first!.id)
  expect(other).toMatchObject({ state: 'delivered', attempts: 1 })
  next.close()
})
