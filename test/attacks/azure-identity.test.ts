// Somebody has the key of the fleet `dev`, whose own rule approves everything, and wants the relay's identity
// in Azure to act on VMs of `prod`.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { arm, list, publication, publish, startWithAzure, subscription } from '../support/azure.ts'
import { hour, minute, second, world } from '../support/relay.ts'
import { event, eventId, FakeBeacon, prodKey, startAt, testKey } from '../support/world.ts'

const devSubscription = '2e2e2e2e-0000-4000-8000-000000000002'

/** As beacons show it: a rule covers the duration, too. */
const listed = (more: object) => list(publication({ durationSeconds: -1, ...more }))
const posts = () => arm.requests.filter(({ path }) => !path.endsWith('/resources'))

beforeEach(async () => {
  await startWithAzure(
    {},
    {
      azure: { subscriptions: [subscription, devSubscription] },
      fleets: {
        prod: { key: prodKey, azureSubscriptions: [subscription] },
        dev: { key: testKey, azureSubscriptions: [devSubscription] },
      },
      policy: [{ match: { fleet: 'dev' }, decide: 'approve' }],
    },
  )
})
afterEach(() => world.store.close())

/** A beacon of `dev` that says what it likes, and never starts anything. */
async function claim(ids: string[], vm: object, more: object = {}) {
  const liar = new FakeBeacon(world, 'web_0', { fleet: 'dev', key: testKey, vm })
  const document = ids.map((one) => event({ eventId: one, ...more }))
  for (let at = 0; at < 2 * minute; at += 10 * second) {
    await liar.sees(document)
    await world.pass(10 * second)
  }
}

const prodVm = { subscriptionId: subscription, resourceGroup: 'rg', scaleSet: 'web' }

test("in the name of prod's VM, with prod's EventId", async () => {
  listed({})
  await claim([eventId], prodVm)
  expect(posts()).toEqual([])
})

test('with an EventId that is a path', async () => {
  listed({})
  const up = '../'.repeat(12)
  const other = `${up}subscriptions/${subscription}/resourceGroups/rg/providers/Microsoft.Compute`
  await claim(
    [
      `x/${other}/virtualMachineScaleSets/web/providers/Microsoft.Maintenance/scheduledevents/${eventId}`,
      `${eventId}/../../../deallocate?api-version=2024-07-01&x=`,
      `${eventId}/../restart#`,
    ],
    { ...prodVm, subscriptionId: devSubscription },
  )
  expect(posts()).toEqual([])
})

test("with dev's own event, as one that affects more than Azure says", async () => {
  listed({ subscription: devSubscription, vms: ['web_0', 'db_0'] })
  await claim([eventId], { ...prodVm, subscriptionId: devSubscription }, { resources: ['web_0'] })
  expect(posts()).toEqual([])
})

test('what is true of its own fleet works', async () => {
  listed({ subscription: devSubscription })
  await claim([eventId], { ...prodVm, subscriptionId: devSubscription })
  expect(posts().at(-1)!.path).toContain(devSubscription)
})

describe('a holder of a token that may report what Azure publishes', () => {
  const path = (group: string) =>
    `/subscriptions/${subscription}/resourceGroups/${group}/providers/Microsoft.Compute/virtualMachines`
  const machine = (resourceGroup: string, env: string, name = 'web_0') => ({
    ...{ id: `${path(resourceGroup)}/${name}`, name, tags: { env } },
    ...{ type: 'microsoft.compute/virtualmachines', resourceGroup, subscriptionId: subscription },
  })
  const real = () => ({
    ...{ resource: 'virtualMachines/web_0', resourceGroup: 'rg', durationSeconds: -1 },
    notBeforeAt: startAt + hour,
  })

  const read = () => world.store.readEvent({ fleet: 'prod', eventId })

  beforeEach(async () => {
    const dev = [machine('dev', 'dev'), machine('dev', 'dev', 'web_1')]
    const rows = { resources: [machine('rg', 'prod'), ...dev] }
    const events = { [eventId]: 'virtualMachines/web_0' }
    const policy = [{ name: 'devs', match: { tag: 'env=dev' }, decide: 'approve' }]
    await startWithAzure({ rows, events }, { policy })
    list(publication(real()))
  })

  test.each([0, 5])(
    'the tags of another VM of this name approve nothing (after %d words that are true)',
    async (words) => {
      for (let i = 0; i < words; i++) {
        await publish(real())
        await world.pass(5 * second)
      }
      for (let at = 0; at < 10 * minute; at += 5 * second) {
        await publish({ ...real(), resourceGroup: 'dev', vms: ['web_0', 'web_1'] })
        await world.pass(5 * second)
      }
      expect((await read())?.decided).toBeUndefined()
      expect(posts()).toEqual([])
    },
  )

  test('nor if the list is behind, and an onlooker sees the event', async () => {
    list()
    const onlooker = new FakeBeacon(world, 'an_onlooker')
    const shown = event({ notBeforeAt: startAt + hour })
    for (let at = 0; at < 2 * minute; at += 5 * second) {
      await publish({ ...real(), resourceGroup: 'dev' })
      expect((await onlooker.sees([shown])).directives).toEqual([])
      await world.pass(5 * second)
    }
    expect((await read())?.decided).toBeUndefined()
  })

  test("the tags of the VM that Azure's list names count", async () => {
    list(publication({ ...real(), resourceGroup: 'dev' }))
    await publish({ ...real(), resourceGroup: 'dev' })
    await world.pass(5 * second)
    expect((await read())?.decided?.who).toBe('devs')
  })
})
