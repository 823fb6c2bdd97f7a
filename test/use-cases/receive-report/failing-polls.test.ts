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

test('a VM that is also silent counts as restarted', async () => {
  await passMinutes(1)
  await world.pass(4 * minute)
  expect(await eventNow()).toMatchObject({ outcome: 'completed' })
})
