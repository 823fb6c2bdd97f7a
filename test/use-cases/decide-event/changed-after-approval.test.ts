// An approval covers what a person approved. If an event grows before Azure accepted the approval,
// it needs a new decision. If Azure accepted it and does not start the event, beacons send it
// again.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Start } from '../../../shared/report.ts'
import { sentTo } from '../../support/deliveries.ts'
import { forge, press } from '../../support/people.ts'
import { eventNow, minute, moments, outcome, startRelay, world } from '../../support/relay.ts'
import { event, eventId, FakeBeacon, usualAnswer } from '../../support/world.ts'

const grown = event({ resources: ['web_0', 'db_0'] })

let first: FakeBeacon
let second: FakeBeacon

async function begin(config: object = {}): Promise<void> {
  await startRelay(config)
  first = new FakeBeacon(world, 'web_0')
  second = new FakeBeacon(world, 'web_1')
  await first.sees([event()])
  await second.sees([event()])
}

beforeEach(() => begin())

const approve = async () => press(world, await forge(world), 'approve')
const starts = (outcome: Start['outcome'], status = 200) => ({
  starts: [{ eventId, ageMs: 0, outcome, status }] satisfies Start[],
})
const steps = async () => (await eventNow()).history.map(({ what }: { what: string }) => what)

