import { describe, expect, test } from 'vitest'
import type { Rate } from '../../../functions/core/delivery/rate.ts'
import type { DeliveryStore, Pacing } from '../../../functions/store/store.ts'
import { at, delivery, record } from '../../support/records.ts'
import { type Bench, expectCommitted } from './bench.ts'

const single: Rate = { everyMs: 1_000, burst: 1, together: 1, atOnce: 4 }
const merging: Rate = { everyMs: 1_000, burst: 1, together: 4, atOnce: 4 }
const free: Rate = { everyMs: 0, burst: 1, together: 1, atOnce: 4 }

/** The requests of one claim, as lists of ids. All are delivered at once. */
async function turn(store: DeliveryStore, rate: Rate, now: number): Promise<string[][]> {
  const pacing: Pacing = { now, rateOf: () => rate, roomOf: () => rate.atOnce }
  const { requests } = await store.claim({ leaseMs: 20_000, limit: 9, ...pacing })
  for (const one of requests.flat()) {
    await store.settle(one, { state: 'delivered', nextAt: now, note: '' }, now, [])
  }
  return requests.map((group) => group.map(({ id }) => id))
}

/** A channel serves its fleets in turn. */
export function turnPromises(bench: Bench): void {
  /** Events of a fleet with one message each, in the order in which they are due. */
  async function oweEvents(fleet: string, count: number, nextAt = at): Promise<void> {
    const works = Array.from({ length: count }, (_, i) => {
      const id = `${fleet}-${i}`
      const row = delivery(id, { fleet, eventId: id, nextAt: nextAt + i })
      const one = { record: record({ fleet, eventId: id }), deliveries: [row] }
      return expectCommitted(bench.store, one)
    })
    await Promise.all(works)
  }

  describe('turns in a channel', () => {
    test('a fleet waits for one turn of another, however many deliveries that one has waiting', async () => {
      await oweEvents('stage', 230, at - 1_000)
      await oweEvents('prod', 2)
      const taken: string[] = []
      for (let i = 0; i < 5; i++) {
        taken.push(...(await turn(bench.store, single, at + 1_000 * (i + 1))).flat())
      }
      expect(taken.slice(0, 4).filter((id) => id.startsWith('prod'))).toEqual(['prod-0', 'prod-1'])
      expect(taken.filter((id) => id.startsWith('stage'))).toEqual([
        'stage-0',
        'stage-1',
        'stage-2',
      ])
    })

    const owe = async (vm: string, count: number, nextAt: number, fleet = 'prod') => {
      for (let i = 0; i < count; i++) {
        const id = `${vm}-${i}`
        const row = delivery(id, { fleet, eventId: id, nextAt: nextAt + i, toldBy: vm })
        const one = { record: record({ fleet, eventId: id }), deliveries: [row] }
        await expectCommitted(bench.store, one)
      }
    }

    test('of two fleets with such VMs, each has its own second turns', async () => {
      await owe('loud', 30, at - 1_000)
      await owe('noisy', 30, at - 1_000, 'test')
      await owe('quiet', 2, at)
      const taken: string[] = []
      for (let i = 0; i < 9; i++) {
        taken.push(...(await turn(bench.store, single, at + 1_000 * (i + 1))).flat())
      }
      expect(taken).toEqual(expect.arrayContaining(['quiet-0', 'quiet-1']))
    })

    test('VMs that told of more than five messages have every second turn', async () => {
      await owe('loud', 7, at - 1_000)
      await owe('quiet', 5, at)
      const taken: string[] = []
      for (let i = 0; i < 12; i++) {
        taken.push(...(await turn(bench.store, single, at + 1_000 * (i + 1))).flat())
      }
      // until it has no more than five
      expect(taken.slice(0, 4)).toEqual(['quiet-0', 'loud-0', 'quiet-1', 'loud-1'])
      expect(taken.slice(4, 9)).toEqual(Array.from({ length: 5 }, (_, i) => `loud-${i + 2}`))
      expect(taken.slice(9)).toEqual(['quiet-2', 'quiet-3', 'quiet-4'])
    })

    test('three fleets take turns, and each sends its longest due first', async () => {
      for (const fleet of ['a', 'b', 'c']) await oweEvents(fleet, 3, at - 10)
      const taken: string[] = []
      for (let i = 0; i < 9; i++) {
        taken.push(...(await turn(bench.store, single, at + 1_000 * i)).flat())
      }
      for (let i = 0; i < 9; i += 3) {
        const round = taken.slice(i, i + 3).map((id) => id.split('-'))
        expect(round.map(([fleet]) => fleet).sort()).toEqual(['a', 'b', 'c'])
        expect(round.map(([, number]) => number)).toEqual([i / 3, i / 3, i / 3].map(String))
      }
    })

    test('a list contains deliveries of all fleets', async () => {
      await oweEvents('stage', 9, at - 1_000)
      await oweEvents('prod', 1)
      const [group = []] = await turn(bench.store, merging, at)
      expect(group).toHaveLength(4)
      expect(group).toContain('prod-0')
      expect(group.filter((id) => id !== 'prod-0')).toEqual(['stage-0', 'stage-1', 'stage-2'])
    })

    test('without a rate, the room is shared, too', async () => {
      await oweEvents('stage', 9, at - 1_000)
      await oweEvents('prod', 1)
      const taken = (await turn(bench.store, free, at)).flat()
      expect(taken).toHaveLength(4)
      expect(taken).toContain('prod-0')
    })

    test('are kept by all workers together', async () => {
      await oweEvents('stage', 9, at - 1_000)
      await oweEvents('prod', 3)
      const stores = [bench.store, await bench.reopen(), await bench.reopen()]
      const taken: string[] = []
      for (let i = 0; i < 6; i++) {
        taken.push(...(await turn(stores[i % 3]!, single, at + 1_000 * (i + 1))).flat())
      }
      expect(taken.filter((id) => id.startsWith('prod'))).toHaveLength(3)
    })
  })
}
