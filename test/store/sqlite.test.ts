// The contract on `node:sqlite`, and what a file must also promise, as it outlives its process.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmodSync, existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { subscriptionChannel } from '../../functions/core/delivery/delivery.ts'
import { viewOf } from '../../functions/core/event/view.ts'
import { openFile } from '../../functions/store/sqlite/file.ts'
import { sql } from '../../functions/store/sqlite/sql.ts'
import { SqliteStore } from '../../functions/store/sqlite/store.ts'
import { claim } from '../support/claims.ts'
import { newFolder } from '../support/folder.ts'
import { at, commitOf, delivery, key, record, telling } from '../support/records.ts'
import { storeContract } from './contract.ts'

const directory = newFolder('store')
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const channel = subscriptionChannel('s1')

function newPath(): string {
  return join(directory, `${randomUUID()}.sqlite`)
}

const modes: Record<string, { soon?: typeof setImmediate; alone?: boolean }> = {
  'each write at once': {},
  'writes that share a transaction': { soon: setImmediate },
  'alone on the file': { soon: setImmediate, alone: true },
}

for (const [mode, options] of Object.entries(modes)) {
  storeContract(`SqliteStore, ${mode}`, async () => {
    const path = newPath()
    const { alone = false, ...rest } = options
    const open = () => new SqliteStore(openFile(path, { alone }), { random: randomUUID, ...rest })
    const stores = [open()]
    return {
      store: stores[0]!,
      async reopen() {
        // nobody else can open it
        if (alone) return stores[0]!
        const store = open()
        stores.push(store)
        return store
      },
      async close() {
        for (const store of stores) store.close()
      },
    }
  })
}

describe('only the owner can read the files', () => {
  const files = (path: string) => ['', '-wal', '-shm'].map((end) => path + end)
  const modesOf = (path: string) =>
    files(path)
      .filter((file) => existsSync(file))
      .map((file) => (statSync(file).mode & 0o777).toString(8))
  const write = (store: SqliteStore, eventId: string) =>
    store.commit({
      record: record({ eventId }),
      basedOn: 0,
      deliveries: [],
      supersede: [],
      moments: [],
      now: at,
    })
  let umask: number
  beforeEach(() => {
    umask = process.umask(0)
  })
  afterEach(() => process.umask(umask))

  test.each([true, false])('new ones (alone: %j)', async (alone) => {
    const path = newPath()
    const store = new SqliteStore(openFile(path, { alone }), { random: randomUUID })
    await write(store, 'a')
    expect(modesOf(path).length).toBeGreaterThan(1)
    expect(new Set(modesOf(path))).toEqual(new Set(['600']))
    store.close()
  })

  test('files that a person copied here, without ending the locks of another connection', async () => {
    const path = newPath()
    const holder = new SqliteStore(openFile(path), { random: randomUUID })
    await write(holder, 'a')
    for (const file of files(path)) chmodSync(file, 0o644)
    const store = new SqliteStore(openFile(path), { random: randomUUID })
    expect(modesOf(path)).toEqual(['600', '600', '600'])
    await write(holder, 'b')
    expect(await store.listEvents({ limit: 9 })).toHaveLength(2)
    store.close()
    holder.close()
  })

  test("if the folder does not exist, SQLite's own error names it", () => {
    const path = join(directory, 'nowhere', 'foghorn.sqlite')
    expect(() => new SqliteStore(openFile(path), { random: randomUUID })).toThrow('unable to open')
  })
})

test('if one of the writes that share a transaction fails, the others succeed', async () => {
  const store = new SqliteStore(openFile(newPath()), { random: randomUUID, soon: setImmediate })
  const commit = (eventId: string, note: unknown) => {
    const rows = [delivery(eventId, { eventId, note: note as string })]
    return store.commit({
      record: record({ eventId }),
      basedOn: 0,
      deliveries: rows,
      supersede: [],
      moments: [],
      now: at,
    })
  }
  const outcomes = await Promise.allSettled([commit('a', ''), commit('b', null), commit('c', '')])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  const left = await store.listEvents({ limit: 9 })
  expect(left.map(({ eventId }) => eventId)).toEqual(['a', 'c'])
  store.close()
})