describe('an event that grows after it was approved', () => {
  test('is started by no beacon, and people are asked again', async () => {
    await approve()
    world.clock.now += 1_000
    expect((await first.sees([grown])).directives).toEqual([])
    expect((await second.sees([grown])).directives).toEqual([])
    const { approvals, resources } = await eventNow()
    expect(resources).toEqual(['web_0', 'db_0'])
    expect(approvals).toMatchObject([
      { decision: 'approved', how: 'link', expiredAt: '2026-11-21T12:00:01.000Z' },
    ])
    await world.drain()
    const changed = world.sent.findLast(({ url }) => url.includes('slack'))!
    expect(changed.body).toContain('db_0')
    // the style of a button that asks
    expect(changed.body).toContain('"style":"primary"')
  })

  test('is completed if its VM passed the approval on before it grew, and no beacon saw it start', async () => {
    const soon = { notBeforeAt: world.clock.now + 30 * minute }
    for (const one of [first, second]) await one.sees([event(soon)])
    await approve()
    expect((await first.sees([event(soon)])).directives).toHaveLength(1)
    await first.sees([event({ ...soon, resources: ['web_0', 'db_0'] })])
    expect(await steps()).toContain('expired')
    await first.sees([], starts('accepted'))
    await second.sees([])
    await world.pass(11_000)
    expect(moments().at(-1)).toBe('completed')
  })

  test('is started once it is approved as it is now, and that is notified', async () => {
    await approve()
    await world.drain()
    world.clock.now += 1_000
    await first.sees([grown])
    world.clock.now += 1_000
    await approve()
    const both = {
      ...{ eventId, eventType: 'Reboot', resources: ['db_0', 'web_0'] },
      source: 'Platform',
    }
    expect((await second.sees([grown])).directives).toEqual([both])
    await world.drain()
    expect(moments().filter((moment) => moment === 'approved')).toHaveLength(2)
    expect((await steps()).slice(1, 5)).toEqual(['approved', 'changed', 'expired', 'approved'])
  })

  test('also if only a new VM knows: the first report comes from a VM that was affected before', async () => {
    await approve()
    world.clock.now += 1_000
    const newcomer = new FakeBeacon(world, 'db_0', { vm: { tags: { role: 'db' } } })
    // a beacon reports what its first document shows as a change, too
    const appeared = { kind: 'appeared' as const, ageMs: 0, firstPoll: true, event: grown }
    expect((await newcomer.sees([grown], { changes: [appeared] })).directives).toEqual([])
    expect((await eventNow()).resources).toEqual(['web_0', 'db_0'])
    expect((await first.sees([event()])).directives).toEqual([])
  })

  test('an old document that shows more than was approved gets no directive', async () => {
    await approve()
    const newcomer = new FakeBeacon(world, 'db_0')
    const old = { ageMs: 10_000 }
    expect((await newcomer.sees([grown], old)).directives).toEqual([])
    expect((await first.sees([event()])).directives).toMatchObject([{ eventId }])
  })

  test('can still be seen by a link that cannot decide for the new VM', async () => {
    const routes = [
      { match: {}, channels: ['chat'] },
      { match: { resource: 'db_*' }, channels: ['team'], approvers: ['slack:T0123/U0123'] },
    ]
    await begin({ routes, slackApp: { signingSecret: 'a'.repeat(32), team: 'T0123' } })
    expect((await approve()).status).toBe(200)
    world.clock.now += 1_000
    expect((await first.sees([grown])).directives).toEqual([])
    expect((await approve()).status).toBe(403)
    expect((await second.sees([grown])).directives).toEqual([])
  })

  test('an event that shrinks or moves is still covered', async () => {
    await begin()
    await first.sees([grown])
    await approve()
    world.clock.now += 1_000
    const less = event({ notBeforeAt: event().notBeforeAt! + minute })
    expect((await first.sees([less])).directives).toMatchObject([{ eventId }])
  })

  describe('once Azure accepted the approval', () => {
    beforeEach(async () => {
      await approve()
      await first.sees([event()])
      await first.sees([event()], starts('accepted'))
      await world.drain()
    })

    test('the approval stays while Azure may be starting it', async () => {
      world.clock.now += 1_000
      await first.sees([grown])
      await world.pass(58_000)
      await first.sees([grown])
      expect((await eventNow()).approvals).toMatchObject([{ decision: 'approved' }])
      expect(await steps()).not.toContain('expired')
    })

    test.each([
      ['has more VMs', grown],
      ['has another type', event({ eventType: 'Redeploy' })],
    ])('and it %s and is still scheduled a minute later, people decide again', async (_, shown) => {
      world.clock.now += 1_000
      await first.sees([shown])
      await world.pass(minute)
      for (const one of [first, second]) await one.sees([shown])
      await world.drain()
      expect(moments()).toEqual(['scheduled', 'approved', 'changed', 'changed'])
      const message = world.sent.findLast(({ url }) => url.includes('slack'))!
      expect(message.body).toContain('web_0 had told Azure before')
      await approve()
      const told = await second.sees([shown])
      expect(told.directives).toMatchObject([{ eventId, eventType: shown.eventType }])
    })

    describe('and it runs, unseen, after the approval expired: it is completed', () => {
      const sees = async (...shown: ReturnType<typeof event>[]) => {
        for (const one of [first, second]) await one.sees(shown)
      }

      beforeEach(async () => {
        for (let i = 0; i < 4; i++) {
          await sees(grown)
          await world.pass(20_000)
        }
        expect(await steps()).toContain('expired')
      })

      afterEach(async () => {
        await sees()
        await world.pass(11_000)
        expect(await outcome()).toMatchObject({ inferred: 'start_not_seen_approved' })
      })

      test('at once', async () => {})

      test('also after another expiry', async () => {
        await approve()
        await sees(event({ resources: ['web_0', 'db_0', 'db_1'] }))
        expect((await steps()).filter((step: string) => step === 'expired')).toHaveLength(2)
      })

      test('also after it was gone for a while', async () => {
        await sees()
        await world.pass(15_000)
        await sees(grown)
        expect((await eventNow()).phase).toBe('scheduled')
        await world.pass(1_000)
      })
    })

    test('and it is back with more VMs after it was gone, people decide again', async () => {
      const back = event({ eventType: 'Redeploy', resources: ['web_0', 'web_1'] })
      for (const one of [first, second]) await one.sees([])
      await world.pass(15_000)
      for (const one of [first, second]) await one.sees([back])
      await world.drain()
      expect(moments()).toEqual(['scheduled', 'approved', 'completed', 'scheduled'])
      expect((await eventNow()).approvals).toEqual([])
      expect((await eventNow()).azureAccepted).toBeUndefined()
    })
  })
})

