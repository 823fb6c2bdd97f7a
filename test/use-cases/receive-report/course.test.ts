// The main job through the HTTP face, with a moved clock: what is sent, and when. How an event
// ends: `ends.test.ts`.
import { beforeEach, describe, expect, test } from 'vitest'
import { linkOf, press } from '../../support/people.ts'
import { beacon, eventNow, outcome, report, startRelay, world } from '../../support/relay.ts'
import { event, eventId, FakeBeacon, startAt, started } from '../../support/world.ts'

beforeEach(() => startRelay())

describe('a relay that was down', () => {
  test('does not take its own silence for that of the beacons', async () => {
    await report(event({ notBeforeAt: startAt + 60_000 }))
    world.clock.now += 30 * 60_000
    world.relay.listeningSince = world.clock.now
    await world.pass(9 * 60_000)
    expect(world.told()).toEqual(['foghorn.event.scheduled'])
    await beacon.sees([started()])
    await world.pass(0)
    expect(world.told()).toEqual(['foghorn.event.scheduled', 'foghorn.event.started'])
    await world.pass(10 * 60_000 + 1)
    expect(world.told().at(-1)).toBe('foghorn.event.lost')
  })
})

describe('one event from first sight to its end', () => {
  test('each channel gets each moment once, and PagerDuty closes what it opened', async () => {
    await report(event())
    expect((await press(world, linkOf(world), 'approve')).status).toBe(200)
    await world.drain()
    expect((await beacon.sees([event()])).directives).toMatchObject([{ eventId }])
    const starts = [{ eventId, ageMs: 0, outcome: 'accepted' as const, status: 200 }]
    expect((await beacon.sees([event()], { starts })).directives).toEqual([])
    await report(started())
    await world.pass(5_000)
    await beacon.sees([])
    await world.pass(10_000)
    const kinds = ['scheduled', 'approved', 'started', 'completed']
    expect(world.told()).toEqual(kinds.map((kind) => `foghorn.event.${kind}`))
    for (const host of ['slack', 'teams', 'pager']) {
      expect(world.sent.filter(({ url }) => url.includes(`//${host}.`))).toHaveLength(4)
    }
    const pages = world.sent.filter(({ url }) => url.includes('pager')).map(({ json }) => json)
    expect(pages.map((json) => json.event_action)).toEqual([
      'trigger',
      'acknowledge',
      'acknowledge',
      'resolve',
    ])
    expect(new Set(pages.map((json) => json.dedup_key)).size).toBe(1)
    expect(await outcome()).toEqual({ phase: 'completed', outcome: 'completed' })
  })

  test('many beacons and many reports cause one message', async () => {
    const beacons = [...Array(10).keys()].map((i) => new FakeBeacon(world, `web_${i}`))
    await Promise.all(beacons.map((one) => one.sees([event()])))
    await Promise.all(beacons.map((one) => one.sees([event()])))
    await world.drain()
    expect(world.told()).toEqual(['foghorn.event.scheduled'])
  })

  test('ids are compared without case across beacons', async () => {
    await beacon.sees([event({ eventId: eventId.toUpperCase() })])
    await new FakeBeacon(world, 'web_1').sees([event()])
    await world.drain()
    expect(world.told()).toHaveLength(1)
  })
})

test('a change that Azure takes back, and makes again, is notified each time', async () => {
  for (const minutes of [60, 30, 60, 30]) {
    world.clock.now += 10_000
    await report(event({ notBeforeAt: startAt + minutes * 60_000 }))
  }
  const told = world.sent.map(({ json }) => json.text).filter((text) => text !== undefined)
  expect(told).toHaveLength(4)
  expect(told.at(-1)).toContain('at 12:30 UTC')
})

test.each([{ source: 'PLATFORM' }, { eventType: 'livemigrate' }])(
  '%o is no change',
  async (other) => {
    const shown = event({ source: 'Platform', eventType: 'LiveMigrate' })
    await report(shown)
    await report({ ...shown, ...other })
    expect(world.told()).toEqual(['foghorn.event.scheduled'])
  },
)

describe('first seen as Started', () => {
  test.each([
    [{ firstPoll: false }, 'none', 'Started without notice at 12:00 UTC:'],
    [{ firstPoll: true }, 'already_running', 'Already running:'],
  ])('%o is notice "%s"', async ({ firstPoll }, notice, title) => {
    const changes = [{ kind: 'appeared' as const, ageMs: 0, firstPoll, event: started() }]
    await beacon.sees([started()], { changes })
    await world.drain()
    expect((await eventNow()).startKind).toBe(notice)
    expect(world.told()).toEqual(['foghorn.event.started'])
    expect(world.sent[0]?.json.text).toContain(title)
  })

  // a backup from before its announcement was restored, or the relay refused it before
  test.each([
    ['without a change of it', []],
    [
      'with a later change of it',
      [{ kind: 'changed' as const, ageMs: 500, firstPoll: false, event: started() }],
    ],
  ])('%s: the beacon saw it before, so Azure may have announced it', async (_, changes) => {
    await beacon.sees([])
    await beacon.sees([started()], { changes })
    expect((await eventNow()).startKind).toBe('already_running')
  })

  test('a start and end while the network was away is recorded', async () => {
    await report(event())
    await world.pass(60_000)
    const changes = [
      { kind: 'changed' as const, ageMs: 30_000, firstPoll: false, event: started() },
      {
        kind: 'gone' as const,
        ageMs: 20_000,
        lastSeenAgeMs: 21_000,
        firstPoll: false,
        event: started(),
      },
    ]
    await beacon.sees([], { changes })
    await world.pass(10_001)
    expect(await outcome()).toEqual({ phase: 'completed', outcome: 'completed' })
    const { body } = await world.getEvent(eventId)
    expect(body.startedAt).toBe(new Date(startAt + 30_000).toISOString())
  })
})

describe('changed', () => {
  test('the order and case of names do not matter', async () => {
    await beacon.sees([event({ resources: ['web_0', 'web_1'] })])
    await report(event({ resources: ['WEB_1', 'web_0'] }))
    expect(world.told()).toEqual(['foghorn.event.scheduled'])
  })

  test('new values are notified once, whichever beacon sees them', async () => {
    const later = event({ notBeforeAt: startAt + 30 * 60_000 })
    const other = new FakeBeacon(world, 'web_1')
    for (const one of [beacon, other]) await one.sees([event()])
    for (const one of [beacon, other, beacon]) await one.sees([later])
    await world.drain()
    expect(world.told()).toEqual(['foghorn.event.scheduled', 'foghorn.event.changed'])
    expect((await eventNow()).notBefore).toBe('2026-11-21T12:30:00.000Z')
  })
})
