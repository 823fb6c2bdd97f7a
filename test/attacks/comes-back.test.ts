// A Preempt is over, as it took its VM. One onlooker says again and again that it is its own, and goes on.
import { expect, test } from 'vitest'
import { beacon, minute, moments, relayForEach, second, world } from '../support/relay.ts'
import { event, FakeBeacon, started } from '../support/world.ts'

relayForEach()

test('an onlooker names itself in each third minute: the event comes back a few times at most', async () => {
  const eventType = 'Preempt'
  await beacon.sees([event({ eventType, notBeforeAt: world.clock.now + minute })])
  await world.drain()
  await world.pass(50 * second)
  await beacon.sees([started({ eventType })])
  await world.pass(5 * minute)
  expect(moments()).toEqual(['scheduled', 'started', 'completed'])
  const liar = new FakeBeacon(world, 'liar')
  for (let turn = 0; turn < 180; turn++) {
    if (turn % 14 === 0) await liar.sees([started({ eventType, resources: ['liar'] })])
    await world.pass(10 * second)
  }
  const starts = moments().filter((moment) => moment === 'started')
  expect(starts.length).toBeLessThanOrEqual(4)
})
