// The holder of a report token says of an event that nobody knows yet that it is over. When its VM shows it, an onlooker
// says that it has started and is its own, and lacks it five seconds later. Its VM shows all the time that it waits.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { list, publication, publish, startWithAzure } from '../support/azure.ts'
import { beacon, hour, minute, outcome, second, world } from '../support/relay.ts'
import { event, FakeBeacon, started } from '../support/world.ts'

beforeEach(() => startWithAzure())
afterEach(() => world.store.close())

test.each([false, true])(
  'its VM has it back within three minutes (Azure lists it: %s)',
  async (isListed) => {
    const notBeforeAt = world.clock.now + hour
    if (isListed) list(publication({ notBeforeAt, durationSeconds: -1 }))
    const liar = new FakeBeacon(world, 'fake_0')
    await publish({ status: 'Completed', vms: ['nobody'] })
    const phase = async () => (await outcome()).phase
    let nextAt = 0
    let saidAt: number | undefined
    let hidden = 0
    for (let at = second; at < 15 * minute; at += second) {
      await world.pass(second)
      if (world.clock.now >= nextAt) {
        nextAt = world.clock.now + (await beacon.sees([event({ notBeforeAt })])).paceMs
      }
      if (saidAt === undefined && (await phase()) === 'scheduled') {
        saidAt = at
        await liar.sees([started({ resources: ['fake_0'] })])
      }
      if (saidAt !== undefined && at === saidAt + 5 * second) await liar.sees([])
      if ((await phase()) !== 'scheduled') hidden += second
    }
    expect(hidden).toBeLessThanOrEqual(3 * minute)
  },
)