test('a look at the queues jumps over their rows, however many wait', () => {
  const path = newPath()
  openFile(path).close()
  const db = new DatabaseSync(path)
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql.queues}`).all()
  const searches = plan.map(({ detail }) => /deliveries_turn \((.*)\)/.exec(String(detail))?.[1])
  // a comparison of pairs, `(channel, fleet) > (?, ?)`, would read all rows of the channel
  expect(searches.filter(Boolean)).toEqual(['channel=? AND fleet>?', 'channel>?'])
  db.close()
})

test('a relay that is alone on a file locks out others until it closes the file', () => {
  const path = newPath()
  const alone = new SqliteStore(openFile(path, { alone: true }), { random: randomUUID })
  const other = () => new SqliteStore(openFile(path, { alone: true }), { random: randomUUID })
  expect(other).toThrow(/Another relay is using .*FOGHORN_DATA/)
  alone.close()
  other().close()
})

test('a file of another version is not changed, and the error has a remedy', () => {
  const path = newPath()
  new SqliteStore(openFile(path), { random: randomUUID }).close()
  new SqliteStore(openFile(path), { random: randomUUID }).close()
  const db = new DatabaseSync(path)
  db.exec('PRAGMA user_version = 99')
  db.close()
  expect(() => new SqliteStore(openFile(path), { random: randomUUID })).toThrow(
    /format 99.*set FOGHORN_DATA/,
  )
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
    const store = new SqliteStore(openFile(path), { random: randomUUID })
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
    store.freeLeases(at)
    const freed = (await claimAll()).map(({ id }) => id)
    expect(freed).toEqual(expect.arrayContaining(held))
    store.close()
  })

  test('an event is never there without its deliveries', async () => {
    const path = newPath()
    await killWriter(path)
    const store = new SqliteStore(openFile(path), { random: randomUUID })
    for (const { fleet, eventId } of await store.listEvents({ limit: 10_000 })) {
      expect(await store.readDeliveries({ fleet, eventId })).toHaveLength(2)
    }
    store.close()
  })
})

test('two processes that claim from one file share what is due, and claim nothing twice', async () => {
  const path = newPath()
  const store = new SqliteStore(openFile(path), { random: randomUUID })
  const ids = Array.from({ length: 300 }, (_, i) => `delivery-${i}`)
  for (const id of ids) {
    const commit = {
      record: record({ eventId: id }),
      basedOn: 0,
      supersede: [],
      moments: [],
      now: at,
    }
    await store.commit({ ...commit, deliveries: [delivery(id, { eventId: id })] })
  }
  store.close()
  const script = join(import.meta.dirname, 'claimer.ts')
  const claimers = ['a', 'b'].map((name) => {
    const child = spawn(process.execPath, [script, path, name], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
  })
  // neither begins before both are ready
  for (const { lines } of claimers) expect((await lines.next()).value).toBe('ready')
  for (const { child } of claimers) child.stdin.write('go\n')
  const taken = claimers.map(async ({ lines }) => {
    const got: string[] = []
    for (let line = await lines.next(); !line.done; line = await lines.next()) got.push(line.value)
    return got
  })
  const [a, b] = await Promise.all(taken)
  expect([...a!, ...b!].sort()).toEqual(ids.sort())
  expect(Math.min(a!.length, b!.length)).toBeGreaterThan(0)
})

test('freeing leases does not change attempts and outcomes', async () => {
  const path = newPath()
  const store = new SqliteStore(openFile(path), { random: randomUUID })
  const deliveries = [delivery('a'), delivery('b', { channel: 'team' })]
  await store.commit({
    record: record(),
    basedOn: 0,
    deliveries,
    supersede: [],
    moments: [],
    now: at,
  })
  const [first, second] = await claim(store, { now: at, leaseMs: 1_000, limit: 2 })
  await store.settle(first!, { state: 'delivered', nextAt: at, note: 'ok' }, at, [])
  store.freeLeases(at)
  const done = { state: 'delivered' as const, nextAt: at, note: 'from before' }
  expect(await store.settle(second!, done, at, [])).toBe('lost')
  const [again] = await claim(store, { now: at, leaseMs: 1_000, limit: 9 })
  expect(again).toMatchObject({ id: 'b', attempts: 2 })
  expect((await store.readDeliveries(key))[0]).toMatchObject({ state: 'delivered', attempts: 1 })
  store.close()
})

test('a file of a relay without subscriptions gets what they need', async () => {
  const path = newPath()
  const first = new SqliteStore(openFile(path), { random: randomUUID })
  await first.commit(commitOf({ deliveries: [delivery('a')] }))
  first.close()
  const db = new DatabaseSync(path)
  db.exec('DROP TABLE answers; DROP INDEX deliveries_subscription; DROP INDEX deliveries_ended')
  db.close()
  const store = new SqliteStore(openFile(path), { random: randomUUID })
  await store.addDeliveries([delivery('b', { channel })])
  expect((await store.readDeliveries(key)).map(({ id }) => id)).toEqual(['a'])
  expect((await store.listDeliveries(channel, { limit: 9 })).deliveries).toHaveLength(1)
  store.close()
})

test('a delivery to a subscription leaves neither its view nor its answer', async () => {
  const path = newPath()
  const store = new SqliteStore(openFile(path), { random: randomUUID })
  const other = telling({ event: viewOf(record({ sequence: 9 })) })
  await store.commit(commitOf({ deliveries: [delivery('a')] }))
  await store.addDeliveries([
    delivery('b', { channel }),
    delivery('c', { channel, telling: other, seq: 65 }),
  ])
  const answered = { status: 204, text: '', tookMs: 5, at }
  for (const id of ['b', 'c']) {
    const claims = await claim(store, { limit: 9 })
    const one = claims.find((each) => each.id === id)
    const done = { state: 'delivered' as const, nextAt: at, note: '', answered }
    expect(await store.settle(one!, done, at, [])).toBe('settled')
  }
  expect(await store.forget(at + 1, 9)).toBe(2)
  // the event still has a delivery with the first view
  expect(await store.readDeliveries(key)).toMatchObject([{ id: 'a', telling: telling() }])
  store.close()
  const db = new DatabaseSync(path)
  const count = (table: string) => db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n
  expect({ views: count('views'), answers: count('answers') }).toEqual({ views: 1, answers: 0 })
  db.close()
})

test('what a reader of the log gets is on disk, also if the log grows meanwhile', async () => {
  const file = openFile(newPath())
  const disk = Promise.withResolvers<void>()
  const database = new Proxy(file, {
    get(_, name) {
      if (name === 'durable') return () => disk.promise
      const value = Reflect.get(file, name)
      return typeof value === 'function' ? value.bind(file) : value
    },
  })
  const store = new SqliteStore(database, { random: randomUUID })
  const commit = (eventId: string) =>
    store.commit(
      commitOf({
        record: record({ eventId }),
        moments: [{ id: eventId, telling: telling({ event: record({ eventId }) }) }],
      }),
    )
  await commit('a')
  const reads = [store.readMoments(0, 9), store.lastPosition()] as const
  await commit('b')
  disk.resolve()
  const [moments, last] = await Promise.all(reads)
  expect(moments.map(({ id }) => id)).toEqual(['a'])
  expect(last).toBe(moments[0]!.position)
  store.close()
})
