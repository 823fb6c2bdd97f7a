// A rule approves one VM at a time. An onlooker says once that the first one has started. That VM denies it, and is
// silent for some minutes, so its slot is given to the next one.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ScheduledEvent } from '../../shared/document.ts'
import { hour, minute, second, startRelay, world } from '../support/relay.ts'
import { event, FakeBeacon, started } from '../support/world.ts'

beforeEach(() => startRelay({ policy: [{ match: {}, decide: 'approve', maxConcurrent: 1 }] }))
afterEach(() => world.store.close())

const inSet = { vm: { scaleSet: 'db' } }

test('the two are never told to start at once', async () => {
  const eventOn = (name: string) => {
    const own = { eventId: `event-of-${name}`, resources: [name], eventType: 'Redeploy' }
    return event({ ...own, notBeforeAt: world.clock.now + 3 * hour })
  }
  const vms = ['web_0', 'web_1'].map((name) => {
    return { beacon: new FakeBeacon(world, name, inSet), own: eventOn(name), nextAt: 0, toldAt: 0 }
  })
  const [first, next] = vms as [(typeof vms)[0], (typeof vms)[0]]
  next.nextAt = world.clock.now + 2 * second
  const liar = new FakeBeacon(world, 'fake_0', inSet)
  const from = world.clock.now
  for (let at = 0; at < 8 * minute; at += second) {
    if (at === 10 * second) await liar.sees([startOf(first.own)])
    for (const one of vms) {
      const isSilent = one === first && at >= 125 * second && at < 340 * second
      if (isSilent || one.toldAt > 0 || world.clock.now < one.nextAt) continue
      const { paceMs, directives } = await one.beacon.sees([one.own])
      one.nextAt = world.clock.now + paceMs
      if (directives.length > 0) one.toldAt = world.clock.now - from
    }
    await world.pass(second)
  }
  expect(next.toldAt).toBeGreaterThan(0)
  expect(first.toldAt).toBe(0)
})

function startOf({ eventId, resources, eventType }: ScheduledEvent) {
  return started({ eventId, resources, eventType })
}
