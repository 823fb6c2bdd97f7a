import { describe, expect, test } from 'vitest'
import { claim, free, freeBut } from '../../support/claims.ts'
import { at, delivery, key, record } from '../../support/records.ts'
import { type Bench, contentsOf, expectCommitted } from './bench.ts'

const minute = 60_000

export function commitPromises(bench: Bench): void {
  describe('commit', () => {
    test('an event that was never written is undefined, without deliveries', async () => {
      expect(await bench.store.readEvent(key)).toBeUndefined()
      expect(await bench.store.readDeliveries(key)).toEqual([])
    })

    test('a committed event is read back unchanged, by any handle', async () => {
      const first = record({ dueAt: at + minute, startedAt: at, phase: 'started' })
      await expectCommitted(bench.store, { record: first, deliveries: [delivery('a')] })
      for (const store of [bench.store, await bench.reopen()]) {
        expect(await store.readEvent(key)).toEqual(first)
        expect(await store.readDeliveries(key)).toEqual([delivery('a')])
      }
    })

    test('a second insert is a conflict, and changes nothing', async () => {
      await expectCommitted(bench.store, { record: record(), deliveries: [delivery('a')] })
      const before = await contentsOf(bench.store, [key])
      const second = {
        record: record({ phase: 'started' }),
        basedOn: 0,
        deliveries: [delivery('b')],
        supersede: [{ id: 'a', note: 'overtaken' }],
        moments: [],
        now: at,
      }
      expect(await bench.store.commit(second)).toBe('conflict')
      expect(await contentsOf(bench.store, [key])).toEqual(before)
    })

    test.each([
      ['older than', 1],
      ['newer than', 3],
    ])('basedOn %s the stored sequence is a conflict, and changes nothing', async (_, basedOn) => {
      await expectCommitted(bench.store, { record: record() })
      await expectCommitted(bench.store, { record: record({ sequence: 2 }), basedOn: 1 })
      const before = await contentsOf(bench.store, [key])
      const changed = record({ sequence: basedOn + 1, phase: 'started' })
      const commit = {
        record: changed,
        basedOn,
        deliveries: [delivery('b')],
        supersede: [],
        moments: [],
        now: at,
      }
      expect(await bench.store.commit(commit)).toBe('conflict')
      expect(await contentsOf(bench.store, [key])).toEqual(before)
    })

    test('basedOn a record that does not exist is a conflict', async () => {
      const commit = {
        record: record(),
        basedOn: 1,
        deliveries: [delivery('a')],
        supersede: [],
        moments: [],
        now: at,
      }
      expect(await bench.store.commit(commit)).toBe('conflict')
      expect(await bench.store.readDeliveries(key)).toEqual([])
    })

    test('of many writers at one sequence exactly one wins', async () => {
      await expectCommitted(bench.store, { record: record() })
      const stores = [bench.store, await bench.reopen()]
      const writers = [...Array(10).keys()].map((i) => {
        const changed = record({
          sequence: 2,
          history: [{ at, what: 'seen', note: `writer ${i}` }],
        })
        const deliveries = [delivery(`by-${i}`)]
        return stores[i % 2]!.commit({
          record: changed,
          basedOn: 1,
          deliveries,
          supersede: [],
          moments: [],
          now: at,
        })
      })
      const outcomes = await Promise.all(writers)
      const winner = outcomes.indexOf('committed')
      expect(outcomes.filter((outcome) => outcome === 'committed')).toHaveLength(1)
      expect((await bench.store.readEvent(key))?.history[0]?.note).toBe(`writer ${winner}`)
      const ids = (await bench.store.readDeliveries(key)).map(({ id }) => id)
      expect(ids).toEqual([`by-${winner}`])
    })

    test('a failure in the middle leaves nothing behind', async () => {
      await expectCommitted(bench.store, { record: record(), deliveries: [delivery('a')] })
      const before = await contentsOf(bench.store, [key])
      const unwritable = { ...delivery('c'), urgentUntil: 1n as never }
      const commit = {
        record: record({ sequence: 2, phase: 'started' as const }),
        basedOn: 1,
        deliveries: [delivery('b'), unwritable],
        supersede: [{ id: 'a', note: 'overtaken' }],
        moments: [],
        now: at,
      }
      await expect(bench.store.commit(commit)).rejects.toThrow()
      expect(await contentsOf(bench.store, [key])).toEqual(before)
      await expectCommitted(bench.store, { record: record({ sequence: 2 }), basedOn: 1 })
    })

    test('a failure in the middle of an insert leaves no event behind', async () => {
      const unwritable = { ...delivery('c'), urgentUntil: 1n as never }
      const commit = {
        record: record(),
        basedOn: 0,
        deliveries: [unwritable],
        supersede: [],
        moments: [],
        now: at,
      }
      await expect(bench.store.commit(commit)).rejects.toThrow()
      expect(await bench.store.readEvent(key)).toBeUndefined()
    })

    test('a delivery whose id exists is not changed, whatever its state', async () => {
      const ids = ['pending', 'delivered', 'refused']
      await expectCommitted(bench.store, {
        record: record(),
        deliveries: ids.map((id) => delivery(id, { channel: id })),
      })
      const claims = await claim(bench.store, {
        leaseMs: 1_000,
        limit: 9,
        ...freeBut('pending'),
      })
      for (const one of claims) {
        const state = one.id as 'delivered'
        await bench.store.settle(one, { state, nextAt: at, note: 'done' }, at, [])
      }
      const before = await bench.store.readDeliveries(key)
      const again = ids.map((id) => delivery(id, { channel: 'other', seq: 128, note: 'again' }))
      await expectCommitted(bench.store, {
        record: record({ sequence: 2 }),
        basedOn: 1,
        deliveries: [...again, delivery('new', { seq: 129 })],
      })
      const after = await bench.store.readDeliveries(key)
      expect(after.slice(0, 3)).toEqual(before)
      expect(after.map(({ id }) => id)).toEqual([...ids, 'new'])
    })

    test('60 deliveries in one commit', async () => {
      const deliveries = [...Array(60).keys()].map((i) =>
        delivery(`d-${i}`, { channel: `channel-${i}`, seq: 64 + i }),
      )
      await expectCommitted(bench.store, { record: record(), deliveries })
      expect(await bench.store.readDeliveries(key)).toEqual(deliveries)
      const claims = await claim(bench.store, { now: at, leaseMs: 1_000, limit: 100 })
      expect(claims).toHaveLength(60)
    })
  })

  describe('a delivery that waits for a later attempt', () => {
    test('is due at once when a newer one is pending for its channel, and only there', async () => {
      const later = at + 3_600_000
      const waiting = delivery('a', { nextAt: later })
      const other = delivery('b', { channel: 'team', nextAt: later })
      await expectCommitted(bench.store, { record: record(), deliveries: [waiting, other] })
      await expectCommitted(bench.store, {
        record: record({ sequence: 2 }),
        basedOn: 1,
        deliveries: [delivery('c', { seq: 128 })],
      })
      const rows = await bench.store.readDeliveries(key)
      const times = Object.fromEntries(rows.map(({ id, nextAt }) => [id, nextAt]))
      expect(times).toEqual({ a: at, b: later, c: at })
    })

    test('keeps its lease if it is under way', async () => {
      await expectCommitted(bench.store, { record: record(), deliveries: [delivery('a')] })
      await claim(bench.store, { leaseMs: 1_000, limit: 1 })
      await expectCommitted(bench.store, {
        record: record({ sequence: 2 }),
        basedOn: 1,
        deliveries: [delivery('b', { seq: 128 })],
      })
      expect(await claim(bench.store, { limit: 9 })).toEqual([])
    })
  })

  describe('supersede', () => {
    test('a waiting delivery is not sent any more, and notes why', async () => {
      await expectCommitted(bench.store, { record: record(), deliveries: [delivery('a')] })
      await expectCommitted(bench.store, {
        record: record({ sequence: 2 }),
        basedOn: 1,
        supersede: [
          { id: 'a', note: 'overtaken' },
          { id: 'never-existed', note: '' },
        ],
      })
      const [after] = await bench.store.readDeliveries(key)
      expect(after?.state).toBe('superseded')
      expect(after?.note).toBe('overtaken')
      expect(await claim(bench.store, { now: at, leaseMs: 1, limit: 9 })).toEqual([])
      expect(await bench.store.nextDueAt(free)).toBeUndefined()
    })

    test('a delivery whose worker died, after its lease, is not sent either', async () => {
      await expectCommitted(bench.store, { record: record(), deliveries: [delivery('a')] })
      await claim(bench.store, { leaseMs: 1_000, limit: 1 })
      const supersede = [{ id: 'a', note: 'overtaken' }]
      const later = { record: record({ sequence: 2 }), basedOn: 1, supersede, now: at + 1_000 }
      await expectCommitted(bench.store, later)
      expect(await bench.store.readDeliveries(key)).toMatchObject([
        { state: 'superseded', note: 'overtaken' },
      ])
    })

    test('a delivery in flight is not changed, and its outcome counts', async () => {
      await expectCommitted(bench.store, { record: record(), deliveries: [delivery('a')] })
      const [one] = await claim(bench.store, { now: at, leaseMs: 1_000, limit: 1 })
      await expectCommitted(bench.store, {
        record: record({ sequence: 2 }),
        basedOn: 1,
        supersede: [{ id: 'a', note: 'overtaken' }],
        moments: [],
      })
      expect((await bench.store.readDeliveries(key))[0]?.state).toBe('pending')
      const done = { state: 'delivered' as const, nextAt: at, note: 'ok' }
      expect(await bench.store.settle(one!, done, at, [])).toBe('settled')
    })

    test.each(['delivered', 'refused', 'given_up'] as const)(
      'a delivery that is %s stays so',
      async (state) => {
        await expectCommitted(bench.store, { record: record(), deliveries: [delivery('a')] })
        const [one] = await claim(bench.store, { now: at, leaseMs: 1_000, limit: 1 })
        await bench.store.settle(one!, { state, nextAt: at, note: 'the end' }, at, [])
        const before = await bench.store.readDeliveries(key)
        await expectCommitted(bench.store, {
          record: record({ sequence: 2 }),
          basedOn: 1,
          supersede: [{ id: 'a', note: 'overtaken' }],
          moments: [],
        })
        expect(await bench.store.readDeliveries(key)).toEqual(before)
      },
    )
  })
}
