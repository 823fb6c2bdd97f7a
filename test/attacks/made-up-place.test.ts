// A VM of another resource group is the first to report an event, as its own or under the name of its VM, and falls
// silent. The VM of the event shows all the time that it waits, and people approve.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { forge, press } from '../support/people.ts'
import { beacon, hour, minute, second, startRelay, world } from '../support/relay.ts'
import { event, FakeBeacon } from '../support/world.ts'

beforeEach(() => startRelay())
afterEach(() => world.store.close())

const vm = { vmId: 'id-of-liar', resourceGroup: 'other' }

test.each(['fake_0', 'web_0'])('as %s: the approval reaches Azure', async (name) => {
  const real = event({ notBeforeAt: world.clock.now + 3 * hour })
  await new FakeBeacon(world, name, { vm }).sees([{ ...real, resources: [name] }])
  let nextAt = 0
  let isTold = false
  for (let at = 0; at < 18 * minute && !isTold; at += 5 * second) {
    await world.pass(5 * second)
    if (at === 13 * minute) await press(world, await forge(world), 'approve')
    if (world.clock.now < nextAt) continue
    const { paceMs, directives } = await beacon.sees([real])
    nextAt = world.clock.now + paceMs
    isTold = directives.length > 0
  }
  expect(isTold).toBe(true)
})