describe('PagerDuty, when an approval expires', () => {
  const grownMore = event({ resources: ['web_0', 'db_0', 'db_1'] })
  const notNow = async () => press(world, await forge(world), 'not_now')

  /** PagerDuty's incidents. A trigger wakes people only if it opens an incident. */
  function incidents(): { key: string; state: string; opened: number }[] {
    const kept = new Map<string, { key: string; state: string; opened: number }>()
    for (const { json } of sentTo(world, 'pager')) {
      const { dedup_key: key, event_action: action } = json
      const known = kept.get(key) ?? { key, state: 'resolved', opened: 0 }
      expect([key, action, kept.has(key) || action === 'trigger']).toEqual([key, action, true])
      kept.set(key, known)
      if (action === 'trigger' && known.state === 'resolved') {
        known.state = 'triggered'
        known.opened += 1
      } else if (action === 'acknowledge' && known.state === 'triggered') {
        known.state = 'acknowledged'
      } else if (action === 'resolve') known.state = 'resolved'
    }
    return [...kept.values()]
  }
  const states = () => incidents().map(({ state }) => state)

  async function expire(shown = grown): Promise<void> {
    world.clock.now += 1_000
    await first.sees([shown])
    await world.drain()
  }

  beforeEach(async () => {
    await world.drain()
    await approve()
    await world.drain()
  })

  test('people are paged again, and one incident is open', async () => {
    expect(states()).toEqual(['acknowledged'])
    await expire()
    expect(states()).toEqual(['resolved', 'triggered'])
    await approve()
    await world.drain()
    expect(states()).toEqual(['resolved', 'acknowledged'])
    await expire(grownMore)
    expect(states()).toEqual(['resolved', 'resolved', 'triggered'])
  })

  test('each approval and each "not now" is notified', async () => {
    await expire()
    await notNow()
    await world.drain()
    expect(states()).toEqual(['resolved', 'acknowledged'])
    await approve()
    await world.drain()
    expect(moments()).toEqual(['scheduled', 'approved', 'changed', 'declined', 'approved'])
    expect(states()).toEqual(['resolved', 'acknowledged'])
    // a new time after the second approval pages nobody
    world.clock.now += 1_000
    await first.sees([{ ...grown, notBeforeAt: grown.notBeforeAt! + minute }])
    await world.drain()
    expect(states()).toEqual(['resolved', 'acknowledged'])
    expect(incidents().map(({ opened }) => opened)).toEqual([1, 1])
  })

  test('a second "not now" is notified, too', async () => {
    await begin()
    await notNow()
    await approve()
    await expire()
    await notNow()
    await world.drain()
    expect(moments().filter((moment) => moment === 'declined')).toHaveLength(2)
  })

  test('nobody is paged if a rule approves the event as it is now', async () => {
    await begin({ policy: [{ name: 'all', match: {}, decide: 'approve' }] })
    await world.drain()
    await expire()
    expect(states()).toEqual(['acknowledged'])
  })

  test('people are asked again if the approved event did not name its VMs', async () => {
    await startRelay()
    first = new FakeBeacon(world, 'web_0')
    await first.sees([event({ resources: [] })])
    await approve()
    await world.drain()
    await expire(event())
    expect(moments()).toEqual(['scheduled', 'approved', 'changed'])
    expect(states()).toEqual(['resolved', 'triggered'])
  })

  test('a channel that gets no changes is paged, too, if it got the approval', async () => {
    const routes = [{ match: {}, channels: ['pager', 'chat'], moments: ['scheduled', 'approved'] }]
    await begin({ routes })
    await world.drain()
    await approve()
    await world.drain()
    await expire()
    expect(states()).toEqual(['resolved', 'triggered'])
    expect(sentTo(world, 'slack').filter(({ body }) => body.includes('Changed:'))).toEqual([])
  })

  test('the end closes every incident that was opened', async () => {
    await expire()
    await approve()
    await expire(grownMore)
    for (const beacon of [first, second]) await beacon.sees([])
    await world.pass(minute)
    expect(new Set(states())).toEqual(new Set(['resolved']))
    expect(incidents().length).toBe(3)
  })

  test('a page that PagerDuty accepted without an answer is not repeated', async () => {
    let taken = 0
    world.channels.answer = (request) => {
      const isPage = request.url.includes('//pager.') && request.json.event_action === 'trigger'
      if (isPage && taken++ === 0) throw new TypeError('fetch failed')
      return usualAnswer(request)
    }
    await expire()
    await world.pass(minute)
    expect(taken).toBe(2)
    expect(incidents().map(({ state, opened }) => [state, opened])).toEqual([
      ['resolved', 1],
      ['triggered', 1],
    ])
  })

  test('the incident of a stuck approval is closed, and opened again for the next approval', async () => {
    await world.pass(minute)
    await world.pass(minute)
    expect(states()).toEqual(['acknowledged', 'triggered'])
    await expire()
    expect(states()).toEqual(['resolved', 'resolved', 'triggered'])
    await approve()
    await world.pass(minute)
    await world.pass(minute)
    expect(moments().filter((moment) => moment === 'stuck')).toHaveLength(2)
    expect(states()).toEqual(['resolved', 'resolved', 'acknowledged', 'triggered'])
    for (const beacon of [first, second]) await beacon.sees([])
    await world.pass(minute)
    expect(new Set(states())).toEqual(new Set(['resolved']))
  })
})

