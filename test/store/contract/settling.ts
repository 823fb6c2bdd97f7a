import { describe, expect, test } from 'vitest'
import type { Claimed, Delivery } from '../../../functions/core/delivery/delivery.ts'
import { claim } from '../../support/claims.ts'
import { at, delivery, key, record } from '../../support/records.ts'
import { type Bench, contentsOf, expectCommitted } from './bench.ts'

const leaseMs = 20_000
const states = ['delivered', 'refused', 'superseded', 'given_up', 'pending'] as const

export function settlePromises(bench: Bench): void {
  async function claimOne(): Promise<Claimed> {
    await expectCommitted(bench.store, { record: record(), deliveries: [delivery('a')] })
    const [one] = await claim(bench.store, { leaseMs, limit: 1 })
    return one!
  }

  const follow: Delivery = delivery('a/notice', { channel: 'team' })

  describe('settle', () => {
    test.each(states)('%s is written with its note and follow-ups', async (state) => {
      const one = await claimOne()
      const settlement = { state, nextAt: at + 1_000, note: 'so it went' }
      expect(await bench.store.settle(one, settlement, at + leaseMs - 1, [follow])).toBe('settled')
      expect(await bench.store.readDeliveries(key)).toEqual([
        delivery('a', { ...settlement, attempts: 1 }),
        follow,
      ])
    })

    test('an attempt in which nothing was sent is not counted', async () => {
      const one = await claimOne()
      const unsent = { state: 'pending' as const, nextAt: at, note: '', unsent: true as const }
      expect(await bench.store.settle(one, unsent, at, [])).toBe('settled')
      expect(await bench.store.readDeliveries(key)).toMatchObject([{ attempts: 0 }])
    })

    test('pending is due again at its time, under a new lease', async () => {
      const one = await claimOne()
      await bench.store.settle(one, { state: 'pending', nextAt: at + 500, note: '' }, at, [])
      const claimAt = (now: number) => claim(bench.store, { now, leaseMs, limit: 1 })
      expect(await claimAt(at + 499)).toEqual([])
      const [again] = await claimAt(at + 500)
      expect(again).toMatchObject({ id: 'a', attempts: 2 })
      expect(again?.lease).not.toBe(one.lease)
    })

    test.each(states)('%s after the lease ended is lost, and nothing is written', async (state) => {
      const one = await claimOne()
      const before = await contentsOf(bench.store, [key])
      const settlement = { state, nextAt: at, note: 'too late' }
      expect(await bench.store.settle(one, settlement, at + leaseMs, [follow])).toBe('lost')
      expect(await contentsOf(bench.store, [key])).toEqual(before)
    })

    test.each(states)('%s by a lease that another claim replaced is lost', async (state) => {
      const old = await claimOne()
      const later = at + leaseMs
      const other = await bench.reopen()
      const [current] = await claim(other, { now: later, leaseMs, limit: 1 })
      const before = await contentsOf(bench.store, [key])
      const settlement = { state, nextAt: later, note: 'from the old lease' }
      expect(await bench.store.settle(old, settlement, later, [follow])).toBe('lost')
      expect(await contentsOf(bench.store, [key])).toEqual(before)
      const done = { state: 'delivered' as const, nextAt: later, note: 'by the new one' }
      expect(await bench.store.settle(current!, done, later, [])).toBe('settled')
    })

    test('a second settling by the same lease is lost', async () => {
      const one = await claimOne()
      const done = { state: 'delivered' as const, nextAt: at, note: 'ok' }
      expect(await bench.store.settle(one, done, at, [])).toBe('settled')
      const again = { state: 'pending' as const, nextAt: at, note: 'again' }
      expect(await bench.store.settle(one, again, at, [follow])).toBe('lost')
      expect(await bench.store.readDeliveries(key)).toMatchObject([
        { state: 'delivered', note: 'ok' },
      ])
    })

    test('a following delivery that exists already is not changed', async () => {
      const one = await claimOne()
      const existing = { ...follow, seq: 65 }
      await expectCommitted(bench.store, {
        record: record({ sequence: 2 }),
        basedOn: 1,
        deliveries: [existing],
      })
      const refused = { state: 'refused' as const, nextAt: at, note: 'no' }
      expect(await bench.store.settle(one, refused, at, [{ ...follow, note: 'b' }])).toBe('settled')
      expect((await bench.store.readDeliveries(key))[1]).toEqual(existing)
    })

    test('if a following delivery cannot be written, nothing is settled', async () => {
      const one = await claimOne()
      const before = await contentsOf(bench.store, [key])
      const unwritable = { ...delivery('b'), urgentUntil: 1n as never }
      const refused = { state: 'refused' as const, nextAt: at, note: 'no' }
      await expect(bench.store.settle(one, refused, at, [follow, unwritable])).rejects.toThrow()
      expect((await contentsOf(bench.store, [key])).events).toEqual(before.events)
      expect(await bench.store.settle(one, refused, at, [])).toBe('settled')
    })
  })
}
