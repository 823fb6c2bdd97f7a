// Beacons that contradict each other. A VM with the fleet's key can lie about other VMs' events. No
// lie may start anything, and people must learn that the VMs disagree.
import { beforeEach, describe, expect, test } from 'vitest'
import type { ScheduledEvent } from '../../../shared/document.ts'
import { forge, press } from '../../support/people.ts'
import { beacon, eventNow, minute, moments, startRelay, world } from '../../support/relay.ts'
import { adminKey, event, eventId, FakeBeacon, startAt } from '../../support/world.ts'

const policy = [
  { name: 'users', match: { source: 'User' }, decide: 'approve' },
  {
    name: 'short',
    match: { eventType: 'Freeze', resource: 'web_*', maxDurationSeconds: 9 },
    decide: 'approve',
  },
]

let honest: FakeBeacon
let other: FakeBeacon
let liar: FakeBeacon

beforeEach(async () => {
  await startRelay({ policy })
  honest = new FakeBeacon(world, 'web_0')
  other = new FakeBeacon(world, 'web_1')
  liar = new FakeBeacon(world, 'web_9')
})

const startsOf = async (beacon: FakeBeacon, shown: ScheduledEvent) =>
  (await beacon.sees([shown])).directives
const asked = () => world.sent.findLast(({ url }) => url.includes('slack'))!.body

/** Expects that nothing is started, even if many beacons report many times. */
async function expectNothingStarts(...seen: [FakeBeacon, ScheduledEvent][]): Promise<void> {
  for (let round = 0; round < 8; round++) {
    for (const [beacon, shown] of seen) expect(await startsOf(beacon, shown)).toEqual([])
    await world.pass(15_000)
  }
}

describe('a lie that comes first', () => {
  const short = event({ eventType: 'Freeze', durationSeconds: 5 })
  test.each<[string, ScheduledEvent, ScheduledEvent]>([
    ['the source', event({ source: 'User' }), event()],
    ['the duration', short, { ...short, durationSeconds: 60 }],
    ['the type', short, { ...short, eventType: 'Reboot' }],
    ['the VMs', short, { ...short, resources: ['web_0', 'db_0'] }],
  ])('about %s starts nothing, and people are asked', async (_, lie, truth) => {
    await liar.sees([lie])
    await world.drain()
    expect((await eventNow()).approvals).toMatchObject([{ how: 'policy' }])
    expect(await startsOf(honest, truth)).toEqual([])
    await world.drain()
    expect((await eventNow()).approvals[0].expiredAt).toBeDefined()
    expect(moments().at(-1)).toBe('changed')
    expect(asked()).toContain('Please decide again')
    await expectNothingStarts([liar, lie], [honest, truth], [other, truth])
  })

  test('gives way to what the affected VM itself sees, which a person can approve', async () => {
    await liar.sees([event({ source: 'User' })])
    await honest.sees([event()])
    expect((await eventNow()).source).toBe('Platform')
    world.clock.now += 6_000
    await press(world, await forge(world), 'approve')
    expect(await startsOf(honest, event())).toMatchObject([{ eventId, source: 'Platform' }])
  })

  test('under the names of the observers, after empty documents, changes nothing', async () => {
    for (const one of [honest, other]) await one.sees([event()])
    const forged = [0, 1].map((i) => new FakeBeacon(world, `web_${i}`))
    for (const one of forged) await one.sees([])
    await world.pass(4 * minute)
    await forged[0]!.sees([event({ source: 'User' })])
    await world.drain()
    for (const one of [honest, other]) {
      one.bootId = `again-${one.name}`
      expect(await startsOf(one, event())).toEqual([])
    }
    await expectNothingStarts([honest, event()], [other, event()])
  })
})

describe('a lie that comes later', () => {
  test('approves nothing: the affected VM speaks for itself', async () => {
    await honest.sees([event()])
    await world.drain()
    await world.pass(2 * minute)
    await honest.sees([event()])
    await liar.sees([event({ source: 'User' })])
    await world.drain()
    await expectNothingStarts([honest, event()], [liar, event({ source: 'User' })])
    expect((await eventNow()).source).toBe('Platform')
    expect(moments()).toEqual(['scheduled'])
  })

  test("does not end a person's approval of the same VMs and type", async () => {
    await honest.sees([event({ durationSeconds: 5 })])
    await press(world, await forge(world), 'approve')
    await liar.sees([event({ durationSeconds: 60 })])
    world.clock.now += 6_000
    expect(await startsOf(honest, event({ durationSeconds: 5 }))).toMatchObject([{ eventId }])
  })
})

