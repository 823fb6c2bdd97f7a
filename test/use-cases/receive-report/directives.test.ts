// From a person's approval to Azure: which beacon gets the directive, what happens if it fails, and
// what a report must not cause. Approvals by a rule: `policy.test.ts`.
import { beforeEach, describe, expect, test } from 'vitest'
import type { Start } from '../../../shared/report.ts'
import { forge, linkOf, press } from '../../support/people.ts'
import { eventNow, startRelay, world } from '../../support/relay.ts'
import { event, eventId, FakeBeacon, testKey } from '../../support/world.ts'

const directed = [{ eventId, eventType: 'Reboot', resources: ['web_0'], source: 'Platform' }]

let first: FakeBeacon
let second: FakeBeacon

function start(outcome: Start['outcome'], status?: number): { starts: Start[] } {
  return { starts: [{ eventId, ageMs: 0, outcome, ...(status === undefined ? {} : { status }) }] }
}

async function history(): Promise<string[]> {
  const { body } = await world.getEvent(eventId)
  return body.history.map(({ what }: { what: string }) => what)
}

async function begin(config: object = {}): Promise<void> {
  await startRelay(config)
  first = new FakeBeacon(world, 'web_0')
  second = new FakeBeacon(world, 'web_1')
}

async function approve(): Promise<void> {
  await press(world, await forge(world), 'approve')
}

describe('an approval by a person', () => {
  beforeEach(async () => {
    await begin()
    await first.sees([event()])
    await second.sees([event()])
  })

  test('goes to the first beacon that reports, and to no other meanwhile', async () => {
    await approve()
    expect((await second.sees([event()])).directives).toEqual(directed)
    expect((await first.sees([event()])).directives).toEqual([])
    expect((await second.sees([event()])).directives).toEqual(directed)
  })

  test('reaches Azure even if another beacon asks all the time and never tells Azure', async () => {
    await approve()
    let own = 0
    for (let i = 0; i < 100; i++) {
      await second.sees([event()])
      if (i % 20 === 0) own += (await first.sees([event()])).directives.length
      world.clock.now += 100
    }
    expect(own).toBeGreaterThan(0)
  })

  test('never goes to a beacon whose document lacks the event', async () => {
    await approve()
    expect((await first.sees([])).directives).toEqual([])
    expect((await first.sees([event({ eventId: 'another' })])).directives).toEqual([])
    expect((await first.sees(null)).directives).toEqual([])
    expect((await second.sees([event()])).directives).toEqual(directed)
  })

  test('never goes to a beacon that mentions it only in changes', async () => {
    await approve()
    const changes = [{ kind: 'appeared' as const, ageMs: 10, firstPoll: false, event: event() }]
    expect((await new FakeBeacon(world, 'web_2').sees([], { changes })).directives).toEqual([])
  })

  test.each(['Started', 'Unknown'] as const)('never to one that sees it as %s', async (status) => {
    await approve()
    expect((await first.sees([event({ status })])).directives).toEqual([])
  })

  test('never goes to another fleet, even if the event id is the same', async () => {
    await approve()
    const stranger = new FakeBeacon(world, 'web_0', { fleet: 'test', key: testKey })
    expect((await stranger.sees([event()])).directives).toEqual([])
  })

  test('is never in the answer to a repeated report', async () => {
    await approve()
    const report = first.body([event()])
    expect(await (await first.post(report)).json()).toMatchObject({ directives: directed })
    expect(await (await first.post(report)).json()).toMatchObject({
      outcome: 'repeated',
      directives: [],
    })
  })

  test.each(['rejected', 'unreachable', 'not_scheduled'] as const)(
    '%s: another beacon gets it at once, the same one only after its lease',
    async (outcome) => {
      await approve()
      await first.sees([event()])
      expect((await first.sees([event()], start(outcome, 500))).directives).toEqual([])
      expect((await second.sees([event()])).directives).toEqual(directed)
      expect(await history()).toContain('start_failed')
    },
  )

  test('the record keeps the last failure until Azure accepts', async () => {
    const failure = async () =>
      (await world.store.readEvent({ fleet: 'prod', eventId }))?.azure.failure
    await approve()
    await first.sees([event()])
    await first.sees([event()], start('rejected', 500))
    expect(await failure()).toMatchObject({ vm: 'web_0', outcome: 'rejected', status: 500 })
    await second.sees([event()])
    await second.sees([event()], start('accepted', 200))
    expect(await failure()).toBeUndefined()
  })

  test('confirmed: no beacon gets it again, and the record names the VM', async () => {
    await approve()
    await first.sees([event()])
    await first.sees([event()], start('accepted', 200))
    world.clock.now += 59_999
    for (const one of [first, second]) expect((await one.sees([event()])).directives).toEqual([])
    expect((await eventNow()).azureAccepted).toMatchObject({ vm: 'web_0' })
  })

  // the answer with its directive was late, so another beacon had the lease by then
  test("what Azure accepted counts also from an earlier beacon, and nobody's word that was never asked", async () => {
    await approve()
    await first.sees([event()])
    world.clock.now += 5_001
    expect((await second.sees([event()])).directives).toEqual(directed)
    const third = new FakeBeacon(world, 'web_2')
    await third.sees([event()], start('accepted', 200))
    expect((await eventNow()).azureAccepted).toBeUndefined()
    await first.sees([event()], start('accepted', 200))
    expect((await eventNow()).azureAccepted).toMatchObject({ vm: 'web_0' })
    world.clock.now += 1_000
    for (const one of [first, second, third]) await one.sees([])
    await world.pass(11_000)
    expect((await eventNow()).outcome).toBe('completed')
  })

  test('that no beacon passes on for 30 s is notified once as stuck', async () => {
    await world.drain()
    await press(world, linkOf(world), 'approve')
    await world.pass(29_999)
    expect(world.told()).not.toContain('foghorn.event.stuck')
    await world.pass(1)
    await world.pass(60_000)
    expect(world.told().filter((type) => type.endsWith('stuck'))).toHaveLength(1)
    expect((await first.sees([event()])).directives).toEqual(directed)
  })

  test('is not stuck as soon as Azure was told, if the relay was away for ten minutes', async () => {
    await world.drain()
    await press(world, linkOf(world), 'approve')
    world.clock.now += 11 * 60_000
    world.relay.listeningSince = world.clock.now
    expect((await first.sees([event()])).directives).toEqual(directed)
    await first.sees([event()], start('accepted'))
    await world.pass(1_000)
    expect((await eventNow()).azureAccepted).toBeDefined()
    expect(world.told()).not.toContain('foghorn.event.stuck')
  })

  test('is not stuck while no beacon could ask for it, because the relay was away', async () => {
    await world.drain()
    await press(world, linkOf(world), 'approve')
    world.clock.now += 60_000
    world.relay.listeningSince = world.clock.now
    await world.pass(29_999)
    expect(world.told()).not.toContain('foghorn.event.stuck')
    await world.pass(1)
    expect(world.told()).toContain('foghorn.event.stuck')
  })
})
