// `GET /metrics` of a real relay: what the series say, who sees which of them, and that nothing from
// outside becomes a label.
import { describe, expect, test } from 'vitest'
import { createParts } from '../../../functions/app.ts'
import { eventCount } from '../../../functions/core/counts.ts'
import { fleetHeader, reportPath } from '../../../shared/report.ts'
import { answer, gone } from '../../support/deliveries.ts'
import { has } from '../../support/features.ts'
import { beacon, minute, report, second, startRelay, world } from '../../support/relay.ts'
import { askApi, makeToken } from '../../support/tokens.ts'
import { adminKey, event, FakeBeacon, prodKey, started } from '../../support/world.ts'

const channels = {
  'prod-chat': { kind: 'slack', url: 'https://slack.example/services/T0/B0/slack-secret' },
  'test-chat': { kind: 'slack', url: 'https://slack.example/services/T0/B1/slack-secret' },
}
const routes = [
  { match: { fleet: 'prod' }, channels: ['prod-chat'] },
  { match: { fleet: 'test' }, channels: ['test-chat'] },
]

/** The samples by series, after the shared answer is outdated. */
async function scrape(key = adminKey): Promise<Record<string, number>> {
  world.clock.now += 5 * second
  return read(key)
}

async function read(key = adminKey): Promise<Record<string, number>> {
  const response = await askApi(world, key, '/metrics')
  expect(response.status).toBe(200)
  const lines = (await response.text()).split('\n').filter((line) => !/^#|^$/.test(line))
  const samples = lines.map((line) => {
    const [, series, value] = /^(\S+?(?:\{.*\})?) (\S+)$/.exec(line)!
    return [series!, Number(value)] as const
  })
  expect(new Set(samples.map(([series]) => series)).size).toBe(samples.length)
  return Object.fromEntries(samples)
}

describe('what the metrics say', () => {
  test('the life of an event', async () => {
    await startRelay({ channels, routes })
    const before = await scrape()
    expect(before['foghorn_undecided_events{fleet="prod"}']).toBe(0)
    expect(before).not.toHaveProperty('foghorn_nearest_deadline_seconds{fleet="prod"}')
    const notBeforeAt = world.clock.now + 15 * minute
    await report(event({ notBeforeAt }))
    const asked = await scrape()
    expect(asked).toMatchObject({
      'foghorn_events{fleet="prod",type="Reboot",phase="scheduled"}': 1,
      'foghorn_undecided_events{fleet="prod"}': 1,
      'foghorn_undecided_events{fleet="test"}': 0,
      'foghorn_nearest_deadline_seconds{fleet="prod"}': 15 * 60 - 5,
      'foghorn_deliveries{channel="prod-chat",state="delivered"}': 1,
      'foghorn_deliveries{channel="test-chat",state="delivered"}': 0,
      'foghorn_oldest_pending_delivery_seconds{channel="prod-chat"}': 0,
      'foghorn_first_message_seconds_bucket{fleet="prod",le="1"}': 1,
      'foghorn_first_message_seconds_bucket{fleet="prod",le="+Inf"}': 1,
      'foghorn_first_message_seconds_count{fleet="prod"}': 1,
      'foghorn_reports_total{fleet="prod",outcome="accepted"}': 1,
      foghorn_counts_age_seconds: 0,
    })
    await report(started())
    const running = await scrape()
    expect(running['foghorn_events{fleet="prod",type="Reboot",phase="started"}']).toBe(1)
    expect(running).not.toHaveProperty(
      'foghorn_events{fleet="prod",type="Reboot",phase="scheduled"}',
    )
    expect(running['foghorn_undecided_events{fleet="prod"}']).toBe(0)
  })

  test('a channel that refuses', async () => {
    await startRelay({ channels, routes })
    answer(world, 'slack', gone)
    await report(event())
    expect(await scrape()).toMatchObject({
      'foghorn_channel_health{channel="prod-chat",state="ok"}': 0,
      'foghorn_channel_health{channel="prod-chat",state="refusing"}': 1,
      'foghorn_channel_health{channel="test-chat",state="ok"}': 1,
      'foghorn_deliveries{channel="prod-chat",state="refused"}': 1,
    })
  })

  test('a channel that does not answer', async () => {
    await startRelay({ channels, routes })
    answer(world, 'slack', () => new Response('', { status: 503 }))
    await report(event())
    await world.pass(3 * minute)
    const found = await scrape()
    expect(found['foghorn_deliveries{channel="prod-chat",state="pending"}']).toBe(1)
    const oldest = 'foghorn_oldest_pending_delivery_seconds{channel="prod-chat"}'
    expect(found[oldest]).toBe(185)
  })

  test.runIf(has('silence'))('beacons: heard, silent, and expected', async () => {
    const fleets = { prod: { key: prodKey, expectedBeacons: ['web_0', 'WEB_0', 'web_9'] } }
    await startRelay({ fleets, channels, routes: routes.slice(0, 1) })
    await report()
    expect(await scrape()).toMatchObject({
      'foghorn_beacons{fleet="prod",state="heard",version="other"}': 1,
      'foghorn_expected_beacons{fleet="prod"}': 2,
    })
    await world.pass(60 * minute)
    const found = await scrape()
    expect(found['foghorn_beacons{fleet="prod",state="silent",version="other"}']).toBe(1)
  })

  test('refused reports, also of strangers', async () => {
    await startRelay({ channels, routes })
    await beacon.post('no report')
    await new FakeBeacon(world, 'web_0', { key: prodKey, fleet: 'test' }).post('{}')
    await new FakeBeacon(world, 'web_0', { fleet: '__proto__' }).post('{}')
    expect(await scrape()).toMatchObject({
      'foghorn_reports_total{fleet="prod",outcome="refused"}': 1,
      'foghorn_reports_total{fleet="test",outcome="refused"}': 1,
      'foghorn_reports_total{fleet="other",outcome="refused"}': 1,
    })
  })
})

describe('who sees what', () => {
  test('nothing without a key, or with a token that may not read', async () => {
    await startRelay()
    expect((await world.app.request('/metrics')).status).toBe(401)
    expect((await askApi(world, 'wrong', '/metrics')).status).toBe(401)
    const { token } = await makeToken(world, {})
    expect((await askApi(world, token, '/metrics')).status).toBe(200)
  })

  test('a token that is bound to a fleet sees nothing of others', async () => {
    await startRelay({ channels, routes })
    await report(event())
    const { token } = await makeToken(world, { fleets: ['test'] })
    const response = await askApi(world, token, '/metrics')
    const text = await response.text()
    expect(text).toContain('fleet="test"')
    expect(text).toContain('channel="test-chat"')
    expect(text.replaceAll(/^#.*$/gm, '')).not.toMatch(/prod|other|Reboot/)
    const own = await read((await makeToken(world, { fleets: ['prod'] })).token)
    expect(own['foghorn_events{fleet="prod",type="Reboot",phase="scheduled"}']).toBe(1)
    expect(own['foghorn_deliveries{channel="prod-chat",state="delivered"}']).toBe(1)
  })
})

test('an answer is shared for 5 s', async () => {
  await startRelay({ channels, routes })
  await scrape()
  await report(event())
  expect((await read())['foghorn_undecided_events{fleet="prod"}']).toBe(0)
  world.clock.now += 4_999
  expect((await read())['foghorn_undecided_events{fleet="prod"}']).toBe(0)
  world.clock.now += 1
  expect((await read())['foghorn_undecided_events{fleet="prod"}']).toBe(1)
})

test('a failure of the store is not shared', async () => {
  await startRelay()
  const { readCounts } = world.store
  world.store.readCounts = async () => {
    throw new Error('the disk is away')
  }
  expect((await askApi(world, adminKey, '/metrics')).status).toBe(500)
  world.store.readCounts = readCounts
  expect((await askApi(world, adminKey, '/metrics')).status).toBe(200)
})

test('names from outside are no labels', async () => {
  await startRelay({ channels, routes })
  for (let i = 0; i < 30; i++) {
    const one = new FakeBeacon(world, `vm-${i}"\n`)
    const body = one.body([event({ eventId: `e${i}`, eventType: `Meteor ${i}"}` })])
    await one.post({ ...body, beacon: { ...body.beacon, version: `0.1.${i}` } })
  }
  const found = await scrape()
  expect(found['foghorn_events{fleet="prod",type="other",phase="scheduled"}']).toBe(30)
  const beacons = Object.keys(found).filter((series) => series.startsWith('foghorn_beacons'))
  expect(beacons.length).toBeLessThanOrEqual(11)
  expect(Object.keys(found).join('')).not.toMatch(/vm-|Meteor/)
})

test('a fleet and a channel that left the configuration count as other', async () => {
  await startRelay({ channels, routes })
  await report(event())
  const [{ fleets }, { channels: all }] = [world.relay.config, world.relay.config]
  delete fleets.prod
  delete all['prod-chat']
  expect(await scrape()).toMatchObject({
    'foghorn_events{fleet="other",type="Reboot",phase="scheduled"}': 1,
    'foghorn_deliveries{channel="other",state="delivered"}': 1,
  })
})

test('a lost event counts as lost, whatever its phase was', () => {
  const ended = { at: 1, outcome: 'lost' as const }
  const facts = { eventType: 'Reboot' }
  const record = { fleet: 'prod', phase: 'started', facts, ended } as never
  expect(eventCount(record)).toMatchObject({ name: 'Reboot', state: 'lost' })
})

test('a report past the routes counts as one through them', async () => {
  await startRelay({ channels, routes })
  const headers: Record<string, string> = { [fleetHeader]: 'prod' }
  const direct = createParts(world.relay)
  await direct.answerReport({ header: (name) => headers[name], text: '{' })
  const routed = createParts({ ...world.relay })
  await routed.app.request(reportPath, { method: 'POST', body: '{', headers })
  for (const { app } of [direct, routed]) {
    const answer = await app.request('/metrics', {
      headers: { authorization: `Bearer ${adminKey}` },
    })
    const series = 'foghorn_reports_total{fleet="prod",outcome="refused"} 1'
    expect(await answer.text()).toContain(series)
  }
})

test('a holder of the key invents versions of beacons: fifty are counted by name, and all beacons', async () => {
  await startRelay({ channels, routes })
  for (let n = 0; n < 60; n++) {
    await new FakeBeacon(world, `vm_${n}`, { version: `${n}-${'x'.repeat(100)}` }).sees([])
  }
  const { counts } = await world.store.readCounts({ now: world.clock.now, fleets: ['prod'] })
  const beacons = counts.filter(({ what }) => what === 'beacon')
  expect(beacons).toHaveLength(51)
  expect(beacons.reduce((sum, { n }) => sum + n, 0)).toBe(60)
  expect(Math.max(...beacons.map(({ name }) => name.length))).toBe(64)
})
