import { describe, expect, test } from 'vitest'
import { at, beaconOf, key, observer, sighting } from '../../support/records.ts'
import { event } from '../../support/world.ts'
import { type Bench, contentsOf } from './bench.ts'

export function beaconPromises(bench: Bench): void {
  describe('listBeacons', () => {
    test('those of one fleet, page by page, each once, with the fields of a list', async () => {
      const { store } = bench
      const names = Array.from({ length: 9 }, (_, i) => `web_${i}`)
      for (const name of names) await store.writeBeacon(beaconOf(name), [sighting(name)])
      await store.writeBeacon(beaconOf('web_0', { counter: 2 }), [])
      await store.writeBeacon(beaconOf('db_0', { fleet: 'test' }), [])
      const found = await store.listBeacons('prod', { limit: 100 })
      expect(found.map(({ vm }) => vm).sort()).toEqual(names)
      expect(found.find(({ vm }) => vm === 'web_0')).toEqual({
        ...{ beacon: 'id-web_0', vm: 'web_0', resourceGroup: 'rg', scaleSet: '' },
        ...{ heardAt: at, paceMs: 2_000, seesEvents: 1 },
      })
      expect(await store.listBeacons('none', { limit: 4 })).toEqual([])
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
    test('a beacon and its sightings are read back as they were', async () => {
      expect(await bench.store.readBeacon('prod', 'id-web_0')).toBeUndefined()
      const hooks = { prepare: { state: 'failed' as const, since: at, exitCode: 1, note: 'ü' } }
      const { beacon, sighting } = observer('web_0', { tags: { env: 'prod', '': 'x' } }, { hooks })
      expect(await bench.store.writeBeacon(beacon, [sighting])).toBe('written')
      const other = await bench.reopen()
      expect(await other.readBeacon('prod', 'id-web_0')).toEqual(beacon)
      expect(await other.readSightings('prod', 'id-web_0', [key.eventId])).toEqual([sighting])
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
      const before = observer('web_0', written)
      await store.writeBeacon(before.beacon, [before.sighting])
      const seen = sighting('web_0', { event: event({ status: 'Started' }) })
      const next = beaconOf('web_0', { ...written, ...change, heardAt: at + 1 })
      expect(await store.writeBeacon(next, [seen])).toBe(outcome)
      const kept = outcome === 'written' ? { beacon: next, sighting: seen } : before
      expect(await store.readObservers(key)).toEqual([kept])
      expect(await store.readBeacon('prod', 'id-web_0')).toEqual(kept.beacon)
    })

    test('stale writes no new sighting either', async () => {
      const { store } = bench
      await store.writeBeacon(beaconOf('web_0', written), [])
      const stale = beaconOf('web_0', { ...written, counter: 4 })
      expect(await store.writeBeacon(stale, [sighting('web_0')])).toBe('stale')
      expect(await store.readSightings('prod', 'id-web_0', [key.eventId])).toEqual([])
    })

    test('a failure in the middle leaves nothing behind', async () => {
      const { store } = bench
      await store.writeBeacon(beaconOf('web_0'), [sighting('web_0')])
      const before = await contentsOf(store, [key, { ...key, eventId: 'b' }])
      const unwritable = sighting('web_0', { eventId: 'b', event: 1n as never })
      const next = beaconOf('web_0', { counter: 2 })
      const gone = sighting('web_0', { gone: { firstAt: at, lastSeenAt: at } })
      await expect(store.writeBeacon(next, [gone, unwritable])).rejects.toThrow()
      expect(await contentsOf(store, [key, { ...key, eventId: 'b' }])).toEqual(before)
      expect((await store.readBeacon('prod', 'id-web_0'))?.counter).toBe(1)
    })

    test('after racing reports the latest counter is stored', async () => {
      const stores = [bench.store, await bench.reopen()]
      const counters = [4, 9, 2, 7, 1, 8, 3]
      await Promise.all(
        counters.map((counter, i) =>
          stores[i % 2]!.writeBeacon(beaconOf('web_0', { counter }), []),
        ),
      )
      expect((await bench.store.readBeacon('prod', 'id-web_0'))?.counter).toBe(9)
    })
  })

  describe('readObservers and readSightings', () => {
    test('only those of that fleet and event', async () => {
      const { store } = bench
      const mine = observer('web_0')
      const second = observer('web_1')
      const other = { fleet: 'test', beacon: 'id-web_0' }
      await store.writeBeacon(mine.beacon, [mine.sighting, sighting('web_0', { eventId: 'b' })])
      await store.writeBeacon(second.beacon, [second.sighting])
      await store.writeBeacon(beaconOf('web_0', other), [sighting('web_0')])
      await store.writeBeacon(beaconOf('web_2'), [sighting('web_2', { eventId: 'b' })])
      const observers = await store.readObservers(key)
      expect(observers.map(({ beacon }) => beacon.beacon).sort()).toEqual(['id-web_0', 'id-web_1'])
      expect(observers).toContainEqual(mine)
      expect(await store.readObservers({ ...key, fleet: 'test' })).toHaveLength(1)
      expect(await store.readObservers({ ...key, eventId: 'c' })).toEqual([])
    })

    test('sightings of this beacon, those that exist, in any number', async () => {
      const { store } = bench
      const seen = ['a', 'b', 'c'].map((eventId) => sighting('web_0', { eventId }))
      await store.writeBeacon(beaconOf('web_0'), seen)
      await store.writeBeacon(beaconOf('web_1'), [sighting('web_1', { eventId: 'd' })])
      const read = await store.readSightings('prod', 'id-web_0', ['c', 'd', 'a', 'missing'])
      expect(read.map(({ eventId }) => eventId).sort()).toEqual(['a', 'c'])
      expect(await store.readSightings('prod', 'id-web_0', [])).toEqual([])
      const many = [...Array(500).keys()].map(String)
      expect(await store.readSightings('prod', 'id-web_0', many)).toEqual([])
    })
  })
}
