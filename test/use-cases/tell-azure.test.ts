// The relay tells Azure through Resource Manager if no beacon does.
import { beforeEach, describe, expect, test } from 'vitest'
import { createAzureDoors } from '../../functions/azure/doors.ts'
import { createTokens } from '../../functions/azure/tokens.ts'
import { FakeArm } from '../simulator/arm.ts'
import { linkOf, press, textOf } from '../support/people.ts'
import { eventNow, minute, moments, second, startRelay, world } from '../support/relay.ts'
import { event, eventId, FakeBeacon, started } from '../support/world.ts'

const subscription = '1e1e1e1e-0000-4000-8000-000000000001'
let arm: FakeArm
let beacon: FakeBeacon

async function start(options: Partial<FakeArm['options']> = {}, own: object = {}) {
  await startRelay({ azure: { subscriptions: [subscription] }, owners: ['team'], ...own })
  arm = new FakeArm({ events: { [eventId]: 'virtualMachineScaleSets/web' }, ...options })
  const { relay } = world
  const access = relay.config.azure!
  const { fetch } = arm
  const tokens = createTokens({
    access,
    host: undefined,
    readText: async () => '',
    fetch,
    now: relay.now,
  })
  relay.azure = createAzureDoors({ access, tokens, fetch, now: relay.now })
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
  expect(arm.requests).toEqual([])
  await pass(10 * second)
  expect(arm.acknowledged).toEqual([eventId])
  expect(await told()).toEqual({ vm: 'web', at: expect.any(String), through: 'resource_manager' })
  const page = await textOf(await world.app.request(linkOf(world)))
  expect(page).toContain('The relay (for web) told Azure')
  expect(page).toContain('The relay told Azure, through Resource Manager: web')
  await pass(10 * second, [started()])
  expect(arm.requests).toHaveLength(1)
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
  expect(arm.requests).toEqual([])
  expect(await told()).toEqual({ vm: 'web_0', at: expect.any(String) })
})

test('a missing role: it tries each minute, and stuck names the command', async () => {
  await start({ hasRole: false })
  await approve()
  await pass(3 * minute)
  expect(arm.requests).toHaveLength(3)
  expect(moments()).toContain('stuck')
  const text = world.sent.findLast(({ url }) => url.includes('slack'))!.body
  expect(text).toContain('no beacon has sent the approval to Azure yet')
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
})

test('what is final is not tried again', async () => {
  await start({ events: {} })
  await approve()
  await pass(3 * minute)
  expect(arm.requests.filter(({ method }) => method === 'POST')).toHaveLength(2)
})

describe('it stays silent', () => {
  test('without an approval, and from NotBefore on', async () => {
    await pass(14 * minute + 40 * second)
    await approve()
    await pass(2 * minute)
    expect(arm.requests).toEqual([])
  })

  test('once no VM has shown the event for 3 min: Azure may have added one', async () => {
    await world.pass(4 * minute)
    await approve()
    await world.pass(minute)
    await world.pass(minute)
    expect(arm.requests).toEqual([])
  })

  test('about a subscription that is not listed', async () => {
    await start({}, { azure: { subscriptions: ['3e3e3e3e-0000-4000-8000-000000000003'] } })
    await approve()
    await pass(minute)
    expect(arm.requests).toEqual([])
  })

  test('once Azure has added a VM that nobody approved', async () => {
    await approve()
    await pass(minute, [event({ resources: ['web_0', 'web_1'] })])
    expect(arm.requests).toEqual([])
  })
})
