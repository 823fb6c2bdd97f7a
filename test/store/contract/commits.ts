import { describe, expect, test } from 'vitest'
import { claim, free } from '../../support/claims.ts'
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
      const first = record({ dueAt: at + minute, started: { at: at }, phase: 'started' })
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
        moments: [],
        now: at,
      }
      await expect(bench.store.commit(commit)).rejects.toThrow()
      expect(await bench.store.readEvent(key)).toBeUndefined()
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
    test('is claimed at once when a newer one is planned for its channel, and only there', async () => {
      const deliveries = [delivery('a'), delivery('b', { channel: 'team' })]
      await expectCommitted(bench.store, { record: record(), deliveries })
      for (const one of await claim(bench.store, { limit: 9 })) {
        const later = { state: 'pending' as const, nextAt: at + 3_600_000, note: 'HTTP 503' }
        await bench.store.settle(one, later, at, [])
      }
      const newer = delivery('c', { seq: 128, plannedAt: at + 1, nextAt: at + 1 })
      await expectCommitted(bench.store, {
        record: record({ sequence: 2 }),
        basedOn: 1,
        deliveries: [newer],
      })
      expect(await bench.store.nextDueAt({ ...free, now: at + 1 })).toBe(at + 1)
      const [one, ...others] = await claim(bench.store, { now: at + 1, limit: 9 })
      expect([one?.id, others]).toEqual(['a', []])
      // after a further failure it has its full time, and the newer one waits
      const again = { state: 'pending' as const, nextAt: at + 9_000, note: 'HTTP 503' }
      await bench.store.settle(one!, again, at + 2, [])
      expect(await claim(bench.store, { now: at + 2, limit: 9 })).toEqual([])
      expect(await bench.store.nextDueAt({ ...free, now: at + 2 })).toBe(at + 9_000)
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
}
