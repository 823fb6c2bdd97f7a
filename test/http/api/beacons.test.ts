// `GET /v1/beacons`: shows an owner whether the beacons work.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { forgetOld } from '../../../functions/use-cases/forget.ts'
import { around } from '../../sim/around.ts'
import { has } from '../../support/features.ts'
import { eventNow, startRelay, world } from '../../support/relay.ts'
import { adminKey, event, FakeBeacon, testKey } from '../../support/world.ts'

beforeEach(() => startRelay())
afterEach(() => world.store.close())

const get = (query: string, authorization = `Bearer ${adminKey}`) =>
  world.app.request(`/v1/beacons${query}`, { headers: { authorization } })

const read = (response: Response) => response.json() as Promise<ReturnType<typeof JSON.parse>>

test('each beacon of the fleet, by VM: when it was heard, its pace, and how many events it sees', async () => {
  await new FakeBeacon(world, 'web_1').sees([])
  await new FakeBeacon(world, 'web_0').sees([event()])
  await new FakeBeacon(world, 'db_0', { fleet: 'test', key: testKey }).sees([])
  const { fleet, beacons, more } = await read(await get('?fleet=prod'))
  expect([fleet, more]).toEqual(['prod', false])
  const lastHeardAt = '2026-11-21T12:00:00.000Z'
  expect(beacons).toMatchObject([
    { vm: 'web_0', resourceGroup: 'rg', lastHeardAt, paceSeconds: 2, seesEvents: 1 },
    { vm: 'web_1', resourceGroup: 'rg', lastHeardAt, paceSeconds: 900, seesEvents: 0 },
  ])
})

test.each([
  ['', 400, 'query_invalid', '"prod", "test"'],
  ['?fleet=prud', 404, 'fleet_unknown', 'did you mean "prod"'],
  ['?fleet=prod&stat=heard', 400, 'query_invalid', 'did you mean "state"'],
  ['?fleet=prod&state=dead', 400, 'query_invalid', '"heard", "silent", "left"'],
])('"%s": %i', async (query, status, code, said) => {
  const response = await get(query)
  const body = await read(response)
  expect([response.status, body.code]).toEqual([status, code])
  expect(body.detail).toContain(said)
})

test('page by page: the cursor of one leads to the next', async () => {
  for (let i = 0; i < 5; i++) await new FakeBeacon(world, `web_${i}`).sees([])
  const seen: string[] = []
  let query = '?fleet=prod&limit=2'
  for (let pages = 0; pages < 3; pages++) {
    const { beacons, more, cursor } = await read(await get(query))
    seen.push(...beacons.map(({ vm }: { vm: string }) => vm))
    expect([more, cursor === undefined]).toEqual(pages < 2 ? [true, false] : [false, true])
    query = `?fleet=prod&limit=2&cursor=${encodeURIComponent(cursor)}`
  }
  expect(seen).toEqual(['web_0', 'web_1', 'web_2', 'web_3', 'web_4'])
})

test.each(['0', '1001', 'x', '1.5'])('limit=%s is refused', async (limit) => {
  expect((await get(`?fleet=prod&limit=${limit}`)).status).toBe(400)
})

test('nothing without the admin key', async () => {
  expect((await get('?fleet=prod', '')).status).toBe(401)
  expect((await remove('id-prod-web_0', '')).status).toBe(401)
})

test('a beacon that invents versions does not fill the log', async () => {
  const liar = new FakeBeacon(world, 'web_0')
  for (let i = 0; i < 80; i++) {
    const body = liar.body([])
    await liar.post({ ...body, beacon: { ...body.beacon, version: `invented-${i}` } })
  }
  const logged = world.lines.filter((line) => line.includes('beacon_unsupported'))
  expect(logged).toHaveLength(50)
})

test('what each beacon says of itself: version, hooks; and a version that is not supported', async () => {
  const [web, db] = [new FakeBeacon(world, 'web_0'), new FakeBeacon(world, 'db_0')]
  const body = web.body([])
  const hooks = { available: ['prepare'], runs: [] }
  await web.post({ ...body, beacon: { ...body.beacon, version: '0.1.0' }, hooks })
  for (let i = 0; i < 3; i++) await db.sees([])
  const { beacons } = await read(await get('?fleet=prod'))
  expect(beacons).toMatchObject([
    { vm: 'db_0', version: 'test', unsupported: expect.stringContaining('released'), hooks: [] },
    { vm: 'web_0', version: '0.1.0', hooks: ['prepare'] },
  ])
  expect(beacons[1]).not.toHaveProperty('unsupported')
  const logged = world.lines.map((line) => JSON.parse(line))
  expect(logged.filter((line) => line.event === 'beacon_unsupported')).toMatchObject([
    { level: 'warn', fleet: 'prod', version: 'test', vm: 'db_0' },
  ])
})

