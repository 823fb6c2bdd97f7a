// Somebody has a token that may report what Azure publishes, or the key of the fleet, and says what is not so.
// A VM that shows the event is right.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cloudEvent } from '../simulator/event-grid.ts'
import { arm, list, publication, publish, send, startWithAzure } from '../support/azure.ts'
import { linkOf, press } from '../support/people.ts'
import { beacon, hour, minute, moments, outcome, second, world } from '../support/relay.ts'
import { event, eventId, FakeBeacon, started } from '../support/world.ts'

let later: ReturnType<typeof event>

beforeEach(async () => {
  await startWithAzure()
  later = event({ notBeforeAt: world.clock.now + hour })
})
afterEach(() => world.store.close())

/** The VM goes on showing it. */
async function pass(ms: number) {
  for (let at = 0; at < ms; at += 10 * second) {
    await world.pass(10 * second)
    await beacon.sees([later])
  }
}

/** Its own VM and an onlooker see the event, and a person approves it. */
async function approveBeside(onlooker: FakeBeacon) {
  await beacon.sees([later])
  await onlooker.sees([later])
  await world.drain()
  await press(world, linkOf(world), 'approve')
}

describe('an end that its own VM does not see', () => {
  beforeEach(async () => {
    await beacon.sees([later])
    await world.drain()
    world.clock.now += second
  })

  test.each(['Canceled', 'Completed'] as const)(
    '%s: a minute later it is open again',
    async (status) => {
      await publish({ status })
      expect((await outcome()).phase).not.toBe('scheduled')
      await pass(minute + 10 * second)
      expect((await outcome()).phase).toBe('scheduled')
      const decided = await press(world, linkOf(world), 'approve')
      expect(decided.status).toBeLessThan(400)
      const { directives } = await beacon.sees([later])
      expect(directives).toHaveLength(1)
    },
  )

  test('said again and again, it hides the event no longer', async () => {
    let hidden = 0
    for (let minutes = 0; minutes < 10; minutes++) {
      await publish({ status: 'Canceled' })
      for (let tens = 0; tens < 6; tens++) {
        await world.pass(10 * second)
        await beacon.sees([later])
        if ((await outcome()).phase !== 'scheduled') hidden += 10
      }
    }
    expect(hidden).toBeLessThanOrEqual(70)
    await beacon.sees([])
    await world.pass(11 * second)
    await beacon.sees([])
    expect((await outcome()).phase).toBe('cancelled')
  })

  test('an approval from before stays', async () => {
    await press(world, linkOf(world), 'approve')
    await publish({ status: 'Canceled' })
    await pass(minute + 10 * second)
    expect((await beacon.sees([later])).directives).toHaveLength(1)
  })

  test('its start is told at once', async () => {
    await publish({ status: 'Canceled' })
    world.clock.now += second
    await beacon.sees([started()])
    await world.drain()
    expect(moments()).toEqual(['scheduled', 'cancelled', 'started'])
  })

  test("Azure's own list does not end it again and again", async () => {
    await pass(minute)
    list(publication({ status: 'Completed', notBeforeAt: later.notBeforeAt! }))
    await pass(15 * minute)
    expect(moments()).toEqual(['scheduled'])
  })
})

test('a time that lies ahead does not make void what comes later', async () => {
  await publish({ at: world.clock.now + 24 * hour })
  await world.pass(minute)
  await publish({ status: 'Started' })
  expect(moments()).toEqual(['scheduled', 'started'])
  await world.pass(minute)
  await publish({ status: 'Completed', at: world.clock.now + 24 * hour })
  expect(await outcome()).toEqual({ phase: 'completed', outcome: 'completed' })
})

