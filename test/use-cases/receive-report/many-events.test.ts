// A report of many events lets others have their turn.
import { expect, test } from 'vitest'
import { minute, relayForEach, startRelay, world } from '../../support/relay.ts'
import { event, FakeBeacon } from '../../support/world.ts'

relayForEach(() => startRelay())

test('one of 20 events, and one that lacks them: every few events', async () => {
  let pauses = 0
  world.relay.host.pause = async () => {
    pauses += 1
  }
  const events = Array.from({ length: 20 }, (_, i) =>
    event({ eventId: `e${i}`, notBeforeAt: world.clock.now + 15 * minute }),
  )
  const one = new FakeBeacon(world, 'web_0')
  await one.sees(events)
  expect(pauses).toBe(3)
  await one.sees([])
  expect(pauses).toBe(6)
  await new FakeBeacon(world, 'web_1').sees(events.slice(0, 5))
  expect(pauses).toBe(6)
})
