// What a token that is bound to fleets reaches: no network of the owner's, no answer of an endpoint, and
// no subscription of others.
import { beforeEach, expect, test } from 'vitest'
import { report, startRelay, world } from '../../support/relay.ts'
import { ask, endpoint, endpointAnswers, subscribe } from '../../support/subscriptions.ts'
import { askApi, makeToken } from '../../support/tokens.ts'
import { adminKey, event } from '../../support/world.ts'

let key: string

async function begin(config: object = {}): Promise<void> {
  await startRelay({ allowNetworks: ['10.0.0.0/8'], ...config })
  key = (await makeToken(world, { scopes: ['manage'], fleets: ['prod'] })).token
}

beforeEach(() => begin())

const inside = 'https://10.1.2.3/in'
const make = (url: string, by: string) => ask(world, '', 'POST', { url }, by)

test('its subscriptions reach public addresses only, unless tokenNetworks says otherwise', async () => {
  expect((await make(inside, adminKey)).status).toBe(201)
  expect((await make(inside, key)).body).toMatchObject({ code: 'address_refused' })
  const { id } = (await make(endpoint, key)).body
  const moved = await ask(world, `/${id}`, 'PATCH', { url: inside }, adminKey)
  expect(moved.body).toMatchObject({ code: 'address_refused' })
  await begin({ allowNetworks: [], tokenNetworks: ['10.0.0.0/8'] })
  expect((await make(inside, key)).status).toBe(201)
  expect((await make(inside, adminKey)).body).toMatchObject({ code: 'address_refused' })
})

test('its subscriptions are sent by the way that checks each connection by these networks', async () => {
  const urls: string[] = []
  const { send } = world.relay.sending
  world.relay.sending.sendForBound = (url, init) => {
    urls.push(url)
    return send(url, init)
  }
  await subscribe(world, {}, key)
  await subscribe(world, { url: 'https://other.example/in' }, adminKey)
  expect(urls).toEqual([endpoint])
})

test('only the admin key reads what an endpoint answered', async () => {
  endpointAnswers(world, () => new Response('internal words', { status: 404 }))
  const { id } = await subscribe(world, {}, key)
  const answerFor = async (by: string) =>
    (await ask(world, `/${id}/deliveries`, 'GET', undefined, by)).body.deliveries[0].answer
  expect(await answerFor(key)).toMatchObject({ status: 404 })
  expect(await answerFor(key)).not.toHaveProperty('text')
  expect(await answerFor(adminKey)).toMatchObject({ text: 'internal words' })
})

test('a replay by the name of a channel reaches no subscription', async () => {
  endpointAnswers(world, () => new Response('', { status: 200 }))
  const { id } = await subscribe(world)
  endpointAnswers(world, () => new Response('', { status: 410 }))
  await report(event())
  for (const by of [key, adminKey]) {
    const body = { since: '2026-01-01T00:00:00Z', channel: `subscription:${id}` }
    const answer = await askApi(world, by, '/v1/deliveries/replay', { method: 'POST', body })
    expect(answer.status).toBe(400)
  }
})