test('"Azure accepted it" by a liar delays an approval by seconds', async () => {
  const liar = new FakeBeacon(world, 'an_onlooker')
  await approveBeside(liar)
  expect((await liar.sees([later])).directives).toHaveLength(1)
  await liar.sees([later], { starts: [{ eventId, ageMs: 0, outcome: 'accepted', status: 200 }] })
  const from = world.clock.now
  for (let tries = 0; tries < 60; tries++) {
    const { directives, paceMs } = await beacon.sees([later])
    if (directives.length > 0) break
    await world.pass(paceMs)
  }
  expect(world.clock.now - from).toBeLessThanOrEqual(10 * second)
})

test('an onlooker that changes its word voids no approval that other VMs hold up', async () => {
  const [honest, liar] = ['one', 'other'].map((name) => new FakeBeacon(world, name))
  await honest!.sees([later])
  await liar!.sees([later])
  await world.drain()
  await press(world, linkOf(world), 'approve')
  await liar!.sees([{ ...later, resources: ['db_9'] }])
  expect((await honest!.sees([later])).directives).toHaveLength(1)
})

test('two onlookers that take the lease in turns and say nothing delay an approval by seconds', async () => {
  const liars = ['one', 'other'].map((name) => new FakeBeacon(world, name))
  await beacon.sees([later])
  for (const liar of liars) await liar.sees([later])
  await world.drain()
  await press(world, linkOf(world), 'approve')
  const from = world.clock.now
  for (let tries = 0; tries < 60; tries++) {
    for (const liar of liars) await liar.sees([later])
    const { directives } = await beacon.sees([later])
    if (directives.length > 0) break
    await world.pass(second)
  }
  expect(world.clock.now - from).toBeLessThanOrEqual(6 * second)
})

test('another machine with the id of the affected beacon says that Azure accepted: the true one tells Azure', async () => {
  await beacon.sees([later])
  await world.drain()
  await press(world, linkOf(world), 'approve')
  const twin = new FakeBeacon(world, beacon.name)
  expect((await twin.sees([later])).directives).toHaveLength(1)
  await twin.sees([later], { starts: [{ eventId, ageMs: 0, outcome: 'accepted', status: 200 }] })
  const from = world.clock.now
  const own = new FakeBeacon(world, beacon.name)
  for (let tries = 0; tries < 60; tries++) {
    const { directives, paceMs } = await own.sees([later])
    if (directives.length > 0) break
    await world.pass(paceMs)
  }
  expect(world.clock.now - from).toBeLessThanOrEqual(10 * second)
})

test('an onlooker says that Azure accepted, and no VM contradicts: the relay tells Azure itself', async () => {
  const liar = new FakeBeacon(world, 'an_onlooker')
  await liar.sees([later])
  list(publication({ notBeforeAt: later.notBeforeAt! }))
  await world.drain()
  await press(world, linkOf(world), 'approve')
  expect((await liar.sees([later])).directives).toHaveLength(1)
  await liar.sees([later], { starts: [{ eventId, ageMs: 0, outcome: 'accepted', status: 200 }] })
  for (let at = 0; at <= minute; at += 5 * second) {
    await world.pass(5 * second)
    await liar.sees([later])
  }
  expect(arm.acknowledged).toEqual([eventId])
})

test('a false start and a false end: the true start is told at once', async () => {
  await beacon.sees([later])
  await world.drain()
  world.clock.now += second
  await publish({ status: 'Started' })
  world.clock.now += second
  await publish({ status: 'Completed' })
  world.clock.now += 10 * second
  await beacon.sees([started()])
  await world.drain()
  expect(moments()).toEqual(['scheduled', 'completed', 'started'])
})

test('a word with a later time does not make void the end that Azure tells of', async () => {
  await publish()
  world.clock.now += minute
  const endedAt = world.clock.now - 5 * second
  await publish()
  await publish({ status: 'Canceled', at: endedAt })
  expect(await outcome()).toMatchObject({ phase: 'cancelled' })
})

