// How an instance of the relay learns the number of its beacons, and what that costs the storage.
import { beforeEach, expect, test } from 'vitest'
import type { Counts } from '../../functions/core/counts.ts'
import { alignedHeartbeats } from '../../functions/core/event/heartbeat.ts'
import { FleetSize } from '../../functions/host/azure/requests.ts'
import { createWorld } from '../support/world.ts'

const minute = 60_000
let world: Awaited<ReturnType<typeof createWorld>>
let size: FleetSize
/** For each read of the counts, how old they may be. */
let ages: (number | undefined)[]
let beacons: number

beforeEach(async () => {
  world = await createWorld()
  size = new FleetSize(world.relay)
  ages = []
  beacons = 1_000
  world.relay.store.readCounts = async ({ now, maxAgeMs }): Promise<Counts> => {
    ages.push(maxAgeMs)
    const count = (fleet: string, state: string, n: number) => {
      return { what: 'beacon' as const, fleet, name: '0.1.0', state, n }
    }
    const counts = [
      count('prod', 'heard', beacons - 400),
      ...[count('prod', 'silent', 300), count('other', 'heard', 100), count('prod', 'left', 9_000)],
      { what: 'event' as const, fleet: 'prod', name: 'Reboot', state: 'completed', n: 70_000 },
    ]
    return { at: now, counts, undecided: [], oldest: [] }
  }
})

const heartbeatsOf = (vms: number) => alignedHeartbeats(world.relay.config.publicUrl, vms)

test('the beacons of all fleets count, except those that have left', async () => {
  await size.follow(minute)
  expect(world.relay.host.heartbeats).toEqual(heartbeatsOf(1_000))
  expect(ages).toEqual([minute])
})

test('a request reads the last count once a minute, and waits for nothing', async () => {
  await size.follow(Number.POSITIVE_INFINITY)
  beacons = 100_000
  size.refresh()
  world.clock.now += minute
  for (let i = 0; i < 40; i++) size.refresh()
  expect(world.relay.host.heartbeats).toEqual(heartbeatsOf(1_000))
  await expect.poll(() => world.relay.host.heartbeats).toEqual(heartbeatsOf(100_000))
  expect(ages).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY])
})

test('while the storage fails, the last size holds', async () => {
  await size.follow(minute)
  world.relay.store.readCounts = () => Promise.reject(new Error('the storage is away'))
  world.clock.now += minute
  size.refresh()
  await expect.poll(() => world.lines.join()).toMatch(/fleet_size_unread/)
  expect(world.relay.host.heartbeats).toEqual(heartbeatsOf(1_000))
})
