import { describe, expect, test } from 'vitest'
import { at, beaconOf } from '../../support/records.ts'
import type { Bench } from './bench.ts'

export function beaconPromises(bench: Bench): void {
  describe('listBeacons', () => {
    test('those of one fleet, page by page, each once, with the fields of a list', async () => {
      const { store } = bench
      const names = Array.from({ length: 9 }, (_, i) => `web_${i}`)
      for (const name of names) await store.writeBeacon(beaconOf(name))
      await store.writeBeacon(beaconOf('web_0', { counter: 2 }))
      await store.writeBeacon(beaconOf('db_0', { fleet: 'test' }))
      const found = await store.listBeacons('prod', { limit: 100 })
      expect(found.map(({ vm }) => vm).sort()).toEqual(names)
      expect(found.find(({ vm }) => vm === 'web_0')).toEqual({
        ...{ beacon: 'id-web_0', vm: 'web_0', resourceGroup: 'rg', scaleSet: '' },
        ...{ heardAt: at, paceMs: 2_000, seesEvents: 1, version: '0.1.0' },
      })
      expect(await store.listBeacons('none', { limit: 4 })).toEqual([])
      const more = {
        ...{ version: '0.1.0', hooks: ['prepare' as const], explainedBy: 'e' },
        goodbye: { reason: 'upgrade' as const, at },
        silence: { since: at, from: at + 2 },
        left: { why: 'owner' as const, at },
      }
      await store.writeBeacon(beaconOf('web_0', { counter: 3, ...more }))
      expect((await store.listBeacons('prod', { limit: 1 }))[0]).toMatchObject(more)
      const paged: string[] = []
      for (let after: string | undefined; ; ) {
        const page = await store.listBeacons('prod', { limit: 4, ...(after && { after }) })
        paged.push(...page.map(({ beacon }) => beacon))
        if (page.length < 4) break
        after = paged.at(-1)
      }
      expect(paged).toEqual(names.map((name) => `id-${name}`))
    })
  })

  describe('writeBeacon', () => {
    test('a beacon is read back as it was', async () => {
      expect(await bench.store.readBeacon('prod', 'id-web_0')).toBeUndefined()
      const beacon = beaconOf('web_0', { tags: { env: 'prod', '': 'ü' } })
      expect(await bench.store.writeBeacon(beacon)).toBe('written')
      const other = await bench.reopen()
      expect(await other.readBeacon('prod', 'id-web_0')).toEqual(beacon)
      expect(await bench.store.readBeacon('test', 'id-web_0')).toBeUndefined()
    })

    const written = { bootId: 'boot-2', counter: 5, retiredBootIds: ['boot-0', 'boot-1'] }
    test.each([
      ['a later counter of the same boot', { bootId: 'boot-2', counter: 6 }, 'written'],
      ['a new boot with any counter', { bootId: 'boot-3', counter: 1 }, 'written'],
      ['the same counter again', { bootId: 'boot-2', counter: 5 }, 'stale'],
      ['an earlier counter', { bootId: 'boot-2', counter: 4 }, 'stale'],
      ['a retired boot', { bootId: 'boot-1', counter: 99 }, 'stale'],
      ['a boot retired long ago', { bootId: 'boot-0', counter: 99 }, 'stale'],
    ])('%s', async (_, change, outcome) => {
      const { store } = bench
      const before = beaconOf('web_0', written)
      await store.writeBeacon(before)
      const next = beaconOf('web_0', { ...written, ...change, heardAt: at + 1 })
      expect(await store.writeBeacon(next)).toBe(outcome)
      const kept = outcome === 'written' ? next : before
      expect(await store.readBeacon('prod', 'id-web_0')).toEqual(kept)
    })

    test('after racing reports the latest counter is stored', async () => {
      const stores = [bench.store, await bench.reopen()]
      const counters = [4, 9, 2, 7, 1, 8, 3]
      await Promise.all(
        counters.map((counter, i) => stores[i % 2]!.writeBeacon(beaconOf('web_0', { counter }))),
      )
      expect((await bench.store.readBeacon('prod', 'id-web_0'))?.counter).toBe(9)
    })
  })

  describe('replaceBeacon', () => {
    const before = beaconOf('web_0', { silentAt: at, tags: { 2: 'b', 1: 'a', é: '' } })
    const after = { ...before, silence: { since: at, from: at + 1 }, silentAt: at + 2 }

    test('replaces the beacon as it was read, and nothing else of it', async () => {
      const { store } = bench
      await store.writeBeacon(before)
      const read = (await store.readBeacon('prod', 'id-web_0'))!
      expect(await store.replaceBeacon(read, { ...read, ...after })).toBe('written')
      const other = await bench.reopen()
      expect(await other.readBeacon('prod', 'id-web_0')).toEqual(after)
      expect(await other.writeBeacon({ ...before, counter: 2 })).toBe('written')
    })

    test.each([
      ['a report', { counter: 2 }],
      ['another conclusion', { left: { why: 'owner' as const, at } }],
    ])('is stale after %s', async (_, change) => {
      const { store } = bench
      await store.writeBeacon(before)
      const between = { ...before, ...change }
      if ('counter' in change) await store.writeBeacon(between)
      else await store.replaceBeacon(before, between)
      expect(await store.replaceBeacon(before, after)).toBe('stale')
      expect(await store.readBeacon('prod', 'id-web_0')).toEqual(between)
    })

    test('is stale if there is no such beacon', async () => {
      expect(await bench.store.replaceBeacon(before, after)).toBe('stale')
      expect(await bench.store.readBeacon('prod', 'id-web_0')).toBeUndefined()
    })
  })

  describe('dueBeacons', () => {
    const minute = 60_000
    const due = async (now: number, limit = 100) =>
      (await bench.store.dueBeacons(now, limit)).map(({ fleet, beacon }) => `${fleet} ${beacon}`)

    test('those of all fleets whose time has come, the longest due first, up to the limit', async () => {
      const { store } = bench
      const times = { web_0: at + 3, web_1: at + 1, web_2: at + 4 }
      for (const [name, silentAt] of Object.entries(times)) {
        await store.writeBeacon(beaconOf(name, { silentAt }))
      }
      await store.writeBeacon(beaconOf('db_0', { fleet: 'test', silentAt: at + 2 }))
      await store.writeBeacon(beaconOf('web_3'))
      expect(await due(at)).toEqual([])
      expect(await due(at + 3)).toEqual(['prod id-web_1', 'test id-db_0', 'prod id-web_0'])
      expect(await due(at + 3, 2)).toEqual(['prod id-web_1', 'test id-db_0'])
      expect(await due(at + 4)).toHaveLength(4)
    })

    test('each at its last time, however often that moved', async () => {
      const { store } = bench
      const write = (counter: number, silentAt: number | undefined) => {
        const later = { counter, heardAt: at + counter * minute }
        const time = silentAt === undefined ? {} : { silentAt }
        return store.writeBeacon(beaconOf('web_0', { ...later, ...time }))
      }
      for (let i = 1; i <= 5; i++) await write(i, at + (i + 3) * minute)
      expect(await due(at + 8 * minute - 1)).toEqual([])
      expect(await due(at + 8 * minute)).toEqual(['prod id-web_0'])
      // a shorter pace
      await write(6, at + 7 * minute)
      expect(await due(at + 7 * minute - 1)).toEqual([])
      expect(await due(at + 7 * minute)).toEqual(['prod id-web_0'])
      // a longer one, and none
      await write(7, at + 20 * minute)
      expect(await due(at + 20 * minute - 1)).toEqual([])
      expect(await due(at + 20 * minute)).toEqual(['prod id-web_0'])
      await write(8, undefined)
      expect(await due(at + 60 * minute)).toEqual([])
      await write(9, at + 61 * minute)
      expect(await due(at + 61 * minute)).toEqual(['prod id-web_0'])
    })

    test('follows what the relay concluded', async () => {
      const { store } = bench
      const first = beaconOf('web_0', { silentAt: at })
      await store.writeBeacon(first)
      const later = { ...first, silentAt: at + 5 * minute }
      await store.replaceBeacon(first, later)
      expect(await due(at + 5 * minute - 1)).toEqual([])
      expect(await due(at + 5 * minute)).toEqual(['prod id-web_0'])
      const { silentAt: _, ...never } = later
      await store.replaceBeacon(later, never)
      expect(await due(at + 9 * minute)).toEqual([])
      const again = { ...never, silentAt: at + 9 * minute }
      await store.replaceBeacon(never, again)
      expect(await due(at + 9 * minute)).toEqual(['prod id-web_0'])
    })

    test('more than a page of them, among many that were heard again', async () => {
      const { store } = bench
      const write = async (i: number) => {
        const name = `vm${i}`
        await store.writeBeacon(beaconOf(name, { silentAt: at }))
        const heard = { counter: 2, heardAt: at + minute, silentAt: at + 30 * minute }
        if (i % 2 === 0) await store.writeBeacon(beaconOf(name, heard))
      }
      await Promise.all([...Array(120).keys()].map(write))
      expect(await due(at + 10 * minute, 1_000)).toHaveLength(60)
      expect(await due(at + 10 * minute, 20)).toHaveLength(20)
      expect(await due(at + 30 * minute, 1_000)).toHaveLength(120)
    })

    test('not those that were forgotten', async () => {
      const { store } = bench
      await store.writeBeacon(beaconOf('web_0', { silentAt: at, sees: [] }))
      await store.forget(at + 1, 10)
      expect(await due(at + minute)).toEqual([])
    })
  })
}
