// A VM has the name of an affected one, in another resource group of the same fleet. And words that are none.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sweep } from '../../functions/use-cases/sweep.ts'
import { arm, list, publication, publish, send, startWithAzure } from '../support/azure.ts'
import { linkOf, press } from '../support/people.ts'
import { beacon, hour, minute, moments, outcome, second, world } from '../support/relay.ts'
import { event, eventId, FakeBeacon, started } from '../support/world.ts'

let later: ReturnType<typeof event>
const begin = async (config: object = {}) => {
  await startWithAzure({}, config)
  later = event({ notBeforeAt: world.clock.now + hour })
  list(publication({ notBeforeAt: later.notBeforeAt!, durationSeconds: -1 }))
}
beforeEach(() => begin())
afterEach(() => world.store.close())

const tags = { env: 'dev' }
const elsewhere = () =>
  new FakeBeacon(world, 'web_0', { vm: { vmId: 'other', resourceGroup: 'dev', tags } })
const stored = (id = eventId) => world.store.readEvent({ fleet: 'prod', eventId: id })
const told = () => arm.requests.filter(({ path }) => path.endsWith('/acknowledge'))
const people = () => world.sent.filter(({ url }) => /slack|teams/.test(url)).length

describe('a VM of the same name in another resource group', () => {
  test('says Started, and that Azure accepted: nothing changes', async () => {
    await beacon.sees([later])
    await world.drain()
    const other = elsewhere()
    for (let at = 0; at < 3 * minute; at += 10 * second) {
      await other.sees([started()], {
        starts: [{ eventId, ageMs: 0, outcome: 'accepted', status: 200 }],
      })
      await world.pass(10 * second)
      await beacon.sees([later])
      expect((await outcome()).phase).toBe('scheduled')
    }
    expect((await stored())!.azure.accepted).toBeUndefined()
    await press(world, linkOf(world), 'approve')
    expect((await beacon.sees([later])).directives).toHaveLength(1)
  })

  test('joins with other tags after a rule approved: Azure is told', async () => {
    const vm = { vmId: 'own', resourceGroup: 'rg', tags: { env: 'prod' } }
    await begin({ policy: [{ name: 'prod', match: { tag: 'env=prod' }, decide: 'approve' }] })
    const own = new FakeBeacon(world, 'web_0', { vm })
    await own.sees([later], { starts: [{ eventId, ageMs: 0, outcome: 'unreachable' }] })
    await elsewhere().sees([later])
    await world.drain()
    expect(moments()).not.toContain('changed')
    expect((await stored())!.decided?.who).toBe('prod')
  })

  test.each(['tag: env=dev', 'resourceGroup: dev'])(
    'was the first, and a rule approves %s: the relay tells Azure nothing',
    async (what) => {
      const [key = '', value = ''] = what.split(': ')
      await begin({ policy: [{ name: 'devs', match: { [key]: value }, decide: 'approve' }] })
      const other = elsewhere()
      for (let at = 0; at < 5 * minute; at += 10 * second) {
        await other.sees([later])
        await world.pass(10 * second)
      }
      expect(told()).toEqual([])
      expect((await stored())!.facts.home).toMatchObject({ resourceGroup: 'rg', listed: true })
    },
  )
})

test('a VM names another group of itself than the inventory does: the relay tells Azure nothing', async () => {
  const policy = [{ name: 'devs', match: { scaleSet: 'dev' }, decide: 'approve' }]
  await begin({ policy })
  const liar = new FakeBeacon(world, 'web_0', { vm: { scaleSet: 'dev' } })
  for (let at = 0; at < 2 * minute; at += 10 * second) {
    await liar.sees([later], { starts: [{ eventId, ageMs: 0, outcome: 'unreachable' }] })
    await world.pass(10 * second)
  }
  expect((await stored())!.decided?.who).toBe('devs')
  expect(told()).toEqual([])
  expect((await stored())!.azure.arm?.failure?.reason).toContain("Azure's inventory says otherwise")
})

test.each(['constructor', '__proto__'])(
  'a status of Event Grid that is no word, %s: the event is told as its VM shows it',
  async (status) => {
    expect((await send([])).status).toBe(204)
    await publish({ status: status as 'Started' })
    await beacon.sees([later])
    await world.drain()
    expect(await outcome()).toMatchObject({ phase: 'scheduled' })
    expect(people()).toBeGreaterThan(0)
  },
)

