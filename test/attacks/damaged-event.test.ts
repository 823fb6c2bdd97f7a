// One row or entry is damaged, and what is about others goes on: Azure's list, a batch of Event Grid, new channels,
// messages, slots, silent beacons, and what the relay forgets.
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { readConfig } from '../../functions/config/config.ts'
import { unlimited } from '../../functions/core/delivery/rate.ts'
import { forgetOld } from '../../functions/use-cases/forget.ts'
import { rerouteOpen } from '../../functions/use-cases/reroute.ts'
import { cloudEvent } from '../simulator/event-grid.ts'
import { list, publication, send, startWithAzure } from '../support/azure.ts'
import { sentTo } from '../support/deliveries.ts'
import { newFolder } from '../support/folder.ts'
import { hour, minute, report, startRelay, world } from '../support/relay.ts'
import { askApi } from '../support/tokens.ts'
import { adminKey, baseConfig, event, eventId, FakeBeacon, usualAnswer } from '../support/world.ts'

afterEach(() => world.store.close())

const pacingNow = () => ({
  now: world.clock.now,
  rateOf: () => unlimited,
  roomOf: () => Number.POSITIVE_INFINITY,
})

test('an event whose row is damaged keeps no other of the list or of a batch from its own', async () => {
  const otherId = 'b7061bac-afdc-4513-b24b-aa5f13a16123'
  await startWithAzure()
  const [own, other] = [publication(), publication({ eventId: otherId, vms: ['web_1'] })]
  list(own)
  await world.pass(minute)
  const partition = `event|prod|${eventId}`
  world.store.alter("UPDATE rows SET body = '{}' WHERE partition = ? AND row = 'event'", partition)
  list(own, other)
  await world.pass(61 * minute)
  expect(await world.store.readEvent({ fleet: 'prod', eventId: otherId })).toBeDefined()
  expect((await send([cloudEvent(own), cloudEvent(other)])).status).toBe(204)
})

