// Counts for metrics where the stores differ: a restart, and a process on Azure that dies between two
// calls or has much to count.
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Count } from '../../functions/core/metrics/tally.ts'
import type { Rows } from '../../functions/store/azure/rows.ts'
import type { AzureStore } from '../../functions/store/azure/store.ts'
import { openFile } from '../../functions/store/sqlite/file.ts'
import { SqliteStore } from '../../functions/store/sqlite/store.ts'
import type { Store } from '../../functions/store/store.ts'
import { Table } from '../sim/table.ts'
import { dyingAt, storeOn } from '../support/azure-store.ts'
import { claim } from '../support/claims.ts'
import { newFolder } from '../support/folder.ts'
import { at, beaconOf, commitOf, delivery, record } from '../support/records.ts'

const hour = 3_600_000
const day = 24 * hour
const newTable = () => new Table().plain()

function names(counts: Count[]): Record<string, number> {
  return Object.fromEntries(counts.map(({ what, one, two, n }) => [`${what} ${one} ${two}`, n]))
}

async function countsOf(store: Store, now: number) {
  return names((await store.tally({ now, fleets: ['prod'], maxAgeMs: 0 })).counts)
}

async function fill(store: Store): Promise<void> {
  const deliveries = [delivery('a'), delivery('b', { channel: 'team', nextAt: at + day })]
  await store.commit(commitOf({ record: record({ firstSeenAt: at - 4_000 }), deliveries }))
  for (const one of await claim(store, { limit: 1 })) {
    await store.settle(one, { state: 'delivered', nextAt: at + 500, note: '' }, at, [])
  }
  await store.writeBeacon(beaconOf('web_0', { version: '0.1.0' }), [])
}

const filled = {
  'event Reboot scheduled': 1,
  'delivery chat delivered': 1,
  'delivery team pending': 1,
  'beacon 0.1.0 heard': 1,
  'first_message 5 ': 1,
  'first_message_ms  ': 4_500,
}

describe('on SQLite', () => {
  let folder: string
  beforeEach(() => {
    folder = newFolder('tally')
  })
  afterEach(() => rmSync(folder, { recursive: true }))
  const open = () =>
    new SqliteStore(openFile(join(folder, 'foghorn.sqlite')), { random: randomUUID })

  test('a restart counts nothing twice', async () => {
    const before = open()
    await fill(before)
    before.close()
    const store = open()
    expect(await countsOf(store, at)).toEqual(filled)
    store.close()
  })
})

describe('on Azure', () => {
  const end = (eventId: string, endedAt: number) =>
    commitOf({
      record: record({
        ...{ eventId, phase: 'completed', ended: { at: endedAt, outcome: 'completed' } },
      }),
    })

  const life: ((store: AzureStore) => Promise<unknown>)[] = [
    (store) => store.writeBeacon(beaconOf('web_0', { version: '0.1.0' }), []),
    (store) => store.writeBeacon(beaconOf('web_0', { counter: 2, version: '0.2.0' }), []),
    async (store) => {
      const known = (await store.readBeacon('prod', 'id-web_0'))!
      await store.replaceBeacon(known, { ...known, silence: { since: at, from: at } })
    },
    (store) => store.forget(0, 9, at + 1),
    (store) =>
      store.writeBeacon(beaconOf('web_0', { counter: 3, heardAt: at + 2, version: '0.3.0' }), []),
  ]

  test.each(['before', 'after'] as const)(
    'a process that dies %s any change counts every beacon once',
    async (when) => {
      for (let n = 1; ; n++) {
        const table = newTable()
        const { rows, isDead } = dyingAt(table, n, when)
        for (const step of life) await step(storeOn(rows)).catch(() => {})
        const later = storeOn(table)
        await later.writeBeacon(beaconOf('web_0', { counter: 9, heardAt: at + 9 }), [])
        expect(await countsOf(later, at), `change ${n}`).toEqual({ 'beacon 0.1.0 heard': 1 })
        for (let calls = 0; calls < 3; calls++) await later.forget(0, 9, at + day)
        expect(await countsOf(later, at), `change ${n}`).toEqual({})
        if (!isDead()) break
      }
    },
  )

  test('beacons of very many versions need little room', async () => {
    const store = storeOn(newTable())
    for (let i = 0; i < 600; i++) {
      await store.writeBeacon(beaconOf(`vm_${i % 3}`, { counter: i + 1, version: `0.${i}.0` }), [])
    }
    const many = Array.from({ length: 2_500 }, (_, i) => `vm_${i}`)
    for (const vm of many) {
      await store.writeBeacon(beaconOf(vm, { counter: 999, version: `v${vm}` }), [])
    }
    const counts = await countsOf(store, at)
    expect(Object.values(counts).reduce((sum, n) => sum + n, 0)).toBe(2_500)
    expect(counts['beacon other heard']).toBeGreaterThan(500)
  })

  test('counts are shared until they are a minute old', async () => {
    const table = newTable()
    const store = storeOn(table)
    const read = async (now: number) => (await store.tally({ now, fleets: ['prod'] })).counts.length
    expect(await read(at)).toBe(0)
    await store.commit(commitOf())
    expect(await read(at + 59_999)).toBe(0)
    expect(await storeOn(table).tally({ now: at + 59_999, fleets: ['prod'] })).toMatchObject({ at })
    expect(await read(at + 60_000)).toBe(1)
  })

  test('what ended long ago is counted in steps, and the counts say how old they are', async () => {
    const store = storeOn(newTable())
    for (let i = 0; i < 2_100; i++) await store.commit(end(`e${i}`, at + i))
    const now = at + 3 * day
    const first = await store.tally({ now, fleets: ['prod'] })
    expect(names(first.counts)).toEqual({ 'event Reboot completed': 2_000 })
    expect(first.at).toBe(at + 1_999)
    const second = await store.tally({ now: now + 10_000, fleets: ['prod'] })
    expect(names(second.counts)).toEqual({ 'event Reboot completed': 2_100 })
    expect(second.at).toBe(now + 10_000)
  })

  test('an event that ended is read until its messages are settled, and then once', async () => {
    const table = newTable()
    let lists = 0
    const rows = {
      ...table,
      list: (...args: Parameters<Rows['list']>) => {
        if (args[0].startsWith('event|')) lists += 1
        return table.list(...args)
      },
    }
    const store = storeOn(rows)
    const commit = end('a', at)
    await store.commit({ ...commit, deliveries: [delivery('x', { eventId: 'a' })] })
    const pending = { 'event Reboot completed': 1, 'delivery chat pending': 1 }
    expect(await countsOf(store, at + 2 * hour)).toEqual(pending)
    lists = 0
    expect(await countsOf(store, at + 3 * hour)).toEqual(pending)
    expect(lists).toBe(1)
    for (const one of await claim(store, { limit: 1 })) {
      await store.settle(one, { state: 'refused', nextAt: at, note: '' }, at, [])
    }
    const settled = { 'event Reboot completed': 1, 'delivery chat refused': 1 }
    expect(await countsOf(store, at + 4 * hour)).toEqual(settled)
    lists = 0
    expect(await countsOf(store, at + 5 * hour)).toEqual(settled)
    expect(lists).toBe(0)
  })
})
