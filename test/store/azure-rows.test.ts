// The rows on Azure while processes die, answers are lost and workers meet: a row is always found under
// its keys, and what a crash leaves is removed later.
import { describe, expect, test } from 'vitest'
import { AzureRows } from '../../functions/store/azure/rows.ts'
import type { EntityChange, Table } from '../../functions/store/azure/table.ts'
import { RelayStore } from '../../functions/store/relay-store.ts'
import { isNamed, type Key, type Row, type Rows } from '../../functions/store/rows.ts'
import { MemoryTable } from '../support/memory-table.ts'
import { at, notification, record } from '../support/records.ts'
import { storeOver } from '../support/stores.ts'

const minute = 60_000
const key = (at: string): Key => ({ index: 'due', key: at })
let ids = 0

function rowsOn(table: Table, now = 0): AzureRows {
  return new AzureRows({ table, newId: () => `id-${++ids}`, now: () => now })
}

function withChange(
  table: Table,
  change: (partition: string, changes: EntityChange[]) => ReturnType<Table['change']>,
): Table {
  return { read: (...of) => table.read(...of), list: (...of) => table.list(...of), change }
}

/** The process dies at its n-th change, before or after it took effect. */
function dyingAt(table: Table, n: number, when: 'before' | 'after') {
  const life = { changes: 0 }
  const dying = withChange(table, async (...of) => {
    const own = ++life.changes
    if (own > n || (own === n && when === 'before')) throw new Error('the process is dead')
    const outcome = await table.change(...of)
    if (own === n) throw new Error('the process is dead')
    return outcome
  })
  return { rows: rowsOn(dying), isDead: () => life.changes >= n }
}

/** Rows that an entry names, and what no row names. */
async function look(rows: Rows) {
  const found = await rows.find('due', '', '~', 99)
  const read = await Promise.all(found.map((one) => rows.read(one.partition, one.row)))
  return { found, unnamed: found.filter((one, i) => !isNamed(one, read[i])) }
}

/** Keys of a row under which it is not found. */
async function unfound(rows: Rows, row: Row): Promise<Key[]> {
  const { found } = await look(rows)
  return row.keys.filter((own) => !found.some((one) => one.key === own.key && one.row === row.row))
}

async function insert(rows: Rows, row: string, keys: Key[]): Promise<Row> {
  const written = await rows.change('p', [{ kind: 'insert', row, body: 'first', keys }])
  return (written as Row[])[0]!
}

describe.each(['before', 'after'] as const)('a process dies %s one of its calls', (when) => {
  test.each([1, 2, 3, 4])(
    'call %i: the row is found under its keys, and the rest is removed after 10 min',
    async (n) => {
      const table = new MemoryTable()
      const rows = rowsOn(table)
      const was = await insert(rows, 'a', [key('3'), key('5')])
      const process = dyingAt(table, n, when)
      const change = { kind: 'replace' as const, was, body: 'second', keys: [key('1'), key('5')] }
      await process.rows.change('p', [change]).catch(() => {})
      const row = (await rows.read('p', 'a'))!
      expect(await unfound(rows, row)).toEqual([])
      const { unnamed } = await look(rows)
      await rows.tidy(unnamed, 10 * minute)
      expect((await look(rows)).unnamed).toEqual(unnamed)
      await rows.tidy(unnamed, 10 * minute + 1)
      expect((await look(rows)).unnamed).toEqual([])
      expect(await unfound(rows, row)).toEqual([])
    },
  )
})

describe('the answer to a write is lost, and the client writes again', () => {
  const losing = (table: Table) =>
    withChange(table, async (...of) => {
      await table.change(...of)
      return table.change(...of)
    })

  test('the row is known as written', async () => {
    const table = new MemoryTable()
    const rows = rowsOn(losing(table))
    const was = await insert(rows, 'a', [key('1')])
    const change = { kind: 'replace' as const, was, body: 'second', keys: [key('2')] }
    const [written] = (await rows.change('p', [change])) as Row[]
    expect(await rows.read('p', 'a')).toEqual(written)
    expect(await unfound(rows, written!)).toEqual([])
    expect(await rows.change('p', [{ kind: 'remove', was: written! }])).not.toBe('conflict')
    expect(await rows.read('p', 'a')).toBe(undefined)
  })

  test('also if another worker has changed the row since', async () => {
    const table = new MemoryTable()
    const others = rowsOn(table)
    let isLost = false
    const rows = rowsOn(
      withChange(table, async (partition, changes) => {
        const outcome = await table.change(partition, changes)
        if (isLost || partition !== 'p') return outcome
        isLost = true
        const was = (await others.read('p', 'a'))!
        const change = { kind: 'replace' as const, was, body: 'theirs', keys: [key('1'), key('2')] }
        await others.change('p', [change])
        return table.change(partition, changes)
      }),
    )
    const mine = await insert(rows, 'a', [key('1')])
    expect(mine).toMatchObject({ body: 'first' })
    const row = (await others.read('p', 'a'))!
    expect(row.body).toBe('theirs')
    expect(await unfound(others, row)).toEqual([])
    // a change of what it wrote would undo theirs, and name entries that they have removed
    const change = { kind: 'replace' as const, was: mine, body: 'third', keys: [key('1')] }
    expect(await rows.change('p', [change])).toBe('conflict')
    expect((await others.read('p', 'a'))!.body).toBe('theirs')
  })
})

