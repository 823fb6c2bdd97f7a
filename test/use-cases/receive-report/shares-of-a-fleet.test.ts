// How many open events one beacon and one fleet may have, what happens beyond that, and who is
// alerted.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  maxBeaconsOfFleet,
  maxOpenOfBeacon,
  maxOpenOfFleet,
} from '../../../functions/core/limits.ts'
import { forgetOld } from '../../../functions/use-cases/forget.ts'
import { bigNames } from '../../support/big.ts'
import { answer, idOf, passInSteps, sentTo } from '../../support/deliveries.ts'
import { has } from '../../support/features.ts'
import { startRelay, world } from '../../support/relay.ts'
import { adminKey, baseConfig, event, FakeBeacon, startAt, testKey } from '../../support/world.ts'

let liar: FakeBeacon
beforeEach(async () => {
  await startRelay({ owners: ['hook'] })
  liar = new FakeBeacon(world, 'liar')
})
afterEach(() => world.store.close())

const invented = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) =>
    event({ eventId: idOf(from + i), resources: [`vm${from + i}`] }),
  )
const ids = (refused: { eventId: string }[]) => refused.map(({ eventId }) => eventId)
const alerts = () =>
  sentTo(world, 'hook').filter(({ json }) => json.type === 'foghorn.alert.over_limits')
const isStored = async (i: number, fleet?: string) =>
  (await world.getEvent(idOf(i), fleet)).status === 200

describe('open events that one beacon alone reports', () => {
  test('end at the limit: the others are refused with a reason, the rest is stored', async () => {
    const answer = await liar.sees(invented(0, maxOpenOfBeacon + 50))
    expect(ids(answer.refused)).toEqual(ids(invented(maxOpenOfBeacon, 50)))
    expect(answer.refused[0]?.reason).toContain('100')
    expect(await isStored(maxOpenOfBeacon - 1)).toBe(true)
    expect(await isStored(maxOpenOfBeacon)).toBe(false)
  })

  test('stay refused when they are reported again, in any order', async () => {
    await liar.sees(invented(0, maxOpenOfBeacon + 2))
    const again = await liar.sees(invented(0, maxOpenOfBeacon + 2).reverse())
    expect(ids(again.refused).sort()).toEqual(ids(invented(maxOpenOfBeacon, 2)))
    // also from a beacon that claims to be new but has the same name
    const reborn = new FakeBeacon(world, 'liar')
    expect((await reborn.sees(invented(0, maxOpenOfBeacon + 2))).refused).toHaveLength(2)
  })

  test('are accepted within a minute after there is room', async () => {
    await liar.sees(invented(0, maxOpenOfBeacon + 1))
    const fewer = invented(1, maxOpenOfBeacon)
    await liar.sees(fewer)
    await world.pass(11_000)
    const answer = await liar.sees(fewer)
    expect(answer.refused).toEqual([])
    expect(await isStored(maxOpenOfBeacon)).toBe(true)
    const refusing = await liar.sees([...fewer, ...invented(500, 1)])
    expect(refusing.refused).toHaveLength(1)
    expect(refusing.paceMs).toBeLessThanOrEqual(60_000)
  })

  test('do not count once another beacon sees them', async () => {
    await liar.sees(invented(0, maxOpenOfBeacon))
    await new FakeBeacon(world, 'witness').sees(invented(0, 30))
    const { refused } = await liar.sees(invented(0, maxOpenOfBeacon + 40))
    expect(refused).toHaveLength(10)
  })

  test('prevent no other beacon from reporting even the refused events', async () => {
    await liar.sees(invented(0, maxOpenOfBeacon + 1))
    const { refused } = await new FakeBeacon(world, 'web_0').sees(invented(maxOpenOfBeacon, 1))
    expect(refused).toEqual([])
    expect(await isStored(maxOpenOfBeacon)).toBe(true)
    // another beacon sees it now, so the first one may report it too
    expect((await liar.sees(invented(0, maxOpenOfBeacon + 1))).refused).toEqual([])
  })

  test('count even if they come as changes that were kept while the network was away', async () => {
    const changes = invented(0, maxOpenOfBeacon + 5).map((one) => ({
      ...{ kind: 'appeared' as const, ageMs: 1_000, firstPoll: false },
      event: one,
    }))
    const { refused } = await liar.sees([], { changes })
    expect(refused).toHaveLength(5)
  })

  test('an event that ended and is back needs room, too', async () => {
    await liar.sees(invented(0, 1))
    await liar.sees([])
    await world.pass(11_000)
    expect((await world.getEvent(idOf(0))).body.phase).toBe('cancelled')
    await liar.sees(invented(1, maxOpenOfBeacon))
    world.clock.now += 1_000
    const { refused } = await liar.sees(invented(0, maxOpenOfBeacon + 1))
    expect(ids(refused)).toEqual([idOf(0)])
    expect((await world.getEvent(idOf(0))).body.phase).toBe('cancelled')
  })
})

