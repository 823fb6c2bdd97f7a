import { describe, expect, test } from 'vitest'
import type { PostState } from '../../../functions/core/post.ts'
import { at, delivery, key, record } from '../../support/records.ts'
import { type Bench, expectCommitted } from './bench.ts'

const own = { ...key, epoch: 1, channel: 'chat' }
const posting = (by: string): PostState => ({ is: 'posting', by, until: at })
const posted: PostState = { is: 'posted', to: 'C1', place: 'C1', message: '1.1', seq: 64 }

/** What stands in channels that are edited: nobody posts what somebody else has posted. */
export function postPromises(bench: Bench): void {
  describe('what stands in a channel', () => {
    test('is read as it was written last, by any worker, and its version grows by one', async () => {
      expect(await bench.store.readPost(own)).toBeUndefined()
      expect(await bench.store.writePost(own, posting('a'), 0)).toBe('written')
      expect(await bench.store.readPost(own)).toEqual({ version: 1, state: posting('a') })
      expect(await bench.store.writePost(own, posted, 1)).toBe('written')
      const other = await bench.reopen()
      expect(await other.readPost(own)).toEqual({ version: 2, state: posted })
    })

    test.each([0, 2, 3])('is not written over on the word of version %i', async (basedOn) => {
      await bench.store.writePost(own, posting('a'), 0)
      expect(await bench.store.writePost(own, posted, basedOn)).toBe('conflict')
      expect(await bench.store.readPost(own)).toEqual({ version: 1, state: posting('a') })
    })

    test('is not written on the word of a version that never was', async () => {
      expect(await bench.store.writePost(own, posted, 1)).toBe('conflict')
      expect(await bench.store.readPost(own)).toBeUndefined()
    })

    test('of many workers that post at once one may', async () => {
      const stores = [bench.store, await bench.reopen(), await bench.reopen()]
      for (const basedOn of [0, 1]) {
        const writes = stores.map((store, i) => store.writePost(own, posting(`w${i}`), basedOn))
        const outcomes = await Promise.all(writes)
        expect(outcomes.toSorted()).toEqual(['conflict', 'conflict', 'written'])
        const state = posting(`w${outcomes.indexOf('written')}`)
        expect(await bench.store.readPost(own)).toEqual({ version: basedOn + 1, state })
      }
    })

    test('is one for each fleet, event, epoch and channel', async () => {
      const others = [{ fleet: 'test' }, { eventId: 'b' }, { epoch: 2 }, { channel: 'team' }]
      await bench.store.writePost(own, posted, 0)
      for (const change of others) {
        const other = { ...own, ...change }
        expect(await bench.store.readPost(other)).toBeUndefined()
        expect(await bench.store.writePost(other, posting('b'), 0)).toBe('written')
      }
      expect(await bench.store.readPost(own)).toEqual({ version: 1, state: posted })
    })

    test('is no part of what an event owes', async () => {
      const deliveries = [delivery('a')]
      await expectCommitted(bench.store, { record: record(), deliveries })
      await bench.store.writePost(own, posted, 0)
      expect(await bench.store.readEvent(key)).toEqual(record())
      expect(await bench.store.readDeliveries(key)).toEqual(deliveries)
      await expectCommitted(bench.store, { record: record({ sequence: 2 }), basedOn: 1 })
      expect(await bench.store.readPost(own)).toEqual({ version: 1, state: posted })
    })

    test('goes with its event, of all epochs and channels, and with no other', async () => {
      const ended = (when: number) => ({ ended: { at: when, outcome: 'completed' as const } })
      await expectCommitted(bench.store, { record: record(ended(at - 1)) })
      await expectCommitted(bench.store, { record: record({ eventId: 'b', ...ended(at) }) })
      const later = { ...own, epoch: 2 }
      const team = { ...own, channel: 'team' }
      const kept = { ...own, eventId: 'b' }
      for (const one of [own, later, team, kept]) await bench.store.writePost(one, posted, 0)
      expect(await bench.store.forget(at, 9)).toBe(1)
      for (const one of [own, later, team]) {
        expect(await bench.store.readPost(one)).toBeUndefined()
      }
      expect(await bench.store.readPost(kept)).toBeDefined()
    })
  })
}
