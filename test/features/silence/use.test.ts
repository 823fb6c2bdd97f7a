// Beacons that fall silent, come back and leave: what owners are told, and what the list shows.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { problemHearer, sendProblems } from '../../../functions/features/problems/use.ts'
import { silenceRechecks } from '../../../functions/features/silence/recheck.ts'
import { absences } from '../../../functions/features/silence/use-absent.ts'
import { forgetOld } from '../../../functions/use-cases/forget.ts'
import type { Goodbye } from '../../../shared/report.ts'
import { asAdmin } from '../../support/console.ts'
import { sentTo } from '../../support/deliveries.ts'
import { minute, second, startRelay, world } from '../../support/relay.ts'
import {
  adminKey,
  baseConfig,
  event,
  eventId,
  FakeBeacon,
  started,
  testKey,
} from '../../support/world.ts'

const idleMs = 5 * minute

beforeEach(async () => {
  await startRelay({ owners: ['hook'] })
  world.relay.host.heartbeats = { paceMs: idleMs }
})
afterEach(() => world.store.close())

const alerts = (channel = 'hook') =>
  sentTo(world, channel).filter(({ json }) => json.type?.startsWith('foghorn.alert.beacons'))
const said = () => alerts().map(({ json: { data } }) => `${data.form} ${data.vms}`)

/** Lets time pass as a host does: it looks twice a minute. */
async function pass(ms: number, others: FakeBeacon[] = []): Promise<void> {
  const until = world.clock.now + ms
  while (world.clock.now < until) {
    for (const one of others) await one.sees([])
    await world.pass(Math.min(30 * second, until - world.clock.now))
  }
}

async function list(query = '?fleet=prod') {
  const headers = { authorization: `Bearer ${adminKey}` }
  const response = await world.app.request(`/v1/beacons${query}`, { headers })
  return (await response.json()) as ReturnType<typeof JSON.parse>
}

async function stateOf(vm: string) {
  return (await list()).beacons.find((one: { vm: string }) => one.vm === vm)?.state
}

function goodbye(one: FakeBeacon, reason: Goodbye) {
  return one.post({ ...one.body([]), goodbye: reason })
}

describe('a beacon that dies', () => {
  test('is silent after three paces, and its owners are notified then, once', async () => {
    await new FakeBeacon(world, 'web_0').sees([])
    await pass(3 * idleMs - second)
    expect([await stateOf('web_0'), alerts()]).toEqual(['heard', []])
    await pass(second)
    expect(await stateOf('web_0')).toBe('silent')
    const [{ json }] = alerts() as [ReturnType<typeof alerts>[number]]
    expect(json).toMatchObject({ type: 'foghorn.alert.beacons_silent', source: '/fleets/prod' })
    expect(json.data).toMatchObject({ form: 'begun', vms: ['web_0'], count: 1, remaining: 1 })
    expect(json.data.title).toContain('12:00 UTC: web_0')
    await pass(4 * 60 * minute)
    expect(alerts()).toHaveLength(1)
  })

  test('is told again when it is back, also to an incident', async () => {
    world.store.close()
    await startRelay({ owners: ['hook', 'pager'] })
    const [web, db] = [new FakeBeacon(world, 'web_0'), new FakeBeacon(world, 'db_0')]
    await web.sees([])
    await db.sees([])
    await pass(45 * minute)
    expect(said()).toEqual(['begun db_0,web_0'])
    await web.sees([])
    expect(await stateOf('web_0')).toBe('heard')
    await pass(2 * minute, [web])
    expect(said()[1]).toBe('over web_0')
    await db.sees([])
    await pass(16 * minute, [web, db])
    expect(said().slice(2)).toEqual(['over db_0'])
    const steps = sentTo(world, 'pager').map(({ json }) => `${json.event_action} ${json.dedup_key}`)
    const key = 'foghorn/alert/prod/beacons_silent/1'
    expect(steps).toEqual([`trigger ${key}`, `resolve ${key}`])
  })

  test('but reports again within the last minute is not told', async () => {
    const web = new FakeBeacon(world, 'web_0')
    await web.sees([])
    await pass(3 * idleMs - 20 * second)
    await web.sees([])
    await pass(2 * idleMs)
    expect(alerts()).toEqual([])
    await pass(idleMs)
    expect(said()).toEqual(['begun web_0'])
  })

  test('is not told again after a restart of the relay', async () => {
    await new FakeBeacon(world, 'web_0').sees([])
    await pass(20 * minute)
    world.relay.listeningSince = world.clock.now
    await pass(60 * minute)
    expect(alerts()).toHaveLength(1)
  })

  test('is of its own fleet only', async () => {
    world.store.close()
    const { prod, test: other } = baseConfig.fleets as Record<string, object>
    await startRelay({
      fleets: { prod: { ...prod, owners: ['team'] }, test: other },
      owners: ['hook'],
    })
    await new FakeBeacon(world, 'lab_0', { fleet: 'test', key: testKey }).sees([])
    await new FakeBeacon(world, 'web_0').sees([])
    await pass(46 * minute)
    expect(said()).toEqual(['begun lab_0'])
    expect(sentTo(world, 'teams')).toHaveLength(1)
  })
})