describe('what no affected VM contradicts', () => {
  const onlooker = () => new FakeBeacon(world, 'an_onlooker')
  type Look = () => Promise<unknown>
  const witnesses: [string, () => Look][] = [
    [
      'an onlooker',
      () => {
        const one = onlooker()
        return () => one.sees([later])
      },
    ],
    [
      "Azure's list alone",
      () => {
        list(publication({ notBeforeAt: later.notBeforeAt! }))
        return async () => undefined
      },
    ],
  ]

  describe.each(witnesses)('%s goes on showing that the event waits', (_, witness) => {
    test.each(['Started', 'Canceled', 'Completed'] as const)(
      '%s, said each minute, hides the event for 5 minutes in all',
      async (status) => {
        const look = witness()
        await publish({ notBeforeAt: later.notBeforeAt! })
        let hidden = 0
        for (let at = 0; at < 10 * minute; at += 10 * second) {
          await look()
          await world.pass(10 * second)
          if (at % minute === 0) await publish({ status })
          if ((await outcome()).phase !== 'scheduled') hidden += 10 * second
        }
        expect(hidden).toBeLessThanOrEqual(5 * minute)
        const decided = await press(world, linkOf(world), 'approve')
        expect(decided.status).toBeLessThan(400)
      },
    )

    test.each<[string, object]>([
      ['that it has started', { status: 'Started' }],
      ['other values', { vms: ['web_0', 'web_9'], type: 'Redeploy' }],
    ])('an end, and a second later %s: an approval stays', async (_name, then) => {
      const look = witness()
      await look()
      await publish({ notBeforeAt: later.notBeforeAt! })
      await world.pass(minute)
      await press(world, linkOf(world), 'approve')
      await publish({ status: 'Canceled' })
      world.clock.now += second
      await publish({ notBeforeAt: later.notBeforeAt!, ...then })
      for (let at = 0; at < 6 * minute; at += 10 * second) {
        await look()
        await world.pass(10 * second)
      }
      const record = await world.store.readEvent({ fleet: 'prod', eventId })
      expect(record).toMatchObject({ phase: 'scheduled', decided: { decision: 'approved' } })
      expect(record?.facts).toMatchObject({ resources: ['web_0'], eventType: 'Reboot' })
    })

    test('one false start hides it for 5 minutes', async () => {
      const look = witness()
      await look()
      await publish({ notBeforeAt: later.notBeforeAt! })
      await world.pass(minute)
      await publish({ status: 'Started' })
      for (let at = 0; at < 5 * minute; at += 10 * second) {
        await look()
        await world.pass(10 * second)
      }
      expect((await outcome()).phase).toBe('scheduled')
    })

    test('other names, said each minute, void no approval', async () => {
      const look = witness()
      await look()
      await publish({ notBeforeAt: later.notBeforeAt! })
      await world.pass(minute)
      await press(world, linkOf(world), 'approve')
      for (let at = 0; at < 5 * minute; at += minute) {
        await publish({ notBeforeAt: later.notBeforeAt!, vms: ['web_0', 'web_9'] })
        await look()
        await world.pass(minute)
      }
      const record = await world.store.readEvent({ fleet: 'prod', eventId })
      expect(record?.facts.resources).toEqual(['web_0'])
      expect(record?.decided?.decision).toBe('approved')
    })
  })

  test.each([
    ['under its name', true],
    ['under another name', false],
  ])(
    'a start of it, said before anybody else knows of the event, %s: its VM is right',
    async (_, isNamed) => {
      await publish({ status: 'Started', ...(isNamed ? {} : { vms: ['web_9'] }) })
      for (let at = 0; at < 90 * second; at += 10 * second) {
        await world.pass(10 * second)
        await beacon.sees([later])
      }
      await world.drain()
      expect((await outcome()).phase).toBe('scheduled')
      await press(world, linkOf(world), 'approve')
      expect((await beacon.sees([later])).directives).toHaveLength(1)
    },
  )
})

