// The main job through the HTTP face, with a moved clock: what is told, when, and how it ends.
import { beforeEach, describe, expect, test } from 'vitest'
import { press } from '../support/people.ts'
import {
  createWorld,
  event,
  eventId,
  FakeBeacon,
  startAt,
  started,
  type World,
} from '../support/world.ts'

let world: World
let beacon: FakeBeacon

beforeEach(async () => {
  world = await createWorld()
  beacon = new FakeBeacon(world, 'web_0')
})

/** The link of the newest Slack message. */
function link(): string {
  const messages = world.sent.filter(({ url }) => url.includes('slack'))
  const actions = messages.at(-1)?.json.blocks.find((b: { type: string }) => b.type === 'actions')
  return new URL(actions.elements[0].url).pathname
}

function decide(decision: string) {
  return press(world, link(), decision)
}

async function outcome() {
  const { body } = await world.getEvent(eventId)
  return { phase: body.phase, outcome: body.outcome, inferred: body.inferred }
}

describe('a relay that was down', () => {
  test("takes its own silence for nobody else's", async () => {
    await beacon.sees([event({ notBeforeAt: startAt + 60_000 })])
    await world.drain()
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
  test('each channel hears each moment once, and PagerDuty closes what it opened', async () => {
    await beacon.sees([event()])
    await world.drain()
    expect((await decide('approve')).status).toBe(200)
    await world.drain()
    expect((await beacon.sees([event()])).directives).toMatchObject([{ eventId }])
    const starts = [{ eventId, ageMs: 0, outcome: 'accepted' as const, status: 200 }]
    expect((await beacon.sees([event()], { starts })).directives).toEqual([])
    await beacon.sees([started()])
    await world.drain()
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

  test('many beacons, any number of times, are one message', async () => {
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

describe('gone', () => {
  test('before its time: cancelled, inferred', async () => {
    await beacon.sees([event()])
    await world.pass(60_000)
    await beacon.sees([])
    await world.pass(9_000)
    expect((await outcome()).phase).toBe('scheduled')
    await world.pass(1_001)
    expect(await outcome()).toEqual({
      phase: 'cancelled',
      outcome: 'cancelled',
      inferred: 'gone_before_its_time',
    })
  })

  test('after NotBefore without a Started: completed, inferred', async () => {
    await beacon.sees([event()])
    await world.pass(15 * 60_000 - 30_000)
    await beacon.sees([event()])
    await world.pass(31_000)
    await beacon.sees([])
    await world.pass(10_001)
    expect(await outcome()).toEqual({
      phase: 'completed',
      outcome: 'completed',
      inferred: 'start_not_seen_not_before_passed',
    })
  })

  test('a restart of the hit VM in the span: completed, inferred', async () => {
    await beacon.sees([event()])
    await world.pass(60_000)
    beacon.uptimeMs = 5_000
    await beacon.sees([])
    await world.pass(10_001)
    expect((await outcome()).inferred).toBe('start_not_seen_vm_rebooted')
  })

  test('after our approval was passed on: completed, inferred', async () => {
    await beacon.sees([event({ resources: ['elsewhere'] })])
    await world.drain()
    await decide('approve')
    await beacon.sees([event({ resources: ['elsewhere'] })])
    await world.pass(2_000)
    await beacon.sees([])
    await world.pass(10_001)
    expect((await outcome()).inferred).toBe('start_not_seen_approved')
  })

  test('on one VM for a moment, while others see it: nothing', async () => {
    const other = new FakeBeacon(world, 'web_1')
    await beacon.sees([event()])
    await other.sees([event()])
    await beacon.sees([])
    await world.pass(2_000)
    await beacon.sees([event()])
    await world.pass(10_000)
    await other.sees([event()])
    await beacon.sees([event()])
    await world.pass(30_000)
    expect((await outcome()).phase).toBe('scheduled')
    expect(world.told()).toEqual(['foghorn.event.scheduled'])
  })

  test('a poll later than the first gone reopens it under a new epoch, and it is told again', async () => {
    await beacon.sees([event()])
    await beacon.sees([])
    await world.pass(10_001)
    await beacon.sees([event()])
    await world.drain()
    const { body } = await world.getEvent(eventId)
    expect([body.epoch, body.phase]).toEqual([2, 'scheduled'])
    expect(world.told().filter((type) => type.endsWith('.scheduled'))).toHaveLength(2)
  })

  test('two short absences are not a long one', async () => {
    await beacon.sees([event()])
    await world.pass(2_000)
    await beacon.sees([])
    await world.pass(1_000)
    await beacon.sees([event()])
    await world.pass(8_500)
    await beacon.sees([])
    await world.pass(9_000)
    expect((await outcome()).phase).toBe('scheduled')
    await world.pass(1_001)
    expect((await outcome()).phase).toBe('cancelled')
  })

  test('a beacon whose IMDS fails keeps no event open', async () => {
    const deaf = new FakeBeacon(world, 'web_2')
    for (const one of [beacon, deaf]) await one.sees([event()])
    await beacon.sees([])
    for (let minute = 1; minute <= 5; minute++) {
      await world.pass(60_000)
      await deaf.sees([event()], { ageMs: minute * 60_000 })
    }
    await world.drain()
    expect((await outcome()).phase).toBe('cancelled')
  })

  test('that began and ended before anybody could report it is told once it is clear how', async () => {
    const event_ = event({ notBeforeAt: startAt - 60_000 })
    const changes = [
      { kind: 'appeared' as const, ageMs: 120_000, firstPoll: false, event: event_ },
      {
        kind: 'gone' as const,
        ageMs: 30_000,
        lastSeenAgeMs: 31_000,
        firstPoll: false,
        event: event_,
      },
    ]
    await beacon.sees([], { changes })
    await world.drain()
    expect(world.told()).toEqual([])
    await world.pass(10_001)
    expect(world.told()).toEqual(['foghorn.event.completed'])
  })

  test('a late word that it had started makes the cancelled one completed', async () => {
    await beacon.sees([event()])
    await world.pass(60_000)
    await beacon.sees([])
    await world.pass(10_001)
    expect((await outcome()).phase).toBe('cancelled')
    const changes = [
      { kind: 'changed' as const, ageMs: 11_000, firstPoll: false, event: started() },
    ]
    for (const one of ['web_1', 'web_2']) await new FakeBeacon(world, one).sees([], { changes })
    await world.drain()
    expect(await outcome()).toEqual({ phase: 'completed', outcome: 'completed' })
    const told = ['scheduled', 'cancelled', 'completed'].map((moment) => `foghorn.event.${moment}`)
    expect(world.told()).toEqual(told)
  })

  test('a late report of an earlier poll does not reopen it', async () => {
    const late = new FakeBeacon(world, 'web_1')
    await beacon.sees([event()])
    await beacon.sees([])
    await world.pass(10_001)
    await late.sees([event()], { ageMs: 11_000 })
    expect((await world.getEvent(eventId)).body.epoch).toBe(1)
  })
})

describe('an end that nobody sees', () => {
  test.each(['Preempt', 'Terminate'])(
    '%s takes the VM: completed, incident resolved',
    async (type) => {
      await beacon.sees([event({ eventType: type })])
      await beacon.sees([started({ eventType: type })])
      await world.drain()
      await world.pass(119_000)
      expect((await outcome()).phase).toBe('started')
      await world.pass(1_001)
      expect(await outcome()).toEqual({
        phase: 'completed',
        outcome: 'completed',
        inferred: 'vm_gone',
      })
      const pages = world.sent.filter(({ url }) => url.includes('pager'))
      expect(pages.at(-1)?.json.event_action).toBe('resolve')
    },
  )

  test('everybody silent for 10 min after NotBefore: lost, incident resolved', async () => {
    await beacon.sees([event()])
    await world.drain()
    await world.pass(25 * 60_000 - 1)
    expect((await outcome()).outcome).toBeUndefined()
    await world.pass(2)
    expect((await outcome()).outcome).toBe('lost')
    const pages = world.sent.filter(({ url }) => url.includes('pager'))
    expect(pages.at(-1)?.json.event_action).toBe('resolve')
  })

  test('an incident is resolved though its route tells PagerDuty of nothing but the start', async () => {
    const routes = [
      { match: {}, channels: ['hook'] },
      { match: {}, moments: ['scheduled'], channels: ['pager', 'chat'] },
    ]
    world = await createWorld({ config: { routes } })
    beacon = new FakeBeacon(world, 'web_0')
    await beacon.sees([event()])
    await world.drain()
    await beacon.sees([])
    await world.pass(10_001)
    const pages = world.sent.filter(({ url }) => url.includes('pager'))
    expect(pages.map(({ json }) => json.event_action)).toEqual(['trigger', 'resolve'])
    expect(world.sent.filter(({ url }) => url.includes('slack'))).toHaveLength(1)
  })

  test('whoever comes back after that tells how it ended', async () => {
    await beacon.sees([event()])
    await world.pass(26 * 60_000)
    await beacon.sees([])
    await world.pass(10_001)
    expect(await outcome()).toMatchObject({ phase: 'completed', outcome: 'completed' })
  })
})

describe('first seen as Started', () => {
  test.each([
    [{ firstPoll: false }, 'none', 'Started without notice'],
    [{ firstPoll: true }, 'already_running', 'Started:'],
  ])('%o is notice "%s"', async ({ firstPoll }, notice, title) => {
    const changes = [{ kind: 'appeared' as const, ageMs: 0, firstPoll, event: started() }]
    await beacon.sees([started()], { changes })
    await world.drain()
    expect((await world.getEvent(eventId)).body.notice).toBe(notice)
    expect(world.told()).toEqual(['foghorn.event.started'])
    expect(world.sent[0]?.json.text).toContain(title)
  })

  test('a spooled change that shows it Scheduled makes it "reported late"', async () => {
    const changes = [{ kind: 'appeared' as const, ageMs: 0, firstPoll: false, event: started() }]
    await beacon.sees([started()], { changes })
    const before = { kind: 'appeared' as const, ageMs: 60_000, firstPoll: false, event: event() }
    await new FakeBeacon(world, 'web_1').sees([started()], { changes: [before] })
    expect((await world.getEvent(eventId)).body.notice).toBe('reported_late')
  })

  test('Scheduled and Started in one report of a new event is "reported late"', async () => {
    const changes = [
      { kind: 'appeared' as const, ageMs: 120_000, firstPoll: false, event: event() },
      { kind: 'changed' as const, ageMs: 5_000, firstPoll: false, event: started() },
    ]
    await beacon.sees([started()], { changes })
    await world.drain()
    expect((await world.getEvent(eventId)).body.notice).toBe('reported_late')
    expect(world.told()).toEqual(['foghorn.event.started'])
  })

  test('a Started that came and went while the network was away is on record', async () => {
    await beacon.sees([event()])
    await world.drain()
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
  test('the order and case of names mean nothing', async () => {
    await beacon.sees([event({ resources: ['web_0', 'web_1'] })])
    await beacon.sees([event({ resources: ['WEB_1', 'web_0'] })])
    await world.drain()
    expect(world.told()).toEqual(['foghorn.event.scheduled'])
  })

  test('new values are told once, whoever sees them', async () => {
    const later = event({ notBeforeAt: startAt + 30 * 60_000 })
    const other = new FakeBeacon(world, 'web_1')
    for (const one of [beacon, other]) await one.sees([event()])
    for (const one of [beacon, other, beacon]) await one.sees([later])
    await world.drain()
    expect(world.told()).toEqual(['foghorn.event.scheduled', 'foghorn.event.changed'])
    expect((await world.getEvent(eventId)).body.notBefore).toBe('2026-11-21T12:30:00.000Z')
  })

  test('a beacon on an older api-version knows less, which is no change', async () => {
    const { description: _d, source: _s, durationSeconds: _u, ...less } = event()
    await new FakeBeacon(world, 'web_1').sees([less])
    await beacon.sees([event()])
    await new FakeBeacon(world, 'web_2').sees([less])
    await world.drain()
    expect(world.told()).toEqual(['foghorn.event.scheduled'])
    expect((await world.getEvent(eventId)).body.description).toBe(event().description)
  })
})
