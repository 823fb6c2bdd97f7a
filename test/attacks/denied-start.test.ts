// A VM makes the true VM of an event look like one that only named itself: it has the event end first, so that the true
// VM brings it back. Then it says that the event has started.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { beacon, hour, minute, outcome, second, startRelay, world } from '../support/relay.ts'
import { event, FakeBeacon, started } from '../support/world.ts'

beforeEach(() => startRelay())
afterEach(() => world.store.close())

test('its VM denies the start within three minutes', async () => {
  const real = event({ notBeforeAt: world.clock.now + 3 * hour })
  const liar = new FakeBeacon(world, 'fake_0')
  const change = { kind: 'gone', ageMs: hour, lastSeenAgeMs: hour + second } as const
  const first = { ...change, firstPoll: false, event: started({ resources: ['fake_0'] }) }
  await liar.sees([], { changes: [first] })
  let nextAt = 0
  let hidden = 0
  for (let at = 0; at < 20 * minute; at += 5 * second) {
    await world.pass(5 * second)
    if (world.clock.now >= nextAt) nextAt = world.clock.now + (await beacon.sees([real])).paceMs
    if (at === 65 * second) await liar.sees([started({ resources: ['web_0'] })])
    if (at >= 65 * second && at % minute < 5 * second) await liar.sees([])
    if ((await outcome()).phase !== 'scheduled') hidden += 5 * second
  }
  expect(hidden).toBeLessThanOrEqual(3 * minute)
})
