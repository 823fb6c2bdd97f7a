// The contract on `node:sqlite`, and what only a file can promise: it outlives its process.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, describe, expect, test } from 'vitest'
import { SqliteStore } from '../../functions/store/sqlite.ts'
import { at, delivery, key, record } from '../support/records.ts'
import { storeContract } from './contract.ts'

const directory = mkdtempSync(join(tmpdir(), 'foghorn-store-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

function newPath(): string {
  return join(directory, `${randomUUID()}.sqlite`)
}

const modes = { 'each write at once': undefined, 'writes that share a transaction': setImmediate }

for (const [mode, soon] of Object.entries(modes)) {
  storeContract(`SqliteStore, ${mode}`, async () => {
    const path = newPath()
    const stores = [new SqliteStore(path, randomUUID, soon)]
    return {
      store: stores[0]!,
      async reopen() {
        const store = new SqliteStore(path, randomUUID, soon)
        stores.push(store)
        return store
      },
      async close() {
        for (const store of stores) store.close()
      },
    }
  })
}

test('of writes that share a transaction, one that fails takes no other with it', async () => {
  const store = new SqliteStore(newPath(), randomUUID, setImmediate)
  const commit = (eventId: string, note: unknown) => {
    const rows = [delivery(eventId, { eventId, note: note as string })]
    return store.commit({
      record: record({ eventId }),
      basedOn: 0,
      deliveries: rows,
      supersede: [],
    })
  }
  const outcomes = await Promise.allSettled([commit('a', ''), commit('b', null), commit('c', '')])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  const left = await store.listEvents({ limit: 9 })
  expect(left.map(({ eventId }) => eventId)).toEqual(['a', 'c'])
  store.close()
})

const enough = 25

/** Runs the writer until it has said enough, and kills it where it stands. */
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
  test('all that it was told is committed is there, and whole; its leases can be freed', async () => {
    const path = newPath()
    const said = await killWriter(path)
    expect(said.length).toBeGreaterThanOrEqual(enough)
    const store = new SqliteStore(path, randomUUID)
    for (const line of said) {
      const [outcome, eventId = ''] = line.split(' ')
      expect(outcome).toBe('committed')
      const key = { fleet: 'prod', eventId }
      expect((await store.readEvent(key))?.sequence).toBe(1)
      expect(await store.readDeliveries(key)).toHaveLength(2)
    }
    const claim = () => store.claim({ now: at, leaseMs: 1_000, limit: 10_000, except: [] })
    const held = said.map((line) => line.split(' ')[2])
    const free = (await claim()).map(({ id }) => id)
    expect(held.filter((id) => free.includes(id!))).toEqual([])
    store.freeLeases()
    const freed = (await claim()).map(({ id }) => id)
    expect(freed).toEqual(expect.arrayContaining(held))
    store.close()
  })

  test('an event is never there without its deliveries', async () => {
    const path = newPath()
    await killWriter(path)
    const store = new SqliteStore(path, randomUUID)
    for (const { fleet, eventId } of await store.listEvents({ limit: 10_000 })) {
      expect(await store.readDeliveries({ fleet, eventId })).toHaveLength(2)
    }
    store.close()
  })
})

test('freeing leases leaves attempts and outcomes as they are', async () => {
  const path = newPath()
  const store = new SqliteStore(path, randomUUID)
  const deliveries = [delivery('a'), delivery('b', { channel: 'team' })]
  await store.commit({ record: record(), basedOn: 0, deliveries, supersede: [] })
  const [first, second] = await store.claim({ now: at, leaseMs: 1_000, limit: 2, except: [] })
  await store.settle(first!, { state: 'delivered', nextAt: at, note: 'ok' }, at, [])
  store.freeLeases()
  const done = { state: 'delivered' as const, nextAt: at, note: 'from before' }
  expect(await store.settle(second!, done, at, [])).toBe('lost')
  const [again] = await store.claim({ now: at, leaseMs: 1_000, limit: 9, except: [] })
  expect(again).toMatchObject({ id: 'b', attempts: 2 })
  expect((await store.readDeliveries(key))[0]).toMatchObject({ state: 'delivered', attempts: 1 })
  store.close()
})