describe('an event that a rule approved', () => {
  test('by VM name, and that then affects another VM, waits for people', async () => {
    await begin({ policy: [{ name: 'web', match: { resource: 'web_*' }, decide: 'approve' }] })
    world.clock.now += 6_000
    expect((await first.sees([grown])).directives).toEqual([])
    const { approvals, policy } = await eventNow()
    expect(approvals).toMatchObject([{ how: 'policy', who: 'web' }])
    expect(approvals[0].expiredAt).toBeDefined()
    expect(policy.decide).toBe('ask')
  })

  test('and still approves as it is now is started as it is now', async () => {
    await begin({ policy: [{ name: 'all', match: {}, decide: 'approve' }] })
    world.clock.now += 11_000
    const all = [{ resources: ['db_0', 'web_0'] }]
    expect((await first.sees([grown])).directives).toMatchObject(all)
    await world.drain()
    expect(moments()).toEqual(['scheduled', 'approved', 'changed', 'approved'])
  })
})

describe('an approved event that Azure does not start', () => {
  beforeEach(async () => {
    await approve()
    await first.sees([event()])
    await first.sees([event()], starts('accepted'))
  })

  test('another VM sends the approval again after a minute, and the first one after two', async () => {
    world.clock.now += minute
    expect((await first.sees([event()])).directives).toEqual([])
    expect((await second.sees([event()])).directives).toMatchObject([{ eventId }])
    await second.sees([event()], starts('accepted'))
    expect((await eventNow()).azureAccepted).toMatchObject({ vm: 'web_1' })
    expect(await steps()).toContain('not_started')
    world.clock.now += 2 * minute
    expect((await second.sees([event()])).directives).toMatchObject([{ eventId }])
  })

  test('is notified once as stuck after ten minutes, with the VM that sent the approval', async () => {
    for (let passed = 0; passed < 12; passed++) {
      await world.pass(minute)
      await second.sees([event()], passed % 2 ? starts('accepted') : {})
    }
    await world.drain()
    expect(moments().filter((moment) => moment === 'stuck')).toHaveLength(1)
    const stuck = world.sent.find(({ body }) => body.includes('Approved, but not started'))!
    expect(stuck.body).toMatch(/web_[01] told Azure/)
  })
})
