// A subscription on Azure Tables: the same life as on SQLite.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newRows, storeOn } from '../../support/azure-store.ts'
import { type Azurite, startAzurite } from '../../support/azurite.ts'
import { minute, report, startRelay, world } from '../../support/relay.ts'
import {
  ask,
  endpointAnswers,
  happen,
  heardBy,
  stateOf,
  subscribe,
} from '../../support/subscriptions.ts'
import { event, started } from '../../support/world.ts'

let azurite: Azurite
beforeAll(async () => {
  azurite = await startAzurite()
})
afterAll(() => azurite.stop())

test('consents, hears, misses while it is paused, and gets that by a replay', async () => {
  await startRelay()
  world.store.close()
  world.relay.store = storeOn(newRows(azurite))
  const { id } = await subscribe(world)
  expect(await stateOf(world, id)).toBe('active')
  await report(event())
  await ask(world, `/${id}/pause`, 'POST')
  world.clock.now += minute
  const since = new Date(world.clock.now).toISOString()
  await report(started())
  expect(heardBy(world)).toEqual(['foghorn.ping', 'scheduled'])
  await ask(world, `/${id}/resume`, 'POST')
  expect((await ask(world, `/${id}/replay`, 'POST', { since })).body).toEqual({ replayed: 1 })
  await world.drain()
  expect(heardBy(world)).toEqual(['foghorn.ping', 'scheduled', 'started'])
  endpointAnswers(world, () => new Response('gone', { status: 410 }))
  await happen(world, 25)
  await world.drain()
  expect(await stateOf(world, id)).toBe('disabled')
  const { deliveries, cursor } = (await ask(world, `/${id}/deliveries?limit=10`)).body
  const rest = (await ask(world, `/${id}/deliveries?limit=200&cursor=${cursor}`)).body.deliveries
  const all = [...deliveries, ...rest]
  expect(all).toHaveLength(3 + 25)
  expect(new Set(all.map((one: { id: string }) => one.id)).size).toBe(28)
  expect(all.find(({ answer }) => answer?.status === 410)).toMatchObject({ state: 'refused' })
})
