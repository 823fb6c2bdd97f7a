// How often the loop of a host looks at the relay itself.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Loop } from '../../../functions/host/loop.ts'
import { UnderWay } from '../../../functions/host/under-way.ts'
import { startRelay, world } from '../../support/relay.ts'

let own: Loop
beforeEach(async () => {
  await startRelay()
  const options = { places: { all: 2_048, claimed: 256 }, maxSleepMs: 30_000, keepsHouse: true }
  own = new Loop(world.relay, new UnderWay(world.relay), { set() {} }, options)
})
afterEach(() => own.stop(1_000))

test('checks itself every 5 minutes, and at once after its clock was set back', async () => {
  let checks = 0
  world.relay.host.abilities.disk = async () => {
    checks += 1
    return { freeBytes: 1, totalBytes: 1 }
  }
  const after = async (ms: number) => {
    world.clock.now += ms
    void own.tick()
    await own.settled(10_000)
    return checks
  }
  expect(await after(0)).toBe(1)
  expect(await after(60_000)).toBe(1)
  expect(await after(240_000)).toBe(2)
  expect(await after(-86_400_000)).toBe(3)
})
