import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../../functions/core/delivery/delivery.ts'
import { claim, freeBut } from '../../support/claims.ts'
import { at, delivery, key, record } from '../../support/records.ts'
import { type Bench, expectCommitted } from './bench.ts'

const leaseMs = 20_000

export function claimPromises(bench: Bench): void {
  async function owe(...deliveries: Delivery[]): Promise<void> {
    const events = Map.groupBy(deliveries, ({ fleet, eventId }) => `${fleet}/${eventId}`)
    for (const [first, ...others] of events.values()) {
      const { fleet, eventId } = first!
      const whole = { record: record({ fleet, eventId }), deliveries: [first!, ...others] }
      await expectCommitted(bench.store, whole)
    }
  }

  async function claimIds(now: number, limit = 100, except: string[] = []) {
    const claims = await claim(bench.store, { leaseMs, limit, ...freeBut(...except), now })
    return claims.map(({ id }) => id)
  }

  describe('claim', () => {
    test('claims only what is due, and counts an attempt', async () => {
      await owe(delivery('due'), delivery('later', { channel: 'team', nextAt: at + 1 }))
      const claims = await claim(bench.store, { leaseMs, limit: 9 })
      const { lease, leaseUntil, known: _, freeAt: __, ...taken } = claims[0]!
      expect(claims).toHaveLength(1)
      expect(taken).toEqual(delivery('due', { attempts: 1, nextAt: at + leaseMs }))
      expect(lease).not.toBe('')
      expect(leaseUntil).toBe(at + leaseMs)
      const stored = await bench.store.readDeliveries(key)
      expect(stored.find(({ id }) => id === 'due')?.attempts).toBe(1)
      expect(await claimIds(at + 1)).toEqual(['later'])
    })

    test('the longest due first, then in order, at most `limit`', async () => {
      const times = { b: at - 5, d: at - 1, a: at - 9, c: at - 3 }
      const rows = Object.entries(times).map(([id, nextAt]) =>
        delivery(id, { channel: id, nextAt }),
      )
      const tie = delivery('e', { channel: 'e', nextAt: at - 1, seq: 65 })
      await owe(tie, ...rows)
      expect(await claimIds(at, 2)).toEqual(['a', 'b'])
      expect(await claimIds(at, 0)).toEqual([])
      expect(await claimIds(at, 9)).toEqual(['c', 'd', 'e'])
    })

    test('claims as many of one channel as there is room for, the longest due first', async () => {
      const rows = ['a', 'b', 'c', 'd'].map((id, i) =>
        delivery(id, { eventId: id, nextAt: at - 9 + i }),
      )
      await owe(...rows, delivery('e', { channel: 'team' }))
      const request = { leaseMs, limit: 9, roomOf: () => 2 }
      const claims = await claim(bench.store, request)
      expect(claims.map(({ id }) => id)).toEqual(['a', 'b', 'e'])
    })

    test('passes over channels that have enough under way', async () => {
      await owe(
        delivery('a'),
        delivery('b', { channel: 'team' }),
        delivery('c', { channel: 'hook' }),
      )
      expect(await claimIds(at, 9, ['chat', 'hook', 'no such'])).toEqual(['b'])
      expect(await claimIds(at, 9)).toEqual(['a', 'c'])
    })

    test('no delivery has two leases at once, whichever worker claims', async () => {
      await owe(...[...Array(40).keys()].map((i) => delivery(`d-${i}`, { channel: `c-${i}` })))
      const stores = [bench.store, await bench.reopen(), await bench.reopen()]
      const rounds = [...Array(12).keys()].map((i) => claim(stores[i % 3]!, { leaseMs, limit: 7 }))
      const ids = (await Promise.all(rounds)).flat().map(({ id }) => id)
      expect(ids).toHaveLength(40)
      expect(new Set(ids).size).toBe(40)
    })

    test('leases differ from claim to claim', async () => {
      await owe(delivery('a'), delivery('b', { channel: 'team' }))
      const [first] = await claim(bench.store, { leaseMs, limit: 1 })
      const [second] = await claim(bench.store, { leaseMs, limit: 1 })
      expect(first?.lease).not.toBe(second?.lease)
    })

    test('a delivery can be claimed again when its lease is over, and no ms earlier', async () => {
      await owe(delivery('a'))
      expect(await claimIds(at)).toEqual(['a'])
      expect(await claimIds(at + leaseMs - 1)).toEqual([])
      const [again] = await claim(bench.store, { now: at + leaseMs, leaseMs, limit: 1 })
      expect(again).toMatchObject({ id: 'a', attempts: 2 })
    })
  })

  describe('order within one event and channel', () => {
    const first = delivery('1', { seq: 64 })
    const second = delivery('2', { seq: 128 })

    test('a later message waits for a pending one, even if that one is not due', async () => {
      await owe(first, second)
      const [one] = await claim(bench.store, { leaseMs, limit: 1 })
      const retry = { state: 'pending' as const, nextAt: at + 60_000, note: 'HTTP 503' }
      await bench.store.settle(one!, retry, at, [])
      expect(await claimIds(at)).toEqual([])
      expect(await claimIds(at + 60_000)).toEqual(['1'])
    })

    test('and for one in flight', async () => {
      await owe(first, second)
      expect(await claimIds(at)).toEqual(['1'])
      expect(await claimIds(at)).toEqual([])
    })

    test.each(['delivered', 'refused', 'superseded', 'given_up'] as const)(
      'one that is %s delays no other',
      async (state) => {
        await owe(first, second)
        const [one] = await claim(bench.store, { leaseMs, limit: 1 })
        await bench.store.settle(one!, { state, nextAt: at, note: '' }, at, [])
        expect(await claimIds(at)).toEqual(['2'])
      },
    )

    test('other channels, events and fleets do not wait', async () => {
      const others = [
        delivery('channel', { seq: 128, channel: 'team' }),
        delivery('event', { seq: 128, eventId: 'another' }),
        delivery('fleet', { seq: 128, fleet: 'test' }),
      ]
      await owe(first, second, ...others)
      expect((await claimIds(at)).sort()).toEqual(['1', 'channel', 'event', 'fleet'])
    })

    test('three pending ones are sent in order, one after another', async () => {
      await owe(delivery('3', { seq: 130 }), second, first)
      const order: string[] = []
      for (let i = 0; i < 3; i++) {
        const [one] = await claim(bench.store, { leaseMs, limit: 9 })
        order.push(one!.id)
        await bench.store.settle(one!, { state: 'delivered', nextAt: at, note: '' }, at, [])
      }
      expect(order).toEqual(['1', '2', '3'])
    })
  })
}
