import { describe, expect, test } from 'vitest'
import type { Claimed } from '../../../functions/core/delivery/delivery.ts'
import { freeAt, type Rate, spentByPause } from '../../../functions/core/delivery/rate.ts'
import type { DeliveryStore, Pacing } from '../../../functions/store/store.ts'
import { at, delivery, record } from '../../support/records.ts'
import { type Bench, expectCommitted } from './bench.ts'

const merging: Rate = { everyMs: 1_000, burst: 1, together: 3, atOnce: 4 }
const single: Rate = { everyMs: 500, burst: 2, together: 1, atOnce: 4 }
const slow: Rate = { everyMs: 600_000, burst: 1, together: 1, atOnce: 4 }
const rates: Record<string, Rate> = { chat: merging, slow }
const again = { state: 'pending' as const, note: 'HTTP 429' }
const pacing: Pacing = {
  now: at,
  rateOf: (channel) => rates[channel] ?? single,
  roomOf: () => 9,
}

/** Requests of a claim, as lists of ids. */
async function turn(store: DeliveryStore, now: number): Promise<string[][]> {
  return (await claimAt(store, now)).map((group) => group.map(({ id }) => id))
}

async function claimAt(store: DeliveryStore, now: number): Promise<Claimed[][]> {
  return (await store.claim({ leaseMs: 20_000, limit: 9, ...pacing, now })).requests
}