describe('the alert', () => {
  test('waits for the relay: no beacon could report before', async () => {
    const web = new FakeBeacon(world, 'web_0')
    await web.sees([])
    await new FakeBeacon(world, 'web_1').sees([])
    world.clock.now += 60 * minute
    world.relay.listeningSince = world.clock.now
    await pass(30 * second)
    await web.sees([])
    await pass(3 * idleMs - minute)
    expect(alerts()).toEqual([])
    await web.sees([])
    await pass(minute)
    expect(said()).toEqual(['begun web_1'])
  })

  test('is only in the log if there are no owners', async () => {
    world.store.close()
    await startRelay()
    await new FakeBeacon(world, 'web_0').sees([])
    await pass(46 * minute)
    const logged = world.lines.map((line) => JSON.parse(line))
    expect(logged.filter((line) => line.event === 'problem_begun')).toMatchObject([
      { fleet: 'prod', kind: 'beacons_silent', count: 1, names: ['web_0'], owners: [] },
    ])
  })

  test('goes on after a crash at any step', async () => {
    const steps = [
      ...([
        'writeSmallRow',
        'addDeliveries',
        'listSmallRows',
        'replaceBeacon',
        'listEvents',
      ] as const),
      ...(['readBeacon', 'listBeacons'] as const),
    ]
    for (const [i, step] of steps.entries()) {
      for (const call of [1, 2]) {
        const name = `web_${i}_${call}`
        const web = new FakeBeacon(world, name)
        await web.sees([])
        world.clock.now += 3 * idleMs - 50 * second
        let calls = 0
        const real = world.store[step].bind(world.store) as (...args: unknown[]) => Promise<never>
        const broken = async (...args: unknown[]) => {
          if (++calls === call) throw new Error('the process ends here')
          return real(...args)
        }
        Object.assign(world.store, { [step]: broken })
        await world.drain()
        Object.assign(world.store, { [step]: real })
        await pass(20 * minute)
        expect(
          said().filter((one) => one === `begun ${name}`),
          `${step} ${call}`,
        ).toHaveLength(1)
        await web.sees([])
        await pass(16 * minute, [web])
        expect(said().at(-1), `${step} ${call}`).toBe(`over ${name}`)
        await goodbye(web, 'removed')
      }
    }
  })
})

test('a VM that is back after a crash between message and row is told, in one message', async () => {
  world.store.close()
  await startRelay({ owners: ['hook', 'pager'] })
  world.relay.host.heartbeats = { paceMs: idleMs }
  const web = new FakeBeacon(world, 'web_0')
  await web.sees([])
  await pass(3 * idleMs - second)
  const add = world.store.addDeliveries.bind(world.store)
  world.store.addDeliveries = async (deliveries) => {
    world.store.addDeliveries = add
    await add(deliveries)
    throw new Error('the process ends here')
  }
  await pass(second)
  await web.sees([])
  await pass(20 * minute, [web])
  expect(said()).toEqual(['begun web_0', 'over web_0'])
  const steps = sentTo(world, 'pager').map(({ json }) => json.event_action)
  expect(steps).toEqual(['trigger', 'resolve'])
})

test('what occurs often at once is all noted, and told in one message', async () => {
  const names = Array.from({ length: 100 }, (_, i) => `s${i}`)
  const note = (name: string) =>
    problemHearer.occurred(world.relay, 'prod', { kind: 'over_limits', name, reason: 'HTTP 410' })
  await Promise.all(names.map(note))
  world.clock.now += minute
  await Promise.all([sendProblems(world.relay), sendProblems(world.relay)])
  await world.drain()
  const counts = sentTo(world, 'hook').map(({ json }) => json.data.count)
  expect(counts).toEqual([100])
})

test('an alert whose messages were forgotten meanwhile still ends, and so does its incident', async () => {
  world.store.close()
  await startRelay({ owners: ['hook', 'pager'], retentionDays: 10 })
  world.relay.host.heartbeats = { paceMs: idleMs }
  const web = new FakeBeacon(world, 'web_0')
  const other = new FakeBeacon(world, 'web_1')
  await web.sees([])
  await pass(20 * minute, [other])
  world.clock.now += 11 * 24 * 60 * minute
  await other.sees([])
  await world.store.forget(world.clock.now - 10 * 24 * 60 * minute, 100, 0)
  await web.sees([])
  await pass(20 * minute, [web, other])
  const steps = sentTo(world, 'pager').map(({ json }) => `${json.event_action} ${json.dedup_key}`)
  expect(steps).toContain('resolve foghorn/alert/prod/beacons_silent/1')
})

