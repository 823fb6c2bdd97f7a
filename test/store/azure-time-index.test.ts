// Whenever a process dies, rows are found by time. Stale entries are skipped, and removed when no
// writer can be about to write their row.
import { describe, expect, test } from 'vitest'
import type { Settlement } from '../../functions/core/delivery/attempt.ts'
import { maxOpenOfBeacon } from '../../functions/core/event/open-limits.ts'
import type { Rows } from '../../functions/store/azure/rows.ts'
import type { AzureStore } from '../../functions/store/azure/store.ts'
import { graceMs, partitions } from '../../functions/store/azure/time-index.ts'
import { Table } from '../sim/table.ts'
import {
  around,
  dyingAt,
  entriesIn,
  losingAnswers,
  rowsOf,
  storeOn,
  unfound,
} from '../support/azure-store.ts'
import { claim, free } from '../support/claims.ts'
import { at, beaconOf, commitOf, delivery, key, record, sighting } from '../support/records.ts'

const newRows = () => new Table().plain()
const hour = 3_600_000
const day = 24 * hour
const isEvent = (partition: string) => partition.startsWith('event|')

async function settleAll(store: AzureStore, now: number, state: Settlement['state']) {
  for (const one of await claim(store, { ...free, now, limit: 99 })) {
    const follow =
      state === 'refused' ? [delivery(`notice of ${one.id}`, { channel: 'team', nextAt: now })] : []
    await store.settle(one, { state, nextAt: now + 500, note: state }, now, follow)
  }
}

/** The steps of a full life, each with its time. A repeated step does no harm. */
const life: ((store: AzureStore, now: number) => Promise<unknown>)[] = [
  (store, now) => store.writeBeacon(beaconOf('web_0', { heardAt: now }), [sighting('web_0')]),
  (store, now) => {
    const whole = record({ dueAt: now + 5, firstSeenAt: now })
    const deliveries = ['a', 'b'].map((id) => delivery(id, { nextAt: now, plannedAt: now }))
    return store.commit(commitOf({ record: whole, deliveries, now }))
  },
  (store, now) => settleAll(store, now, 'pending'),
  (store, now) => settleAll(store, now, 'refused'),
  (store, now) => store.replay({ since: 0 }, now, 9),
  async (store, now) => {
    const moved = record({ dueAt: now + 9, sequence: 2 })
    const late = delivery('c', { seq: 128, nextAt: now + 9 })
    const supersede = [{ id: 'a', note: 'overtaken' }]
    await store.commit(commitOf({ record: moved, basedOn: 1, deliveries: [late], supersede, now }))
  },
  (store, now) => settleAll(store, now, 'delivered'),
  async (store, now) => {
    const over = record({ sequence: 3, ended: { at: now, outcome: 'completed' } })
    await store.commit(commitOf({ record: over, basedOn: 2, now }))
  },
  (store, now) => store.forget(now, 9),
]

describe('a life of an event', () => {
  test('leaves no entry and no row', async () => {
    const rows = newRows()
    const store = storeOn(rows)
    for (const [i, step] of life.entries()) {
      await step(store, at + i * hour)
      expect(await unfound(rows, [key]), `after step ${i}`).toEqual([])
    }
    expect(await entriesIn(rows)).toEqual([])
    expect(await rowsOf(rows, key)).toEqual([])
    expect(await store.readObservers(key)).toEqual([])
    expect(await store.readBeacon('prod', 'id-web_0')).toBeUndefined()
  })
})

/** Plays the life until the process dies, then with another one. Returns whether it died. */
async function liveOn(own: Rows, n: number, when: 'before' | 'after'): Promise<boolean> {
  const dying = dyingAt(own, n, when)
  const first = storeOn(dying.rows)
  const second = storeOn(own)
  let now = at
  for (const step of life) {
    now += hour
    if (!dying.isDead()) await step(first, now).catch(() => {})
    if (!dying.isDead()) continue
    const what = `dead ${when} change ${n}, in step ${life.indexOf(step)}`
    expect(await unfound(own, [key]), what).toEqual([])
    now += hour
    await step(second, now)
    expect(await unfound(own, [key]), what).toEqual([])
  }
  for (let i = 0; i < 3; i++) {
    now += day
    await settleAll(second, now, 'delivered')
    await second.dueEvents(now, 9)
    await second.forget(now, 9)
    await second.nextDueAt({ ...free, now })
  }
  const what = `dead ${when} change ${n}`
  expect(await rowsOf(own, key), what).toEqual([])
  expect(await entriesIn(own), what).toEqual([])
  return dying.isDead()
}

describe('a process that dies', () => {
  test.each(['before', 'after'] as const)(
    '%s any change leaves no pending row without an entry, and nothing for ever',
    async (when) => {
      let n = 1
      while (await liveOn(newRows(), n, when)) n += 1
      expect(n).toBeGreaterThan(40)
    },
  )

  test('between entries and row leaves entries that are skipped, and removed after a while', async () => {
    const own = newRows()
    const dead = around(own, async (change, partition) => {
      if (isEvent(partition)) throw new Error('the process is dead')
      return change()
    })
    const commit = commitOf({ record: record({ dueAt: at }), deliveries: [delivery('a')] })
    await expect(storeOn(dead).commit(commit)).rejects.toThrow('dead')
    const left = await entriesIn(own)
    expect(left).toHaveLength(5)
    const store = storeOn(own)
    const look = async (now: number) => {
      expect(await store.dueEvents(now, 9)).toEqual([])
      expect(await claim(store, { ...free, now, limit: 9 })).toEqual([])
      expect(await store.nextDueAt({ ...free, now })).toBeUndefined()
      expect(await store.listEvents({ limit: 9 })).toEqual([])
      await store.forget(now, 9)
    }
    await look(at + graceMs)
    expect(await entriesIn(own)).toEqual(left)
    await look(at + graceMs + 1)
    // the entries of one fleet are removed with those of all
    expect(await entriesIn(own)).toEqual([])
  })

  test('often hides nothing that is due later', async () => {
    const own = newRows()
    const dead = around(own, async (change, partition) => {
      if (isEvent(partition)) throw new Error('the process is dead')
      return change()
    })
    for (let i = 0; i < 30; i++) {
      const lost = record({ eventId: `lost-${i}`, dueAt: at - 99 + i })
      await expect(storeOn(dead).commit(commitOf({ record: lost }))).rejects.toThrow('dead')
    }
    const store = storeOn(own)
    for (const eventId of ['a', 'b', 'c', 'd', 'e', 'f']) {
      await store.commit(commitOf({ record: record({ eventId, dueAt: at }) }))
    }
    expect(await store.nextDueAt(free)).toBe(at)
    expect(await store.dueEvents(at, 1)).toHaveLength(1)
    expect(await store.dueEvents(at, 9)).toHaveLength(6)
  })
})

