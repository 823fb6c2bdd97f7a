// The relay's alerts about itself: once when a trouble begins, once when it is over.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { noFleet } from '../../functions/core/delivery/delivery.ts'
import { createOwnWatch } from '../../functions/use-cases/own-troubles.ts'
import { answer, gone, sentTo } from '../support/deliveries.ts'
import { beacon, minute, report, startRelay, world } from '../support/relay.ts'
import { event, usualAnswer } from '../support/world.ts'

const gb = 1_000_000_000
let freeBytes = 0
let monotonic = 0
let check: () => Promise<void>

/** As a process that starts: it remembers nothing. */
function start(): void {
  check = createOwnWatch(world.relay, {
    disk: async () => ({ freeBytes, totalBytes: 20 * gb }),
    clocks: () => ({ wall: world.clock.now, monotonic }),
  })
}

beforeEach(async () => {
  const routes = [{ match: {}, channels: ['chat', 'hook'] }]
  await startRelay({ owners: ['hook', 'pager'], routes })
  freeBytes = 10 * gb
  monotonic = 0
  start()
})
afterEach(() => world.store.close())

async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 5 * minute) {
    monotonic += 5 * minute
    await world.pass(5 * minute)
    await check()
    await world.drain()
  }
}

const said = (kind: string) =>
  sentTo(world, 'hook')
    .filter(({ json }) => json.type === `foghorn.alert.${kind}`)
    .map(({ json }) => `${json.data.form}: ${json.data.title}`)

const incidents = (kind: string) =>
  sentTo(world, 'pager')
    .filter(({ json }) => json.dedup_key.includes(`/${kind}/`))
    .map(({ json }) => json.event_action)

test('a disk that fills up, and has space again after a restart', async () => {
  await pass(10 * minute)
  freeBytes = 1.9 * gb
  await pass(60 * minute)
  freeBytes = 1 * gb
  start()
  await pass(60 * minute)
  const begun = "begun: The relay's disk is nearly full: 1.9 GB of 20.0 GB are free"
  expect(said('disk_nearly_full')).toEqual([begun])
  expect(sentTo(world, 'hook')[0]!.json.data).not.toHaveProperty('fleet')
  start()
  freeBytes = 5 * gb
  await pass(60 * minute)
  expect(said('disk_nearly_full')).toEqual([
    begun,
    "over: The relay's disk has space again: 5.0 GB of 20.0 GB are free",
  ])
  expect(incidents('disk_nearly_full')).toEqual(['trigger', 'resolve'])
})

test('a clock that is set back, though an earlier alert is then in the future', async () => {
  const jump = async (ms: number) => {
    world.clock.now += ms
    await pass(60 * minute)
  }
  await jump(3 * 60 * minute)
  await jump(-24 * 60 * minute)
  expect(said('clock_jumped')).toEqual([
    "begun: The relay's clock jumped: 3 h forward",
    "over: The relay's clock has been steady for 15 min",
    "begun: The relay's clock jumped: 24 h back",
    "over: The relay's clock has been steady for 15 min",
  ])
})

test('a backlog, until it is sent', async () => {
  await beacon.sees(Array.from({ length: 25 }, (_, i) => event({ eventId: `e-${i}` })))
  for (let checks = 0; checks < 2; checks++) {
    world.clock.now += 5 * minute
    monotonic += 5 * minute
    await check()
  }
  await world.pass(minute)
  const begun = 'begun: Messages pile up: 50 messages wait, the oldest for 10 min'
  expect(said('backlog_grows')).toEqual([begun])
  await pass(60 * minute)
  expect(said('backlog_grows')).toEqual([begun, 'over: Messages no longer pile up'])
})

test('a channel in trouble without a fallback, until it takes messages again', async () => {
  answer(world, 'slack', gone)
  await report(event())
  await pass(30 * minute)
  expect(said('channels_in_trouble')).toEqual(['begun: Channel in trouble: chat'])
  const alert = sentTo(world, 'hook').find(({ json }) => json.type.startsWith('foghorn.alert'))!
  expect(alert.json.data.lines[0]).toBe('chat is refusing: HTTP 404: no_service.')
  world.channels.answer = usualAnswer
  await report(event({ resources: ['web_0', 'web_1'] }))
  await pass(30 * minute)
  expect(said('channels_in_trouble')).toEqual([
    'begun: Channel in trouble: chat',
    'over: Channel chat works again',
  ])
  expect(world.lines.filter((line) => line.includes('"relay_troubled"'))).toHaveLength(1)
  expect(world.lines.filter((line) => line.includes('"relay_recovered"'))).toHaveLength(1)
})

test('what cannot be checked is logged, and hinders no other check', async () => {
  check = createOwnWatch(world.relay, {
    disk: async () => Promise.reject(new Error('no such folder')),
    clocks: () => ({ wall: world.clock.now, monotonic: 0 }),
  })
  world.clock.now += 60 * minute
  await check()
  await world.pass(minute)
  expect(said('clock_jumped')).toHaveLength(1)
  expect(world.lines.join()).toContain('"own_check_failed"')
  const alert = `/v1/events/${noFleet}/alert-clock_jumped`
  expect((await world.app.request(alert)).status).toBe(401)
})