test('a report that is stored while its silence is noted prevents the message', async () => {
  const web = new FakeBeacon(world, 'web_0')
  await web.sees([])
  world.clock.now += 3 * idleMs - 30 * second
  // the report was read before the sweep marks the beacon, and is written after it
  const write = world.store.writeBeacon.bind(world.store)
  world.store.writeBeacon = async (...args) => {
    world.store.writeBeacon = write
    await world.drain()
    return write(...args)
  }
  await web.sees([])
  expect(await stateOf('web_0')).toBe('heard')
  await pass(2 * minute)
  expect(alerts()).toEqual([])
  await pass(3 * idleMs)
  expect(said()).toEqual(['begun web_0'])
})

test('many silent beacons of one fleet do not keep another waiting', async () => {
  for (let i = 0; i < 410; i++) await new FakeBeacon(world, `web_${i}`).sees([])
  world.clock.now += second
  await new FakeBeacon(world, 'lab_0', { fleet: 'test', key: testKey }).sees([])
  await pass(3 * idleMs)
  const counts = alerts().map(({ json: { data } }) => `${data.fleet} ${data.count}`)
  expect(counts.sort()).toEqual(['prod 410', 'test 1'])
})

describe('a goodbye', () => {
  test.each(['stopped', 'shutdown', 'upgrade'] as const)('%s: heard for 15 min', async (reason) => {
    await new FakeBeacon(world, 'web_0').sees([event({ resources: ['web_1'] })])
    const web = new FakeBeacon(world, 'web_0')
    await web.sees([])
    await goodbye(web, reason)
    await pass(15 * minute - second)
    const [shown] = (await list()).beacons
    const at = '2026-11-21T12:00:00.000Z'
    expect(shown).toMatchObject({ state: 'heard', goodbye: { reason, at } })
    expect(alerts()).toEqual([])
    await pass(second)
    expect([await stateOf('web_0'), said()]).toEqual(['silent', ['begun web_0']])
  })

  test('of a removed package: it has left, and nobody is told', async () => {
    const web = new FakeBeacon(world, 'web_0')
    await web.sees([])
    await goodbye(web, 'removed')
    const [shown] = (await list()).beacons
    expect(shown).toMatchObject({ state: 'left', left: { why: 'removed' } })
    await pass(60 * minute)
    expect(alerts()).toEqual([])
  })

  test('is over with the next report', async () => {
    const web = new FakeBeacon(world, 'web_0')
    await goodbye(web, 'removed')
    await new FakeBeacon(world, 'web_0').sees([])
    const [shown] = (await list()).beacons
    expect(shown).toMatchObject({ state: 'heard' })
    expect(shown).not.toHaveProperty('goodbye')
    await pass(3 * idleMs)
    expect(said()).toEqual(['begun web_0'])
  })

  test('gets no directive: another VM starts the event', async () => {
    world.store.close()
    await startRelay({ policy: [{ match: {}, decide: 'approve' }] })
    const web = new FakeBeacon(world, 'web_0')
    const last = await web.post({ ...web.body([event()]), goodbye: 'shutdown' })
    expect(await last.json()).toMatchObject({ directives: [] })
    const { directives } = await new FakeBeacon(world, 'web_1').sees([event()])
    expect(directives).toHaveLength(1)
  })
})