/** All workers together send a channel no more than it accepts. */
export function ratePromises(bench: Bench): void {
  let owed = 0
  /** Each is due a moment after the one before. */
  async function owe(channel: string, ...ids: string[]): Promise<void> {
    for (const id of ids) {
      const row = delivery(id, { eventId: id, channel, nextAt: at - 1_000 + owed++ })
      await expectCommitted(bench.store, { record: record({ eventId: id }), deliveries: [row] })
    }
  }

  describe('the rate of a channel', () => {
    test('what waits for a turn is sent together, up to `together`, and the rest later', async () => {
      await owe('chat', 'a')
      expect(await turn(bench.store, at)).toEqual([['a']])
      await owe('chat', 'b', 'c', 'd', 'e')
      expect(await turn(bench.store, at + 999)).toEqual([])
      expect(await turn(bench.store, at + 1_000)).toEqual([['b', 'c', 'd']])
      expect(await turn(bench.store, at + 1_999)).toEqual([])
      expect(await turn(bench.store, at + 2_000)).toEqual([['e']])
    })

    test('a kind that takes one at a time gets one at a time, after its burst', async () => {
      await owe('pager', 'a', 'b', 'c', 'd')
      expect(await turn(bench.store, at)).toEqual([['a'], ['b']])
      expect(await turn(bench.store, at + 499)).toEqual([])
      expect(await turn(bench.store, at + 500)).toEqual([['c']])
      expect(await turn(bench.store, at + 1_000)).toEqual([['d']])
    })

    test('a claim shows when the next request is allowed, and a request that was not made is given back', async () => {
      await owe('pager', 'a', 'b', 'c')
      const requests = await claimAt(bench.store, at)
      expect(requests.map(([one]) => one!.freeAt)).toEqual([at + 500, at + 500])
      await bench.store.giveBack('pager', 500)
      expect(await turn(bench.store, at)).toEqual([['c']])
    })

    test('a request that is given back shortens no pause', async () => {
      await owe('pager', 'a', 'b', 'c')
      const [[paused], [unsent]] = (await claimAt(bench.store, at)) as [[Claimed], [Claimed]]
      await bench.store.settle(
        paused,
        { ...again, nextAt: at + 10_000, spentUntil: at + 10_500 },
        at,
        [],
      )
      await bench.store.giveBack(unsent.channel, 500)
      expect(await turn(bench.store, at + 9_999)).toEqual([])
      expect(await turn(bench.store, at + 10_000)).toHaveLength(1)
    })

    test('what is due before the rate allows it for long is claimed without a turn, to be judged', async () => {
      await owe('slow', 'a')
      const [[sent]] = (await claimAt(bench.store, at)) as [[Claimed]]
      await bench.store.settle(sent, { state: 'delivered', nextAt: at, note: '' }, at, [])
      await owe('slow', 'b')
      expect(await bench.store.nextDueAt({ ...pacing, now: at + 1 })).toBeLessThanOrEqual(at + 1)
      const [[held]] = (await claimAt(bench.store, at + 1)) as [[Claimed]]
      expect(held).toMatchObject({ isHeldUp: true, freeAt: at + 600_000 })
      await bench.store.settle(held, { ...again, nextAt: at + 600_000 }, at, [])
      expect(await turn(bench.store, at + 599_999)).toEqual([])
      expect(await turn(bench.store, at + 600_000)).toEqual([['b']])
    })

    test('what waits behind a message that was judged is not due before it', async () => {
      await owe('slow', 'a')
      const [[sent]] = (await claimAt(bench.store, at)) as [[Claimed]]
      await bench.store.settle(sent, { state: 'delivered', nextAt: at, note: '' }, at, [])
      const nextAt = at - 500
      const steps = ['scheduled', 'started'].map((moment, seq) =>
        delivery(`b-${moment}`, { eventId: 'b', channel: 'slow', nextAt: nextAt + seq, seq }),
      )
      await expectCommitted(bench.store, { record: record({ eventId: 'b' }), deliveries: steps })
      const [[held]] = (await claimAt(bench.store, at + 1)) as [[Claimed]]
      await bench.store.settle(held, { ...again, nextAt: at + 600_000 }, at + 1, [])
      expect(await claimAt(bench.store, at + 2)).toEqual([])
      expect(await bench.store.nextDueAt({ ...pacing, now: at + 2 })).toBe(at + 600_000)
    })

    test('is kept by all workers together', async () => {
      await owe('chat', 'a', 'b', 'c', 'd')
      await owe('pager', 'e', 'f', 'g')
      const stores = [bench.store, await bench.reopen(), await bench.reopen()]
      const turns = await Promise.all(stores.map((store) => turn(store, at)))
      expect(turns.flat().sort()).toEqual([['a', 'b', 'c'], ['e'], ['f']])
    })

    test('delays no other channel', async () => {
      await owe('chat', 'a', 'b')
      await turn(bench.store, at)
      await owe('chat', 'c')
      await owe('pager', 'd')
      expect(await turn(bench.store, at + 1)).toEqual([['d']])
    })

    test('each delivery of a list under one lease is settled by itself', async () => {
      await owe('chat', 'a', 'b')
      const request = { leaseMs: 20_000, limit: 1, ...pacing }
      const [[a, b] = []] = (await bench.store.claim(request)).requests
      const done = { state: 'delivered' as const, nextAt: at, note: 'ok' }
      const later = { state: 'pending' as const, nextAt: at + 5_000, note: 'HTTP 503' }
      expect(await bench.store.settle(a!, done, at, [])).toBe('settled')
      expect(await bench.store.settle(b!, later, at, [])).toBe('settled')
      expect(await turn(bench.store, at + 4_999)).toEqual([])
      expect(await turn(bench.store, at + 5_000)).toEqual([['b']])
    })

    test('a delivery that was settled as `alone` shares no list from then on', async () => {
      await owe('chat', 'a', 'b')
      const request = { leaseMs: 20_000, limit: 1, ...pacing }
      const [group = []] = (await bench.store.claim(request)).requests
      const alone = {
        state: 'pending' as const,
        nextAt: at,
        note: 'HTTP 400',
        alone: true as const,
      }
      for (const one of group) await bench.store.settle(one, alone, at, [])
      await owe('chat', 'c', 'd')
      const lists: string[][] = []
      for (let seconds = 1; seconds < 5; seconds++) {
        lists.push(...(await turn(bench.store, at + seconds * 1_000)))
      }
      expect(lists.map((ids) => ids.join()).sort()).toEqual(['a', 'b', 'c,d'])
    })

    test('a channel that asked for a pause gets it, and then one request', async () => {
      await owe('pager', 'a', 'b', 'c')
      const request = { leaseMs: 20_000, limit: 1, ...pacing }
      const [[a] = []] = (await bench.store.claim(request)).requests
      const spentUntil = spentByPause(single, at + 4_000)
      const limited = { state: 'pending' as const, nextAt: at + 4_000, note: 'HTTP 429' }
      await bench.store.settle(a!, { ...limited, spentUntil }, at, [])
      for (const store of [bench.store, await bench.reopen()]) {
        expect(await turn(store, at + 3_999)).toEqual([])
      }
      expect(await bench.store.nextDueAt(pacing)).toBe(at + 4_000)
      expect(await turn(bench.store, at + 4_000)).toHaveLength(1)
    })

    test('a shorter pause does not end a longer one', async () => {
      await owe('pager', 'a', 'b')
      const request = { leaseMs: 20_000, limit: 2, ...pacing }
      const groups = (await bench.store.claim(request)).requests
      for (const [i, ms] of [9_000, 1_000].entries()) {
        const limited = { state: 'pending' as const, nextAt: at, note: 'HTTP 429' }
        const spentUntil = spentByPause(single, at + ms)
        await bench.store.settle(groups[i]![0]!, { ...limited, spentUntil }, at, [])
      }
      expect(await turn(bench.store, at + 8_999)).toEqual([])
      expect(await turn(bench.store, at + 9_000)).toHaveLength(1)
    })

    test('what nextDueAt names can be claimed then, and not a ms before', async () => {
      const channels = ['chat', 'pager', 'other']
      const ids = [...Array(40).keys()].map((i) => `d-${i}`)
      for (const [i, id] of ids.entries()) {
        // unsorted, several at one time, and two steps of one event
        const row = {
          channel: channels[i % 3]!,
          nextAt: at + ((i * 7_919) % 9_000),
          seq: 64 * (i + 1),
        }
        const eventId = `e-${Math.floor(i / 6)}`
        const first = i % 6 === 0
        const changes = { record: record({ eventId, sequence: (i % 6) + 1 }), basedOn: i % 6 }
        await expectCommitted(bench.store, {
          ...changes,
          basedOn: first ? 0 : changes.basedOn,
          deliveries: [delivery(id, { ...row, eventId })],
          now: at - 1,
        })
      }
      const told: string[] = []
      let now = at - 1
      for (let turns = 0; turns < 100; turns++) {
        const next = await bench.store.nextDueAt({ ...pacing, now })
        if (next === undefined) break
        if (next > now + 1) expect(await turn(bench.store, next - 1)).toEqual([])
        now = Math.max(now, next)
        const request = { leaseMs: 20_000, limit: 9, ...pacing, now }
        const groups = (await bench.store.claim(request)).requests
        expect(groups.length).toBeGreaterThan(0)
        for (const one of groups.flat()) {
          const done = { state: 'delivered' as const, nextAt: now, note: 'ok' }
          expect(await bench.store.settle(one, done, now, [])).toBe('settled')
          told.push(one.id)
        }
      }
      expect(told.toSorted()).toEqual(ids.toSorted())
    })

    test('nextDueAt waits for the turn, however long a delivery has been due', async () => {
      await owe('chat', 'a', 'b')
      await turn(bench.store, at)
      await owe('chat', 'c')
      const next = await bench.store.nextDueAt(pacing)
      expect(next).toBe(freeAt(merging, at + 1_000, at))
    })
  })

  describe('the health of a channel', () => {
    const failing = {
      ...{ state: 'refusing' as const, channel: 'chat', of: '', since: at, note: 'HTTP 404' },
      alert: at,
    }

    test('is kept beside its rate, for any worker, and a claim shows it', async () => {
      await owe('chat', 'a')
      await turn(bench.store, at)
      expect(await bench.store.changeHealth('chat', () => failing)).toEqual(failing)
      await owe('chat', 'b')
      await owe('pager', 'c')
      const other = await bench.reopen()
      expect(await other.readHealth('chat')).toEqual(failing)
      expect(await other.readHealth('pager')).toBeUndefined()
      expect(await other.listHealth()).toEqual([failing])
      expect(await turn(other, at + 999)).toEqual([['c']])
      const request = { leaseMs: 20_000, limit: 9, ...pacing, now: at + 1_000 }
      const [claimed] = (await other.claim(request)).requests.flat()
      expect(claimed).toMatchObject({ id: 'b', health: failing })
      expect(await bench.store.listHealth()).toEqual([failing])
    })

    test('is decided by each of many workers after the one before', async () => {
      const stores = [bench.store, await bench.reopen(), await bench.reopen()]
      const count = (before: { since: number } | undefined) => ({
        ...failing,
        since: (before?.since ?? 0) + 1,
      })
      await Promise.all(stores.map((store) => store.changeHealth('chat', count)))
      expect(await bench.store.readHealth('chat')).toMatchObject({ since: 3 })
      await bench.store.removeChannel('chat')
      expect(await bench.store.readHealth('chat')).toBeUndefined()
    })
  })
}
