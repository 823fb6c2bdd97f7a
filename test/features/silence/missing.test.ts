// Beacons that the configuration expects, and that never reported.
import { afterEach, describe, expect, test } from 'vitest'
import { absences } from '../../../functions/features/silence/use-absent.ts'
import { sentTo } from '../../support/deliveries.ts'
import { minute, startRelay, world } from '../../support/relay.ts'
import { adminKey, baseConfig, FakeBeacon } from '../../support/world.ts'

const idleMs = 5 * minute

async function start(expectedBeacons?: number | string[]): Promise<void> {
  const { prod, test: other } = baseConfig.fleets as Record<string, object>
  const fleets = { prod: { ...prod, ...(expectedBeacons && { expectedBeacons }) }, test: other }
  await startRelay({ fleets, owners: ['hook'] })
  world.relay.host.heartbeats = { paceMs: idleMs }
  world.relay.listeningSince = world.clock.now
}
afterEach(() => world.store.close())

const alerts = () => sentTo(world, 'hook').map(({ json }) => json)
const said = () => alerts().map(({ data }) => `${data.form} ${data.count} ${data.vms}`.trim())

/** Checks as a host does, while these report. */
async function pass(ms: number, ...present: FakeBeacon[]): Promise<void> {
  for (let passed = 0; passed < ms; passed += idleMs) {
    for (const one of present) await one.sees([])
    await world.pass(idleMs)
    await absences.run(world.relay)
    await world.drain()
  }
}

async function list(query = '') {
  const headers = { authorization: `Bearer ${adminKey}` }
  const response = await world.app.request(`/v1/beacons?fleet=prod${query}`, { headers })
  return (await response.json()) as ReturnType<typeof JSON.parse>
}

describe('names', () => {
  test('that never reported are told once, after three idle paces', async () => {
    await start(['web_0', 'WEB_1', 'db_0', 'db_0'])
    const web = new FakeBeacon(world, 'web_1')
    await pass(2 * idleMs, web)
    expect(alerts()).toEqual([])
    await pass(idleMs, web)
    await world.pass(1)
    expect(alerts()).toMatchObject([
      { type: 'foghorn.alert.beacons_missing', data: { form: 'begun', vms: ['db_0', 'web_0'] } },
    ])
    expect(alerts()[0].data.title).toContain('2 of 3 expected')
    await pass(300 * minute, web)
    expect(alerts()).toHaveLength(1)
  })

  test('that report are told, and the list shows the rest', async () => {
    await start(['web_0', 'web_1', 'web_2'])
    const all = ['web_0', 'web_1', 'web_2'].map((name) => new FakeBeacon(world, name))
    await pass(20 * minute, all[0]!)
    expect(await list()).toMatchObject({ expected: 3, missing: ['web_1', 'web_2'] })
    await pass(10 * minute, ...all.slice(0, 2))
    await pass(40 * minute, ...all)
    expect(said()).toEqual(['begun 2 web_1,web_2', 'over 1 web_1', 'over 1 web_2'])
    expect(alerts().at(-1).data.remaining).toBe(0)
    expect(await list()).toMatchObject({ expected: 3, missing: [] })
  })

  test('that an owner removes are no longer expected', async () => {
    await start(['web_0', 'web_1'])
    await pass(20 * minute)
    world.relay.config.fleets.prod!.expectedBeacons = ['web_1']
    await pass(20 * minute)
    expect(alerts().at(-1).data).toMatchObject({ form: 'over', left: ['web_0'], remaining: 1 })
    world.relay.config.fleets.prod!.expectedBeacons = undefined
    await pass(20 * minute)
    expect(alerts().at(-1).data).toMatchObject({ form: 'over', left: ['web_1'], remaining: 0 })
  })

  test('that are silent or have left were heard', async () => {
    await start(['web_0', 'web_1'])
    await new FakeBeacon(world, 'web_0').sees([])
    const web = new FakeBeacon(world, 'web_1')
    await web.post({ ...web.body([]), goodbye: 'removed' })
    await pass(60 * minute)
    expect(alerts().map(({ subject }) => subject)).toEqual(['beacons_silent'])
    expect(await list()).toMatchObject({ missing: [] })
  })
})

describe('a number', () => {
  test('says how many are missing, without names', async () => {
    await start(3)
    const web = new FakeBeacon(world, 'web_0')
    await pass(20 * minute, web)
    expect(said()).toEqual(['begun 2'])
    expect(alerts()[0].data.title).toContain('2 of 3 expected beacons')
    expect(await list()).toMatchObject({ expected: 3, missing: 2 })
    const all = [web, new FakeBeacon(world, 'web_1'), new FakeBeacon(world, 'web_2')]
    await pass(20 * minute, ...all)
    expect(alerts().at(-1).data).toMatchObject({ form: 'over', count: 2, remaining: 0 })
    expect(await list()).toMatchObject({ missing: 0 })
    expect(await list('&limit=1')).toMatchObject({ expected: 3, missing: 0 })
  })

  test('that is reached is no alert', async () => {
    await start(1)
    await pass(60 * minute, new FakeBeacon(world, 'web_0'), new FakeBeacon(world, 'web_1'))
    expect(alerts()).toEqual([])
  })
})

test('a fleet that expects nothing has no alert, and its list says nothing of it', async () => {
  await start()
  await pass(60 * minute)
  expect(alerts()).toEqual([])
  const found = await list()
  expect(found).not.toHaveProperty('missing')
  expect(found).not.toHaveProperty('expected')
})
