// Events that Azure publishes outside the VMs: through Event Grid, and in the list of Resource Graph.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { outsideRow } from '../../functions/store/small-rows.ts'
import { arm, list, publication, publish, startWithAzure, subscription } from '../support/azure.ts'
import { has } from '../support/features.ts'
import { linkOf, press, textOf } from '../support/people.ts'
import {
  beacon,
  eventNow,
  hour,
  minute,
  moments,
  outcome,
  second,
  world,
} from '../support/relay.ts'
import { event, eventId, FakeBeacon, started } from '../support/world.ts'

beforeEach(() => startWithAzure())
afterEach(() => world.store.close())

const approve = () => press(world, linkOf(world), 'approve')
const notBeforeAt = () => publication().notBeforeAt!

test.runIf(has('problems'))(
  'a relay that may not read the list says so to owners, with the role that is missing',
  async () => {
    await startWithAzure({ canRead: false }, { owners: ['pager'] })
    for (let minutes = 0; minutes < 3; minutes++) await world.pass(minute)
    const alert = world.sent.find(({ body }) => body.includes('Azure refuses approvals of fleet'))
    expect(alert!.body).toContain('give the identity the role Reader on each subscription: az role')
  },
)

test.runIf(has('problems'))(
  'a relay that may read only some of its subscriptions says which it may not',
  async () => {
    await startWithAzure({ unreadable: [subscription] }, { owners: ['pager'] })
    for (let minutes = 0; minutes < 3; minutes++) await world.pass(minute)
    const alert = world.sent.find(({ body }) => body.includes('Azure refuses approvals of fleet'))
    expect(alert!.body).toContain(`nothing of subscription ${subscription}`)
    expect(alert!.body).toContain(`--role Reader --scope /subscriptions/${subscription}`)
  },
)

test('what Event Grid sends with a token that is refused is found in the list', async () => {
  await world.pass(10 * minute)
  list(publication())
  const headers = { authorization: 'Bearer fht_no_such_token' }
  const refused = await world.app.request('/v1/azure/events', {
    method: 'POST',
    headers,
    body: '[]',
  })
  expect(refused.status).toBe(401)
  // the answer does not wait for the note that the list must be read
  const noted = () => outsideRow.read(world.store)
  await expect.poll(noted).toMatchObject({ doubtAt: world.clock.now })
  await world.pass(2 * minute)
  expect(moments()).toEqual(['scheduled'])
})

describe('without a beacon', () => {
  test('one message a moment, whatever comes twice or late', async () => {
    const at = world.clock.now
    expect(await publish()).toBe(204)
    await publish({ at })
    await world.pass(minute)
    await publish({ status: 'Started' })
    await publish({ at, status: 'Scheduled' })
    await world.pass(minute)
    await publish({ status: 'Completed' })
    await publish({ status: 'Started', at: world.clock.now - 30 * second })
    expect(moments()).toEqual(['scheduled', 'started', 'completed'])
    expect(await outcome()).toEqual({ phase: 'completed', outcome: 'completed' })
    const page = await textOf(await world.app.request(linkOf(world)))
    expect(page).toContain('First seen by Azure Event Grid')
    expect(page).toContain('Completed (says Azure Event Grid)')
    expect(page).not.toContain('Probably')
  })

  test('Completed before Started', async () => {
    await publish()
    await world.pass(minute)
    await publish({ status: 'Completed' })
    await publish({ status: 'Started', at: world.clock.now - second })
    expect(moments()).toEqual(['scheduled', 'completed'])
  })

  test('a cancelled event is cancelled for sure', async () => {
    await publish()
    await world.pass(second)
    await publish({ status: 'Canceled' })
    expect(await outcome()).toEqual({ phase: 'cancelled', outcome: 'cancelled' })
  })

  test('after the end of an event that nobody knew, an older word about its begin asks nobody', async () => {
    const at = world.clock.now
    await world.pass(minute)
    await publish({ status: 'Completed' })
    await publish({ at })
    await world.pass(minute)
    expect(moments()).toEqual([])
    expect(await outcome()).toEqual({ phase: 'completed', outcome: 'completed' })
  })

  test('it is not over because one notification lacks it, and is lost only if the list lacks it for long', async () => {
    await publish()
    list(publication())
    await world.pass(minute)
    await publish({ eventId: '22222222-0000-4000-8000-000000000002', vms: ['web_1'] })
    for (let passed = 0; passed < 40; passed += 1) await world.pass(minute)
    expect(moments()).toEqual(['scheduled', 'scheduled', 'lost'])
    expect((await eventNow()).phase).toBe('scheduled')
  })
})

