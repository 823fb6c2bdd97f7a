import { describe, expect, test } from 'vitest'
import { plan } from '../../../functions/core/delivery/delivery.ts'
import { bigRecord } from '../../support/big.ts'
import { claim } from '../../support/claims.ts'
import { at, key } from '../../support/records.ts'
import { type Bench, expectCommitted } from './bench.ts'

const moments = ['changed', 'approved', 'started'] as const
const channels = Array.from({ length: 20 }, (_, i) => `channel-${i}`)

/** The largest event that the core accepts fits, with all deliveries that one commit may plan. */
export function sizePromises(bench: Bench): void {
  describe('the largest event', () => {
    test('is committed with 60 deliveries, read back, and claimed, again and again', async () => {
      const first = bigRecord({ dueAt: at + 1 })
      await expectCommitted(bench.store, {
        record: first,
        deliveries: plan(first, [...moments], () => channels, at),
      })
      const next = { ...first, sequence: 2, epoch: 2 } as typeof first
      const deliveries = plan(next, [...moments], () => channels, at)
      await expectCommitted(bench.store, { record: next, basedOn: 1, deliveries })
      expect(await bench.store.readEvent(key)).toEqual(next)
      const found = await bench.store.readDeliveries(key)
      expect(found).toHaveLength(120)
      expect(found.slice(60)).toEqual(deliveries)
      const [one] = await claim(bench.store, { limit: 1 })
      expect(one?.notification.event).toEqual(found[0]?.notification.event)
      const done = { state: 'delivered' as const, nextAt: at, note: '' }
      expect(await bench.store.settle(one!, done, at, [])).toBe('settled')
    })
  })
}
