// A route by tag needs the hit VM's own beacon. A VM can be added to an event while its beacon's
// first report is handled. Then the channels of that route must still be notified.
import { beforeEach, describe, expect, test } from 'vitest'
import type { ScheduledEvent } from '../../../shared/document.ts'
import { createWorld, event, FakeBeacon, startAt, type World } from '../../support/world.ts'

const byTag = {
  routes: [
    { match: {}, channels: ['hook'] },
    { match: { tag: 'tier=data' }, channels: ['team'] },
  ],
}
const grown = { resources: ['web_0', 'db_0'] }
/** So far away that no beacon must report soon, which would be another write. */
const far = { notBeforeAt: startAt + 3 * 3_600_000 }

let world: World
let web: FakeBeacon
let data: FakeBeacon

beforeEach(async () => {
  world = await createWorld({ config: byTag })
  web = new FakeBeacon(world, 'web_0')
  data = new FakeBeacon(world, 'db_0', { vm: { tags: { tier: 'data' } } })
})

const messagesToTeam = () => world.sent.filter(({ url }) => url.startsWith('https://teams.'))

/** Another beacon shows the event right before the next beacon is stored. */
function showBeforeNextBeacon(shown: ScheduledEvent): void {
  const { store } = world.relay
  const writeBeacon = store.writeBeacon.bind(store)
  store.writeBeacon = async (...args) => {
    store.writeBeacon = writeBeacon
    await web.sees([shown])
    return writeBeacon(...args)
  }
}

describe('channels are notified once an event is back', () => {
  const shown = event({ ...far, ...grown })

  test('if a VM first reports it while it is over', async () => {
    await web.sees([shown])
    await web.sees([])
    await world.pass(10_001)
    showBeforeNextBeacon(shown)
    await data.sees([shown])
    await data.sees([shown])
    await world.drain()
    expect((await world.getEvent(shown.eventId)).body.epoch).toBe(2)
    expect(messagesToTeam()).toHaveLength(1)
  })

  test('if the document of a VM lacks it again at its first report', async () => {
    await web.sees([shown])
    showBeforeNextBeacon(shown)
    const common = { event: shown, firstPoll: false }
    const appeared = { ...common, kind: 'appeared' as const, ageMs: 2_000 }
    const gone = { ...common, kind: 'gone' as const, ageMs: 1_000, lastSeenAgeMs: 2_000 }
    await data.sees([], { changes: [appeared, gone] })
    await data.sees([shown])
    await world.drain()
    expect(messagesToTeam()).toHaveLength(1)
  })
})

test('a change right before the VM is stored brings its channels if a rule has ignored the event', async () => {
  world.store.close()
  const policy = [{ match: { maxDurationSeconds: 9 }, decide: 'ignore' }]
  world = await createWorld({ config: { ...byTag, policy } })
  web = new FakeBeacon(world, 'web_0')
  data = new FakeBeacon(world, 'db_0', { vm: { tags: { tier: 'data' } } })
  const short = event({ ...grown, durationSeconds: 5 })
  const long = event({ ...grown, durationSeconds: 40 })
  await web.sees([short])
  showBeforeNextBeacon(long)
  await data.sees([short])
  await world.drain()
  world.clock.now += 2_000
  await data.sees([long])
  await world.drain()
  expect(messagesToTeam()).toHaveLength(1)
})
