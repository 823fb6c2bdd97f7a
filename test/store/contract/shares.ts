import { describe, expect, test } from 'vitest'
import { maxOpenOfBeacon } from '../../../functions/core/limits.ts'
import { at, beaconOf, type Fields, record, sight } from '../../support/records.ts'
import { type Bench, expectCommitted } from './bench.ts'

/** Only this beacon reports it. */
const by = (beacon: string) => ({ sights: [sight('web_0', { beacon })] })

/** The number of open events of a fleet, and of those that one beacon alone reports. */
export function sharePromises(bench: Bench): void {
  const write = (changes: Fields, basedOn = 0) =>
    expectCommitted(bench.store, { record: record({ ...changes, sequence: basedOn + 1 }), basedOn })
  const count = async (beacon: string, fleet = 'prod') => {
    const counts = await bench.store.countOpen(fleet, beacon)
    return [counts.ofBeacon, counts.ofFleet]
  }

  describe('open events', () => {
    test('are counted by fleet, and by the beacon that alone reports them', async () => {
      expect(await count('a')).toEqual([0, 0])
      await write({ eventId: '1', ...by('a') })
      await write({ eventId: '2', ...by('a') })
      await write({ eventId: '3', ...by('b') })
      await write({ eventId: '4' })
      await write({ eventId: '1', ...by('a'), fleet: 'test' })
      expect(await count('a')).toEqual([2, 4])
      expect(await count('b')).toEqual([1, 4])
      expect(await count('c')).toEqual([0, 4])
      expect(await count('a', 'test')).toEqual([1, 1])
    })

    test('no longer count for a beacon once another reports them, nor at all once they ended', async () => {
      await write({ eventId: '1', ...by('a') })
      await write({ eventId: '2', ...by('a') })
      await write({ eventId: '1' }, 1)
      expect(await count('a')).toEqual([1, 2])
      const ended = { at, outcome: 'completed' as const }
      await write({ eventId: '1', ended }, 2)
      await write({ eventId: '2', ...by('a'), ended }, 1)
      expect(await count('a')).toEqual([0, 0])
      await write({ eventId: '2', ...by('b'), epoch: 2 }, 2)
      expect(await count('b')).toEqual([1, 1])
    })

    test('names that begin alike are different beacons', async () => {
      for (const [i, onlyBeacon] of ['a', 'ab', 'a|b', 'a-', ''].entries()) {
        await write({ eventId: String(i), ...(onlyBeacon && by(onlyBeacon)) })
      }
      expect(await count('a')).toEqual([1, 5])
      expect(await count('a|b')).toEqual([1, 5])
    })

    test('that another handle wrote a moment ago count, if the beacon has several', async () => {
      const other = await bench.reopen()
      await other.countOpen('prod', 'a')
      for (let i = 0; i < 60; i++) {
        const event = record({ eventId: `${i}`, ...by('a'), sequence: 1 })
        await expectCommitted(i < 10 ? other : bench.store, { record: event })
      }
      expect((await other.countOpen('prod', 'a')).ofBeacon).toBe(60)
    })

    test('of a full share are at least its limit, for any handle', async () => {
      for (let i = 0; i < maxOpenOfBeacon + 3; i++) await write({ eventId: `${i}`, ...by('a') })
      const other = await bench.reopen()
      const { ofBeacon } = await other.countOpen('prod', 'a')
      expect(ofBeacon).toBeGreaterThanOrEqual(maxOpenOfBeacon)
    })
  })

  test('all stored beacons of a fleet are counted, also those that left, until they are forgotten', async () => {
    const { store } = bench
    expect(await store.countBeacons('prod')).toBe(0)
    await store.writeBeacon(beaconOf('web_0'))
    await store.writeBeacon(beaconOf('web_0', { counter: 2, version: '9.9.9' }))
    await store.writeBeacon(beaconOf('web_1', { left: { why: 'removed', at } }))
    await store.writeBeacon(beaconOf('web_2', { fleet: 'test' }))
    expect(await store.countBeacons('prod')).toBe(2)
    expect(await store.countBeacons('test')).toBe(1)
    await store.forget(at + 1, 10)
    expect(await store.countBeacons('prod')).toBe(0)
  })
}
