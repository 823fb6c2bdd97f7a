// A VM names itself in an event of others, or an onlooker and a `report` token repeat what is not so. What the
// affected VM shows counts.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { arm, list, publication, publish, startWithAzure, subscription } from '../support/azure.ts'
import { linkOf, press } from '../support/people.ts'
import { beacon, hour, minute, outcome, second, world } from '../support/relay.ts'
import { event, eventId, FakeBeacon, started } from '../support/world.ts'

let later: ReturnType<typeof event>
const begin = async (config: object = {}) => {
  await startWithAzure({}, config)
  later = event({ notBeforeAt: world.clock.now + hour })
  list(publication({ notBeforeAt: later.notBeforeAt!, durationSeconds: -1 }))
}

beforeEach(() => begin())
afterEach(() => world.store.close())

const nameItself = { resources: ['web_0', 'evil'] }
const accepted = { eventId, ageMs: 0, outcome: 'accepted', status: 200 } as const

/** For how long the event does not stand as its own VM goes on showing it. */
async function hiddenFor(ms: number, shown = later, meanwhile?: () => Promise<unknown>) {
  const phase = shown.status === 'Started' ? 'started' : 'scheduled'
  let hiddenMs = 0
  for (let at = 0; at < ms; at += 10 * second) {
    await meanwhile?.()
    await world.pass(10 * second)
    await beacon.sees([shown])
    if ((await outcome()).phase !== phase) hiddenMs += 10 * second
  }
  return hiddenMs
}

describe('a VM that names itself', () => {
  test.each([false, true])(
    'says Started: the event is hidden for three minutes or so, approved before: %s',
    async (isApproved) => {
      await beacon.sees([later])
      await world.drain()
      if (isApproved) await press(world, linkOf(world), 'approve')
      const evil = new FakeBeacon(world, 'evil')
      world.clock.now += second
      await evil.sees([{ ...later, ...nameItself }])
      world.clock.now += second
      await evil.sees([started(nameItself)])
      expect(await hiddenFor(20 * minute)).toBeLessThan(4 * minute)
      await press(world, linkOf(world), 'approve')
      expect((await beacon.sees([later])).directives).toHaveLength(1)
    },
  )

  test('and then lacks a started event: its slot stays taken', async () => {
    await begin({ policy: [{ match: {}, decide: 'approve', maxConcurrent: 1 }] })
    await beacon.sees([later])
    await world.pass(second)
    const neighbor = new FakeBeacon(world, 'web_1')
    const other = event({
      eventId: 'another',
      resources: ['web_1'],
      notBeforeAt: later.notBeforeAt!,
    })
    const evil = new FakeBeacon(world, 'evil')
    await beacon.sees([started()])
    await evil.sees([started(nameItself)])
    world.clock.now += second
    let directives = 0
    const hiddenMs = await hiddenFor(20 * minute, started(), async () => {
      await evil.sees([])
      directives += (await neighbor.sees([other])).directives.length
    })
    expect(hiddenMs).toBeLessThan(minute)
    expect(directives).toBe(0)
  })
})

describe('Started, said again and again', () => {
  test.each([false, true])('by an onlooker, approved before: %s', async (isApproved) => {
    const liar = new FakeBeacon(world, 'an_onlooker')
    await beacon.sees([later])
    await liar.sees([later])
    await world.drain()
    if (isApproved) await press(world, linkOf(world), 'approve')
    const hiddenMs = await hiddenFor(15 * minute, later, () => liar.sees([started()]))
    expect(hiddenMs).toBeLessThan(2 * minute)
  })

  test('by Event Grid, after Azure accepted an approval', async () => {
    await beacon.sees([later])
    await world.drain()
    await press(world, linkOf(world), 'approve')
    await beacon.sees([later], { starts: [accepted] })
    const hiddenMs = await hiddenFor(15 * minute, later, () => publish({ status: 'Started' }))
    expect(hiddenMs).toBeLessThan(2 * minute)
  })
})

describe('an approval by a rule that no longer covers the event', () => {
  test('is told to nobody, whatever an onlooker says of Azure', async () => {
    await begin({ policy: [{ name: 'devs', match: { tag: 'env=dev' }, decide: 'approve' }] })
    const own = new FakeBeacon(world, 'web_0', { vm: { tags: { env: 'prod' } } })
    await own.sees([])
    const liar = new FakeBeacon(world, 'an_onlooker')
    await liar.sees([later])
    const twin = new FakeBeacon(world, 'web_0', { vm: { vmId: 'other', tags: { env: 'dev' } } })
    await twin.sees([later])
    await twin.sees([later], { starts: [{ eventId, ageMs: 0, outcome: 'unreachable' }] })
    await liar.sees([later])
    world.clock.now += 200
    await liar.sees([later], { starts: [accepted] })
    for (let at = 0; at < 3 * minute; at += 5 * second) {
      await own.sees([later])
      await world.pass(5 * second)
    }
    expect(arm.acknowledged).toEqual([])
  })
})