describe('no disagreement', () => {
  const user = event({ source: 'User' })

  test("a user's event is approved at its first report", async () => {
    expect(await startsOf(honest, user)).toEqual([
      { eventId, eventType: 'Reboot', resources: ['web_0'], source: 'User', durationSeconds: -1 },
    ])
    await world.drain()
    await other.sees([user])
    await world.drain()
    expect(moments()).toEqual(['scheduled', 'approved'])
  })

  const both = { eventType: 'Freeze', resources: ['web_0', 'web_1'] }
  const long = event({ ...both, durationSeconds: 60 })
  const short = event({ ...both, durationSeconds: 5 })

  test('an affected VM that lags behind a change delays the rule, and people are not asked because of it', async () => {
    for (const one of [honest, other]) await one.sees([long])
    await world.drain()
    world.clock.now += 1_000
    expect(await startsOf(honest, short)).toEqual([])
    expect(await startsOf(other, long)).toEqual([])
    world.clock.now += 14_000
    expect(await startsOf(other, short)).toMatchObject([{ durationSeconds: 5 }])
    await world.drain()
    expect(moments()).toEqual(['scheduled', 'changed', 'approved'])
  })

  test('an affected VM that still shows the old value after two minutes: people are asked', async () => {
    for (const one of [honest, other]) await one.sees([long])
    for (let round = 0; round < 9; round++) {
      for (const [one, shown] of [
        [honest, short],
        [other, long],
      ] as const) {
        expect(await startsOf(one, shown)).toEqual([])
      }
      await world.pass(15_000)
    }
    expect(asked()).toContain('the VMs disagree about its duration')
    const { policy: judged, notReady } = await eventNow()
    expect(judged.decide).toBe('ask')
    expect(notReady).toMatchObject({ why: 'vms_disagree', values: ['durationSeconds'] })
    expect(moments()).toEqual(['scheduled', 'changed', 'not_ready'])
    await press(world, await forge(world), 'approve')
    expect(await startsOf(honest, short)).toMatchObject([{ eventId }])
  })

  test('a VM that leaves the event is one change, whichever VM sees it first', async () => {
    await honest.sees([event({ source: 'User', resources: ['web_0', 'web_1'] })])
    for (const one of [other, honest]) {
      await world.pass(500)
      await one.sees([user])
    }
    await world.drain()
    expect(moments()).toEqual(['scheduled', 'approved', 'changed'])
  })

  test('an older api-version contradicts nothing', async () => {
    const { source: _, durationSeconds: __, ...less } = user
    await other.sees([less])
    expect(await startsOf(honest, user)).toMatchObject([{ source: 'User' }])
  })

  test('a new boot of a known VM is not a new VM: its document counts as a change', async () => {
    await honest.sees([user])
    await world.drain()
    honest.bootId = 'after-a-restart'
    await honest.sees([event()])
    expect((await eventNow()).source).toBe('Platform')
    expect((await eventNow()).approvals[0].expiredAt).toBeDefined()
  })
})

test('a NotBefore that every live document shows is notified, even if no beacon saw it move', async () => {
  await startRelay()
  await beacon.sees([event({ notBeforeAt: startAt + 60 * minute })])
  // its beacon falls silent, Azure moves the event, and another VM boots
  await world.pass(2 * minute)
  const other = new FakeBeacon(world, 'web_1')
  for (let i = 0; i < 3; i++) {
    await other.sees([event({ notBeforeAt: startAt + 20 * minute })])
    await world.pass(minute)
  }
  expect(moments()).toEqual(['scheduled', 'changed'])
  expect(await eventNow()).toMatchObject({
    notBefore: new Date(startAt + 20 * minute).toISOString(),
  })
})

test('a NotBefore that a liar moves stays as the affected VM shows it', async () => {
  const truth = event({ notBeforeAt: startAt + 60 * minute })
  for (const one of [honest, other, liar]) await one.sees([truth])
  for (let i = 0; i < 6; i++) {
    await world.pass(minute / 2)
    await liar.sees([{ ...truth, notBeforeAt: startAt + 360 * minute }])
    for (const one of [honest, other]) await one.sees([truth])
  }
  expect(moments()).toEqual(['scheduled'])
  expect(await eventNow()).toMatchObject({ notBefore: new Date(truth.notBeforeAt!).toISOString() })
})

test('a liar cannot keep an approval by also saying that Azure was told', async () => {
  const lie = event({ source: 'User' })
  await liar.sees([lie])
  const start = { eventId, ageMs: 0, outcome: 'accepted' as const, status: 200 }
  await liar.sees([lie], { starts: [start] })
  for (let i = 0; i < 10; i++) {
    await world.pass(minute / 4)
    for (const one of [honest, other]) await one.sees([event()])
  }
  await world.drain()
  expect(moments()).toContain('changed')
  expect((await eventNow()).approvals.at(-1)).toHaveProperty('expiredAt')
})

test('a tag that a namesake reports says nothing of a VM that is silent', async () => {
  const byTag = { name: 'rule', match: { tag: 'cluster=a' }, decide: 'approve' }
  await startRelay({ policy: [byTag] })
  other = new FakeBeacon(world, 'web_1')
  const own = new FakeBeacon(world, 'web_0', { vm: { tags: { cluster: 'b' } } })
  const namesake = new FakeBeacon(world, 'web_0', { vm: { vmId: 'x', tags: { cluster: 'a' } } })
  for (const one of [own, other]) await one.sees([event()])
  for (let i = 0; i < 6; i++) {
    await world.pass(minute / 2)
    await namesake.sees([event()])
    await world.pass(6_000)
    expect((await other.sees([event()])).directives).toEqual([])
  }
})

test('a VM that is not affected cannot flip a value for ever', async () => {
  const approve = () =>
    world.app.request(`/v1/events/prod/${eventId}/decision`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}` },
      body: '{"decision":"approve"}',
    })
  const directed: unknown[] = []
  for (const one of [honest, other]) await one.sees([event()])
  for (let i = 0; i < 80; i++) {
    await liar.sees([event({ eventType: i % 2 ? 'Redeploy' : 'Freeze' })])
    for (const one of [honest, other]) directed.push(...(await one.sees([event()])).directives)
    await world.pass(2_000)
    if (i === 70) expect((await approve()).status).toBe(200)
  }
  expect(directed).not.toEqual([])
  expect((await eventNow()).eventType).toBe('Reboot')
})
