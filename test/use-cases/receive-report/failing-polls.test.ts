// An affected VM reports all the time, but its own IMDS does not answer. The other VMs know how the
// event ends.
import { beforeEach, expect, test } from 'vitest'
import { eventNow, minute, startRelay, world } from '../../support/relay.ts'
import { event, FakeBeacon, startAt } from '../../support/world.ts'

const far = event({ notBeforeAt: startAt + 6 * 60 * minute })

let hit: FakeBeacon
let other: FakeBeacon

beforeEach(async () => {
  await startRelay()
  hit = new FakeBeacon(world, 'web_0')
  other = new FakeBeacon(world, 'web_1')
  for (const one of [hit, other]) await one.sees([far])
  await world.drain()
})

/**
 * The affected VM repeats its last document. The other one misses the event after the first minute.
 */
async function passMinutes(count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await world.pass(minute)
    await other.sees([])
    hit.uptimeMs += minute
    await hit.sees([far], { ageMs: world.clock.now - startAt })
  }
  await world.drain()
}

test('an event that was cancelled ends within minutes', async () => {
  await passMinutes(5)
  expect(await eventNow()).toMatchObject({ outcome: 'cancelled', inferred: 'gone_before_its_time' })
})

test('an event is lost ten minutes after it was due if no VM can poll', async () => {
  await startRelay()
  const alone = new FakeBeacon(world, 'web_0')
  const passMinutesBlind = async (count: number) => {
    for (let i = 0; i < count; i++) {
      await world.pass(minute)
      await alone.sees([event()], { ageMs: world.clock.now - startAt })
    }
    await world.drain()
  }
  await alone.sees([event()])
  await passMinutesBlind(24)
  expect(await eventNow()).not.toHaveProperty('outcome')
  await passMinutesBlind(2)
  expect(await eventNow()).toMatchObject({ outcome: 'lost' })
})

test('its uptime still says whether it restarted', async () => {
  await passMinutes(1)
  hit.bootId = 'after-the-restart'
  hit.uptimeMs = 5_000
  await passMinutes(4)
  expect(await eventNow()).toMatchObject({
    outcome: 'completed',
    inferred: 'start_not_seen_vm_rebooted',
  })
})

test('a Freeze that Azure cancels while polls fail is cancelled: its VM did not pause', async () => {
  await startRelay()
  const freeze = event({ eventType: 'Freeze' })
  // with this event, the pace stays at 2 s
  const open = event({ eventId: 'open', resources: ['web_7'] })
  const vm = new FakeBeacon(world, 'web_0')
  await vm.sees([freeze, open])
  const lastPollAt = world.clock.now
  for (let seconds = 0; seconds < 10; seconds += 2) {
    world.clock.now += 2_000
    await vm.sees([freeze, open], { ageMs: world.clock.now - lastPollAt })
  }
  world.clock.now += 1_000
  const lastSeenAgeMs = world.clock.now - lastPollAt
  const gone = { kind: 'gone' as const, ageMs: 0, lastSeenAgeMs, firstPoll: false, event: freeze }
  await vm.sees([open], { changes: [gone] })
  for (let seconds = 0; seconds < 40; seconds += 2) {
    world.clock.now += 2_000
    await vm.sees([open])
    await world.drain()
  }
  expect(await eventNow()).toMatchObject({ outcome: 'cancelled' })
})
