// An event that seemed over is open again. The affected VM was down then, so it never shows the
// event again. Its restart proves that its documents lack the event now.
import { beforeEach, describe, expect, test } from 'vitest'
import { moments, startRelay, world } from '../../support/relay.ts'
import { event, FakeBeacon, startAt, started } from '../../support/world.ts'

let hit: FakeBeacon
/** Its document is late: it shows the event long after its end. */
let late: FakeBeacon

beforeEach(async () => {
  await startRelay()
  hit = new FakeBeacon(world, 'web_0')
  late = new FakeBeacon(world, 'web_1')
  for (const one of [hit, late]) await one.sees([])
  for (const one of [hit, late]) await one.sees([event({ notBeforeAt: startAt + 1_000 })])
  await world.pass(2_000)
  // IMDS shows nothing for a moment, and then the affected VM is down
  for (const one of [hit, late]) await one.sees([])
  await world.pass(11_000)
  await late.sees([started()])
  await world.drain()
  expect(moments()).toEqual(['scheduled', 'completed', 'started'])
})

/** The late document shows the event, for as long as it takes. */
async function passWhileShown(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await late.sees([started()])
    await world.pass(1_000)
  }
}

test('it is over within 30 s of the first report after the restart', async () => {
  await passWhileShown(40)
  hit.bootId = 'after-the-event'
  hit.uptimeMs = 5_000
  await hit.sees([])
  await passWhileShown(30)
  expect(moments()).toEqual(['scheduled', 'completed', 'started', 'completed'])
})

test('it is not over while the affected VM is down, even if the relay restarts', async () => {
  await passWhileShown(60)
  world.relay.listeningSince = world.clock.now
  await passWhileShown(60)
  expect(moments()).toEqual(['scheduled', 'completed', 'started'])
})

test('it is not over while the restarted VM cannot poll, even if the relay restarts', async () => {
  await passWhileShown(1)
  hit.bootId = 'after-the-event'
  hit.uptimeMs = 5_000
  await hit.sees(null)
  world.relay.listeningSince = world.clock.now + 1
  await passWhileShown(60)
  expect(moments()).toEqual(['scheduled', 'completed', 'started'])
})

test('an event that flickers is back a few times, and then simply open', async () => {
  await startRelay()
  const flickering = new FakeBeacon(world, 'web_0')
  for (let i = 0; i < 60; i++) {
    await flickering.sees([event({ notBeforeAt: startAt + 3_600_000 })])
    await world.pass(1_000)
    await flickering.sees([])
    await world.pass(11_000)
  }
  const scheduled = moments().filter((moment) => moment === 'scheduled')
  expect(scheduled).toHaveLength(5)
})

describe('most VMs lack an event for ever, and no beacon runs on the affected VM', () => {
  const shown = event({ notBeforeAt: startAt + 30 * 60_000 })

  beforeEach(async () => {
    await startRelay()
    late = new FakeBeacon(world, 'web_1')
    const lacking = ['web_2', 'web_3'].map((name) => new FakeBeacon(world, name))
    for (const one of [late, ...lacking]) await one.sees([shown])
    await world.pass(60_000)
    for (const one of lacking) await one.sees([])
    for (let i = 0; i < 40; i++) {
      await late.sees([shown])
      await world.pass(2_000)
    }
    expect(moments()).toEqual(['scheduled', 'cancelled'])
  })

  test('a document that stays as it is may be old, so it opens nothing', async () => {
    for (let i = 0; i < 40; i++) {
      await late.sees([shown])
      await world.pass(10_000)
    }
    expect(moments()).toEqual(['scheduled', 'cancelled'])
  })

  test.each([
    ['the start', started(), 'started'],
    ['a new time', { ...shown, notBeforeAt: startAt + 60 * 60_000 }, 'scheduled'],
  ])('a document that then shows %s opens it again', async (_, changed, moment) => {
    // a beacon reports the change and the document that shows it
    const change = { kind: 'changed' as const, ageMs: 200, firstPoll: false, event: changed }
    await late.sees([changed], { changes: [change] })
    await world.drain()
    expect(moments()).toEqual(['scheduled', 'cancelled', moment])
  })
})
