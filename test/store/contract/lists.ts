import { describe, expect, test } from 'vitest'
import type { EventRecord } from '../../../functions/core/event/event.ts'
import { claim, free, freeBut } from '../../support/claims.ts'
import { at, beaconOf, delivery, type Fields, record } from '../../support/records.ts'
import { type Bench, expectCommitted } from './bench.ts'

const leaseMs = 20_000

export function listPromises(bench: Bench): void {
  async function keep(changes: Fields): Promise<void> {
    await expectCommitted(bench.store, { record: record(changes) })
  }

  describe('dueEvents', () => {
    test('events whose time has come, the longest due first, at most `limit`', async () => {
      const times = { c: at, a: at - 9, d: at + 1, b: at - 5 }
      for (const [eventId, dueAt] of Object.entries(times)) await keep({ eventId, dueAt })
      await keep({ eventId: 'without' })
      const due = (limit: number) => bench.store.dueEvents(at, limit)
      expect(await due(9)).toEqual(['a', 'b', 'c'].map((eventId) => ({ fleet: 'prod', eventId })))
      expect(await due(2)).toHaveLength(2)
      expect((await due(1))[0]?.eventId).toBe('a')
    })

    test('an event whose due time moved or was removed is found by the new one only', async () => {
      await keep({ eventId: 'a', dueAt: at })
      const moved = record({ eventId: 'a', dueAt: at + 60_000, sequence: 2 })
      await expectCommitted(bench.store, { record: moved, basedOn: 1 })
      expect(await bench.store.dueEvents(at, 9)).toEqual([])
      expect(await bench.store.dueEvents(at + 60_000, 9)).toHaveLength(1)
      await expectCommitted(bench.store, {
        record: record({ eventId: 'a', sequence: 3 }),
        basedOn: 2,
      })
      expect(await bench.store.dueEvents(at + 60_000, 9)).toEqual([])
    })
  })

  describe('nextDueAt', () => {
    test('undefined if nothing waits', async () => {
      expect(await bench.store.nextDueAt(free)).toBeUndefined()
      await keep({})
      expect(await bench.store.nextDueAt(free)).toBeUndefined()
    })

    test('the earliest of events and deliveries, even if it is past', async () => {
      await keep({ eventId: 'a', dueAt: at + 50 })
      expect(await bench.store.nextDueAt(free)).toBe(at + 50)
      const owed = [delivery('a', { nextAt: at - 10 }), delivery('b', { channel: 'team' })]
      await expectCommitted(bench.store, { record: record(), deliveries: owed })
      expect(await bench.store.nextDueAt(free)).toBe(at - 10)
      expect(await bench.store.nextDueAt(freeBut('chat'))).toBe(at)
      expect(await bench.store.nextDueAt(freeBut('chat', 'team'))).toBe(at + 50)
    })

    test('under a lease: when the lease is over', async () => {
      await expectCommitted(bench.store, { record: record(), deliveries: [delivery('a')] })
      const [one] = await claim(bench.store, { leaseMs, limit: 1 })
      expect(await bench.store.nextDueAt(free)).toBe(at + leaseMs)
      const later = { state: 'pending' as const, nextAt: at + 500, note: '' }
      await bench.store.settle(one!, later, at, [])
      expect(await bench.store.nextDueAt(free)).toBe(at + 500)
    })

    test('one that waits for an earlier one is not due', async () => {
      const owed = [delivery('1'), delivery('2', { seq: 128 })]
      await expectCommitted(bench.store, { record: record(), deliveries: owed })
      const [one] = await claim(bench.store, { limit: 1 })
      const retry = { state: 'pending' as const, nextAt: at + 900, note: 'HTTP 503' }
      await bench.store.settle(one!, retry, at, [])
      expect(await bench.store.nextDueAt(free)).toBe(at + 900)
    })
  })

  describe('listEvents', () => {
    test('newest first, of one fleet or all, page by page', async () => {
      for (const [i, fleet] of ['prod', 'test', 'prod', 'test', 'prod'].entries()) {
        await keep({ fleet, eventId: `e${i}`, firstSeenAt: at + i })
      }
      const ids = (records: EventRecord[]) => records.map(({ eventId }) => eventId)
      expect(ids(await bench.store.listEvents({ limit: 9 }))).toEqual([
        'e4',
        'e3',
        'e2',
        'e1',
        'e0',
      ])
      const page = await bench.store.listEvents({ fleets: ['prod'], limit: 2 })
      expect(ids(page)).toEqual(['e4', 'e2'])
      const next = { fleets: ['prod'], before: page.at(-1)!.firstSeenAt, limit: 2 }
      expect(ids(await bench.store.listEvents(next))).toEqual(['e0'])
      expect(await bench.store.listEvents({ fleets: ['none'], limit: 2 })).toEqual([])
    })

    test('pages together contain every event, even if many were first seen at once', async () => {
      const ids = [...Array(7).keys()].map((i) => `e${i}`)
      for (const [i, eventId] of ids.entries()) {
        await keep({ eventId, firstSeenAt: at + Math.floor(i / 3) })
      }
      const found: string[] = []
      for (let before = at + 99, pages = 0; pages < 9; pages++) {
        const page = await bench.store.listEvents({ before, limit: 2 })
        found.push(...page.map(({ eventId }) => eventId))
        before = page.at(-1)?.firstSeenAt ?? 0
      }
      expect(found.sort()).toEqual(ids)
    })
  })

  describe('keys from outside', () => {
    const odd = [
      'a/b',
      '/',
      '#?&=%2F',
      '\\',
      "it's; DROP TABLE events --",
      '"quoted"',
      'Ünïcödé ☃ 🚢 עברית',
      ' leading and trailing ',
      'tab\tnewline\nend',
      'x'.repeat(1_024),
      '__proto__',
      '..',
      '*',
    ]

    test.each(odd.map((eventId) => [eventId.slice(0, 40), eventId]))('%j', async (_, eventId) => {
      const { store } = bench
      const key = { fleet: 'prod', eventId }
      const owed = delivery(`id of ${eventId}`, { eventId, channel: eventId })
      const whole = record({ eventId, dueAt: at })
      await expectCommitted(store, { record: whole, deliveries: [owed] })
      const beacon = beaconOf('web_0', { beacon: eventId, bootId: eventId })
      expect(await store.writeBeacon(beacon)).toBe('written')
      expect(await store.readEvent(key)).toEqual(whole)
      expect(await store.dueEvents(at, 1)).toEqual([key])
      expect(await store.readBeacon('prod', eventId)).toEqual(beacon)
      expect(await claim(store, { leaseMs, limit: 9, ...freeBut(eventId) })).toEqual([])
      const [one] = await claim(store, { leaseMs, limit: 9 })
      expect(one?.id).toBe(owed.id)
      const done = { state: 'delivered' as const, nextAt: at, note: eventId }
      expect(await store.settle(one!, done, at, [])).toBe('settled')
      expect(await store.readDeliveries(key)).toEqual([{ ...owed, ...done, attempts: 1 }])
    })

    test('keys that differ only in case or in an unusual letter are two', async () => {
      for (const eventId of ['a', 'A', 'a ', 'a%20', 'ａ']) await keep({ eventId })
      expect(await bench.store.listEvents({ limit: 9 })).toHaveLength(5)
    })
  })
}
