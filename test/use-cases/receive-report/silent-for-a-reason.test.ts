// An affected VM whose beacon is silent, and the relay knows why: that is no restart.
import { beforeEach, expect, test } from 'vitest'
import { beacon, eventNow, minute, startRelay, world } from '../../support/relay.ts'
import { event, FakeBeacon } from '../../support/world.ts'

let other: FakeBeacon

beforeEach(async () => {
  await startRelay()
  other = new FakeBeacon(world, 'web_1')
  for (const one of [beacon, other]) await one.sees([event()])
  await world.drain()
})

async function passMinutes(beacons: FakeBeacon[], shown: ReturnType<typeof event>[]) {
  for (let i = 0; i < 5; i++) {
    await world.pass(minute)
    for (const one of beacons) {
      one.uptimeMs += minute
      await one.sees(shown)
    }
  }
  await world.pass(minute)
}

test.each(['removed', 'upgrade'])('it said "%s": the event was cancelled', async (goodbye) => {
  await beacon.post({ ...beacon.body([event()]), goodbye })
  await passMinutes([other], [])
  expect(await eventNow()).toMatchObject({ outcome: 'cancelled' })
})

test('its VM was made anew: the event was cancelled', async () => {
  const anew = new FakeBeacon(world, 'web_0', { vm: { vmId: 'another' } })
  anew.uptimeMs = 1_000
  await passMinutes([anew, other], [event()])
  await passMinutes([anew, other], [])
  expect(await eventNow()).toMatchObject({ outcome: 'cancelled' })
})

test('neither is known: the event is completed', async () => {
  await passMinutes([other], [])
  expect(await eventNow()).toMatchObject({ outcome: 'completed' })
})
