// Deliveries to subscriptions on Azure Tables, whenever a process dies: their entries lead to them,
// and nothing stays for ever.
import { describe, expect, test } from 'vitest'
import type { Settlement } from '../../functions/core/delivery/attempt.ts'
import { type Delivery, subscriptionChannel } from '../../functions/core/delivery/delivery.ts'
import type { Rows } from '../../functions/store/azure/rows.ts'
import type { AzureStore } from '../../functions/store/azure/store.ts'
import { graceMs, partitions } from '../../functions/store/azure/time-index.ts'
import type { Together } from '../../functions/store/azure/together.ts'
import { Table } from '../sim/table.ts'
import {
  around,
  dyingAt,
  entriesIn,
  losingAnswers,
  rowsOf,
  storeOn,
  subscription,
  unfound,
} from '../support/azure-store.ts'
import { claim, free } from '../support/claims.ts'
import { at, commitOf, delivery, key, record } from '../support/records.ts'

const hour = 3_600_000
const day = 24 * hour
const channel = subscriptionChannel(subscription)
const place = { ...key, channel }
const isOwn = (partition: string) => partition.startsWith('subscription|')
const forwards: Together = (works) => inTurn(works)
/** Calls that are made at once may take effect in any order. */
const backwards: Together = async (works) => (await inTurn(works.toReversed())).toReversed()
const newTable = () => new Table().plain()

const to = (id: string, changes: Partial<Delivery> = {}) => delivery(id, { channel, ...changes })

async function inTurn<T>(works: (() => Promise<T>)[]): Promise<T[]> {
  const results: T[] = []
  for (const work of works) results.push(await work())
  return results
}

async function settleAll(store: AzureStore, now: number, state: Settlement['state']) {
  for (const one of await claim(store, { ...free, now, limit: 99 })) {
    await store.settle(one, { state, nextAt: now + 500, note: state }, now, [])
  }
}

async function idsIn(store: AzureStore): Promise<string[]> {
  const { deliveries } = await store.listDeliveries(channel, { limit: 99 })
  return deliveries.map(({ id }) => id)
}

/** The steps of a life, each with its time. A repeated step does no harm. */
const life: ((store: AzureStore, now: number) => Promise<unknown>)[] = [
  (store, now) =>
    store.addDeliveries([
      to('a', { plannedAt: now, nextAt: now }),
      to('b', { plannedAt: now, nextAt: now, seq: 65 }),
      to('c', { plannedAt: now, nextAt: now, seq: 66, state: 'given_up' }),
    ]),
  (store, now) => settleAll(store, now, 'pending'),
  (store, now) => settleAll(store, now, 'refused'),
  (store, now) => settleAll(store, now, 'delivered'),
  (store, now) => store.replay({ since: 0, channel }, now, 9),
  (store, now) => settleAll(store, now, 'given_up'),
  (store, now) => settleAll(store, now, 'delivered'),
  (store, now) => store.forget(now - hour, 1),
  (store, now) => store.forget(now, 9),
]

/** Plays the life until the process dies, then with another one. Returns whether it died. */
async function liveOn(n: number, when: 'before' | 'after', order: Together): Promise<boolean> {
  const own = newTable()
  const dying = dyingAt(own, n, when)
  const first = storeOn(dying.rows, order)
  const second = storeOn(own, order)
  let now = at
  for (const step of life) {
    now += hour
    if (!dying.isDead()) await step(first, now).catch(() => {})
    if (!dying.isDead()) continue
    const what = `dead ${when} change ${n}, in step ${life.indexOf(step)}`
    expect(await unfound(own, [place]), what).toEqual([])
    now += hour
    await step(second, now)
    expect(await unfound(own, [place]), what).toEqual([])
    const stored = await second.readDeliveries(key, subscription)
    const ids = stored.map(({ id }) => id)
    expect((await idsIn(second)).toSorted(), what).toEqual(ids.toSorted())
  }
  const what = `dead ${when} change ${n}`
  for (let i = 0; i < 3; i++) {
    now += day
    await settleAll(second, now, 'delivered')
    await second.forget(now, 9)
    await second.nextDueAt({ ...free, now })
  }
  expect(await rowsOf(own, place), what).toEqual([])
  expect(await entriesIn(own), what).toEqual([])
  return dying.isDead()
}

test('a life leaves no entry and no row', async () => {
  const rows = newTable()
  const store = storeOn(rows)
  for (const [i, step] of life.entries()) {
    await step(store, at + i * hour)
    expect(await unfound(rows, [place]), `after step ${i}`).toEqual([])
  }
  expect(await rowsOf(rows, place)).toEqual([])
  expect(await entriesIn(rows)).toEqual([])
})