describe('beside beacons', () => {
  test('Azure and a beacon report the same event: it is one', async () => {
    await publish()
    const { description } = (await eventNow()) as { description: string }
    await beacon.sees([event({ notBeforeAt: notBeforeAt(), description, durationSeconds: 9 })])
    await publish({ at: world.clock.now + 1 })
    await world.drain()
    expect(moments()).toEqual(['scheduled'])
    const { seenBy } = await eventNow()
    expect(seenBy.map(({ vm }: { vm: string }) => vm)).toEqual(['web_0', 'Azure Event Grid'])
  })

  test('affected VMs speak first', async () => {
    await beacon.sees([event()])
    await world.drain()
    await publish({ vms: ['web_0', 'web_1'], type: 'Redeploy', durationSeconds: 60 })
    expect(await eventNow()).toMatchObject({ eventType: 'Reboot', resources: ['web_0'] })
    expect(moments()).toEqual(['scheduled'])
    expect(await textOf(await world.app.request(linkOf(world)))).toContain('Only Azure names web_1')
    await beacon.sees([event({ resources: ['web_0', 'web_1'] })])
    await world.drain()
    expect(await textOf(await world.app.request(linkOf(world)))).not.toContain('Only Azure names')
  })

  test('what was concluded is known then, and no message says it again', async () => {
    await beacon.sees([event()])
    await world.drain()
    await world.pass(minute)
    await beacon.sees([])
    await world.pass(11 * second)
    await beacon.sees([])
    await world.drain()
    expect(await outcome()).toMatchObject({
      outcome: 'cancelled',
      inferred: 'gone_before_its_time',
    })
    await publish({ status: 'Canceled' })
    expect(await outcome()).toEqual({ phase: 'cancelled', outcome: 'cancelled' })
    expect(moments()).toEqual(['scheduled', 'cancelled'])
  })

  test('another end is told', async () => {
    await beacon.sees([event()])
    await world.drain()
    await beacon.sees([])
    await world.pass(11 * second)
    await beacon.sees([])
    await world.drain()
    await publish({ status: 'Completed' })
    expect(moments()).toEqual(['scheduled', 'cancelled', 'completed'])
    expect(await outcome()).toEqual({ phase: 'completed', outcome: 'completed' })
  })

  test('what a VM saw itself stays', async () => {
    await beacon.sees([event()])
    await beacon.sees([started()])
    await world.pass(minute)
    await beacon.sees([])
    await world.pass(11 * second)
    await beacon.sees([])
    await world.drain()
    await publish({ status: 'Canceled' })
    expect(moments()).toEqual(['scheduled', 'started', 'completed'])
  })

  test('a document that lags does not bring it back', async () => {
    await beacon.sees([event()])
    await publish({ status: 'Completed', at: world.clock.now + second })
    await world.pass(5 * second)
    await beacon.sees([event()])
    await world.drain()
    expect(moments()).toEqual(['scheduled', 'completed'])
  })

  test('five beacons and Azure: it has a place of its own, and gets no directive', async () => {
    await startWithAzure()
    for (let i = 1; i <= 5; i++) await new FakeBeacon(world, `other_${i}`).sees([event()])
    await publish()
    const { seenBy } = await eventNow()
    expect(seenBy).toHaveLength(5)
    await approve()
    await publish({ at: world.clock.now + second })
    expect((await eventNow()).history).not.toContainEqual(
      expect.objectContaining({ what: 'directed' }),
    )
  })
})

describe('approving', () => {
  const told = async () => (await eventNow()).azureAccepted

  test('at once if no beacon sees it, once Azure lists what was approved', async () => {
    await publish()
    list(publication())
    await approve()
    await world.pass(2 * second)
    expect(arm.acknowledged).toEqual([eventId])
    expect(await told()).toMatchObject({ vm: 'web', through: 'resource_manager' })
  })

  test('not while Azure lists more than was approved: people are asked about that', async () => {
    await publish()
    list(publication({ vms: ['web_0', 'web_1'] }))
    await approve()
    await world.pass(minute)
    expect(arm.acknowledged).toEqual([])
    expect(moments()).toEqual(['scheduled', 'approved', 'changed'])
  })

  test('not while the list lacks it or cannot be read, and it tries again', async () => {
    await publish()
    await approve()
    await world.pass(2 * second)
    arm.options.canRead = false
    await world.pass(minute)
    expect(arm.acknowledged).toEqual([])
    const notes = (await eventNow()).history.map(({ note }: { note?: string }) => note)
    expect(notes).toContainEqual(expect.stringContaining('does not list the event'))
    expect(notes).toContainEqual(expect.stringContaining('role Reader on each subscription'))
    arm.options.canRead = true
    list(publication())
    await world.pass(minute)
    await world.pass(second)
    expect(await told()).toMatchObject({ through: 'resource_manager' })
  })

  test('stuck says what is wrong, and nothing of beacons', async () => {
    arm.options.hasRole = false
    await publish()
    list(publication())
    await approve()
    for (let passed = 0; passed < 3; passed += 1) await world.pass(20 * second)
    expect(moments()).toEqual(['scheduled', 'approved', 'stuck'])
    const { body } = world.sent.findLast(({ url }) => url.includes('slack'))!
    expect(body).toContain('Azure has not taken the approval yet')
    expect(body).toContain('az role assignment create')
    expect(body).not.toContain('beacon')
  })

  test('as what Azure says that it belongs to', async () => {
    arm.options.events = { [eventId]: 'availabilitySets/db' }
    await publish({ resource: 'availabilitySets/db' })
    list(publication({ resource: 'availabilitySets/db' }))
    await approve()
    await world.pass(2 * second)
    expect(await told()).toMatchObject({ vm: 'db' })
    expect(arm.requests.filter(({ path }) => path.includes('acknowledge'))).toHaveLength(1)
  })

  test('an event that grew asks people again', async () => {
    await publish()
    await approve()
    world.clock.now += 1
    await publish({ vms: ['web_0', 'web_1'] })
    await world.pass(2 * second)
    expect(arm.acknowledged).toEqual([])
    expect(moments()).toEqual(['scheduled', 'approved', 'changed'])
  })
})

