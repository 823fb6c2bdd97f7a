// What the relay reads of Azure Resource Graph, within its quota.
import { expect, test } from 'vitest'
import { createAzureApis } from '../../functions/azure/apis.ts'
import { createTokens } from '../../functions/azure/tokens.ts'
import { FakeArm } from '../simulator/arm.ts'
import { rowOf } from '../simulator/event-grid.ts'

const subscription = '1e1e1e1e-0000-4000-8000-000000000001'
const access = {
  subscriptions: [subscription],
  authority: 'https://login.microsoftonline.com',
  resourceManager: 'https://management.azure.com',
}
const row = (n: number) =>
  rowOf({ eventId: `E${n}`, subscription, resource: 'virtualMachineScaleSets/web', at: 0 })
const path = (type: string, name: string) =>
  `/subscriptions/${subscription}/resourceGroups/RG/providers/Microsoft.Compute/${type}/${name}`

function start(options: Partial<FakeArm['options']> = {}, moves = true) {
  const arm = new FakeArm({ events: {}, ...options })
  const clock = { now: 10 * 60_000 }
  const waits: number[] = []
  const wait = async (ms: number) => {
    waits.push(ms)
    await Promise.resolve()
    if (moves) clock.now += ms
  }
  const options2 = { access, fetch: arm.fetch, now: () => clock.now }
  const tokens = createTokens({ ...options2, host: undefined, readText: async () => '' })
  return { arm, clock, waits, graph: createAzureApis({ ...options2, tokens, wait }).graph }
}

test('all pages, and what cannot be read is left out', async () => {
  const rows = [row(1), row(2), { id: 'odd', properties: {} }, row(3)]
  const { arm, graph } = start({ rows: { maintenanceresources: rows }, pageSize: 2 })
  const listed = await graph.listEvents([subscription])
  expect(listed.map(({ event }) => event.eventId)).toEqual(['e1', 'e2', 'e3'])
  expect(arm.queries).toHaveLength(2)
  expect(listed[0]).toMatchObject({
    by: 'Azure Resource Graph',
    resource: { subscriptionId: subscription, type: 'virtualMachineScaleSets', name: 'web' },
    event: { eventType: 'Reboot', status: 'Scheduled', resources: ['web_0'], durationSeconds: 9 },
    // it lags behind Event Grid
    at: 8 * 60_000,
  })
})

test('a page of more rows than Azure sends is none', async () => {
  const rows = { maintenanceresources: Array.from({ length: 1_001 }, (_, n) => row(n)) }
  const { graph } = start({ rows, pageSize: 2_000 })
  await expect(graph.listEvents([subscription])).rejects.toThrow('Azure Resource Graph')
})

test('many who ask at once share an answer, and it is not kept', async () => {
  const { arm, clock, graph } = start({ rows: {} })
  await Promise.all([1, 2, 3].map(() => graph.listEvents([subscription])))
  expect(arm.queries).toHaveLength(1)
  clock.now += 1_000
  await graph.listEvents([subscription])
  expect(arm.queries).toHaveLength(2)
})

test('once its quota is used up, it waits until there is more, at most 10 s', async () => {
  const quota = { remaining: 0, resetsAfter: '00:00:05' }
  const { arm, clock, waits, graph } = start({ rows: {}, quota })
  await graph.listEvents([subscription])
  clock.now += 4_000
  arm.options.quota = { remaining: 0, resetsAfter: '99999:00:00' }
  await graph.listEvents([subscription])
  clock.now += 1_000
  await graph.listEvents([subscription])
  expect(waits).toEqual([1_000, 9_000])
})

test('a query for people delays none for rules, and neither kind delays an approval', async () => {
  const { arm, waits, graph } = start({ rows: {} }, false)
  for (let n = 0; n < 3; n++) await graph.listMachines([`${subscription}-${n}`], 'people')
  const before = waits.length
  await graph.listMachines([subscription], 'rules')
  expect(waits).toHaveLength(before)
  await Promise.allSettled(
    Array.from({ length: 40 }, (_, n) => graph.listMachines([`${subscription}-${n}`], 'rules')),
  )
  const waited = waits.length
  await graph.listEvents([subscription])
  expect(waits).toHaveLength(waited)
  expect(arm.queries.at(-1)!.query).toContain('maintenanceresources')
})

test('turns that a clock booked while it was ahead count no more', async () => {
  const { clock, waits, graph } = start({ rows: {} }, false)
  clock.now += 86_400_000
  await graph.listMachines([`${subscription}-0`], 'rules')
  clock.now -= 86_400_000
  await graph.listMachines([`${subscription}-1`], 'rules')
  expect(waits).toEqual([])
})

test('people who look take turns, share an answer for a minute, and leave the quota to the relay', async () => {
  const { arm, clock, waits, graph } = start({ rows: {} }, false)
  const look = (n: number) => graph.listMachines([`${subscription}-${n}`], 'people')
  for (let n = 0; n < 3; n++) await look(n)
  expect(waits).toEqual([1_000, 2_000])
  await look(0)
  expect(arm.queries).toHaveLength(3)
  const many = await Promise.allSettled(Array.from({ length: 40 }, (_, n) => look(10 + n)))
  expect(many.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(20)
  await graph.listEvents([subscription])
  expect(arm.queries.at(-1)!.query).toContain('maintenanceresources')
  clock.now += 60_000
  await look(0)
  expect(
    arm.queries.filter(({ subscriptions: [one] }) => one === `${subscription}-0`),
  ).toHaveLength(2)
})

test('VMs and sets: where they are, their tags, and whether Azure publishes their events', async () => {
  const target = { eventGridAndResourceGraph: { enable: true } }
  const policy = { scheduledEventsAdditionalPublishingTargets: target }
  const own = { resourceGroup: 'rg', subscriptionId: subscription.toUpperCase() }
  const resources = [
    {
      ...own,
      id: path('virtualMachines', 'a'),
      name: 'a',
      type: 'microsoft.compute/virtualmachines',
      tags: null,
      policy,
    },
    {
      ...own,
      ...{ id: path('virtualMachines', 'b'), name: 'b', type: 'Microsoft.Compute/virtualMachines' },
      ...{ tags: { tier: 'web' }, set: path('virtualMachineScaleSets', 'web') },
    },
    {
      ...own,
      ...{ id: path('virtualMachineScaleSets', 'web'), name: 'web', inner: policy },
      type: 'microsoft.compute/virtualmachinescalesets',
    },
  ]
  const { graph } = start({ rows: { resources } })
  const known = { resourceGroup: 'rg', subscriptionId: subscription }
  expect(await graph.listMachines([subscription], 'rules')).toEqual([
    {
      ...known,
      type: 'virtualMachines',
      name: 'a',
      tags: {},
      scaleSet: '',
      availabilitySet: '',
      publishes: true,
    },
    {
      ...known,
      type: 'virtualMachines',
      name: 'b',
      tags: { tier: 'web' },
      scaleSet: 'web',
      availabilitySet: '',
      publishes: false,
    },
    {
      ...known,
      type: 'virtualMachineScaleSets',
      name: 'web',
      tags: {},
      scaleSet: '',
      availabilitySet: '',
      publishes: true,
    },
  ])
})

test('a failure says what to do', async () => {
  const { graph } = start({ canRead: false })
  await expect(graph.listMachines([subscription], 'rules')).rejects.toThrow(/HTTP 403.*role Reader/)
})
