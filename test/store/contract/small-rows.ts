import { describe, expect, test } from 'vitest'
import { noteListening } from '../../../functions/store/small-rows.ts'
import type { SmallRowKey } from '../../../functions/store/store.ts'
import { at, delivery, key, record } from '../../support/records.ts'
import { type Bench, contentsOf, expectCommitted } from './bench.ts'

const ofEvent: SmallRowKey = { kind: 'post', event: key, name: [1, 'chat'] }
const ofNone: SmallRowKey = { kind: 'problem', name: ['chat'] }

/** Small objects that workers replace. Of two writers, the second one reads again. */
export function memoPromises(bench: Bench): void {
  const write = (own: SmallRowKey, basedOn: number, text = 'a') =>
    bench.store.writeSmallRow(own, { text }, basedOn)

  describe.each([
    ['of an event', ofEvent],
    ['of no event', ofNone],
  ])('a small row %s', (_, own) => {
    test('is read as it was written last, by any worker, and its version grows by one', async () => {
      expect(await bench.store.readSmallRow(own)).toBeUndefined()
      expect(await write(own, 0)).toBe('written')
      expect(await bench.store.readSmallRow(own)).toEqual({ version: 1, text: 'a' })
      expect(await bench.store.writeSmallRow(own, { list: [1, { two: 'ü' }] }, 1)).toBe('written')
      const other = await bench.reopen()
      expect(await other.readSmallRow(own)).toEqual({ version: 2, list: [1, { two: 'ü' }] })
    })

    test.each([0, 2, 3])('is not replaced based on version %i', async (basedOn) => {
      await write(own, 0)
      expect(await write(own, basedOn, 'b')).toBe('conflict')
      expect(await bench.store.readSmallRow(own)).toEqual({ version: 1, text: 'a' })
    })

    test('is not written based on a version that never existed', async () => {
      expect(await write(own, 1)).toBe('conflict')
      expect(await bench.store.readSmallRow(own)).toBeUndefined()
    })

    test('is written by one of many workers that write at once', async () => {
      const stores = [bench.store, await bench.reopen(), await bench.reopen()]
      for (const basedOn of [0, 1]) {
        const writes = stores.map((store, i) =>
          store.writeSmallRow(own, { text: `w${i}` }, basedOn),
        )
        const outcomes = await Promise.all(writes)
        expect(outcomes.toSorted()).toEqual(['conflict', 'conflict', 'written'])
        const text = `w${outcomes.indexOf('written')}`
        expect(await bench.store.readSmallRow(own)).toEqual({ version: basedOn + 1, text })
      }
    })

    test('is one for each kind and name, whatever letters they have', async () => {
      const kinds = (['post', 'problem', 'slots', 'token'] as const).map((kind) => ({
        ...own,
        kind,
      }))
      const names = [['Chat'], [2, 'chat'], [1, 'team'], [1, 'a/b#c?d'], [1, 'ü"\\'.repeat(100)]]
      const keys = [...kinds, ...names.map((name) => ({ ...own, name }))]
      for (const [i, one] of keys.entries()) {
        expect(await bench.store.readSmallRow(one)).toBeUndefined()
        expect(await write(one, 0, `${i}`)).toBe('written')
      }
      for (const [i, one] of keys.entries()) {
        expect(await bench.store.readSmallRow(one)).toEqual({ version: 1, text: `${i}` })
      }
    })

    test('is removed for any worker, and can then be written anew', async () => {
      const other = { ...own, name: [2, 'chat'] }
      await write(own, 0)
      await write(other, 0, 'other')
      await bench.store.removeSmallRow(own)
      const reopened = await bench.reopen()
      expect(await reopened.readSmallRow(own)).toBeUndefined()
      expect(await reopened.readSmallRow(other)).toEqual({ version: 1, text: 'other' })
      expect(await write(own, 1, 'late')).toBe('conflict')
      await reopened.removeSmallRow(own)
      expect(await write(own, 0, 'new')).toBe('written')
    })

    test('that was removed is not brought back by a write that is under way', async () => {
      const stores = [await bench.reopen(), await bench.reopen()]
      for (let round = 0; round < 5; round++) {
        expect(await write(own, 0)).toBe('written')
        const writes = stores.map((store, i) => store.writeSmallRow(own, { text: `w${i}` }, 1))
        await Promise.all([...writes, bench.store.removeSmallRow(own)])
        expect(await bench.store.readSmallRow(own)).toBeUndefined()
      }
    })

    test('changes nothing of events and deliveries, nor do they change it', async () => {
      await expectCommitted(bench.store, { record: record(), deliveries: [delivery('a')] })
      const before = await contentsOf(bench.store, [key])
      await write(own, 0)
      expect(await contentsOf(bench.store, [key])).toEqual(before)
      await expectCommitted(bench.store, { record: record({ sequence: 2 }), basedOn: 1 })
      expect(await bench.store.readSmallRow(own)).toEqual({ version: 1, text: 'a' })
    })
  })

  test.each([
    ['soon after the last worker', 60_000, at],
    ['after a gap', 60_001, at + 60_001],
    ['a moment before the last worker, by another clock', -60_000, at - 60_000],
    ['long before the last worker, whose clock was ahead', -60_001, at - 60_001],
  ])('a worker that listens %s', async (_, laterMs, since) => {
    await noteListening(bench.store, at, 60_000)
    expect(await noteListening(bench.store, at + laterMs, 60_000)).toBe(since)
  })

  describe('small rows', () => {
    test('of two events, or of an event and of none, are different', async () => {
      const event = { fleet: 'test', eventId: 'b' }
      const others = [{ ...key, fleet: 'test' }, { ...key, eventId: 'b' }, event]
      const keys: SmallRowKey[] = [ofEvent, ...others.map((one) => ({ ...ofEvent, event: one }))]
      keys.push({ kind: ofEvent.kind, name: ofEvent.name })
      for (const one of keys) expect(await write(one, 0)).toBe('written')
    })

    test('of a kind are listed, without those of events', async () => {
      expect(await bench.store.listSmallRows('problem')).toEqual([])
      const names = ['chat', 'Chat', 'a/b#c?d', 'ü'.repeat(300)]
      for (const name of names) await write({ ...ofNone, name: [name] }, 0, name)
      await write(ofNone, 1, 'chat')
      await write({ ...ofNone, event: key }, 0, 'of an event')
      await write({ ...ofNone, kind: 'post' }, 0, 'of another kind')
      const listed = await bench.store.listSmallRows('problem')
      const expected = names.map((text) => ({ version: text === 'chat' ? 2 : 1, text }))
      expect(listed).toHaveLength(names.length)
      expect(listed).toEqual(expect.arrayContaining(expected))
      await bench.store.removeSmallRow({ ...ofNone, name: ['Chat'] })
      expect(await bench.store.listSmallRows('problem')).toHaveLength(names.length - 1)
    })

    test('are all forgotten with their event, and with no other', async () => {
      const ended = (when: number) => ({ ended: { at: when, outcome: 'completed' as const } })
      await expectCommitted(bench.store, { record: record(ended(at - 1)) })
      await expectCommitted(bench.store, { record: record({ eventId: 'b', ...ended(at) }) })
      const gone: SmallRowKey[] = [
        [1, 'chat'],
        [2, 'chat'],
        [1, 'team'],
      ].map((name) => {
        return { ...ofEvent, name }
      })
      const kept = [{ ...ofEvent, event: { ...key, eventId: 'b' } }, ofNone]
      for (const one of [...gone, ...kept]) await write(one, 0)
      expect(await bench.store.forget(at, 9)).toBe(1)
      for (const one of gone) expect(await bench.store.readSmallRow(one)).toBeUndefined()
      for (const one of kept) expect(await bench.store.readSmallRow(one)).toBeDefined()
    })
  })
}