describe('an event', () => {
  const other = () => new FakeBeacon(world, 'web_1')

  test('that hits the VM explains its silence until 10 min after the end', async () => {
    const [web, witness] = [new FakeBeacon(world, 'web_0'), other()]
    await web.sees([started()])
    await witness.sees([started()])
    for (let i = 0; i < 20; i++) {
      await witness.sees([started()])
      await world.pass(minute)
    }
    expect(alerts()).toEqual([])
    const shown = (await list()).beacons.find(({ vm }: { vm: string }) => vm === 'web_0')
    expect(shown).toMatchObject({ state: 'heard', explainedBy: eventId })
    await pass(5 * minute, [witness])
    const { body } = await world.getEvent(eventId)
    expect(body.phase).toBe('completed')
    const endedAt = Date.parse(body.endedAt)
    await pass(endedAt + 10 * minute - second - world.clock.now, [witness])
    expect(alerts()).toEqual([])
    await pass(minute, [witness])
    expect(said()).toEqual(['begun web_0'])
  })

  test('that began after its last report explains it as well', async () => {
    const [web, witness] = [new FakeBeacon(world, 'web_0'), other()]
    await web.sees([])
    for (let i = 0; i < 20; i++) {
      await witness.sees([started()])
      await world.pass(minute)
    }
    expect(alerts()).toEqual([])
  })

  test('of another VM explains nothing', async () => {
    const [web, witness] = [new FakeBeacon(world, 'web_0'), other()]
    const shown = started({ resources: ['web_10'] })
    for (const one of [web, witness]) await one.sees([shown])
    for (let i = 0; i < 20; i++) {
      await witness.sees([shown])
      await world.pass(minute)
    }
    expect(said()).toEqual(['begun web_0'])
  })

  test.each([
    ['is over', 7],
    ['goes on', 60],
  ])('that %s explains nothing for a VM of that name in another group', async (_, minutes) => {
    const ours = new FakeBeacon(world, 'web_0', { vm: { resourceGroup: 'us', vmId: 'us-0' } })
    const theirs = new FakeBeacon(world, 'web_0', { vm: { resourceGroup: 'eu', vmId: 'eu-0' } })
    const witness = new FakeBeacon(world, 'web_1', { vm: { resourceGroup: 'eu' } })
    await ours.sees([])
    for (let i = 0; i < 20; i++) {
      const shown = i < minutes ? [started({ eventType: 'Terminate' })] : []
      if (i < 2) await theirs.sees(shown)
      await witness.sees(shown)
      await world.pass(minute)
    }
    expect(said()).toEqual(['begun web_0'])
    const states = (await list()).beacons.map(({ beacon, state }: never) => [beacon, state])
    expect(Object.fromEntries(states)).toMatchObject({ 'us-0': 'silent', 'eu-0': 'left' })
  })

  test.each(['Preempt', 'Terminate'])('%s of the VM: it has left, for good', async (eventType) => {
    const [web, witness] = [new FakeBeacon(world, 'web_0'), other()]
    await web.sees([started({ eventType })])
    await witness.sees([started({ eventType })])
    await pass(30 * minute, [witness])
    const shown = (await list()).beacons.find(({ vm }: { vm: string }) => vm === 'web_0')
    expect(shown).toMatchObject({ state: 'left', left: { why: 'terminated' } })
    await pass(4 * 60 * minute, [witness])
    expect(alerts()).toEqual([])
  })
})

test('a beacon whose VM reports under another id was replaced, and nobody is told', async () => {
  await new FakeBeacon(world, 'web_0').sees([])
  world.clock.now += minute
  const anew = new FakeBeacon(world, 'web_0', { vm: { vmId: 'another' } })
  await pass(20 * minute, [anew])
  const { beacons } = await list()
  expect(beacons.map(({ state, left }: never) => [state, left])).toEqual(
    expect.arrayContaining([
      ['heard', undefined],
      ['left', { why: 'replaced', at: expect.any(String) }],
    ]),
  )
  expect(alerts()).toEqual([])
})

test.each([
  ['was heard before', {}, {}, true],
  ['is in another subscription', { subscriptionId: 'a' }, { subscriptionId: 'b' }, false],
])('a VM of the same name that %s did not replace it', async (_, own, others, isOld) => {
  const namesake = new FakeBeacon(world, 'web_0', { vm: { vmId: 'another', ...others } })
  if (isOld) await namesake.sees([])
  await new FakeBeacon(world, 'web_0', { vm: own }).sees([])
  world.clock.now += minute
  await pass(20 * minute, [namesake])
  expect(said()).toEqual(['begun web_0'])
})

test('after a week a silent beacon is forgotten, and its alert is over', async () => {
  await new FakeBeacon(world, 'web_0').sees([])
  await pass(20 * minute)
  world.clock.now += 7 * 1_440 * minute
  await forgetOld(world.relay)
  expect((await list()).beacons).toEqual([])
  await absences.run(world.relay)
  await pass(2 * minute)
  expect(alerts()[1]!.json.data).toMatchObject({ form: 'over', left: ['web_0'], remaining: 0 })
})

test('an alert leads to the silent beacons of its fleet', async () => {
  await startRelay({ owners: ['pager'] })
  world.relay.host.heartbeats = { paceMs: idleMs }
  const one = new FakeBeacon(world, 'db_0', { fleet: 'test', key: testKey })
  await one.sees([])
  await pass(4 * idleMs)
  const [alert] = sentTo(world, 'pager').filter(({ body }) => body.includes('silent'))
  const { pathname, search } = new URL(JSON.parse(alert!.body).client_url)
  expect(pathname + search).toBe('/console/beacons?fleet=test&state=silent')
  const page = await (await asAdmin(world)).get(pathname + search)
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('db_0')])
})

test('the relay pauses before each beacon that it looks at once more, as its row may be large', async () => {
  const pause = vi.spyOn(world.relay.host, 'pause')
  const looked = await silenceRechecks.beacons_silent!(world.relay, 'prod', ['unknown', 'another'])
  expect(looked).toEqual({ back: [], left: ['unknown', 'another'] })
  expect(pause).toHaveBeenCalledTimes(2)
})
