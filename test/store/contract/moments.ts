import { describe, expect, test } from 'vitest'
import { withEnd } from '../../../functions/core/event/event.ts'
import type { Store } from '../../../functions/store/store.ts'
import { at, key, notification, record } from '../../support/records.ts'
import { type Bench, expectCommitted } from './bench.ts'

const all = 1_000
/** By then, every adapter shows what was committed. */
const later = at + 10_000

/** A moment of the event that `eventId` names, as one commit writes it. */
const moment = (id: string, sequence = 1, eventId = key.eventId, decidedAt = at) => ({
  id,
  notification: notification({ at: decidedAt, event: record({ eventId, sequence }) }),
})

async function idsIn(store: Store, after = 0, limit = all): Promise<string[]> {
  return (await store.readMoments(after, limit, later)).map(({ id }) => id)
}

/** The log of moments: readers on any worker get each moment once, in one order. */
export function momentPromises(bench: Bench): void {
  const commit = (ids: string[], sequence = 1, eventId = key.eventId) =>
    expectCommitted(bench.store, {
      record: record({ eventId, sequence }),
      basedOn: sequence - 1,
      moments: ids.map((id) => moment(id, sequence, eventId)),
    })

  describe('the log of moments', () => {
    test('begins empty, and a position is before all that follows', async () => {
      expect(await bench.store.readMoments(0, all, later)).toEqual([])
      await commit(['a'])
      const last = bench.store.lastPosition(at)
      await commit(['b'], 2)
      expect(await idsIn(bench.store, last)).toEqual(['b'])
    })

    test('has what each commit wrote, in the order of the commits, for any worker', async () => {
      await commit(['a', 'b'])
      await commit(['c'], 2)
      const other = {
        record: record({ eventId: 'other' }),
        moments: [moment('d', 1, 'other', at + 1)],
      }
      await expectCommitted(bench.store, other)
      for (const store of [bench.store, await bench.reopen()]) {
        const moments = await store.readMoments(0, all, later)
        expect(moments.map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd'])
        expect(moments[2]!.notification).toEqual(moment('c', 2).notification)
        const positions = moments.map(({ position }) => position)
        expect(positions).toEqual(positions.toSorted((a, b) => a - b))
        expect(new Set(positions).size).toBe(4)
      }
    })

    test('is read in pages', async () => {
      await commit(['a', 'b', 'c'])
      const [first, second] = await bench.store.readMoments(0, 2, later)
      expect([first?.id, second?.id]).toEqual(['a', 'b'])
      expect(await idsIn(bench.store, second!.position)).toEqual(['c'])
    })

    test('has nothing of a commit that conflicts', async () => {
      await commit(['a'])
      const late = { record: record(), basedOn: 0, deliveries: [], now: at }
      expect(await bench.store.commit({ ...late, moments: [moment('b')] })).toBe('conflict')
      expect(await idsIn(bench.store)).toEqual(['a'])
    })

    test('shows no moment behind a position that was read before', async () => {
      const readers = [bench.store, await bench.reopen(), await bench.reopen()]
      const seen = readers.map(() => [] as string[])
      const cursors = readers.map(() => 0)
      const read = async (i: number, now: number) => {
        const moments = await readers[i]!.readMoments(cursors[i]!, 3, now)
        cursors[i] = moments.at(-1)?.position ?? cursors[i]!
        seen[i]!.push(...moments.map(({ id }) => id))
      }
      const ids = Array.from({ length: 12 }, (_, i) => `m${i}`)
      const writes = ids.map((id, i) =>
        expectCommitted(readers[i % 3]!, {
          record: record({ eventId: id }),
          moments: [moment(id, 1, id)],
        }),
      )
      await Promise.all([...writes, read(0, at), read(1, at), read(2, at)])
      for (let page = 0; page < 5; page++) await Promise.all(readers.map((_, i) => read(i, later)))
      for (const own of seen) expect(own).toEqual(seen[0])
      expect(seen[0]!.toSorted()).toEqual(ids.toSorted())
    })

    test('forgets moments with their event, and uses no position again', async () => {
      const ended = withEnd(record({ sequence: 2 }), { at: at - 1, outcome: 'completed' })
      await commit(['a'])
      await expectCommitted(bench.store, { record: ended, basedOn: 1, moments: [moment('b', 2)] })
      const last = bench.store.lastPosition(at)
      expect(await bench.store.forget(at, all)).toBe(1)
      expect(await idsIn(bench.store)).toEqual([])
      await commit(['c'])
      const [next] = await bench.store.readMoments(0, all, later)
      expect(next!.position).toBeGreaterThan(last)
    })
  })
}
