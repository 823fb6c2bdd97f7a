// A beacon whose answer was lost repeats its changes. They are no news, also if the event has ended
// meanwhile and the beacon's document is late.
import { beforeEach, expect, test } from 'vitest'
import type { Change } from '../../../shared/report.ts'
import { startRelay, world } from '../../support/relay.ts'
import { event, eventId, FakeBeacon } from '../../support/world.ts'

const second = 1_000

beforeEach(() => startRelay())

const appeared = (ageMs: number): Change => ({
  ...{ kind: 'appeared', ageMs, firstPoll: false },
  event: event(),
})

/** The affected VM reports the end. The other one has shown the event before. */
async function endAfterSightOf(late: FakeBeacon): Promise<void> {
  const hit = new FakeBeacon(world, 'web_0')
  await hit.sees([event()])
  await late.sees([event()], { changes: [appeared(0)] })
  world.clock.now += 30 * second
  await hit.sees([event({ status: 'Started' })])
  world.clock.now += second
  await hit.sees([])
  world.clock.now += 11 * second
  await hit.sees([])
  await world.drain()
  expect((await world.getEvent(eventId)).body).toMatchObject({ phase: 'completed', epoch: 1 })
  world.clock.now += 15 * second
}

test('a late document with the first sight again does not reopen the event', async () => {
  const late = new FakeBeacon(world, 'web_9')
  await endAfterSightOf(late)
  await late.sees([event()], { changes: [appeared(57 * second)] })
  expect((await world.getEvent(eventId)).body).toMatchObject({ phase: 'completed', epoch: 1 })
})
