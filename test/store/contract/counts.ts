import { describe, expect, test } from 'vitest'
import type { Settlement } from '../../../functions/core/delivery/attempt.ts'
import { storedChannel } from '../../../functions/core/delivery/delivery.ts'
import { toView } from '../../../functions/core/event/view.ts'
import { countsMs } from '../../../functions/store/store.ts'
import { claim } from '../../support/claims.ts'
import {
  aDrill,
  at,
  beaconOf,
  delivery,
  type Fields,
  facts,
  notification,
  record,
} from '../../support/records.ts'
import { type Bench, expectCommitted } from './bench.ts'

const day = 24 * 3_600_000
const fleets = ['prod', 'test']

export function countPromises(bench: Bench): void {
  /** Counts may be a minute old. */
  let now = at
  const read = async (later = countsMs) => {
    now += later
    const { counts, at: _, ...rest } = await bench.store.readCounts({ now, fleets })
    const named = counts
      .filter(({ what }) => !what.startsWith('first_message'))
      .map(({ what, fleet, name, state, n }) => [[what, fleet, name, state].join(' '), n])
    const firsts = counts.filter(({ what }) => what.startsWith('first_message'))
    return { ...rest, counts: Object.fromEntries(named) as Record<string, number>, firsts }
  }
  const keep = (changes: Fields, basedOn = 0) =>
    expectCommitted(bench.store, { record: record(changes), basedOn })
  const settleAll = async (state: Settlement['state'], nextAt: number) => {
    for (const one of await claim(bench.store, { limit: 99, now: nextAt })) {
      await bench.store.settle(one, { state, nextAt, note: '' }, nextAt, [])
    }
  }

  describe('counts', () => {
    test('nothing is stored', async () => {
      now = at
      expect(await read()).toMatchObject({ counts: {}, undecided: [], oldest: [], firsts: [] })
    })

    test('events by fleet, type and step, however often they change', async () => {
      now = at
      await keep({ eventId: 'a' })
      await keep({ eventId: 'a', sequence: 2 }, 1)
      await keep({ eventId: 'b', facts: facts({ eventType: 'Meteorite' }) })
      await keep({ eventId: 'c', fleet: 'test', phase: 'started', started: { at: at } })
      expect((await read()).counts).toEqual({
        'event prod Reboot scheduled': 1,
        'event prod other scheduled': 1,
        'event test Reboot started': 1,
      })
      const end = { sequence: 3, phase: 'completed' as const }
      await keep({ ...end, eventId: 'a', ended: { at, outcome: 'completed' } }, 2)
      await keep({ eventId: 'b', sequence: 2, ended: { at, outcome: 'lost' } }, 1)
      const ended = {
        'event prod Reboot completed': 1,
        'event prod Reboot lost': 1,
        'event test Reboot started': 1,
      }
      expect((await read()).counts).toEqual(ended)
      await keep({ eventId: 'a', sequence: 4, epoch: 2 }, 3)
      expect((await read()).counts).toEqual({
        'event prod Reboot scheduled': 1,
        'event prod Reboot lost': 1,
        'event test Reboot started': 1,
      })
    })

    test('alerts are no events', async () => {
      now = at
      await bench.store.addDeliveries([delivery('x', { eventId: 'alert-over_limits' })])
      expect(await read()).toMatchObject({ counts: {}, undecided: [], oldest: [] })
    })

    test('what ended stays counted after it is forgotten', async () => {
      now = at
      const whole = record({ ended: { at, outcome: 'completed' }, phase: 'completed' })
      await expectCommitted(bench.store, { record: whole, deliveries: [delivery('a')] })
      await settleAll('delivered', at + 500)
      const { counts, firsts } = await read()
      expect(counts).toEqual({
        'event prod Reboot completed': 1,
        'delivery prod chat delivered': 1,
      })
      expect(await read(2 * day)).toMatchObject({ counts, firsts })
      expect(await bench.store.forget(at + day, 9)).toBeGreaterThan(0)
      expect(await read()).toMatchObject({ counts, firsts })
      expect(await read(2 * day)).toMatchObject({ counts, firsts })
    })

    test('undecided events of each fleet, and their first deadline', async () => {
      now = at
      const notBeforeAt = at + day
      await keep({ eventId: 'a', facts: facts({ notBeforeAt: notBeforeAt + 1 }) })
      await keep({ eventId: 'b', facts: facts({ notBeforeAt }) })
      await keep({ eventId: 'c', policy: { decide: 'notify', rule: '' } })
      const decided = { decision: 'declined' as const, how: 'admin' as const, who: 'admin', at }
      await keep({ eventId: 'd', decided })
      await keep({ eventId: 'e', phase: 'started', started: { at: at } })
      const { undecided } = await read()
      expect(undecided).toEqual([{ fleet: 'prod', count: 2, deadlineAt: notBeforeAt }])
    })

    test('deliveries by channel and state, and the oldest that is pending', async () => {
      now = at
      const channel = storedChannel('0123456789abcdef')
      const planned = [
        delivery('1', { plannedAt: at - 5 }),
        delivery('2', { seq: 65, plannedAt: at - 9, channel: 'team' }),
        delivery('3', { seq: 66, channel: 'team' }),
        delivery('4', { seq: 67, plannedAt: 1, channel }),
      ]
      await expectCommitted(bench.store, { record: record(), deliveries: planned })
      const pending = await read()
      expect(pending.counts).toMatchObject({
        'delivery prod chat pending': 1,
        'delivery prod team pending': 2,
      })
      const oldest = pending.oldest.sort((a, b) => (a.channel < b.channel ? -1 : 1))
      expect(oldest).toEqual([
        { fleet: 'prod', channel: 'chat', plannedAt: at - 5 },
        { fleet: 'prod', channel: 'team', plannedAt: at - 9 },
      ])
      await settleAll('refused', at + 500)
      await settleAll('superseded', at + 500)
      const { counts } = await read()
      expect(counts).toEqual({
        'event prod Reboot scheduled': 1,
        'delivery prod chat refused': 1,
        'delivery prod team refused': 1,
        'delivery prod team superseded': 1,
      })
      await bench.store.replay({ since: 0, channel: 'chat' }, at + 900, 9)
      expect((await read()).counts).toMatchObject({ 'delivery prod chat pending': 1 })
    })

    test('how long the first message about an event took', async () => {
      now = at
      const firstSeenAt = at - 3_000
      const commit = (eventId: string, changes: Fields, more: object = {}) => {
        const own = record({ eventId, firstSeenAt, ...changes })
        const about = { eventId, notification: notification({ event: toView(own) }) }
        const deliveries = [
          delivery(`${eventId}1`, about),
          delivery(`${eventId}2`, { ...about, channel: 'team', ...more }),
        ]
        return expectCommitted(bench.store, { record: own, deliveries })
      }
      await commit('a', {})
      await commit('b', { drill: aDrill })
      await commit('c', { firstSeenAt: at - day }, { nextAt: at + 60_000 })
      await settleAll('delivered', at + 1_000)
      await settleAll('delivered', at + 60_000)
      const { firsts } = await read()
      const count = { what: 'first_message', fleet: 'prod', state: '', n: 1 }
      const inOrder = firsts.sort((a, b) => a.n - b.n || (a.name < b.name ? -1 : 1))
      expect(inOrder).toEqual([
        { ...count, name: '5' },
        { ...count, name: 'longer' },
        { what: 'first_message_ms', fleet: 'prod', name: '', state: '', n: 4_000 + day + 1_000 },
      ])
    })

    test('an alert is no first message', async () => {
      now = at
      const alert = { ...notification(), moment: 'alert' as const, about: { ping: 'x' } }
      const deliveries = [delivery('a', { notification: alert })]
      await expectCommitted(bench.store, { record: record(), deliveries })
      await settleAll('delivered', at + 1_000)
      expect(await read()).toMatchObject({
        counts: { 'delivery prod chat delivered': 1 },
        firsts: [],
      })
    })

    test('beacons by version and state', async () => {
      now = at
      const { store } = bench
      const web = beaconOf('web_0', { version: '0.1.0' })
      await store.writeBeacon(web)
      await store.writeBeacon(beaconOf('web_1', { version: '' }))
      await store.writeBeacon(beaconOf('db_0', { fleet: 'test', version: '0.1.0' }))
      await store.writeBeacon({ ...web, counter: 2 })
      const all = { 'beacon prod 0.1.0 heard': 1, 'beacon prod  heard': 1 }
      const others = { 'beacon test 0.1.0 heard': 1 }
      expect((await read()).counts).toEqual({ ...all, ...others })
      const silent = { ...web, counter: 2, silence: { since: at, from: at } }
      expect(await store.replaceBeacon({ ...web, counter: 2 }, silent)).toBe('written')
      expect((await read()).counts).toMatchObject({ 'beacon prod 0.1.0 silent': 1 })
      const back = { ...silent, counter: 3, heardAt: at + 1, version: '0.2.0' }
      await store.writeBeacon(back)
      const left = { ...back, left: { why: 'owner' as const, at } }
      expect((await read()).counts).toEqual({
        'beacon prod 0.2.0 heard': 1,
        'beacon prod  heard': 1,
        ...others,
      })
      await store.replaceBeacon(back, left)
      expect((await read()).counts).toMatchObject({ 'beacon prod 0.2.0 left': 1 })
      for (let calls = 0; calls < 5; calls++) await store.forget(0, 9, at + 1)
      expect((await read()).counts).toMatchObject({ 'beacon prod 0.2.0 left': 1 })
      for (let calls = 0; calls < 5; calls++) await store.forget(0, 9, at + 2)
      expect((await read()).counts).toEqual({})
    })

    test('many workers write at once, and every beacon is counted once', async () => {
      now = at
      const stores = [bench.store, await bench.reopen()]
      const vms = [...Array(24).keys()].map((i) => `web_${i}`)
      const write = (vm: string, counter: number) =>
        stores[counter % 2]!.writeBeacon(beaconOf(vm, { counter, version: `0.${counter}.0` }))
      await Promise.all(vms.flatMap((vm) => [write(vm, 1), write(vm, 2), write(vm, 3)]))
      expect((await read()).counts).toEqual({ 'beacon prod 0.3.0 heard': 24 })
    })

    test('another worker counts the same', async () => {
      now = at
      await keep({ eventId: 'a' })
      const { counts } = await read()
      const other = await bench.reopen()
      const again = await other.readCounts({ now: now + 1, fleets, maxAgeMs: 0 })
      expect(again.counts).toEqual([
        { what: 'event', fleet: 'prod', name: 'Reboot', state: 'scheduled', n: 1 },
      ])
      expect(counts).toEqual({ 'event prod Reboot scheduled': 1 })
    })
  })
}
