// A subscription on Azure Tables: the same life as on SQLite.
import { expect, test } from 'vitest'
import { Table } from '../../sim/table.ts'
import { storeOn } from '../../support/azure-store.ts'
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

test('consents, hears, misses while it is paused, and gets that by a replay', async () => {
  await startRelay()
  world.store.close()
  world.relay.store = storeOn(new Table().plain())
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