test('an end that its VM contradicts is no half of the VMs, also near and after its time', async () => {
  await beacon.sees([later])
  await world.drain()
  await publish({ status: 'Canceled' })
  await pass(hour + 5 * minute)
  expect((await outcome()).phase).toBe('scheduled')
  await beacon.sees([started()])
  for (const word of ['Completed', 'Completed'] as const) {
    await world.pass(minute)
    await publish({ status: word })
    for (let at = 0; at < 2 * minute; at += 10 * second) {
      await world.pass(10 * second)
      await beacon.sees([started()])
    }
  }
  expect((await outcome()).phase).toBe('started')
})

test('an onlooker that says Started and then lacks it ends nothing that its VM shows', async () => {
  const liar = new FakeBeacon(world, 'an_onlooker')
  await approveBeside(liar)
  await liar.sees([started()])
  await liar.sees([])
  for (let at = 0; at < 3 * minute; at += 10 * second) {
    await world.pass(10 * second)
    await beacon.sees([later])
    await liar.sees([])
  }
  expect((await outcome()).phase).toBe('scheduled')
  expect((await beacon.sees([later])).directives.length).toBeLessThanOrEqual(1)
  const record = await world.store.readEvent({ fleet: 'prod', eventId })
  expect(record?.decided?.decision).toBe('approved')
})

test('onlookers that lack what its VM shows end it for a minute, and then no more', async () => {
  const liars = ['one', 'other'].map((name) => new FakeBeacon(world, name))
  await beacon.sees([started()])
  for (const liar of liars) await liar.sees([started()])
  let hidden = 0
  for (let at = 0; at < 10 * minute; at += 10 * second) {
    await world.pass(10 * second)
    await beacon.sees([started()])
    for (const liar of liars) await liar.sees(at % minute === 0 ? [started()] : [])
    if ((await outcome()).phase !== 'started') hidden += 10 * second
  }
  expect(hidden).toBeLessThanOrEqual(100 * second)
})

test('onlookers alone free no slot', async () => {
  await startWithAzure({}, { policy: [{ match: {}, decide: 'approve', maxConcurrent: 1 }] })
  const neighbor = new FakeBeacon(world, 'web_1')
  const liars = ['one', 'other'].map((name) => new FakeBeacon(world, name))
  await beacon.sees([later])
  await world.pass(second)
  await beacon.sees([started()])
  for (const liar of liars) await liar.sees([started()])
  const shown = [
    event({ eventId: 'another', resources: ['web_1'], notBeforeAt: later.notBeforeAt! }),
  ]
  for (let at = 0; at < 3 * minute; at += 5 * second) {
    await world.pass(5 * second)
    await beacon.sees([started()])
    for (const liar of liars) await liar.sees([])
    expect((await neighbor.sees(shown)).directives).toEqual([])
  }
})

test('an onlooker that says that Azure accepted, and then Started: its VM is right two minutes later', async () => {
  const liar = new FakeBeacon(world, 'an_onlooker')
  await approveBeside(liar)
  await liar.sees([later])
  const starts = [{ eventId, ageMs: 0, outcome: 'accepted' as const, status: 200 }]
  await liar.sees([started()], { starts })
  await pass(2 * minute)
  expect((await outcome()).phase).toBe('scheduled')
})

test('a VM that names itself in an event of others takes none of them out of it', async () => {
  await beacon.sees([later])
  await world.drain()
  const liar = new FakeBeacon(world, 'evil')
  world.clock.now += second
  await liar.sees([{ ...later, resources: ['evil'] }])
  await pass(20 * second)
  const { facts } = (await world.store.readEvent({ fleet: 'prod', eventId }))!
  expect(facts.resources).toContain('web_0')
  await press(world, linkOf(world), 'approve')
  await liar.sees([{ ...later, resources: ['evil'] }])
  expect((await beacon.sees([later])).directives).toHaveLength(1)
})

test('an event of years ahead that nobody shows is lost after a week', async () => {
  await publish({ notBeforeAt: later.notBeforeAt! + 10_000 * 24 * hour })
  await world.pass(7 * 24 * hour - minute)
  expect((await outcome()).phase).toBe('scheduled')
  await world.pass(11 * minute)
  expect((await outcome()).outcome).toBe('lost')
})

