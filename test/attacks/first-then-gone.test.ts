// A VM is the first to report an event of others: it has started, and is its own, too. Ten seconds later, its document
// lacks the event. The VM of the event shows all the time that it waits.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { list, publication, startWithAzure } from '../support/azure.ts'
import { beacon, minute, outcome, second, world } from '../support/relay.ts'
import { event, FakeBeacon, started } from '../support/world.ts'

beforeEach(() => startWithAzure())
afterEach(() => world.store.close())

test.each([false, true])(
  'its VM has it back within two minutes, and its true start is told (Azure lists it: %s)',
  async (isListed) => {
    const notBeforeAt = world.clock.now + 15 * minute
    if (isListed) list(publication({ notBeforeAt, durationSeconds: -1 }))
    const liar = new FakeBeacon(world, 'fake_0')
    await liar.sees([started({ resources: ['fake_0', 'web_0'] })])
    let nextAt = 0
    let hidden = 0
    for (let at = second; at < 15 * minute; at += second) {
      await world.pass(second)
      if (at === 10 * second) await liar.sees([])
      if (world.clock.now >= nextAt) {
        nextAt = world.clock.now + (await beacon.sees([event({ notBeforeAt })])).paceMs
      }
      if ((await outcome()).phase !== 'scheduled') hidden += second
    }
    expect(hidden).toBeLessThanOrEqual(2 * minute)
    await world.pass(second)
    await beacon.sees([started()])
    expect((await outcome()).phase).toBe('started')
  },
)