describe('what the VM does not show', () => {
  test.each(['Event Grid', 'an onlooker'])('is not filled in by %s', async (who) => {
    await begin({ policy: [{ match: { source: 'User' }, decide: 'approve' }] })
    list()
    const { source: _, ...shown } = later
    await beacon.sees([shown as typeof later])
    const user = { source: 'User' as const }
    if (who === 'Event Grid') await publish(user)
    else await new FakeBeacon(world, 'an_onlooker').sees([{ ...later, ...user }])
    await world.pass(second)
    expect((await beacon.sees([shown as typeof later])).directives).toEqual([])
    expect(await world.store.readEvent({ fleet: 'prod', eventId })).not.toHaveProperty('decided')
  })
})

test("Event Grid's word explains no silence of a beacon", async () => {
  await begin({ owners: ['pager'] })
  await new FakeBeacon(world, 'victim', { vm: { subscriptionId: subscription } }).sees([])
  const preempt = { vms: ['victim'], type: 'Preempt', notBeforeAt: world.clock.now - second }
  await publish(preempt)
  world.clock.now += minute
  await publish({ ...preempt, status: 'Completed' })
  for (let minutes = 0; minutes < 60; minutes++) await world.pass(minute)
  expect(world.sent.some(({ body }) => body.includes('victim') && body.includes('silent'))).toBe(
    true,
  )
})

describe('a VM that names itself has no word', () => {
  /** It has named itself in the event that its VM shows. */
  async function evilIn(shown = later): Promise<FakeBeacon> {
    await beacon.sees([shown])
    await world.drain()
    const evil = new FakeBeacon(world, 'evil')
    world.clock.now += second
    await evil.sees([{ ...shown, ...nameItself }])
    world.clock.now += second
    return evil
  }
  const factsNow = async () => (await world.store.readEvent({ fleet: 'prod', eventId }))!.facts

  test('of a start, however often it repeats it', async () => {
    const evil = await evilIn()
    const again = () => evil.sees([started(nameItself)])
    expect(await hiddenFor(30 * minute, later, again)).toBeLessThan(3 * minute)
  })

  test('of an end, if it first names itself alone', async () => {
    const evil = await evilIn()
    await evil.sees([{ ...later, resources: ['evil'] }])
    world.clock.now += second
    await evil.sees([])
    expect(await hiddenFor(30 * minute)).toBeLessThan(minute)
  })

  test('of the time and the type', async () => {
    const evil = await evilIn()
    const lie = { ...later, ...nameItself, notBeforeAt: later.notBeforeAt! + 24 * hour }
    for (let tries = 0; tries < 6; tries++) {
      await evil.sees([{ ...lie, eventType: 'Freeze' }])
      await world.pass(10 * second)
      await beacon.sees([later])
    }
    const { notBeforeAt, eventType } = await factsNow()
    expect([notBeforeAt, eventType]).toEqual([later.notBeforeAt, 'Reboot'])
  })

  test('of whose event it is: the affected VM tells Azure of the approval', async () => {
    const evil = await evilIn()
    await evil.sees([{ ...later, resources: ['evil'] }])
    await world.drain()
    await press(world, linkOf(world), 'approve')
    expect((await factsNow()).resources).toContain('web_0')
    let directives = 0
    for (let at = 0; at < minute; at += 10 * second) {
      await evil.sees([{ ...later, resources: ['evil'] }])
      await world.pass(10 * second)
      directives += (await beacon.sees([later])).directives.length
    }
    expect(directives).toBeGreaterThan(0)
  })

  test('of 300 others: people may decide', async () => {
    const evil = await evilIn()
    const names = Array.from({ length: 300 }, (_, n) => `made_up_${n}`)
    await evil.sees([{ ...later, resources: ['web_0', 'evil', ...names] }])
    await press(world, linkOf(world), 'approve')
    expect(await world.store.readEvent({ fleet: 'prod', eventId })).toMatchObject({
      decided: { decision: 'approved' },
    })
  })

  test('of what its VM does not show', async () => {
    await begin({ policy: [{ match: { source: 'User' }, decide: 'approve' }] })
    list()
    const { source: _, ...shown } = later
    const evil = await evilIn(shown as typeof later)
    await evil.sees([{ ...later, ...nameItself, source: 'User' }])
    await evil.sees([])
    expect((await beacon.sees([shown as typeof later])).directives).toEqual([])
  })
})

test('Azure adds a VM, and the document of the first one lags: nothing is lost', async () => {
  await beacon.sees([later])
  const added = new FakeBeacon(world, 'web_1')
  const both = { ...later, resources: ['web_0', 'web_1'] }
  for (let at = 0; at < 40 * second; at += 10 * second) {
    await added.sees([both])
    await world.pass(10 * second)
    await beacon.sees([later])
  }
  await beacon.sees([both])
  await added.sees([both])
  const { facts } = (await world.store.readEvent({ fleet: 'prod', eventId }))!
  expect(facts).toMatchObject({ resources: ['web_0', 'web_1'] })
  expect(facts).not.toHaveProperty('selfNamed')
})

test('an old false word about the end hides no later start that a neighbor shows', async () => {
  list()
  const neighbor = new FakeBeacon(world, 'web_1')
  await beacon.sees([later])
  await neighbor.sees([later])
  await publish({ status: 'Canceled' })
  await hiddenFor(2 * minute, later, () => neighbor.sees([later]))
  await press(world, linkOf(world), 'approve')
  await beacon.sees([later], { starts: [accepted] })
  // its VM goes down
  await world.pass(10 * second)
  await neighbor.sees([started()])
  await world.pass(10 * second)
  expect((await outcome()).phase).toBe('started')
})