describe('a process that dies', () => {
  const deaths = Object.entries({ forwards, backwards }).flatMap(([name, order]) =>
    (['before', 'after'] as const).map((when) => ({ when, name, order })),
  )
  test.each(deaths)(
    '$when any change leaves no delivery without its entries, and nothing for ever ($name)',
    async ({ when, order }) => {
      let n = 1
      while (await liveOn(n, when, order)) n += 1
      expect(n).toBeGreaterThan(40)
    },
  )

  test('between entries and row leaves entries that are skipped, and removed after a while', async () => {
    const rows = newTable()
    const dead = around(rows, async (change, partition) => {
      if (isOwn(partition)) throw new Error('the process is dead')
      return change()
    })
    const both = [to('a'), to('b', { seq: 65, state: 'refused' })]
    await expect(storeOn(dead).addDeliveries(both)).rejects.toThrow('dead')
    const left = await entriesIn(rows)
    expect(left).toHaveLength(6)
    const store = storeOn(rows)
    const look = async (now: number) => {
      expect(await claim(store, { ...free, now, limit: 9 })).toEqual([])
      expect(await store.nextDueAt({ ...free, now })).toBeUndefined()
      expect(await idsIn(store)).toEqual([])
      expect(await store.replay({ id: 'b' }, now, 9)).toBe(0)
      expect(await store.forget(now, 9)).toBe(0)
    }
    await look(at + graceMs)
    expect(await entriesIn(rows)).toEqual(left)
    await look(at + graceMs + 1)
    expect(await entriesIn(rows)).toEqual([])
  })

  test('while a page is added leaves those that the next call skips', async () => {
    const rows = newTable()
    let written = 0
    const dead = around(rows, async (change, partition) => {
      if (isOwn(partition) && ++written > 2) throw new Error('the process is dead')
      return change()
    })
    const page = ['a', 'b', 'c', 'd'].map((id, i) => to(id, { eventId: id, plannedAt: at + i }))
    await expect(storeOn(dead).addDeliveries(page)).rejects.toThrow('dead')
    const store = storeOn(rows)
    expect(await idsIn(store)).toHaveLength(2)
    await store.addDeliveries(page)
    expect(await idsIn(store)).toEqual(['d', 'c', 'b', 'a'])
    const ids = (await claim(store, { limit: 9 })).map(({ id }) => id)
    expect(ids.toSorted()).toEqual(['a', 'b', 'c', 'd'])
    const places = page.map(({ eventId }) => ({ ...place, eventId }))
    expect(await unfound(rows, places)).toEqual([])
  })
})

test('a write whose answer was lost is known as written, and keeps its entries', async () => {
  const rows = newTable()
  const store = storeOn(losingAnswers(rows, isOwn))
  await store.addDeliveries([to('a'), to('b', { seq: 65 })])
  expect(await unfound(rows, [place])).toEqual([])
  expect(await entriesIn(rows)).toHaveLength(6)
  const [one] = await claim(store, { limit: 9 })
  const refused = { state: 'refused' as const, nextAt: at, note: 'HTTP 400' }
  expect(await store.settle(one!, refused, at, [])).toBe('settled')
  expect(await store.replay({ id: 'a' }, at + 1, 9)).toBe(1)
  expect(await unfound(rows, [place])).toEqual([])
  expect(await entriesIn(rows)).toHaveLength(6)
})

test('workers that add the same at once leave one of each, in order', async () => {
  const rows = newTable()
  const page = [to('a'), to('b', { seq: 65 }), to('c', { seq: 66 })]
  await Promise.all(Array.from({ length: 6 }, () => storeOn(rows).addDeliveries(page)))
  const store = storeOn(rows)
  expect(await store.readDeliveries(key, subscription)).toEqual(page)
  expect(await idsIn(store)).toEqual(['c', 'b', 'a'])
  expect(await entriesIn(rows)).toHaveLength(9)
  expect(await unfound(rows, [place])).toEqual([])
})

test('a delivery that is replayed while it is removed stays, with its entries', async () => {
  const rows = newTable()
  const store = storeOn(rows)
  await store.addDeliveries([to('a', { state: 'refused' })])
  let isReplayed = false
  const racing = around(rows, async (change, partition, [only]) => {
    if (isOwn(partition) && only?.kind === 'remove' && !isReplayed) {
      isReplayed = true
      await store.replay({ id: 'a' }, at + 5, 9)
    }
    return change()
  })
  expect(await storeOn(racing).forget(at + day, 9)).toBe(0)
  expect(isReplayed).toBe(true)
  expect(await store.readDeliveries(key, subscription)).toMatchObject([{ state: 'pending' }])
  expect(await claim(store, { now: at + 5, limit: 9 })).toHaveLength(1)
  expect(await unfound(rows, [place])).toEqual([])
})