test.runIf(has('silence'))('those in one state', async () => {
  await new FakeBeacon(world, 'web_0').sees([])
  world.clock.now += 44 * 60_000
  await new FakeBeacon(world, 'web_1').sees([])
  await world.pass(60_000)
  const vms = async (state: string) =>
    (await read(await get(`?fleet=prod&state=${state}`))).beacons.map(({ vm }: never) => vm)
  expect(await vms('silent')).toEqual(['web_0'])
  expect(await vms('heard')).toEqual(['web_1'])
  expect(await vms('left')).toEqual([])
})

const remove = (path: string, authorization = `Bearer ${adminKey}`) =>
  world.app.request(`/v1/beacons/prod/${path}`, { method: 'DELETE', headers: { authorization } })

describe("an owner's word that a beacon has left", () => {
  test.each([
    ['an id', {}, 'id-prod-web_0'],
    ['an id with slashes, encoded', { vmId: '' }, 'rg%2Fweb_0'],
    ['an id with slashes, as it is', { vmId: '' }, 'rg/web_0'],
    ['in other letters', {}, 'ID-prod-WEB_0'],
  ])('%s', async (_, vm, path) => {
    await new FakeBeacon(world, 'web_0', { vm }).sees([])
    const response = await remove(path)
    const left = { why: 'owner', at: '2026-11-21T12:00:00.000Z' }
    expect([response.status, await read(response)]).toMatchObject([
      200,
      { fleet: 'prod', vm: 'web_0', state: 'left', left },
    ])
    expect(await read(await get('?fleet=prod&state=left'))).toMatchObject({
      beacons: [{ vm: 'web_0', left }],
    })
    expect((await remove(path)).status).toBe(200)
    const again = new FakeBeacon(world, 'web_0', { vm })
    await again.sees([])
    const [heard] = (await read(await get('?fleet=prod'))).beacons
    expect(heard).toMatchObject({ state: 'heard' })
    expect(heard).not.toHaveProperty('left')
  })

  test('counts, although other writes were faster four times', async () => {
    await new FakeBeacon(world, 'web_0').sees([])
    let writes = 0
    world.relay.store = around(world.store, async (name, _, call) => {
      return name === 'replaceBeacon' && ++writes < 5 ? 'stale' : call()
    })
    expect((await remove('id-prod-web_0')).status).toBe(200)
    expect(writes).toBe(5)
  })

  test.runIf(has('silence'))('ends its silence: the alert is over', async () => {
    world.store.close()
    await startRelay({ owners: ['hook'] })
    await new FakeBeacon(world, 'web_0').sees([])
    await world.pass(44 * 60_000)
    await world.pass(60_000)
    await remove('id-prod-web_0')
    for (let i = 0; i < 4; i++) await world.pass(30_000)
    const forms = world.sent.map(({ json }) => [json.data.form, json.data.vms, json.data.left])
    expect(forms).toEqual([
      ['begun', ['web_0'], []],
      ['over', [], ['web_0']],
    ])
  })

  test.each([
    ['id-prod-web_9', 'beacon_unknown'],
    ['%E0%A4%A', 'beacon_unknown'],
  ])('%s is unknown', async (path, code) => {
    const response = await remove(path)
    expect([response.status, (await read(response)).code]).toEqual([404, code])
  })

  test('of a fleet that does not exist', async () => {
    const headers = { authorization: `Bearer ${adminKey}` }
    const response = await world.app.request('/v1/beacons/prud/x', { method: 'DELETE', headers })
    expect([response.status, (await read(response)).code]).toEqual([404, 'fleet_unknown'])
  })
})

test('a deleted VM is listed for a week; what it saw stays on record, and so does an open event', async () => {
  const day = 86_400_000
  await new FakeBeacon(world, 'web_0').sees([])
  await new FakeBeacon(world, 'web_1').sees([event()])
  const vms = async () =>
    (await read(await get('?fleet=prod'))).beacons.map((one: { vm: string }) => one.vm)
  world.clock.now += 7 * day
  await forgetOld(world.relay)
  expect(await vms()).toEqual(['web_0', 'web_1'])
  world.clock.now += 1
  await forgetOld(world.relay)
  expect(await vms()).toEqual(['web_1'])
  // No beacon sees the event any more, so it is lost and its beacon is removed.
  await world.drain()
  await forgetOld(world.relay)
  expect(await vms()).toEqual([])
  expect(await eventNow()).toMatchObject({ phase: 'scheduled' })
})

test('the log names a beacon once for each of its starts', async () => {
  const named = () => world.lines.filter((line) => line.includes('beacon_first_heard'))
  const beacon = new FakeBeacon(world, 'web_0')
  for (let reports = 0; reports < 3; reports++) await beacon.sees([])
  expect(named()).toHaveLength(1)
  expect(JSON.parse(named()[0]!)).toMatchObject({ fleet: 'prod', vm: 'web_0' })
  await new FakeBeacon(world, 'web_0').sees([])
  expect(named()).toHaveLength(2)
})
