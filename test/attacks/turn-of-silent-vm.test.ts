// The VM of an event has the turn of its group, and is down for its redeploy. An onlooker says after three minutes that
// the event is its own, and lacks it a minute later. The next VM of the group must wait.
import { afterEach, expect, test } from 'vitest'
import { hour, second, startRelay, world } from '../support/relay.ts'
import { event, eventId, FakeBeacon, started } from '../support/world.ts'

const type = 'Redeploy'
const policy = [{ name: 'one', match: { eventType: type }, decide: 'approve', maxConcurrent: 1 }]
const vm = { scaleSet: 'db', resourceGroup: 'rg' }
const other = 'b7061bac-afdc-4513-b24b-aa5f13a16123'

afterEach(() => world.store.close())

test.each(['Scheduled', 'Started'])(
  'last shown as %s: the next VM is not told to start',
  async (status) => {
    await startRelay({ policy })
    const notBeforeAt = world.clock.now + 3 * hour
    const scheduled = event({ eventType: type, notBeforeAt })
    const own = new FakeBeacon(world, 'web_0', { vm })
    const liar = new FakeBeacon(world, 'liar')
    await own.sees([scheduled])
    await world.pass(6 * second)
    await own.sees([scheduled])
    await liar.sees([scheduled])
    const accepted = { eventId, ageMs: 0, outcome: 'accepted' as const, status: 200 }
    await own.sees([scheduled], { starts: [accepted] })
    await world.pass(5 * second)
    const last = status === 'Started' ? started({ eventType: type }) : scheduled
    await own.sees([last])

    const next = event({ eventId: other, eventType: type, notBeforeAt, resources: ['web_1'] })
    const waiting = new FakeBeacon(world, 'web_1', { vm })
    let directives = 0
    // nine minutes of a redeploy, in which it is silent
    for (let turn = 0; turn < 54; turn++) {
      await world.pass(10 * second)
      if (turn < 18) await liar.sees([last])
      else await liar.sees(turn < 26 ? [{ ...last, resources: ['liar'] }] : [])
      directives += (await waiting.sees([next])).directives.length
    }
    expect(directives).toBe(0)
  },
)