test('a worker that loses removes its own entries, and none of the other', async () => {
  const table = new MemoryTable()
  const [mine, theirs] = [rowsOn(table), rowsOn(table)]
  const was = await insert(mine, 'a', [key('1')])
  const to = (at: string) => ({ kind: 'replace' as const, was, body: at, keys: [key(at)] })
  await theirs.change('p', [to('2')])
  expect(await mine.change('p', [to('2')])).toBe('conflict')
  expect(await mine.change('p', [to('3')])).toBe('conflict')
  expect((await look(mine)).found.map((one) => one.key)).toEqual(['2'])
})

test('an entry moves away and back while its first removal is under way', async () => {
  const table = new MemoryTable()
  const others = rowsOn(table)
  const was = await insert(others, 'a', [key('1')])
  const rows = rowsOn(
    withChange(table, async (partition, changes) => {
      const isRemoval = changes.every(({ kind }) => kind === 'remove')
      if (isRemoval) {
        const now = (await others.read('p', 'a'))!
        await others.change('p', [{ kind: 'replace', was: now, body: 'back', keys: [key('1')] }])
      }
      return table.change(partition, changes)
    }),
  )
  await rows.change('p', [{ kind: 'replace', was, body: 'away', keys: [key('2')] }])
  expect(await unfound(others, (await others.read('p', 'a'))!)).toEqual([])
})

test('a reader of the log waits for a row whose entries are written, at most half a minute', async () => {
  const table = new MemoryTable()
  const moment = { id: 'a', notification: notification({ at, event: record() }) }
  const commit = { record: record(), basedOn: 0, deliveries: [], moments: [moment], now: at }
  const later = {
    ...commit,
    record: record({ eventId: 'other' }),
    moments: [{ id: 'b', notification: notification({ at, event: record({ eventId: 'other' }) }) }],
    now: at + 1_000,
  }
  let goOn = () => {}
  const slow = withChange(table, async (...of) => {
    const [partition] = of
    if (partition !== 'index') {
      await new Promise<void>((resolve) => {
        goOn = resolve
      })
    }
    return table.change(...of)
  })
  const committing = storeOver(rowsOn(slow)).commit(commit)
  const other = storeOver(rowsOn(table))
  expect(await other.commit(later)).toBe('committed')
  const idsAt = async (now: number) => (await other.readMoments(0, 10, now)).map(({ id }) => id)
  expect(await idsAt(at + 20_000)).toEqual([])
  // its writer has died
  expect(await idsAt(at + 40_000)).toEqual(['b'])
  goOn()
  expect(await committing).toBe('committed')
  expect(await idsAt(at + 20_000)).toEqual(['a', 'b'])
})

test('a step whose entries took longer than readers wait gets a later time, before its row', async () => {
  const table = new MemoryTable()
  let now = 0
  let slowMs = 6_000
  const slow = withChange(table, async (...of) => {
    const outcome = await table.change(...of)
    if (of[0] === 'index') now += slowMs
    slowMs = 0
    return outcome
  })
  const options = { newId: () => 'id', random: Math.random, elapsed: () => now }
  const store = new RelayStore({ rows: rowsOn(slow), ...options })
  const moment = { id: 'a', notification: notification({ at, event: record() }) }
  const commit = { record: record(), basedOn: 0, deliveries: [], moments: [moment], now: at }
  expect(await store.commit(commit)).toBe('committed')
  const read = await store.readMoments(0, 10, at + now + 10_000)
  expect(read).toMatchObject([{ id: 'a' }])
  expect(read[0]!.position).toBeGreaterThan((at + 5_000) * 1_000)
  expect(await rowsOn(table).find('log', '', '~', 9)).toHaveLength(1)
})

test('a storage that is always that slow is an error, and leaves no entry', async () => {
  const table = new MemoryTable()
  const change = { kind: 'insert' as const, row: 'a', body: '', keys: [key('1')] }
  const writing = rowsOn(table).change('p', [change], () => [change])
  await expect(writing).rejects.toMatchObject({ code: 'storage_unavailable' })
  expect(await look(rowsOn(table))).toEqual({ found: [], unnamed: [] })
})

test('what a commit reads before it writes is not behind readers either', async () => {
  const table = new MemoryTable()
  await storeOver(rowsOn(table)).commit({
    ...{ record: record({ sequence: 1 }), basedOn: 0, deliveries: [], moments: [], now: at },
  })
  let now = 0
  const slow: Table = {
    ...withChange(table, (...of) => table.change(...of)),
    read: async (...of) => {
      now += 6_000
      return table.read(...of)
    },
  }
  const options = { newId: () => 'id', random: Math.random, elapsed: () => now }
  const store = new RelayStore({ rows: rowsOn(slow), ...options })
  const event = record({ sequence: 2 })
  const moments = [{ id: 'a', notification: notification({ at, event }) }]
  await store.commit({ record: event, basedOn: 1, deliveries: [], moments, now: at })
  const [read] = await store.readMoments(0, 10, at + 20_000)
  expect(read!.position).toBeGreaterThan((at + 5_000) * 1_000)
})