describe('open events of a fleet', () => {
  test('end at the limit, and another fleet has its own', async () => {
    for (let i = 0; i < maxOpenOfFleet / maxOpenOfBeacon; i++) {
      const one = new FakeBeacon(world, `liar_${i}`)
      const { refused } = await one.sees(invented(i * maxOpenOfBeacon, maxOpenOfBeacon))
      expect(refused).toEqual([])
    }
    const { refused } = await new FakeBeacon(world, 'web_0').sees(invented(9_000, 2))
    expect(refused).toHaveLength(2)
    expect(refused[0]?.reason).toContain('500')
    const elsewhere = new FakeBeacon(world, 'web_0', { fleet: 'test', key: testKey })
    expect((await elsewhere.sees(invented(9_000, 2))).refused).toEqual([])
    expect(await isStored(9_000, 'test')).toBe(true)
  })
})

describe('the beacons of a fleet', () => {
  /** As if the fleet had so many beacons more than those of the test. Returns how often it was counted. */
  function countMore(invented: number, fleet = 'prod'): () => number {
    const { store } = world
    const count = store.countBeacons.bind(store)
    let calls = 0
    store.countBeacons = async (asked) => {
      calls += 1
      return (await count(asked)) + (asked === fleet ? invented : 0)
    }
    return () => calls
  }
  const beacon = (vm: string, options = {}) => new FakeBeacon(world, vm, options)
  const statusOf = async (one: FakeBeacon) => (await one.post(one.body([event()]))).status

  test('end at the limit: a new one is refused with a reason, and nothing of it is stored', async () => {
    countMore(maxBeaconsOfFleet - 1)
    const known = beacon('web_0')
    expect(await statusOf(known)).toBe(200)
    const late = beacon('web_1')
    const response = await late.post(late.body(invented(7, 1)))
    expect(response.status).toBe(409)
    const { code, detail } = (await response.json()) as { code: string; detail: string }
    expect(code).toBe('too_many_beacons')
    expect(detail).toContain('50000 beacons')
    expect(await isStored(7)).toBe(false)
    expect(await world.store.listBeacons('prod', { limit: 9 })).toHaveLength(1)
    // known ones go on, and so do other fleets
    expect(await statusOf(known)).toBe(200)
    expect(await statusOf(beacon('web_1', { fleet: 'test', key: testKey }))).toBe(200)
  })

  test.runIf(has('problems'))(
    'are accepted again once there is room, and the owners get one alert',
    async () => {
      countMore(maxBeaconsOfFleet)
      for (let i = 0; i < 5; i++) expect(await statusOf(beacon(`web_${i}`))).toBe(409)
      countMore(-1)
      await world.pass(60_000)
      expect(alerts()).toHaveLength(1)
      expect(alerts()[0]?.json.data).toMatchObject({ kind: 'over_limits', fleet: 'prod' })
      expect(await statusOf(beacon('web_0'))).toBe(200)
    },
  )

  test('are not counted for each report of a new one', async () => {
    const counts = countMore(maxBeaconsOfFleet - 20)
    const answers = []
    for (let i = 0; i < 40; i++) answers.push(await statusOf(beacon(`web_${i}`)))
    expect(answers.filter((status) => status === 200)).toHaveLength(20)
    expect(counts()).toBe(1)
  })

  test('take their places also if they report at once', async () => {
    countMore(maxBeaconsOfFleet - 1)
    expect(await statusOf(beacon('web_0'))).toBe(200)
    const others = await Promise.all([1, 2, 3].map((i) => statusOf(beacon(`web_${i}`))))
    expect(others).toEqual([409, 409, 409])
  })

  test('do not make room by a goodbye', async () => {
    countMore(maxBeaconsOfFleet - 1)
    const gone = beacon('web_0')
    await gone.post({ ...gone.body([]), goodbye: 'removed' })
    await world.pass(60_000)
    expect(await statusOf(beacon('web_1'))).toBe(409)
  })
})