test('the failed entry of a delivery whose event was removed stays as long as the delivery', async () => {
  const rows = newTable()
  const store = storeOn(rows)
  const over = record({ ended: { at, outcome: 'completed' } })
  await store.commit(commitOf({ record: over }))
  const planned = ['a', 'b'].map((id, i) => to(id, { state: 'refused', plannedAt: at + i }))
  await store.addDeliveries(planned)
  // one step removes the event and the first delivery only
  expect(await store.forget(at + day, 1)).toBe(2)
  expect(await idsIn(store)).toEqual(['b'])
  expect(await store.replay({ id: 'b' }, at + day, 9)).toBe(1)
})

test('an entry that could not be removed is removed by a later call', async () => {
  const rows = newTable()
  const store = storeOn(rows)
  await store.addDeliveries([to('a', { state: 'refused' })])
  const failing = around(rows, async (change, partition, [only]) => {
    const isListed = partition === partitions.history(subscription)
    if (isListed && only?.kind === 'remove') throw new Error('the storage is busy')
    return change()
  })
  expect(await storeOn(failing).forget(at + hour, 9)).toBe(1)
  expect(await rowsOf(rows, place)).toEqual([])
  expect(await idsIn(store)).toEqual([])
  expect(await store.forget(at + hour, 9)).toBe(0)
  expect(await entriesIn(rows)).toEqual([])
})

test('a delivery that belongs in another partition is not written at all', async () => {
  const rows = newTable()
  const store = storeOn(rows)
  await store.addDeliveries([to('a')])
  const [one] = await claim(store, { limit: 9 })
  const before = await entriesIn(rows)
  const done = { state: 'refused' as const, nextAt: at, note: '' }
  await expect(store.settle(one!, done, at, [delivery('notice')])).rejects.toThrow('partition')
  await expect(store.commit(commitOf({ deliveries: [to('b')] }))).rejects.toThrow('partition')
  expect(await entriesIn(rows)).toEqual(before)
  expect(await store.readEvent(key)).toBeUndefined()
})

describe('many subscriptions', () => {
  const upTo = (count: number) => Array.from({ length: count }, (_, i) => i)
  const toEach = (name: string, count: number, changes: (i: number) => Partial<Delivery>) =>
    upTo(count).map((i) => {
      const own = subscriptionChannel(`${name}${i}`)
      return delivery(`${name}${i}`, { channel: own, ...changes(i) })
    })

  test('a claim takes the longest due of them, and reads few partitions', async () => {
    const rows = newTable()
    let lists = 0
    const counted: Rows = {
      ...rows,
      list: (...args) => {
        lists += isOwn(args[0]) ? 1 : 0
        return rows.list(...args)
      },
    }
    const store = storeOn(counted)
    // the order of their names says nothing of the order in which they are due
    const rest = toEach('s', 100, (i) => ({ nextAt: at - ((i * 37) % 100) }))
    await store.addDeliveries(rest)
    lists = 0
    expect(await store.nextDueAt(free)).toBe(at - 99)
    const claims = await claim(store, { limit: 5 })
    expect(claims).toHaveLength(5)
    expect(lists).toBeLessThan(60)
    const left = rest.filter(({ id }) => !claims.some((one) => one.id === id))
    const latest = rest.map(({ nextAt }) => nextAt).toSorted((a, b) => a - b)[4]!
    expect(left.every(({ nextAt }) => nextAt > latest)).toBe(true)
  })

  test('those that wait for an earlier delivery hide nothing that is due', async () => {
    const store = storeOn(newTable())
    await store.addDeliveries(toEach('s', 70, () => ({ nextAt: at + hour })))
    const behind = toEach('s', 70, (i) => ({ id: `behind ${i}`, seq: 65, nextAt: at - hour }))
    await store.addDeliveries(behind)
    await store.addDeliveries(toEach('free', 3, (i) => ({ nextAt: at - i })))
    expect(await store.nextDueAt(free)).toBe(at - 2)
    const claims = await claim(store, { limit: 2 })
    expect(claims.map(({ id }) => id)).toEqual(['free2', 'free1'])
    expect((await claim(store, { limit: 9 })).map(({ id }) => id)).toEqual(['free0'])
    expect(await store.nextDueAt(free)).toBe(at + 20_000)
  })
})
