// What ended long ago is removed, but never because the relay's clock was wrong for a moment.
import { expect, test } from 'vitest'
import { forgetOld } from '../../../functions/use-cases/forget.ts'
import { hour, outcome, relayForEach, report, startRelay, world } from '../../support/relay.ts'
import { event, eventId, FakeBeacon, testKey } from '../../support/world.ts'

const day = 24 * hour

relayForEach(async () => {
  await startRelay({ retentionDays: 90 })
  await report(event())
  world.clock.now += 60_000
  await report()
  await world.pass(10_001)
  expect(await outcome()).toMatchObject({ outcome: 'cancelled' })
  await forgetOld(world.relay)
})

const isKnown = async () => (await world.getEvent(eventId)).status === 200

test('an ended event is removed after retentionDays', async () => {
  for (let days = 0; days < 89; days++) {
    world.clock.now += day
    await forgetOld(world.relay)
  }
  expect(await isKnown()).toBe(true)
  world.clock.now += day
  await forgetOld(world.relay)
  expect(await isKnown()).toBe(false)
})

test('a clock that is 400 days ahead for a few runs removes nothing of the last months', async () => {
  world.clock.now += 400 * day
  for (let runs = 0; runs < 3; runs++) await forgetOld(world.relay)
  world.clock.now -= 400 * day
  await forgetOld(world.relay)
  expect(await isKnown()).toBe(true)
})

test('a clock that the clocks of VMs confirm is believed at once, and one from before is not', async () => {
  world.clock.now += 400 * day
  await forgetOld(world.relay)
  expect(await isKnown()).toBe(true)
  for (const vm of ['web_0', 'web_1', 'web_2']) await new FakeBeacon(world, vm).sees([])
  await forgetOld(world.relay)
  expect(await isKnown()).toBe(false)
})

test('a clock that the VMs of one fleet confirm, and those of another do not, is not believed', async () => {
  world.clock.now += 400 * day
  await forgetOld(world.relay)
  for (const vm of ['web_0', 'web_1', 'web_2']) {
    const right = new FakeBeacon(world, vm)
    right.clockAheadMs = -400 * day
    await right.sees([])
    await new FakeBeacon(world, vm, { fleet: 'test', key: testKey }).sees([])
  }
  await forgetOld(world.relay)
  expect(await isKnown()).toBe(true)
})

test('a clock that was behind at first does not keep everything for years', async () => {
  const { now } = world.clock
  world.clock.now = 0
  await forgetOld(world.relay)
  world.clock.now = now + 100 * day
  for (const vm of ['web_0', 'web_1', 'web_2']) await new FakeBeacon(world, vm).sees([])
  await forgetOld(world.relay)
  expect(await isKnown()).toBe(false)
})