test('reports come between the due time and the look at it: the relay tells Azure at this look', async () => {
  const liars = ['one', 'two'].map((name) => new FakeBeacon(world, name))
  for (const one of liars) await one.sees([later])
  await world.drain()
  await press(world, linkOf(world), 'approve')
  const report = () =>
    Promise.all(
      liars.map((one) =>
        one.sees([later], { starts: [{ eventId, ageMs: 0, outcome: 'unreachable' }] }),
      ),
    )
  for (let at = 0; at < 32 * second; at += 2 * second) {
    world.clock.now += 2 * second
    await report()
  }
  await sweep(world.relay)
  expect(told()).toHaveLength(1)
})

test('a false end of an event that nobody decided: its slot stays taken', async () => {
  const rule = { name: 'one', match: {}, decide: 'approve', whenReady: true, maxConcurrent: 1 }
  await begin({ policy: [rule] })
  const soon = event({ notBeforeAt: world.clock.now + 3 * minute })
  const next = event({
    ...{ eventId: 'another', resources: ['web_1'], notBeforeAt: world.clock.now + 25 * minute },
  })
  list()
  const neighbor = new FakeBeacon(world, 'web_1')
  for (let at = 0; at < 12 * minute; at += 10 * second) {
    const shown = at < 3 * minute ? soon : started()
    await beacon.runs([shown], 'running')
    const { preparations } = await neighbor.runs([next, shown], 'planned', { eventId: 'another' })
    expect(preparations.map(({ when }) => when)).not.toContain('now')
    if (at === 220 * second) await publish({ status: 'Completed' })
    await world.pass(10 * second)
  }
  expect(await stored()).toMatchObject({ epoch: 2, wait: { slot: { state: 'held' } } })
})

test('a VM that names itself again and again: four times at most', async () => {
  await begin({ policy: [{ name: 'devs', match: { tag: 'env=dev' }, decide: 'ignore' }] })
  await beacon.sees([later])
  await world.drain()
  const evil = new FakeBeacon(world, 'evil', { vm: { tags } })
  let changes = 0
  let names = 1
  for (let at = 0; at < 30 * minute; at += 5 * second) {
    const isNamed = (at / second / 5) % 2 === 0
    await evil.sees([isNamed ? { ...later, resources: ['web_0', 'evil'] } : later])
    await world.pass(5 * second)
    await beacon.sees([later])
    const now = (await stored())!.facts.resources.length
    if (now !== names) changes += 1
    names = now
  }
  expect(changes).toBeLessThanOrEqual(2)
})

describe('before Azure lists the event, another one speaks first', () => {
  const listIt = () => list(publication({ notBeforeAt: later.notBeforeAt!, durationSeconds: -1 }))

  test('a namesake: what was decided and told of it does not count for the listed VM', async () => {
    list()
    const other = elsewhere()
    await other.sees([later])
    await world.drain()
    await press(world, linkOf(world), 'approve')
    expect((await stored())!.decided?.decision).toBe('approved')
    listIt()
    for (let at = 0; at < 6 * minute; at += 10 * second) {
      await beacon.sees([later])
      await world.pass(10 * second)
    }
    expect(await stored()).toMatchObject({ epoch: 2, facts: { home: { resourceGroup: 'rg' } } })
    expect((await stored())!.decided).toBeUndefined()
    expect(told()).toEqual([])
  })

  test('a namesake says Started: the event waits again once it is listed', async () => {
    list()
    await elsewhere().sees([started()])
    listIt()
    for (let at = 0; at < 6 * minute; at += 10 * second) {
      await beacon.sees([later])
      await world.pass(10 * second)
    }
    expect(await outcome()).toMatchObject({ phase: 'scheduled' })
  })

  test('an onlooker of another group shows it and lacks it: its own VM brings it back', async () => {
    list()
    await publish({ notBeforeAt: later.notBeforeAt! })
    const other = new FakeBeacon(world, 'other', { vm: { resourceGroup: 'dev' } })
    await other.sees([later])
    for (let at = 0; at < 30 * second; at += 10 * second) {
      await world.pass(10 * second)
      await other.sees([])
    }
    for (let at = 0; at < 4 * minute; at += 10 * second) {
      await beacon.sees([later])
      await world.pass(10 * second)
    }
    expect(await outcome()).toMatchObject({ phase: 'scheduled', outcome: undefined })
  })
})