test('400 inventions keep out nothing that the list shows', async () => {
  const idOf = (n: number) => `c7061bac-afdc-4513-b24b-${String(n).padStart(12, '0')}`
  const batch = Array.from({ length: 401 }, (_, n) => cloudEvent(publication({ eventId: idOf(n) })))
  await send(batch)
  list(publication({ notBeforeAt: later.notBeforeAt! }))
  await publish({ notBeforeAt: later.notBeforeAt! })
  await world.pass(minute)
  expect((await outcome()).phase).toBe('scheduled')
})

test('a word that an event is over frees no slot before a minute has shown it', async () => {
  await startWithAzure({}, { policy: [{ match: {}, decide: 'approve', maxConcurrent: 1 }] })
  const other = { eventId: 'another', resources: ['web_1'], notBeforeAt: later.notBeforeAt! }
  const neighbor = new FakeBeacon(world, 'web_1')
  await beacon.sees([later])
  await world.pass(second)
  await beacon.sees([started()])
  const shown = [event(other)]
  await neighbor.sees(shown)
  await world.pass(minute)
  await publish({ status: 'Completed' })
  for (let at = 0; at < 3 * minute; at += 5 * second) {
    await beacon.sees([started()])
    expect((await neighbor.sees(shown)).directives).toEqual([])
    await world.pass(5 * second)
  }
  let directives = 0
  for (let at = 0; at < minute; at += 5 * second) {
    await beacon.sees([])
    directives += (await neighbor.sees(shown)).directives.length
    await world.pass(5 * second)
  }
  expect(directives).toBeGreaterThan(0)
})

test('an onlooker says after an approval that it has started: its VM is right two minutes later', async () => {
  const liar = new FakeBeacon(world, 'an_onlooker')
  await approveBeside(liar)
  await liar.sees([started()])
  expect((await outcome()).phase).toBe('started')
  await pass(2 * minute)
  expect((await beacon.sees([later])).directives).toHaveLength(1)
})

test('while the list cannot be read, inventions ask for it every 5 s', async () => {
  await startWithAzure({ canRead: false })
  for (let n = 0; n < 20; n++) {
    await publish({ eventId: `c7061bac-afdc-4513-b24b-${String(n).padStart(12, '0')}` })
  }
  const asked = () => arm.requests.length
  const before = asked()
  for (let at = 0; at < minute; at += second) await world.pass(second)
  expect(asked() - before).toBeLessThanOrEqual(14)
})

test('a time before 1970 is none', async () => {
  await publish({ at: -1 })
  const { events } = await world.store.findEvents({ fleets: ['prod'], limit: 10, since: 0 })
  expect(events.map(({ firstSeenAt }) => world.clock.now - firstSeenAt)).toEqual([7 * 24 * hour])
})

describe('ends of events that nobody knows', () => {
  const idOf = (n: number) => `c7061bac-afdc-4513-b24b-${String(n).padStart(12, '0')}`

  test('leave a trace that no list and no count shows, until the event is real', async () => {
    await publish({ status: 'Completed' })
    const { store, clock } = world
    const lists = async () => [
      (await store.findEvents({ fleets: ['prod'], limit: 10, since: 0 })).events.length,
      (await store.listEvents({ limit: 10 })).length,
    ]
    expect(await outcome()).toMatchObject({ phase: 'completed' })
    expect(await lists()).toEqual([0, 0])
    const counted = await store.readCounts({ now: clock.now, fleets: ['prod'] })
    expect(counted.counts.filter(({ what }) => what === 'event')).toEqual([])
    await world.pass(2 * minute)
    await beacon.sees([later])
    await world.drain()
    expect(moments()).toEqual(['scheduled'])
    expect(await lists()).toEqual([1, 1])
  })

  test('leave no more than 100 traces in 10 minutes', async () => {
    for (let n = 0; n < 101; n++) await publish({ eventId: idOf(n), status: 'Completed' })
    const read = (n: number) => world.store.readEvent({ fleet: 'prod', eventId: idOf(n) })
    expect([(await read(99))?.trace, await read(100)]).toEqual([true, undefined])
    world.clock.now += 10 * minute
    await publish({ eventId: idOf(100), status: 'Completed' })
    expect((await read(100))?.trace).toBe(true)
  })
})

