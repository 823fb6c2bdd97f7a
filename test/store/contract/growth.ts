import { describe, expect, test } from 'vitest'
import type { DeliveryState } from '../../../functions/core/delivery/delivery.ts'
import { claim, free } from '../../support/claims.ts'
import { at, beaconOf, delivery, key, record } from '../../support/records.ts'
import { type Bench, expectCommitted } from './bench.ts'

const leaseMs = 20_000

/** Deliveries that are pending again, and events that are removed. */
export function growthPromises(bench: Bench): void {
  const idOf = (name: string, channel = 'chat', fleet = 'prod') =>
    [fleet, name, '1', 'scheduled', channel].map(encodeURIComponent).join('/')

  async function owe(id: string, state: DeliveryState, plannedAt: number, channel = 'chat') {
    const row = delivery(idOf(id, channel), {
      eventId: id,
      channel,
      state,
      plannedAt,
      attempts: 7,
      note: 'why',
    })
    await expectCommitted(bench.store, { record: record({ eventId: id }), deliveries: [row] })
  }

  const claimed = async () => {
    const claims = await claim(bench.store, { leaseMs, limit: 99 })
    return claims.map(({ eventId, attempts }) => `${eventId} ${attempts}`).sort()
  }

  describe('replay', () => {
    test('one by its id, with its attempts counted on', async () => {
      await owe('a', 'refused', at)
      await owe('b', 'given_up', at)
      expect(await bench.store.replay({ id: idOf('a') }, at, 9)).toBe(1)
      expect(await claimed()).toEqual(['a 8'])
    })

    test('is pending from now on, and has its full time again', async () => {
      await owe('a', 'given_up', at - 1)
      await bench.store.replay({ id: idOf('a') }, at + 7, 9)
      const row = { fleet: 'prod', eventId: 'a' }
      expect(await bench.store.readDeliveries(row)).toMatchObject([{ plannedAt: at + 7 }])
    })

    test.each(['pending', 'delivered', 'superseded'] as const)(
      'no delivery that is %s',
      async (state) => {
        await owe('a', state, at)
        expect(await bench.store.replay({ id: idOf('a') }, at, 9)).toBe(0)
        expect(await bench.store.replay({ since: 0 }, at, 9)).toBe(0)
      },
    )

    test('all that failed since a time, of one channel or all, the oldest first', async () => {
      await owe('old', 'refused', at - 1)
      await owe('a', 'refused', at)
      await owe('b', 'given_up', at + 1)
      await owe('c', 'given_up', at + 2, 'team')
      expect(await bench.store.replay({ since: at, channel: 'team' }, at, 9)).toBe(1)
      expect(await bench.store.replay({ since: at }, at, 1)).toBe(1)
      expect(await claimed()).toEqual(['a 8', 'c 8'])
      expect(await bench.store.replay({ since: 0 }, at, 9)).toBe(2)
    })

    test('only of the given fleets: others neither change nor count towards the limit', async () => {
      const fleets = ['a', 'b', 'c'].map((fleet) => `flotte "${fleet}"`)
      for (const [i, fleet] of fleets.entries()) {
        const own = { fleet, eventId: `e${i}` }
        const id = idOf(own.eventId, 'chat', fleet)
        const row = delivery(id, { ...own, state: 'refused', plannedAt: at + i })
        await expectCommitted(bench.store, { record: record(own), deliveries: [row] })
      }
      const [a, b, c] = fleets as [string, string, string]
      const { store } = bench
      expect(await store.replay({ since: 0, fleets: [] }, at, 9)).toBe(0)
      const first = idOf('e0', 'chat', a)
      expect(await store.replay({ id: first, fleets: [b, c] }, at, 9)).toBe(0)
      expect(await store.replay({ since: 0, channel: 'chat', fleets: [b, 'x'] }, at, 1)).toBe(1)
      expect(await claimed()).toEqual(['e1 1'])
      expect(await store.replay({ id: first, fleets: [a, c] }, at, 9)).toBe(1)
      expect(await store.replay({ since: 0, fleets: [c, a] }, at, 9)).toBe(1)
    })
  })

  describe('forget', () => {
    const ended = (when: number) => ({ ended: { at: when, outcome: 'completed' as const } })

    test('an event that ended before, with all its rows, and nothing else', async () => {
      const { store } = bench
      await expectCommitted(store, { record: record(ended(at - 1)), deliveries: [delivery('a')] })
      await expectCommitted(store, { record: record({ eventId: 'later', ...ended(at) }) })
      await expectCommitted(store, { record: record({ eventId: 'open', firstSeenAt: 0 }) })
      await store.writeBeacon(beaconOf('old', { heardAt: at - 1 }))
      await store.writeBeacon(beaconOf('new', { heardAt: at }))
      expect(await store.forget(at, 99)).toBe(2)
      expect(await store.readEvent(key)).toBeUndefined()
      expect(await store.readDeliveries(key)).toEqual([])
      expect(await store.readBeacon('prod', 'id-old')).toBeUndefined()
      expect(await store.readBeacon('prod', 'id-new')).toBeDefined()
      const left = await store.listEvents({ limit: 9 })
      expect(left.map(({ eventId }) => eventId).sort()).toEqual(['later', 'open'])
      expect(await store.forget(at, 99)).toBe(0)
    })

    test('at most `limit` beacons, and an event with its pending deliveries', async () => {
      const { store } = bench
      await expectCommitted(store, { record: record(ended(at - 1)), deliveries: [delivery('a')] })
      for (const name of ['x', 'y', 'z']) {
        await store.writeBeacon(beaconOf(name, { heardAt: at - 5 }))
      }
      expect(await store.forget(at, 2)).toBe(3)
      expect(await store.nextDueAt(free)).toBeUndefined()
      expect(await store.forget(at, 2)).toBe(1)
    })

    test('beacons sooner than events, except those that see an open one', async () => {
      const { store } = bench
      await expectCommitted(store, { record: record(ended(at - 9)) })
      await expectCommitted(store, { record: record({ eventId: 'open' }) })
      const silent = { heardAt: at - 5 }
      await store.writeBeacon(beaconOf('over', { ...silent, sees: [key.eventId, 'unknown'] }))
      await store.writeBeacon(beaconOf('none', { ...silent, sees: [] }))
      await store.writeBeacon(beaconOf('hit', { ...silent, sees: [key.eventId, 'open'] }))
      await store.writeBeacon(beaconOf('heard', { heardAt: at, sees: [] }))
      expect(await store.forget(at - 99, 99, at)).toBe(2)
      const left = await store.listBeacons('prod', { limit: 9 })
      expect(left.map(({ vm }) => vm).sort()).toEqual(['heard', 'hit'])
      expect(await store.readEvent(key)).toBeDefined()
      expect(await store.forget(at - 99, 99, at)).toBe(0)
    })

    test('in steps, the longest ended first', async () => {
      for (const [eventId, when] of Object.entries({ b: at - 2, a: at - 3, c: at - 1 })) {
        await expectCommitted(bench.store, { record: record({ eventId, ...ended(when) }) })
      }
      expect(await bench.store.forget(at, 2)).toBe(2)
      const left = await bench.store.listEvents({ limit: 9 })
      expect(left.map(({ eventId }) => eventId)).toEqual(['c'])
    })
  })
}
