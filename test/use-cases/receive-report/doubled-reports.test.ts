// The network delivers a report twice, and two relays judge the copies at the same time.
import { beforeEach, expect, test } from 'vitest'
import { startRelay, world } from '../../support/relay.ts'
import { event, eventId, FakeBeacon } from '../../support/world.ts'

const second = 1_000
const both = { resources: ['web_0', 'web_1'] }

beforeEach(() => startRelay())

test('the copy judged last does not make its beacon look silent', async () => {
  const missing = new FakeBeacon(world, 'web_0')
  const seeing = new FakeBeacon(world, 'web_1')
  await missing.sees([event(both)])
  await seeing.sees([event(both)])
  await missing.sees([])
  world.clock.now += 10 * second
  await missing.sees([])
  const known = world.store.readBeacon('prod', `id-prod-${seeing.name}`)
  const report = seeing.body([event({ ...both, status: 'Started' })])
  await seeing.post(report)
  // the relay that has the other copy has read the row before this one was written
  const { readBeacon } = world.store
  world.store.readBeacon = async () => {
    world.store.readBeacon = readBeacon
    return known
  }
  world.clock.now += 1
  await seeing.post(report)
  await world.pass(20 * second)
  expect((await world.getEvent(eventId)).body).toMatchObject({ phase: 'started' })
})
