// The event of a VM has ended, and its VM says so. Another VM of the fleet brings it back once in ten minutes, and names
// other VMs in each report.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { list, publication, startWithAzure } from '../support/azure.ts'
import { beacon, hour, minute, second, world } from '../support/relay.ts'
import { event, FakeBeacon, started } from '../support/world.ts'

beforeEach(() => startWithAzure({}, { routes: [{ match: {}, channels: ['hook'] }] }))
afterEach(() => world.store.close())

test('people get 80 messages in an hour at most', async () => {
  const notBeforeAt = world.clock.now + 6 * hour
  const later = event({ notBeforeAt })
  list(publication({ notBeforeAt, durationSeconds: -1 }))
  const liar = new FakeBeacon(world, 'fake_0')
  const honest = new FakeBeacon(world, 'web_1')
  for (let at = 0; at < 5 * minute; at += 10 * second) {
    await beacon.sees([later])
    for (const one of [liar, honest]) await one.sees([later])
    await world.pass(10 * second)
  }
  list()
  await beacon.sees([started()])
  await world.pass(minute)
  for (let at = 0; at < 5 * minute; at += 10 * second) {
    for (const one of [beacon, liar, honest]) await one.sees([])
    await world.pass(10 * second)
  }

  const before = world.sent.length
  for (let turn = 0; turn < 720; turn++) {
    const resources = ['fake_0', turn % 2 ? 'a' : 'b']
    await liar.sees(turn % 120 < 110 ? [{ ...later, resources }] : [])
    if (turn % 2) for (const one of [beacon, honest]) await one.sees([])
    await world.pass(5 * second)
  }
  // if each return counted its changes anew, there would be 372
  expect(world.sent.length - before).toBeLessThanOrEqual(80)
})
