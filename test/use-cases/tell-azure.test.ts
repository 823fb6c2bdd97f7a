// The relay tells Azure through Resource Manager if no beacon does.
import { beforeEach, describe, expect, test } from 'vitest'
import { arm, list, publication, startWithAzure, subscription } from '../support/azure.ts'
import { has } from '../support/features.ts'
import { linkOf, press, textOf } from '../support/people.ts'
import { eventNow, minute, moments, second, world } from '../support/relay.ts'
import { event, eventId, FakeBeacon, prodKey, started } from '../support/world.ts'

let beacon: FakeBeacon

/** The relay's own reads of Azure's list at the start are no tries. */
const posts = () => arm.requests.filter(({ path }) => path.endsWith('/acknowledge'))

async function start(options: Parameters<typeof startWithAzure>[0] = {}, own: object = {}) {
  await startWithAzure(options, own)
  list(publication())
  const vm = { subscriptionId: subscription, scaleSet: 'web', resourceGroup: 'rg' }
  beacon = new FakeBeacon(world, 'web_0', { vm })
  await beacon.sees([event()])
  await world.drain()
}

/** The beacon goes on reporting. It gets the directive, and does nothing. */
async function pass(ms: number, document = [event()]) {
  for (let at = 0; at < ms; at += 5 * second) {
    await world.pass(5 * second)
    await beacon.sees(document)
  }
}
const approve = () => press(world, linkOf(world), 'approve')
const told = async () => (await eventNow()).azureAccepted

beforeEach(() => start())

test('30 s after the approval, and everybody reads which way Azure was told', async () => {
  await approve()
  await pass(25 * second)
  expect(posts()).toEqual([])
  await pass(10 * second)
  expect(arm.acknowledged).toEqual([eventId])
  expect(await told()).toEqual({ vm: 'web', at: expect.any(String), through: 'resource_manager' })
  const page = await textOf(await world.app.request(linkOf(world)))
  expect(page).toContain('The relay (for web) told Azure')
  expect(page).toContain('The relay told Azure, through Resource Manager: web')
  await pass(10 * second, [started()])
  expect(posts()).toHaveLength(1)
  expect(moments()).toEqual(['scheduled', 'approved', 'started'])
})

test('a report between the due time and the look does not put it off for long', async () => {
  await approve()
  world.clock.now += 31 * second
  await beacon.sees([event()])
  await world.pass(29 * second)
  expect(arm.acknowledged).toEqual([eventId])
})

test('a beacon that told Azure in time leaves nothing to do', async () => {
  await approve()
  await pass(5 * second)
  await beacon.sees([event()], {
    starts: [{ eventId, ageMs: 0, outcome: 'accepted', status: 200 }],
  })
  await pass(minute)
  expect(posts()).toEqual([])
  expect(await told()).toEqual({ vm: 'web_0', at: expect.any(String) })
})

test.runIf(has('problems'))(
  'a missing role: it tries each minute, and stuck names the command',
  async () => {
    await start({ hasRole: false })
    await approve()
    await pass(3 * minute)
    expect(posts()).toHaveLength(3)
    expect(moments()).toContain('stuck')
    const text = world.sent.findLast(({ url }) => url.includes('slack'))!.body
    expect(text).toContain('Azure has not taken the approval yet')
    expect(text).toContain('az role assignment create --assignee')
    const alert = world.sent.find(({ body }) => body.includes('Azure refuses approvals of fleet'))!
    expect(alert.body).toContain('--role b67fe603-310e-4889-b9ee-8257d09d353d')
    const failures = (await eventNow()).history.filter(
      ({ what }: { what: string }) => what === 'start_failed',
    )
    expect(failures).toHaveLength(1)
    arm.options.hasRole = true
    await pass(minute)
    expect(await told()).toMatchObject({ through: 'resource_manager' })
  },
)

test('what is final is not tried again', async () => {
  await start({ events: {} })
  await approve()
  await pass(3 * minute)
  expect(posts()).toHaveLength(1)
})

describe('it stays silent', () => {
  test('without an approval, and from NotBefore on', async () => {
    await pass(14 * minute + 40 * second)
    await approve()
    await pass(2 * minute)
    expect(posts()).toEqual([])
  })

  test('if Azure does not list the event, and if no VM has shown it for 3 min', async () => {
    list()
    await approve()
    await pass(minute)
    expect(posts()).toEqual([])
    await world.pass(4 * minute)
    await approve()
    await world.pass(minute)
    await world.pass(minute)
    expect(posts()).toEqual([])
  })

  test('about a subscription that the fleet does not name', async () => {
    const other = '3e3e3e3e-0000-4000-8000-000000000003'
    const prod = { key: prodKey, azureSubscriptions: [other] }
    await start({}, { azure: { subscriptions: [subscription, other] }, fleets: { prod } })
    await approve()
    await pass(minute)
    expect(posts()).toEqual([])
  })

  test('once Azure has added a VM that nobody approved', async () => {
    await approve()
    await pass(minute, [event({ resources: ['web_0', 'web_1'] })])
    expect(posts()).toEqual([])
  })
})
