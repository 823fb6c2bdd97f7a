// One row of one event is damaged, and other events go on: Azure's list, a batch of Event Grid, new channels.
import { afterEach, expect, test } from 'vitest'
import { readConfig } from '../../functions/config/config.ts'
import { rerouteOpen } from '../../functions/use-cases/reroute.ts'
import { cloudEvent } from '../simulator/event-grid.ts'
import { list, publication, send, startWithAzure } from '../support/azure.ts'
import { minute, report, startRelay, world } from '../support/relay.ts'
import { baseConfig, event, eventId } from '../support/world.ts'

afterEach(() => world.store.close())

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
