// The VM of an event is silent for some minutes. Another VM of the fleet says that the event is its own, and then lacks
// it. Twenty seconds later, the VM of the event is back, and goes on showing it.
import { expect, test } from 'vitest'
import { beacon, hour, minute, outcome, relayForEach, second, world } from '../support/relay.ts'
import { event, eventId, FakeBeacon } from '../support/world.ts'

relayForEach()

test.each([
  [4, 'remains its own', ['web_0', 'fake_0']],
  // it has a claim for ten minutes
  [12, 'becomes that of the other', ['fake_0']],
])('silent for %d min: the event %s, and is back within a minute', async (minutes, _, names) => {
  const later = event({ notBeforeAt: world.clock.now + hour })
  const liar = new FakeBeacon(world, 'fake_0')
  const from = 3 * minute
  const back = from + minutes * minute
  const gone = back - 20 * second
  let nextAt = 0
  let hidden = 0
  for (let at = 0; at < back + 10 * minute; at += second) {
    if (world.clock.now >= nextAt && (at <= from || at >= back)) {
      nextAt = world.clock.now + (await beacon.sees([later])).paceMs
    }
    if (at >= gone - 40 * second && at < gone && at % (5 * second) === 0) {
      await liar.sees([{ ...later, resources: ['fake_0'] }])
    }
    if (at === gone) {
      const record = await world.store.readEvent({ fleet: 'prod', eventId })
      expect(record!.facts.resources).toEqual(names)
      await liar.sees([])
    }
    await world.pass(second)
    if (at > back && (await outcome()).phase !== 'scheduled') hidden += second
  }
  expect(hidden).toBeLessThanOrEqual(minute)
})
