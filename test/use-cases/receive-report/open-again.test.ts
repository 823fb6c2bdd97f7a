// An event that ended is back: a speaker shows it again whose own document had lacked it, or that first
// saw it a minute after the end.
import { beforeEach, expect, test } from 'vitest'
import { eventNow, minute, moments, second, startRelay, world } from '../../support/relay.ts'
import { event, FakeBeacon, startAt, started } from '../../support/world.ts'

const scheduled = event({ notBeforeAt: startAt + second })
let hit: FakeBeacon
let onlooker: FakeBeacon

beforeEach(async () => {
  await startRelay()
  hit = new FakeBeacon(world, 'web_0')
  onlooker = new FakeBeacon(world, 'web_1')
  for (const one of [hit, onlooker]) await one.sees([scheduled])
  await world.pass(2 * second)
  // IMDS shows nothing for a moment
  for (const one of [hit, onlooker]) await one.sees([])
  await world.pass(11 * second)
  expect(moments()).toEqual(['scheduled', 'completed'])
})

async function shows(one: FakeBeacon, ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 10 * second) {
    await one.sees([started()])
    await world.pass(10 * second)
  }
}

test('the affected VM shows it again: people are notified once', async () => {
  await shows(hit, minute)
  expect(moments()).toEqual(['scheduled', 'completed', 'started'])
  expect((await eventNow()).epoch).toBe(2)
})

test('while the affected VM reports that it lacks the event, an onlooker opens nothing', async () => {
  for (let i = 0; i < 2; i++) {
    await hit.sees([])
    await shows(onlooker, minute)
  }
  expect(moments()).toEqual(['scheduled', 'completed'])
})

test('the affected VM is down: an onlooker opens it, and the VM that is back ends it', async () => {
  await shows(onlooker, 4 * minute)
  expect(moments()).toEqual(['scheduled', 'completed', 'started'])
  Object.assign(hit, { bootId: 'after-the-event', uptimeMs: 5 * second })
  await hit.sees([])
  await shows(onlooker, minute)
  expect(moments()).toEqual(['scheduled', 'completed', 'started', 'completed'])
})

test('a new affected VM that first sees it a minute after the end opens it', async () => {
  await world.pass(minute)
  const added = new FakeBeacon(world, 'web_7')
  await added.sees([started({ resources: ['web_0', 'web_7'] })])
  await world.drain()
  expect(moments()).toEqual(['scheduled', 'completed', 'started'])
})