describe('in the name of Event Grid', () => {
  const record = async () => (await world.store.readEvent({ fleet: 'prod', eventId }))!

  test.each(['before', 'after'] as const)(
    'a start that its VM does not show, %s the approval, keeps it from nobody',
    async (when) => {
      await beacon.sees([later])
      await world.drain()
      if (when === 'before') await publish({ status: 'Started' })
      await press(world, linkOf(world), 'approve')
      if (when === 'after') await publish({ status: 'Started' })
      world.clock.now += second
      expect((await beacon.sees([later])).directives).toHaveLength(1)
      await world.drain()
      expect(moments()).toEqual(['scheduled', 'approved'])
    },
  )

  test('once its time has come, a start counts', async () => {
    await beacon.sees([later])
    world.clock.now += hour
    await beacon.sees([later])
    await publish({ status: 'Started' })
    expect((await record()).phase).toBe('started')
  })

  test('a VM that has the name of Event Grid changes nothing that a VM shows', async () => {
    await beacon.sees([later])
    await world.drain()
    await press(world, linkOf(world), 'approve')
    for (const type of ['Reboot', 'Redeploy']) {
      const vms = ['web_0', 'Azure Event Grid', type]
      await publish({ vms, type, notBeforeAt: later.notBeforeAt! + 10 * minute })
      world.clock.now += second
    }
    const { facts, decided } = await record()
    expect(facts).toMatchObject({ eventType: 'Reboot', notBeforeAt: later.notBeforeAt })
    expect([facts.resources, decided?.decision]).toEqual([['web_0'], 'approved'])
    // nor does it keep the event open
    await beacon.sees([])
    await world.pass(11 * second)
    await beacon.sees([])
    expect((await record()).phase).toBe('cancelled')
  })

  test('invented events leave room for those of VMs', async () => {
    const all = Array.from({ length: 500 }, () =>
      cloudEvent(publication({ eventId: crypto.randomUUID() })),
    )
    expect((await send(all)).status).toBe(204)
    expect((await world.store.countOpen('prod', 'azure')).ofFleet).toBe(400)
    expect((await beacon.sees([later])).refused).toEqual([])
    expect((await record()).phase).toBe('scheduled')
  })
})

test('no beacon has the name of the reporter outside the VMs', async () => {
  const liar = new FakeBeacon(world, 'web_9', { vm: { vmId: 'Azure' } })
  expect((await liar.post(liar.body([later]))).status).toBe(400)
})

/** Steps of a report, oldest first. */
const step = (kind: 'appeared' | 'changed', ageMs: number, shown = later) => {
  return { kind, ageMs, firstPoll: false, event: shown }
}

test('onlookers that change the event again and again: an owner still hears that an approval is void', async () => {
  const liars = ['one', 'other'].map((name) => new FakeBeacon(world, name))
  for (let at = 0; at < 60; at++) {
    for (const liar of liars)
      await liar.sees([{ ...later, eventType: at % 2 ? 'Reboot' : 'Freeze' }])
    await world.pass(second)
  }
  await beacon.sees([later])
  await world.drain()
  await press(world, linkOf(world), 'approve')
  const before = moments().length
  await beacon.sees([{ ...later, resources: ['web_0', 'web_1'] }])
  await world.drain()
  expect(moments().slice(before)).toEqual(['approved', 'changed'])
})

