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
