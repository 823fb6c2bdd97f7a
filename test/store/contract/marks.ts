import { describe, expect, test } from 'vitest'
import type { ChannelHealth } from '../../../functions/core/outage.ts'
import { at, delivery, key, record } from '../../support/records.ts'
import { type Bench, contentsOf, expectCommitted } from './bench.ts'

const health = (note: string): ChannelHealth => ({
  ...{ state: 'refusing', channel: 'chat', of: 'c0ffee', since: at, note },
  ...{ nextTryAt: at + 60_000, waitMs: 60_000, teller: { id: 'a', until: at } },
})

/** Marks of channels in trouble: whoever is second to write one looks again. */
export function markPromises(bench: Bench): void {
  describe('the mark of a channel', () => {
    const write = (note: string, basedOn: number, channel = 'chat') =>
      bench.store.writeMark(channel, health(note), basedOn)

    test('is read as it was written last, by any worker, and its version grows by one', async () => {
      expect(await bench.store.readMarks()).toEqual([])
      expect(await write('first', 0)).toBe('written')
      expect(await write('second', 1)).toBe('written')
      const other = await bench.reopen()
      const mark = { version: 2, channel: 'chat', health: health('second') }
      expect(await other.readMarks()).toEqual([mark])
    })

    test.each([0, 2, 3])('is not written over on the word of version %i', async (basedOn) => {
      await write('first', 0)
      expect(await write('second', basedOn)).toBe('conflict')
      const mark = { version: 1, channel: 'chat', health: health('first') }
      expect(await bench.store.readMarks()).toEqual([mark])
    })

    test('is not written on the word of a version that never was', async () => {
      expect(await write('first', 1)).toBe('conflict')
      expect(await bench.store.readMarks()).toEqual([])
    })

    test('of many workers that write at once one does', async () => {
      const stores = [bench.store, await bench.reopen(), await bench.reopen()]
      for (const basedOn of [0, 1]) {
        const writes = stores.map((store, i) => store.writeMark('chat', health(`w${i}`), basedOn))
        const outcomes = await Promise.all(writes)
        expect(outcomes.toSorted()).toEqual(['conflict', 'conflict', 'written'])
        const [mark] = await bench.store.readMarks()
        const note = `w${outcomes.indexOf('written')}`
        expect(mark).toEqual({ version: basedOn + 1, channel: 'chat', health: health(note) })
      }
    })

    test('is one for each channel, whatever its name, and no part of what is owed', async () => {
      await expectCommitted(bench.store, { record: record(), deliveries: [delivery('a')] })
      const before = await contentsOf(bench.store, [key])
      const names = ['chat', 'Chat', 'a/b#c?d', 'ü'.repeat(300)]
      for (const name of names) expect(await write(name, 0, name)).toBe('written')
      const marks = await bench.store.readMarks()
      expect(marks.map(({ channel }) => channel).toSorted()).toEqual(names.toSorted())
      expect(await contentsOf(bench.store, [key])).toEqual(before)
    })
  })
}
