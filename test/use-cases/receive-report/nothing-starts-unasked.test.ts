// Nothing starts unasked: claims of beacons and matches of rules that must not start anything.
import { describe, expect, test } from 'vitest'
import type { Start } from '../../../shared/report.ts'
import { forge, press } from '../../support/people.ts'
import {
  createWorld,
  event,
  eventId,
  FakeBeacon,
  testKey,
  type World,
} from '../../support/world.ts'

const directed = [{ eventId, eventType: 'Reboot', resources: ['web_0'], source: 'Platform' }]
const claims = (outcome: Start['outcome'] = 'accepted') => ({
  starts: [{ eventId, ageMs: 0, outcome, status: 200 }],
})

async function begin(config: object = {}) {
  const world = await createWorld({ config })
  const beacon = new FakeBeacon(world, 'web_0')
  await beacon.sees([event()])
  await world.drain()
  return { world, beacon }
}

async function approve(world: World) {
  expect((await press(world, await forge(world), 'approve')).status).toBe(200)
}

describe('a beacon that claims to have passed an approval on', () => {
  test('of an event in another fleet: that event still waits for its own approval', async () => {
    const { world, beacon } = await begin()
    await approve(world)
    const stranger = new FakeBeacon(world, 'web_0', { fleet: 'test', key: testKey })
    await stranger.sees([event()], claims())
    expect((await world.getEvent(eventId)).body.azureAccepted).toBeUndefined()
    expect((await world.getEvent(eventId, 'test')).body.approvals).toEqual([])
    expect((await beacon.sees([event()])).directives).toEqual(directed)
  })

  test('of an event that it does not see, or names only in the claim', async () => {
    const { world, beacon } = await begin()
    await approve(world)
    const other = new FakeBeacon(world, 'web_9')
    expect((await other.sees([], claims())).directives).toEqual([])
    expect((await other.sees(null, claims())).directives).toEqual([])
    expect((await world.getEvent(eventId)).body.azureAccepted).toBeUndefined()
    expect((await beacon.sees([event()])).directives).toEqual(directed)
  })

  test('in an earlier epoch: an approval that was not confirmed then is not confirmed now', async () => {
    const { world, beacon } = await begin()
    await approve(world)
    await beacon.sees([event()])
    await beacon.sees([])
    await world.pass(10_001)
    await beacon.sees([event()])
    await beacon.sees([event()], claims())
    const { body } = await world.getEvent(eventId)
    expect([body.epoch, body.approvals, body.azureAccepted]).toEqual([2, [], undefined])
  })

  test('with the name of the VM that has the lease, but another id', async () => {
    const { world, beacon } = await begin()
    await approve(world)
    await beacon.sees([event()])
    await new FakeBeacon(world, 'web_0', { vm: { vmId: 'another' } }).sees([event()], claims())
    expect((await world.getEvent(eventId)).body.azureAccepted).toBeUndefined()
  })

  test('after "not now": nothing is passed on, and no beacon gets a directive', async () => {
    const { world, beacon } = await begin()
    await press(world, await forge(world), 'not_now')
    expect((await beacon.sees([event()], claims())).directives).toEqual([])
    expect((await world.getEvent(eventId)).body.azureAccepted).toBeUndefined()
  })
})

describe('a rule that approves', () => {
  const known = { vm: { tags: { auto: 'yes' } } }
  test.each<[string, object, Parameters<typeof event>[0]]>([
    ['one VM of two, by name', { resource: 'web_0' }, { resources: ['web_0', 'web_1'] }],
    ['one VM of two, by tag', { tag: 'auto=yes' }, { resources: ['web_0', 'web_1'] }],
    ['a VM by tag if none is named', { tag: 'auto=yes' }, { resources: [] }],
    ['a VM by any name if none is named', { resource: '*' }, { resources: [] }],
    ['a short duration if Azure says -1', { maxDurationSeconds: 86_400 }, { durationSeconds: -1 }],
    ['a short duration if Azure says less', { maxDurationSeconds: 9 }, { durationSeconds: -2 }],
    ['every type, but the type is new', {}, { eventType: 'Teleport' }],
    [
      'a type by a name that Foghorn does not know',
      { eventType: 'Teleport' },
      { eventType: 'Teleport' },
    ],
    [
      "users' events if Azure does not name the source",
      { source: 'User' },
      { source: undefined as never },
    ],
  ])('%s: asks people', async (_, match, changes) => {
    const policy = [{ match, decide: 'approve' }]
    const world = await createWorld({ config: { policy } })
    const beacon = new FakeBeacon(world, 'web_0', known)
    expect((await beacon.sees([event(changes)])).directives).toEqual([])
    const { body } = await world.getEvent(eventId)
    expect([body.policy.decide, body.approvals]).toEqual(['ask', []])
  })
})

describe('what a rule read of a VM', () => {
  const byTag = [{ match: { tag: 'auto', resourceGroup: 'RG' }, decide: 'approve' }]
  /** A report in the name of web_0, by somebody who has the fleet's key. */
  const claiming = (world: Awaited<ReturnType<typeof createWorld>>, tags: Record<string, string>) =>
    new FakeBeacon(world, 'web_0', { vm: { tags } })

  test('goes with the approval, and to the beacon of this VM only', async () => {
    const world = await createWorld({ config: { policy: byTag } })
    const [directive] = (await claiming(world, { AUTO: 'a', x: 'y' }).sees([event()])).directives
    expect(directive?.vm).toEqual({ resourceGroup: 'rg', tags: { auto: 'a' } })
    world.clock.now += 6_000
    const onlooker = await new FakeBeacon(world, 'web_1').sees([event()])
    expect(onlooker.directives).toMatchObject([{ eventId }])
    expect(onlooker.directives[0]).not.toHaveProperty('vm')
  })

  test('goes with it also if an earlier rule has the same name', async () => {
    const twin = { name: 'twin', match: { eventType: 'Freeze' }, decide: 'approve' }
    const policy = [twin, { ...byTag[0], name: 'twin' }]
    const world = await createWorld({ config: { policy } })
    const [directive] = (await claiming(world, { auto: 'a' }).sees([event()])).directives
    expect(directive?.vm?.tags).toEqual({ auto: 'a' })
  })

  test('was false: the approval expires once the VM speaks for itself', async () => {
    const world = await createWorld({ config: { policy: byTag } })
    await claiming(world, { auto: 'yes' }).sees([event()])
    world.clock.now += 6_000
    expect((await claiming(world, {}).sees([event()])).directives).toEqual([])
    const { body } = await world.getEvent(eventId)
    expect(body.approvals).toMatchObject([{ expiredAt: expect.anything() }])
  })

  test('has changed, and the rule still matches: it approves anew', async () => {
    const world = await createWorld({ config: { policy: byTag } })
    await claiming(world, { auto: 'a' }).sees([event()])
    world.clock.now += 11_000
    const [directive] = (await claiming(world, { auto: 'b' }).sees([event()])).directives
    expect(directive?.vm?.tags).toEqual({ auto: 'b' })
  })
})
