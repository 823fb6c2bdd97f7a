import { describe, expect, test } from 'vitest'
import {
  type Answered,
  type Delivery,
  type DeliveryState,
  storedChannel,
} from '../../../functions/core/delivery/delivery.ts'
import { toView } from '../../../functions/core/event/view.ts'
import { claim, free, freeBut } from '../../support/claims.ts'
import { at, delivery, key, notification, record } from '../../support/records.ts'
import { type Bench, expectCommitted } from './bench.ts'

const channel = storedChannel('s1')
const answered: Answered = { status: 503, text: 'come back later', tookMs: 41, at }
const event = toView(record())

function toSubscription(id: string, changes: Partial<Delivery> = {}): Delivery {
  return delivery(id, { channel, notification: notification({ event }), ...changes })
}

/** Deliveries to subscriptions. A commit writes them with those to configured channels. */
export function subscriptionPromises(bench: Bench): void {
  /** One commit for each of their events. */
  async function add(...deliveries: Delivery[]): Promise<void> {
    const events = Map.groupBy(deliveries, ({ fleet, eventId }) =>
      JSON.stringify({ fleet, eventId }),
    )
    for (const [text, own] of events) {
      const event = JSON.parse(text) as typeof key
      const basedOn = (await bench.store.readEvent(event))?.sequence ?? 0
      const next = record({ ...event, sequence: basedOn + 1 })
      await expectCommitted(bench.store, { record: next, basedOn, deliveries: own })
    }
  }
  const read = (subscription?: string) => bench.store.readDeliveries(key, subscription)
  const idsOf = (deliveries: Delivery[]) => deliveries.map(({ id }) => id)
  const claimIds = async (now: number) => idsOf(await claim(bench.store, { now, limit: 99 }))

  async function listIds(of = channel, limit = 99): Promise<string[]> {
    return idsOf((await bench.store.listDeliveries(of, { limit })).deliveries)
  }

  async function end(state: DeliveryState, now = at): Promise<void> {
    for (const one of await claim(bench.store, { now, limit: 99 })) {
      await bench.store.settle(one, { state, nextAt: now, note: state }, now, [])
    }
  }

  describe('deliveries to subscriptions', () => {
    test('are read by their subscription and event, in order, from any worker', async () => {
      const deliveries = [toSubscription('a'), toSubscription('b', { seq: 65 })]
      await add(...deliveries, toSubscription('c', { eventId: 'other' }))
      await add(toSubscription('d', { channel: storedChannel('s2') }))
      const other = await bench.reopen()
      expect(await other.readDeliveries(key, 's1')).toEqual(deliveries)
      expect(idsOf(await other.readDeliveries(key, 's2'))).toEqual(['d'])
      expect(await other.readDeliveries(key, 's3')).toEqual([])
    })

    test('are not among those of the event, whose channels may sort before and after', async () => {
      const channels = ['a', 'subscription', 'subscription;', 'z', 'ü']
      const rows = channels.map((name, i) => delivery(name, { channel: name, seq: 64 + i }))
      await add(...rows, toSubscription('to s1'), toSubscription('b', { channel: `${channel}~ü` }))
      expect(idsOf(await read())).toEqual(channels)
      expect(idsOf(await read('s1'))).toEqual(['to s1'])
    })

    test('200 of one commit, each claimed once, by many workers', async () => {
      const rows = Array.from({ length: 200 }, (_, i) =>
        toSubscription(`to s${i}`, { channel: storedChannel(`s${i}`), seq: 64 + i }),
      )
      await add(...rows)
      const stores = [bench.store, await bench.reopen()]
      const claims = await Promise.all(
        Array.from({ length: 6 }, (_, i) => claim(stores[i % 2]!, { limit: 60 })),
      )
      const ids = idsOf(claims.flat())
      expect(new Set(ids).size).toBe(ids.length)
      const rest = await claim(bench.store, { limit: 999 })
      expect(ids.length + rest.length).toBe(200)
      for (const one of claims.flat()) {
        const done = { state: 'delivered' as const, nextAt: at, note: '' }
        expect(await bench.store.settle(one, done, at, [])).toBe('settled')
      }
      expect(await claimIds(at + 20_000)).toHaveLength(rest.length)
    })

    test('wait for an earlier one of their event and subscription only', async () => {
      await add(delivery('x'), toSubscription('a'), toSubscription('b', { seq: 65 }))
      await add(toSubscription('c', { channel: storedChannel('s2'), seq: 66 }))
      await add(toSubscription('d', { eventId: 'other', seq: 67 }))
      expect((await claimIds(at)).sort()).toEqual(['a', 'c', 'd', 'x'])
      expect(await claimIds(at + 1)).toEqual([])
      // the lease of "a" ends
      expect(await claimIds(at + 20_000)).toContain('a')
      expect(await claim(bench.store, { now: at + 1, limit: 9 })).toEqual([])
    })

    test('follow each other, and are due when they are claimed', async () => {
      await add(toSubscription('a'), toSubscription('b', { seq: 65, nextAt: at + 3 }))
      expect(await bench.store.nextDueAt(free)).toBe(at)
      expect(await bench.store.nextDueAt(freeBut(channel))).toBeUndefined()
      await end('delivered')
      expect(await bench.store.nextDueAt(free)).toBe(at + 3)
      expect(await claimIds(at + 2)).toEqual([])
      expect(await claimIds(at + 3)).toEqual(['b'])
    })

    test('one that was planned as given up is not sent, but can be replayed', async () => {
      await add(toSubscription('a', { state: 'given_up', note: 'the subscription is paused' }))
      expect(await claimIds(at)).toEqual([])
      expect(await bench.store.replay({ since: at, channel }, at + 5, 9)).toBe(1)
      expect(await claimIds(at + 5)).toEqual(['a'])
    })

    test('keep the last answer, also while they are retried', async () => {
      await add(toSubscription('a'))
      const [one] = await claim(bench.store, { limit: 1 })
      const retry = { state: 'pending' as const, nextAt: at + 1, note: 'HTTP 503', answered }
      await bench.store.settle(one!, retry, at, [])
      expect(await read('s1')).toMatchObject([{ state: 'pending', answered }])
      const [again] = await claim(bench.store, { now: at + 1, limit: 1 })
      expect(again?.answered).toEqual(answered)
      const last = { status: undefined, text: '', tookMs: 15_000, at: at + 2 }
      const done = { state: 'given_up' as const, nextAt: at + 2, note: 'none', answered: last }
      expect(await bench.store.settle(again!, done, at + 2, [])).toBe('settled')
      const [stored] = (await bench.store.listDeliveries(channel, { limit: 1 })).deliveries
      expect(stored?.answered).toEqual(last)
    })

    test('an answer that comes after the lease changes nothing', async () => {
      await add(toSubscription('a'))
      const [one] = await claim(bench.store, { limit: 1 })
      const late = { state: 'delivered' as const, nextAt: at, note: '', answered }
      expect(await bench.store.settle(one!, late, at + 20_000, [])).toBe('lost')
      expect((await read('s1'))[0]).not.toHaveProperty('answered')
    })
  })

  describe('replay to subscriptions', () => {
    test('is for one of them, and not part of a replay of all configured channels', async () => {
      const other = `prod/other/1/scheduled/${encodeURIComponent(channel)}`
      await add(delivery('x'), toSubscription('a'), toSubscription(other, { eventId: 'other' }))
      await add(toSubscription('c', { channel: storedChannel('s2') }))
      await end('refused')
      expect(await bench.store.replay({ since: 0 }, at, 9)).toBe(1)
      expect(await bench.store.replay({ id: other }, at, 9)).toBe(1)
      expect(await bench.store.replay({ since: 0, channel }, at, 9)).toBe(1)
      expect((await claimIds(at)).sort()).toEqual(['a', other, 'x'])
    })

    test('plans a delivery anew, so the list begins with it', async () => {
      const id = `prod/${key.eventId}/1/scheduled/${encodeURIComponent(channel)}`
      await add(toSubscription(id), toSubscription('b', { plannedAt: at + 1, seq: 65 }))
      await end('refused')
      await end('refused')
      expect(await listIds()).toEqual(['b', id])
      await bench.store.replay({ id }, at + 9, 9)
      expect(await listIds()).toEqual([id, 'b'])
    })
  })

  describe('the counts of a subscription', () => {
    test('say what was planned since a time, and how much of it failed', async () => {
      const states = ['refused', 'given_up', 'delivered', 'pending', 'refused'] as const
      const rows = states.map((state, i) =>
        toSubscription(`${i}`, { state, plannedAt: at + i, eventId: `e${i}` }),
      )
      await add(...rows, toSubscription('other', { channel: storedChannel('s11') }))
      await add(toSubscription('older', { plannedAt: at - 1, state: 'refused' }))
      const since = async (from: number, ...fleets: string[]) => {
        const question = { since: from, ...(fleets.length > 0 && { fleets }) }
        return (await bench.store.channelActivity([channel, 'chat'], question)).map(
          ({ recent }) => recent,
        )
      }
      expect(await since(at)).toEqual([{ planned: 5, failed: 3 }, undefined])
      expect(await since(at + 2)).toEqual([{ planned: 3, failed: 1 }, undefined])
      expect(await since(at + 9)).toEqual([{ planned: 0, failed: 0 }, undefined])
      expect(await since(at, 'test')).toEqual([{ planned: 0, failed: 0 }, undefined])
      const [without] = await bench.store.channelActivity([channel])
      expect(without).not.toHaveProperty('recent')
    })
  })

  describe('the list of a subscription', () => {
    test('has its deliveries of all events and states, the one planned last first', async () => {
      await add(toSubscription('a', { plannedAt: at - 2 }))
      await end('delivered')
      const more = [
        toSubscription('b', { plannedAt: at + 7, eventId: 'other', fleet: 'test' }),
        toSubscription('c', { plannedAt: at, state: 'given_up' }),
        toSubscription('d', { channel: storedChannel('s11') }),
      ]
      await add(...more)
      expect(await listIds()).toEqual(['b', 'c', 'a'])
      expect(await listIds(storedChannel('s11'))).toEqual(['d'])
      expect(await listIds(storedChannel('s'))).toEqual([])
      const { deliveries } = await bench.store.listDeliveries(channel, { limit: 2 })
      expect(deliveries).toEqual(more.slice(0, 2))
    })

    test.each([1, 2, 3, 7, 8])('in pages of %d that together have each once', async (limit) => {
      const rows = Array.from({ length: 7 }, (_, i) => {
        return toSubscription(`r${i}`, { eventId: `e${i}`, plannedAt: at + Math.floor(i / 3) })
      })
      await add(...rows)
      const found: string[] = []
      let before: string | undefined
      for (let pages = 1; pages <= Math.ceil(7 / limit); pages++) {
        const page = { limit, ...(before !== undefined && { before }) }
        const { deliveries, next } = await bench.store.listDeliveries(channel, page)
        expect(deliveries.length).toBeGreaterThan(0)
        found.push(...idsOf(deliveries))
        before = next
      }
      expect(before).toBeUndefined()
      expect(found.toSorted()).toEqual(idsOf(rows))
      expect(found[0]).toBe('r6')
    })
  })

  describe('forget', () => {
    test('removes them with their event', async () => {
      await add(toSubscription('a'), toSubscription('b', { state: 'given_up', seq: 65 }))
      const ended = record({ sequence: 2, ended: { at: at - 1, outcome: 'completed' } })
      await expectCommitted(bench.store, { record: ended, basedOn: 1 })
      expect(await bench.store.forget(at, 9)).toBe(1)
      expect([await read('s1'), await listIds(), await claimIds(at)]).toEqual([[], [], []])
      expect(await bench.store.replay({ since: 0, channel }, at, 9)).toBe(0)
    })

    test('removes pings, which have no event, once they are not pending', async () => {
      const ping = toSubscription('ping', { fleet: '-', plannedAt: at - 1 })
      expect(await bench.store.addDeliveries([ping])).toBe('added')
      expect(await bench.store.addDeliveries([ping])).toBe('known')
      expect(await bench.store.forget(at, 9)).toBe(0)
      expect(await listIds()).toEqual(['ping'])
      await end('delivered')
      expect(await bench.store.forget(at, 9)).toBe(1)
      expect(await listIds()).toEqual([])
    })
  })
}