test("an onlooker's old steps: VMs are awaited, and a start is when its VM shows it", async () => {
  const policy = [{ match: {}, decide: 'approve', whenReady: true }]
  await startWithAzure({}, { policy })
  const liar = new FakeBeacon(world, 'an_onlooker')
  const day = 24 * hour
  await liar.sees([later], { changes: [step('appeared', day)] })
  await world.drain()
  expect(moments()).not.toContain('not_ready')
  await liar.sees([started()], { changes: [step('changed', hour, started())] })
  await world.pass(second)
  beacon.uptimeMs = 2 * hour
  await beacon.sees([started()])
  const record = await world.store.readEvent({ fleet: 'prod', eventId })
  expect(record?.started).toMatchObject({ at: world.clock.now, vm: 'web_0' })
})

test('a VM that restarted since an onlooker told of the start does not move it', async () => {
  await beacon.sees([later])
  const onlooker = new FakeBeacon(world, 'an_onlooker')
  await onlooker.sees([started()])
  const at = world.clock.now
  await world.pass(90 * second)
  const restarted = new FakeBeacon(world, 'web_0')
  restarted.uptimeMs = 20 * second
  await restarted.sees([started()])
  const record = await world.store.readEvent({ fleet: 'prod', eventId })
  expect(record?.started).toMatchObject({ at })
})

test('after an outage, the steps of an onlooker are when they were', async () => {
  const onlooker = new FakeBeacon(world, 'an_onlooker')
  await onlooker.sees([later], { changes: [step('appeared', hour)] })
  const record = await world.store.readEvent({ fleet: 'prod', eventId })
  expect(world.clock.now - record!.firstSeenAt).toBe(hour)
})

test('what an older api-version does not show, an onlooker may say', async () => {
  const onlooker = new FakeBeacon(world, 'an_onlooker')
  await onlooker.sees([{ ...later, source: 'User' }])
  const { source: _s, durationSeconds: _d, ...bare } = later
  await beacon.sees([bare])
  const { facts } = (await world.store.readEvent({ fleet: 'prod', eventId }))!
  expect(facts.source).toBe('User')
})

test('what only outsiders said of an event is gone once its VM shows it', async () => {
  await publish({ notBeforeAt: later.notBeforeAt! })
  const liar = new FakeBeacon(world, 'an_onlooker')
  await liar.sees([{ ...later, source: 'User', durationSeconds: 1, description: 'Approve this' }])
  const { source: _s, description: _t, ...bare } = later
  await beacon.sees([bare])
  const { facts } = (await world.store.readEvent({ fleet: 'prod', eventId }))!
  expect(facts).toMatchObject({ notBeforeAt: later.notBeforeAt, eventType: 'Reboot' })
  expect(facts).not.toHaveProperty('source')
  expect(facts.durationSeconds).toBe(later.durationSeconds)
  expect(facts).not.toHaveProperty('description')
})

describe('a VM that only itself names, while the VM that showed the event says nothing of it for a moment', () => {
  const liar = () => new FakeBeacon(world, 'liar')
  const own = { resources: ['liar'] }

  test.each<[string, () => Promise<unknown>]>([
    ['its document is empty once', () => beacon.sees([])],
    ['it is silent for three minutes', () => world.pass(200 * second)],
    ['Event Grid says Canceled', () => publish({ status: 'Canceled' })],
  ])('%s: the event stays that of its VM', async (_, happens) => {
    const one = liar()
    await beacon.sees([later])
    await world.drain()
    world.clock.now += second
    await happens()
    world.clock.now += second
    await one.sees([{ ...later, ...own }])
    await one.sees([started(own)])
    await pass(3 * minute)
    const { facts } = (await world.store.readEvent({ fleet: 'prod', eventId }))!
    expect(facts.resources).toContain('web_0')
    expect((await outcome()).phase).toBe('scheduled')
  })

  test('a first claim does not last: its VM speaks for the event once the liar is silent for ten minutes', async () => {
    await liar().sees([{ ...later, ...own }])
    await pass(11 * minute)
    const { facts } = (await world.store.readEvent({ fleet: 'prod', eventId }))!
    expect(facts.resources).toContain('web_0')
    expect(facts.selfNamed ?? []).not.toContain('web_0')
  })
})