test('an event whose message is damaged keeps no other from its new channels', async () => {
  const hook = { kind: 'webhook', secret: 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0' }
  const routed = (name: string) => ({
    channels: { [name]: { ...hook, url: `https://${name}.example/hook` } },
    routes: [{ match: {}, channels: [name] }],
  })
  const restart = async (name: string) => {
    world.relay.config = readConfig(JSON.stringify({ ...baseConfig, ...routed(name) }), {})
    await rerouteOpen(world.relay)
    await world.drain()
  }
  await startRelay(routed('one'))
  await restart('one')
  await report(event(), event({ eventId: 'other', resources: ['web_1'] }))
  const partition = `event|prod|${eventId}`
  world.store.alter(
    "UPDATE rows SET body = 'x' WHERE partition = ? AND row LIKE 'moment|%'",
    partition,
  )
  await restart('two')
  const others = world.sent.filter(({ body }) => body.includes('"other"'))
  expect(others.map(({ url }) => new URL(url).hostname)).toContain('two.example')
})

const idOf = (n: number) => `c7061bac-afdc-4513-b24b-${String(n).padStart(12, '0')}`
const damageEvent = (id: string) =>
  world.store.alter(
    "UPDATE rows SET body = '{}' WHERE row = 'event' AND partition = ?",
    `event|prod|${id}`,
  )

test('a pending message whose entry has no time any more goes out, and holds up no other', async () => {
  await startRelay()
  world.channels.answer = () => new Response('', { status: 503 })
  await report(event())
  world.store.alter("UPDATE entries SET key = replace(key, '|000', '|0 0') WHERE name = 'pending'")
  world.channels.answer = usualAnswer
  await report(event(), event({ eventId: 'other', resources: ['web_1'] }))
  await world.pass(hour)
  expect(await world.store.nextDueAt(pacingNow())).not.toBeNaN()
  const told = (id: string) => sentTo(world, 'hook').filter(({ body }) => body.includes(id))
  expect([told(eventId).length, told('other').length].every((n) => n > 0)).toBe(true)
})

test('an event whose entry has no time any more is due all the same', async () => {
  await startRelay()
  await report(event())
  world.store.alter("UPDATE entries SET key = replace(key, '000', '0 0') WHERE name = 'due'")
  expect(await world.store.nextDueAt(pacingNow())).toBeGreaterThan(world.clock.now)
})

test('the slot of a damaged event stays taken, and who waits for it is reported and told all the same', async () => {
  const policy = [{ match: {}, decide: 'approve', whenReady: true, maxConcurrent: 1 }]
  await startRelay({ policy })
  const vm = { scaleSet: 'web' }
  const [first, second] = ['web_0', 'web_1'].map((name) => new FakeBeacon(world, name, { vm }))
  const notBeforeAt = world.clock.now + 9 * minute
  const shown = (n: number) => event({ eventId: idOf(n), resources: [`web_${n}`], notBeforeAt })
  for (const [i, own] of [first!, second!].entries()) {
    for (let n = 0; n < 2; n++) {
      await own.runs([shown(i)], 'planned')
      await world.pass(10)
    }
  }
  const readSlot = async (n: number) =>
    (await world.store.readEvent({ fleet: 'prod', eventId: idOf(n) }))?.wait.slot?.state
  expect([await readSlot(0), await readSlot(1)]).toEqual(['held', 'waits'])
  damageEvent(idOf(0))
  await world.pass(6_000)
  expect((await second!.runs([shown(1)], 'planned')).refused).toEqual([])
  expect(await readSlot(1)).toBe('waits')
  const failed = world.lines.filter((line) => line.includes('conclusion_failed'))
  expect(failed.filter((line) => line.includes(idOf(1)))).toEqual([])
})

test('a silent beacon that saw a damaged event does not keep others from being called silent', async () => {
  await startRelay({ owners: ['hook'] })
  world.relay.host.heartbeats = { paceMs: 5 * minute }
  await new FakeBeacon(world, 'web_0').sees([event({ notBeforeAt: world.clock.now + 6 * hour })])
  await new FakeBeacon(world, 'db_0').sees([])
  damageEvent(eventId)
  for (let i = 0; i < 60; i++) await world.pass(minute)
  const alerts = sentTo(world, 'hook').filter(
    ({ json }) => json.type === 'foghorn.alert.beacons_silent',
  )
  expect(alerts.flatMap(({ json }) => json.data.vms)).toContain('db_0')
})

test('what ended long ago is forgotten beside a damaged event', async () => {
  await startRelay()
  await report(event(), event({ eventId: 'other', resources: ['web_1'] }))
  await report()
  await world.pass(minute)
  damageEvent(eventId)
  world.clock.now += 400 * 24 * hour
  await forgetOld(world.relay)
  expect(await world.store.readEvent({ fleet: 'prod', eventId: 'other' })).toBeUndefined()
})

test('counts go on after the clock was a month ahead, and was set back', async () => {
  const path = join(newFolder('counts'), 'foghorn.sqlite')
  await startRelay({}, { path })
  const far = world.clock.now
  const shown = (n: number) =>
    event({ eventId: idOf(n), resources: [`web_${n}`], notBeforeAt: far + 99 * 24 * hour })
  const countEvents = async () => {
    const text = await (await askApi(world, adminKey, '/metrics')).text()
    return [...text.matchAll(/^foghorn_events\{.* (\d+)$/gm)].reduce(
      (sum, [, n]) => sum + Number(n),
      0,
    )
  }
  await report(shown(0))
  world.clock.now += 30 * 24 * hour
  await report(shown(0), shown(1))
  expect(await countEvents()).toBe(2)
  world.store.close()
  await startRelay({}, { path })
  world.clock.now += hour
  await countEvents()
  world.clock.now += minute
  await new FakeBeacon(world, 'web_2').sees([shown(2)])
  world.clock.now += hour
  expect(await countEvents()).toBe(3)
})
