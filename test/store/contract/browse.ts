import { describe, expect, test } from 'vitest'
import type { Beacon } from '../../../functions/core/event/beacon.ts'
import type { EventSearch } from '../../../functions/store/store.ts'
import { claim } from '../../support/claims.ts'
import {
  aDrill,
  at,
  beaconOf,
  delivery,
  type Fields,
  facts,
  key,
  record,
} from '../../support/records.ts'
import { type Bench, expectCommitted } from './bench.ts'

const day = 86_400_000
const both = ['prod', 'test']

export function browsePromises(bench: Bench): void {
  async function keep(changes: Fields): Promise<void> {
    await expectCommitted(bench.store, { record: record(changes) })
  }

  const find = async (search: Partial<EventSearch> = {}) => {
    const found = await bench.store.findEvents({ fleets: both, limit: 9, ...search })
    return found.events.map(({ eventId }) => eventId)
  }

  /** All pages together. */
  async function walk(search: Partial<EventSearch>): Promise<string[]> {
    const ids: string[] = []
    let after: string | undefined
    for (let pages = 0; pages < 30; pages++) {
      const page = await bench.store.findEvents({ fleets: both, limit: 2, ...search, after })
      expect(page.events.length).toBeLessThanOrEqual(2)
      ids.push(...page.events.map(({ eventId }) => eventId))
      if (page.next === undefined) return ids
      after = page.next
    }
    throw new Error('the pages never end')
  }

  describe('listOpen', () => {
    test('open events of these fleets, undecided first, by NotBefore', async () => {
      const decided = { decision: 'declined', how: 'link', who: 'chat', at } as const
      await keep({ eventId: 'late', facts: facts({ notBeforeAt: at + 900 }) })
      await keep({ eventId: 'decided', facts: facts({ notBeforeAt: at + 10 }), decided })
      await keep({ eventId: 'soon', facts: facts({ notBeforeAt: at + 100 }) })
      await keep({ eventId: 'runs', phase: 'started', started: { at: at }, facts: facts() })
      await keep({ eventId: 'over', ended: { at, outcome: 'completed' }, phase: 'completed' })
      await keep({ eventId: 'other', fleet: 'test' })
      const ids = async (fleets: string[], limit = 9) =>
        (await bench.store.listOpen(fleets, limit)).map(({ eventId }) => eventId)
      const [first, second, ...rest] = await ids(['prod'])
      expect([first, second]).toEqual(['soon', 'late'])
      expect(rest.sort()).toEqual(['decided', 'runs'])
      expect(await ids(['prod'], 1)).toEqual(['soon'])
      expect(await ids(['test'])).toEqual(['other'])
      expect(await ids([])).toEqual([])
    })

    test('only those that the caller keeps, and it sees each that is open', async () => {
      for (const eventId of ['a', 'b', 'c']) await keep({ eventId })
      await keep({ eventId: 'over', ended: { at, outcome: 'completed' }, phase: 'completed' })
      const seen: string[] = []
      const kept = await bench.store.listOpen(both, 9, ({ eventId }) => {
        seen.push(eventId)
        return eventId === 'b'
      })
      expect(kept.map(({ eventId }) => eventId)).toEqual(['b'])
      expect(seen.sort()).toEqual(['a', 'b', 'c'])
    })

    test('an event leaves the list with its end, and returns if it is back', async () => {
      await keep({ eventId: 'a' })
      const ended = { at, outcome: 'cancelled' } as const
      const over = record({ eventId: 'a', sequence: 2, phase: 'cancelled', ended })
      await expectCommitted(bench.store, { record: over, basedOn: 1 })
      expect(await bench.store.listOpen(both, 9)).toEqual([])
      await expectCommitted(bench.store, {
        record: record({ eventId: 'a', sequence: 3, epoch: 2 }),
        basedOn: 2,
      })
      expect(await bench.store.listOpen(both, 9)).toMatchObject([{ eventId: 'a', epoch: 2 }])
    })
  })

  describe('findEvents', () => {
    test('a summary of each event, of these fleets only', async () => {
      const decided = { decision: 'approved', how: 'slack', who: 'T/U', at: at + 5 } as const
      const resources = Array.from({ length: 12 }, (_, i) => `web_${i}`)
      const ended = { at: at + 9, outcome: 'completed', inferred: 'vm_gone' } as const
      const whole = { facts: facts({ resources }), decided, started: { at: at + 7 }, ended }
      await keep({ eventId: 'a', phase: 'completed', drill: aDrill, ...whole })
      await keep({ eventId: 'b', fleet: 'test', firstSeenAt: at + 1 })
      const { events } = await bench.store.findEvents({ fleets: ['prod'], limit: 9 })
      const { notBeforeAt } = facts()
      expect(events).toEqual([
        {
          ...{ fleet: 'prod', eventId: 'a', eventType: 'Reboot', step: 'completed', drill: true },
          ...{ inferred: true, vms: resources.slice(0, 8), vmCount: 12, firstSeenAt: at },
          ...{ notBeforeAt, startedAt: at + 7, endedAt: at + 9 },
          ...{ decidedAt: at + 5, decidedHow: 'slack' },
        },
      ])
      expect(await find()).toEqual(['b', 'a'])
      expect(await find({ fleets: [] })).toEqual([])
    })

    test('by type, step and time, also after a change', async () => {
      await keep({ eventId: 'a', firstSeenAt: at })
      await keep({ eventId: 'b', firstSeenAt: at + day, facts: facts({ eventType: 'Freeze' }) })
      await keep({ eventId: 'c', firstSeenAt: at + 2 * day, phase: 'started', started: { at: at } })
      expect(await find({ eventType: 'Reboot' })).toEqual(['c', 'a'])
      expect(await find({ steps: ['open'] })).toEqual(['b', 'a'])
      expect(await find({ steps: ['started'], eventType: 'Freeze' })).toEqual([])
      expect(await find({ since: at + day })).toEqual(['c', 'b'])
      expect(await find({ since: at, until: at + day })).toEqual(['a'])
      const ended = { at, outcome: 'lost' } as const
      const lost = record({ eventId: 'a', sequence: 2, ended })
      await expectCommitted(bench.store, { record: lost, basedOn: 1 })
      expect(await find({ steps: ['lost'] })).toEqual(['a'])
      expect(await find({ steps: ['lost', 'started'] })).toEqual(['c', 'a'])
      expect(await find({ steps: ['open'] })).toEqual(['b'])
    })

    test('by the beginning of the name of a VM or of the id', async () => {
      await keep({ eventId: 'c7061bac', facts: facts({ resources: ['Web_1', 'web_10'] }) })
      await keep({ eventId: 'd', firstSeenAt: at + 1, facts: facts({ resources: ['web_2'] }) })
      await keep({ eventId: 'e', firstSeenAt: at + 2, facts: facts({ resources: ['db_1'] }) })
      expect(await find({ prefix: 'WEB_' })).toEqual(['d', 'c7061bac'])
      expect(await find({ prefix: 'web_1' })).toEqual(['c7061bac'])
      expect(await find({ prefix: 'C7061' })).toEqual(['c7061bac'])
      expect(await find({ prefix: 'eb_' })).toEqual([])
      expect(await find({ prefix: 'web_', since: at + 1 })).toEqual(['d'])
      expect(await find({ prefix: '%' })).toEqual([])
    })

    test('by the VMs that it affects now', async () => {
      await keep({ eventId: 'a', facts: facts({ resources: ['web_1', 'web_2'] }) })
      const moved = record({ eventId: 'a', sequence: 2, facts: facts({ resources: ['web_3'] }) })
      await expectCommitted(bench.store, { record: moved, basedOn: 1 })
      expect(await find({ prefix: 'web_3' })).toEqual(['a'])
      expect(await find({ prefix: 'web_1' })).toEqual([])
    })

    test('pages together contain every event once, the newest first', async () => {
      const all = [...Array(9).keys()].map((i) => ({
        eventId: `e${i}`,
        fleet: both[i % 2]!,
        firstSeenAt: at + Math.floor(i / 4),
        facts: facts({ resources: [`web_${i}`], eventType: i % 3 === 0 ? 'Freeze' : 'Reboot' }),
      }))
      for (const one of all) await keep(one)
      const times = (ids: string[]) => ids.map((id) => all[Number(id.slice(1))]!.firstSeenAt)
      for (const search of [{}, { prefix: 'web_' }, { until: at + 2 }]) {
        const ids = await walk(search)
        expect(times(ids)).toEqual(times(ids).toSorted((a, b) => b - a))
        expect(ids.toSorted()).toEqual(
          all.filter((one) => one.firstSeenAt < (search.until ?? at + 9)).map((one) => one.eventId),
        )
      }
      expect((await walk({ eventType: 'Freeze' })).toSorted()).toEqual(['e0', 'e3', 'e6'])
      expect((await walk({ fleets: ['test'], steps: ['open'] })).toSorted()).toEqual([
        ...['e1', 'e3', 'e5', 'e7'],
      ])
    })

    test('a cursor that somebody made up: an empty page', async () => {
      await keep({})
      for (const after of ['', 'x', '1/%zz/a', '1/2']) expect(await find({ after })).toEqual([])
    })

    test('nothing is left of a forgotten event', async () => {
      const ended = { at, outcome: 'completed' } as const
      await keep({ eventId: 'a', ended, phase: 'completed' })
      await bench.store.forget(at + 1, 9)
      expect(await find()).toEqual([])
      expect(await find({ prefix: 'web_0' })).toEqual([])
      expect(await bench.store.listOpen(both, 9)).toEqual([])
    })
  })

  describe('channelActivity', () => {
    const of = async (...channels: string[]) => bench.store.channelActivity(channels)

    test('what is pending since when, what failed and when it last arrived', async () => {
      const planned = [
        delivery('a', { plannedAt: at - 50 }),
        delivery('b', { plannedAt: at - 90, eventId: key.eventId, seq: 65 }),
        delivery('c', { channel: 'team' }),
      ]
      await expectCommitted(bench.store, { record: record(), deliveries: planned })
      const quiet = { pending: 0, failed: 0 }
      expect(await of('team', 'chat', 'none')).toEqual([
        { channel: 'team', pendingSince: at, pending: 1, failed: 0 },
        { channel: 'chat', pendingSince: at - 90, pending: 2, failed: 0 },
        { channel: 'none', ...quiet },
      ])
      const foreign = await bench.store.channelActivity(['chat'], { fleets: ['test'] })
      expect(foreign).toEqual([{ channel: 'chat', ...quiet }])
      for (const one of await claim(bench.store, { leaseMs: 20_000, limit: 9 })) {
        const state = one.id === 'c' ? ('refused' as const) : ('delivered' as const)
        const settlement = { state, nextAt: at + 5, note: '' }
        expect(await bench.store.settle(one, settlement, at + 5, [])).toBe('settled')
      }
      const [chat, team] = await of('chat', 'team')
      expect(chat).toMatchObject({ deliveredAt: at + 5, failed: 0 })
      expect(team).toEqual({ channel: 'team', pending: 0, failed: 1, failedAt: at })
    })
  })

  describe('listFailed', () => {
    test('refused and given-up deliveries of a channel, the latest first, page by page', async () => {
      const ids = ['a', 'b', 'c', 'd']
      for (const [i, id] of ids.entries()) {
        const own = { eventId: id, fleet: both[i % 2]! }
        const state = (['refused', 'given_up'] as const)[i % 2]!
        const failed = delivery(id, { ...own, state, plannedAt: at + i })
        const others = [
          delivery(`${id}-done`, { ...own, state: 'delivered', seq: 65 }),
          delivery(`${id}-team`, { ...own, state: 'refused', channel: 'team' }),
        ]
        await expectCommitted(bench.store, { record: record(own), deliveries: [failed, ...others] })
      }
      const page = (more: object = {}) =>
        bench.store.listFailed({ channel: 'chat', limit: 3, ...more })
      const first = await page()
      expect(first.deliveries.map(({ id }) => id)).toEqual(['d', 'c', 'b'])
      const second = await page({ after: first.next })
      expect(second.deliveries.map(({ id }) => id)).toEqual(['a'])
      expect(second.next).toBeUndefined()
      const own = await page({ fleets: ['prod'] })
      expect(own.deliveries.map(({ id }) => id)).toEqual(['c', 'a'])
      expect((await page({ channel: 'none' })).deliveries).toEqual([])
    })
  })

  describe('findBeacons', () => {
    const write = async (vm: string, changes: Partial<Beacon> = {}) => {
      const silentAt = at + 60_000
      const beacon = beaconOf(vm, { silentAt, ...changes })
      expect(await bench.store.writeBeacon(beacon)).toBe('written')
    }
    const found = async (search: object = {}) => {
      const all: string[] = []
      let after: string | undefined
      for (let pages = 0; pages < 30; pages++) {
        const page = { fleet: 'prod', limit: 2, now: at + 1_000, ...search, after }
        const { beacons, next } = await bench.store.findBeacons(page)
        expect(beacons.length).toBeLessThanOrEqual(2)
        all.push(...beacons.map(({ vm }) => vm))
        if (next === undefined) return all.sort()
        after = next
      }
      throw new Error('the pages never end')
    }

    test('by the beginning of the name and by state, of one fleet', async () => {
      for (const vm of ['Web_1', 'web_2', 'web_3', 'db_1', 'db_2']) await write(vm)
      await write('web_4', { fleet: 'test' })
      await write('web_5', { left: { why: 'removed', at } })
      await write('web_6', { silence: { since: at - 9, from: at }, heardAt: at - 9 })
      expect(await found()).toEqual([
        ...['Web_1', 'db_1', 'db_2', 'web_2', 'web_3', 'web_5', 'web_6'],
      ])
      expect(await found({ prefix: 'WEB_' })).toEqual([
        ...['Web_1', 'web_2', 'web_3', 'web_5', 'web_6'],
      ])
      expect(await found({ prefix: 'web_2' })).toEqual(['web_2'])
      expect(await found({ prefix: 'eb' })).toEqual([])
      expect(await found({ state: 'left' })).toEqual(['web_5'])
      expect(await found({ state: 'silent' })).toEqual(['web_6'])
      expect(await found({ state: 'heard', prefix: 'web' })).toEqual(['Web_1', 'web_2', 'web_3'])
      expect(await found({ fleet: 'test' })).toEqual(['web_4'])
      expect(await found({ fleet: 'none' })).toEqual([])
    })

    test('under its new name after it was renamed, and no longer once it is forgotten', async () => {
      await write('web_1', { sees: [] })
      await write('new_1', { beacon: 'id-web_1', bootId: 'boot-of-web_1', counter: 2, sees: [] })
      expect(await found({ prefix: 'web' })).toEqual([])
      expect(await found({ prefix: 'new' })).toEqual(['new_1'])
      await bench.store.forget(at + 1, 9)
      expect(await found({ prefix: 'new' })).toEqual([])
      expect(await found()).toEqual([])
    })
  })
}