test.each(['alert-over_limits', 'drill-1', 'test-1'])(
  'a report with the id "%s", which only the relay makes, is refused',
  async (own) => {
    const response = await liar.post(liar.body([event({ eventId: own })]))
    expect(response.status).toBe(400)
  },
)

describe.runIf(has('problems'))('the alert', () => {
  /** The fleet has no room for one more beacon. */
  async function exceed(by = liar): Promise<void> {
    world.store.countBeacons = async () => maxBeaconsOfFleet
    expect((await by.post(by.body([]))).status).toBe(409)
  }

  test('is not an event that an owner can decide', async () => {
    await exceed()
    const { status } = await world.app.request('/v1/events/prod/alert-over_limits/decision', {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}` },
      body: '{"decision":"approve"}',
    })
    expect(status).toBe(404)
  })

  test('collects for 60 s, then goes to the owners once, as long as the cause lasts', async () => {
    await exceed()
    const other = new FakeBeacon(world, 'liar_2')
    await exceed(other)
    await world.pass(59_000)
    expect(alerts()).toHaveLength(0)
    await world.pass(1_000)
    expect(alerts().map(({ json }) => json.data)).toMatchObject([
      { fleet: 'prod', kind: 'over_limits', episode: 1, vms: ['liar', 'liar_2'] },
    ])
    for (let minutes = 0; minutes < 20; minutes++) {
      await exceed()
      await exceed(other)
      await world.pass(60_000)
    }
    expect(alerts()).toHaveLength(1)
  })

  test('comes again and again, and its messages are kept for `retentionDays`', async () => {
    await startRelay({ owners: ['hook'], retentionDays: 10 })
    liar = new FakeBeacon(world, 'liar')
    const alert = { fleet: 'prod', eventId: 'alert-over_limits' }
    const counts: number[] = []
    for (let episode = 1; episode <= 4; episode++) {
      await exceed()
      await world.pass(60_000)
      for (let minutes = 0; minutes < 20; minutes += 5) await world.pass(5 * 60_000)
      await forgetOld(world.relay)
      counts.push((await world.store.readDeliveries(alert)).length)
      for (let days = 0; days < 5; days++) {
        world.clock.now += 24 * 3_600_000
        await forgetOld(world.relay)
      }
    }
    expect(counts.slice(0, 2)).toEqual([2, 4])
    expect(Math.max(...counts)).toBeLessThanOrEqual(6)
  })

  test('is over after 15 min of quiet, and comes again if the cause begins again', async () => {
    await exceed()
    await world.pass(60_000)
    for (let minutes = 0; minutes < 30; minutes += 10) {
      await exceed()
      await passInSteps(world, 10 * 60_000, 60_000)
    }
    await passInSteps(world, 6 * 60_000, 60_000)
    const said = () => alerts().map(({ json: { data } }) => [data.episode, data.form])
    expect(said()).toEqual([
      [1, 'begun'],
      [1, 'over'],
    ])
    await exceed()
    await world.pass(60_000)
    expect(said()).toEqual([
      [1, 'begun'],
      [1, 'over'],
      [2, 'begun'],
    ])
    expect(new Set(alerts().map(({ headers }) => headers['webhook-id'])).size).toBe(3)
  })

  test('of a cause that begins again before its end was sent goes on', async () => {
    await exceed()
    await world.pass(60_000)
    world.clock.now += 20 * 60_000
    await exceed()
    await passInSteps(world, 14 * 60_000, 60_000)
    expect(alerts()).toHaveLength(1)
    await passInSteps(world, 2 * 60_000, 60_000)
    expect(alerts().map(({ json }) => json.data.form)).toEqual(['begun', 'over'])
  })

  test("is one for each fleet, on that fleet's channels, of any kind", async () => {
    world.store.close()
    const { prod, test: second } = baseConfig.fleets as Record<string, object>
    const config = {
      owners: ['hook'],
      fleets: { prod: { ...prod, owners: ['chat', 'team', 'pager'] }, test: second },
      // no route sends an event to this channel, so only alerts arrive
      routes: [{ match: { eventType: 'Terminate' }, channels: ['hook'] }],
    }
    await startRelay(config)
    liar = new FakeBeacon(world, 'liar')
    const other = new FakeBeacon(world, 'liar', { fleet: 'test', key: testKey })
    await exceed()
    await exceed(other)
    await world.pass(60_000)
    const hosts = world.sent.map(({ url }) => new URL(url).hostname.split('.')[0])
    expect(hosts.sort()).toEqual(['hook', 'pager', 'slack', 'teams'])
    expect(alerts()[0]?.json).toMatchObject({ source: '/fleets/test', data: { fleet: 'test' } })
    const [incident] = sentTo(world, 'pager').map(({ json }) => json)
    expect(incident).toMatchObject({ event_action: 'trigger', payload: { severity: 'warning' } })
    expect(incident.dedup_key).toBe('foghorn/alert/prod/over_limits/1')
  })

  test('is only in the log if there are no owners', async () => {
    world.store.close()
    await startRelay()
    await exceed(new FakeBeacon(world, 'liar'))
    await world.pass(60_000)
    expect(alerts()).toHaveLength(0)
    const logged = world.lines.map((line) => JSON.parse(line))
    expect(logged.filter((line) => line.event === 'problem_begun')).toMatchObject([
      { fleet: 'prod', kind: 'over_limits', names: ['liar'], owners: [] },
    ])
  })

  test.each([
    ['refuses everything', 404, 0],
    ['refuses this message', 400, 0],
    ['cannot be reached', 503, 180_000],
  ])('goes to the fallback of a channel that %s, once', async (_, status, afterMs) => {
    world.store.close()
    const { chat, hook } = baseConfig.channels as Record<string, object>
    const config = {
      owners: ['chat'],
      channels: { chat: { ...chat, fallback: 'hook' }, hook },
      routes: [{ match: { eventType: 'Terminate' }, channels: ['hook'] }],
    }
    await startRelay(config)
    answer(world, 'slack', () => new Response('no', { status }))
    await exceed(new FakeBeacon(world, 'liar'))
    await world.pass(60_000)
    await passInSteps(world, afterMs + 1_000, 1_000)
    expect(alerts()).toHaveLength(1)
    await passInSteps(world, 300_000, 10_000)
    expect(alerts()).toHaveLength(1)
  })

  test('is not an event: no list shows it, it has no page, and it is forgotten', async () => {
    await exceed()
    await world.pass(60_000)
    const key = { fleet: 'prod', eventId: 'alert-over_limits' }
    expect(await world.store.readDeliveries(key)).toHaveLength(1)
    const headers = { authorization: `Bearer ${adminKey}` }
    const list = await (await world.app.request('/v1/events?limit=200', { headers })).text()
    expect(list).not.toContain('alert-')
    expect((await world.getEvent(key.eventId)).status).toBe(404)
    await world.store.forget(world.clock.now + 1, 100)
    expect(await world.store.readDeliveries(key)).toEqual([])
  })
})

test('the largest event about which people can decide is reported, approved and started', async () => {
  const names = bigNames()
  const small = { description: 'short' }
  const beacon = new FakeBeacon(world, names[0]!)
  const seen = event({ resources: names, notBeforeAt: startAt + 600_000, ...small })
  expect((await beacon.sees([seen])).refused).toEqual([])
  await world.drain()
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ decision: 'approve' })
  const path = `/v1/events/prod/${seen.eventId}/decision`
  const decided = await world.app.request(path, { method: 'POST', headers, body })
  expect(decided.status).toBe(200)
  const { directives } = await beacon.sees([seen])
  expect(directives[0]?.resources).toEqual([...names].sort())
})

test('if an event changes without end, people get a bounded number of messages', async () => {
  for (let i = 0; i < 70; i++) {
    await liar.sees([event({ notBeforeAt: startAt + 600_000 + i * 60_000 })])
    await world.pass(1_000)
  }
  const told = world.told().filter((type) => type === 'foghorn.event.changed')
  expect(told).toHaveLength(50)
  const { body } = await world.getEvent(event().eventId)
  expect(Date.parse(body.notBefore)).toBe(startAt + 600_000 + 69 * 60_000)
})