describe('the list', () => {
  test('is read at start, every 5 min while an event is open, and every hour otherwise', async () => {
    const reads = () => arm.queries.filter(({ query }) => query.startsWith('maintenance')).length
    list(publication({ notBeforeAt: world.clock.now + 30 * minute }))
    await world.drain()
    expect(moments()).toEqual(['scheduled'])
    expect(reads()).toBe(1)
    for (let passed = 0; passed < 10; passed += 1) await world.pass(minute)
    expect(reads()).toBe(3)
    list(publication({ status: 'Completed' }))
    for (let passed = 0; passed < 5; passed += 1) await world.pass(minute)
    expect(moments()).toEqual(['scheduled', 'completed'])
    const before = reads()
    for (let passed = 0; passed < 120; passed += 10) await world.pass(10 * minute)
    expect(reads() - before).toBe(2)
  })

  test('what it shows of an event counts, also if Event Grid says otherwise', async () => {
    const listed = world.clock.now + 15 * minute
    await publish({ notBeforeAt: world.clock.now + 30 * minute })
    list(publication({ notBeforeAt: listed }))
    await world.pass(minute)
    expect(moments()).toEqual(['scheduled', 'changed'])
    await publish({ notBeforeAt: world.clock.now + 30 * minute })
    expect(Date.parse((await eventNow()).notBefore)).toBe(listed)
  })

  test('a failure is logged, and the next time comes', async () => {
    await startWithAzure({ canRead: false })
    await world.pass(second)
    expect(world.lines.join('\n')).toContain('azure_list_failed')
    arm.options.canRead = true
    list(publication({ notBeforeAt: world.clock.now + 3 * hour }))
    await world.pass(5 * minute)
    expect(moments()).toEqual(['scheduled'])
  })
})

describe('the inventory', () => {
  const resources = [
    {
      ...{ name: 'web', type: 'microsoft.compute/virtualmachinescalesets', resourceGroup: 'rg' },
      id: `/subscriptions/${subscription}/resourceGroups/rg/providers/Microsoft.Compute/virtualMachineScaleSets/web`,
      ...{ subscriptionId: subscription, tags: { tier: 'spare' } },
    },
  ]
  const policy = [{ match: { tag: 'tier=spare' }, decide: 'approve' }]

  test('tells rules and the API of VMs without a beacon', async () => {
    await startWithAzure({ rows: { resources } }, { policy })
    await publish()
    list(publication())
    expect(moments()).toEqual(['scheduled'])
    await world.pass(2 * second)
    await world.pass(10 * second)
    expect(moments()).toEqual(['scheduled', 'approved'])
    await world.pass(2 * second)
    expect(arm.acknowledged).toEqual([eventId])
    expect((await eventNow()).vms).toEqual([
      {
        name: 'web_0',
        subscriptionId: subscription,
        resourceGroup: 'rg',
        scaleSet: 'web',
        tags: { tier: 'spare' },
      },
    ])
  })

  test('of 200 VMs with long tags, those without room stay unknown, and no rule approves', async () => {
    const tags = Object.fromEntries([...Array(30).keys()].map((i) => [`tag-${i}`, 'x'.repeat(100)]))
    const large = [{ ...resources[0], tags: { ...tags, tier: 'spare' } }]
    await startWithAzure({ rows: { resources: large } }, { policy })
    const vms = [...Array(200).keys()].map((i) => `web_${i}`)
    list(publication({ vms }))
    await publish({ vms })
    await world.pass(2 * second)
    expect(moments()).toEqual(['scheduled'])
    const known = (await eventNow()).vms.filter(({ tags: own }: { tags?: object }) => own)
    expect(known.length).toBeGreaterThan(10)
    expect(world.lines.join('\n')).not.toContain('conclusion_failed')
  })

  test('a VM that it lacks matches no rule, and it is asked again after 5 min', async () => {
    await startWithAzure({ rows: { resources: [] } }, { policy })
    const asked = () => arm.queries.filter(({ query }) => query.startsWith('resources')).length
    list(publication({ notBeforeAt: world.clock.now + hour }))
    await publish({ notBeforeAt: world.clock.now + hour })
    await world.pass(2 * second)
    await world.pass(minute)
    expect(asked()).toBe(1)
    arm.options.rows = { ...arm.options.rows, resources }
    await world.pass(230 * second)
    expect(asked()).toBe(1)
    await world.pass(2 * minute)
    await world.pass(second)
    expect(asked()).toBe(2)
    expect(moments()).toEqual(['scheduled', 'approved'])
  })
})