describe('a write that succeeded but whose answer was lost', () => {
  test('is known as written, and keeps its entries', async () => {
    const own = newRows()
    const store = storeOn(losingAnswers(own, isEvent))
    const deliveries = [delivery('a'), delivery('b', { channel: 'team' })]
    const commit = commitOf({ record: record({ dueAt: at + 1 }), deliveries })
    expect(await store.commit(commit)).toBe('committed')
    expect(await unfound(own, [key])).toEqual([])
    const [one, other] = await claim(store, { limit: 9 })
    const done = { state: 'delivered' as const, nextAt: at, note: 'ok' }
    expect(await store.settle(one!, done, at, [])).toBe('settled')
    const refused = { state: 'refused' as const, nextAt: at, note: 'HTTP 400' }
    expect(await store.settle(other!, refused, at, [])).toBe('settled')
    expect(await store.replay({ since: 0 }, at, 9)).toBe(1)
    const over = record({ sequence: 2, ended: { at, outcome: 'completed' } })
    expect(await store.commit(commitOf({ record: over, basedOn: 1 }))).toBe('committed')
    expect(await unfound(own, [key])).toEqual([])
    expect(await claim(store, { limit: 9 })).toHaveLength(1)
  })

  test('is known as written if another worker has sent the next message meanwhile', async () => {
    const own = newRows()
    const healthy = storeOn(own)
    const deliveries = [delivery('a'), delivery('b', { seq: 128 })]
    await healthy.commit(commitOf({ record: record(), deliveries }))
    const [first] = await claim(healthy, { limit: 9 })
    const now = at + 1
    const done = { state: 'delivered' as const, nextAt: now, note: 'ok' }
    let next: string | undefined
    const late = around(own, async (change, partition) => {
      await change()
      if (next === undefined && isEvent(partition)) {
        const [second] = await claim(healthy, { now, limit: 9 })
        next = second!.id
        await healthy.settle(second!, done, now, [])
      }
      return change()
    })
    expect(await storeOn(late).settle(first!, done, now, [])).toBe('settled')
    expect(next).toBe('b')
    expect(await unfound(own, [key])).toEqual([])
  })

  test('of a beacon is known as written, and the beacon can be forgotten', async () => {
    const own = newRows()
    const store = storeOn(losingAnswers(own, (partition) => partition.startsWith('beacons|')))
    const first = beaconOf('web_0')
    expect(await store.writeBeacon(first, [sighting('web_0')])).toBe('written')
    expect(await store.writeBeacon({ ...first, counter: 2 }, [])).toBe('written')
    expect(await store.writeBeacon({ ...first, counter: 2 }, [])).toBe('stale')
    expect(await unfound(own, [])).toEqual([])
    const healthy = storeOn(own)
    expect(await healthy.forget(at + 1, 9)).toBe(1)
    expect(await entriesIn(own)).toEqual([])
  })
})

describe('a writer that loses to another one', () => {
  test('leaves no entry of its own, and removes none of the other', async () => {
    const own = newRows()
    const stores = Array.from({ length: 8 }, () => storeOn(own))
    const commit = commitOf({ record: record({ dueAt: at }), deliveries: [delivery('a')] })
    const outcomes = await Promise.all(stores.map((store) => store.commit(commit)))
    expect(outcomes.filter((outcome) => outcome === 'committed')).toHaveLength(1)
    expect(await entriesIn(own)).toHaveLength(5)
    expect(await unfound(own, [key])).toEqual([])
  })

  test('with the first report of a beacon leaves one entry, too', async () => {
    const own = newRows()
    const stores = Array.from({ length: 6 }, () => storeOn(own))
    const works = stores.map((store, i) => store.writeBeacon(beaconOf('web_0', { counter: i }), []))
    expect(await Promise.all(works)).toContain('written')
    expect(await entriesIn(own)).toHaveLength(1)
    expect(await unfound(own, [])).toEqual([])
  })
})

test('entries that a crash left fill no share for ever', async () => {
  const own = newRows()
  const lost = around(own, async (change, partition) => {
    if (isEvent(partition)) throw new Error('the process is dead')
    return change()
  })
  const dead = storeOn(lost)
  for (let i = 0; i < maxOpenOfBeacon; i++) {
    const never = record({ eventId: `never-${i}`, onlyBeacon: 'a' })
    await expect(dead.commit(commitOf({ record: never }))).rejects.toThrow('dead')
  }
  const store = storeOn(own)
  const now = at + graceMs + 1
  expect((await store.countOpen('prod', 'a', now)).ofBeacon).toBe(0)
  expect(await own.list(partitions.open('prod'), { from: '', to: '~' })).toEqual([])
})
