// `/v1/azure/events`: the handshakes of Azure Event Grid, and what it may send.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { cloudEvent, gridEvent } from '../../simulator/event-grid.ts'
import { publication, send, startWithAzure } from '../../support/azure.ts'
import { moments, world } from '../../support/relay.ts'
import { askApi, makeToken } from '../../support/tokens.ts'
import { adminKey, prodKey, testKey } from '../../support/world.ts'

const path = '/v1/azure/events'
const other = '2e2e2e2e-0000-4000-8000-000000000002'

beforeEach(() => startWithAzure())
afterEach(() => world.store.close())

test('the handshake of CloudEvents', async () => {
  const headers = { 'webhook-request-origin': 'eventgrid.azure.net' }
  const answer = await world.app.request(path, { method: 'OPTIONS', headers })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('webhook-allowed-origin')).toBe('eventgrid.azure.net')
  expect(answer.headers.get('webhook-allowed-rate')).toBe('*')
})

const code = '512d38b6-c7b8-40c8-89fe-f46f9e9622b6'
const validation = [
  {
    ...{ id: '1', topic: '/subscriptions/s', subject: '', eventTime: '2026-11-21T12:00:00Z' },
    eventType: 'Microsoft.EventGrid.SubscriptionValidationEvent',
    data: { validationCode: code, validationUrl: 'https://eventgrid.example/validate' },
  },
]

test('the handshake of the schema of Event Grid needs no token, and nothing else goes that way', async () => {
  const headers = { authorization: '', 'aeg-event-type': 'SubscriptionValidation' }
  const answer = await send(validation, headers)
  expect(answer.status).toBe(200)
  expect(await answer.json()).toEqual({ validationResponse: code })
  expect((await send([gridEvent(publication())], headers)).status).toBe(400)
  expect((await send(validation, { authorization: '' })).status).toBe(401)
  expect(moments()).toEqual([])
})

test.each([
  ['one CloudEvent', () => cloudEvent(publication())],
  ['a batch of CloudEvents', () => [cloudEvent(publication()), cloudEvent(publication())]],
  ['the schema of Event Grid', () => [gridEvent(publication())]],
  ['one that is about something else beside it', () => [gridEvent(publication()), elsewhere()]],
  ['one that cannot be read beside it', () => [{ id: 'x' }, gridEvent(publication())]],
])('%s', async (_, body) => {
  expect((await send(body())).status).toBe(204)
  await world.drain()
  expect(moments()).toEqual(['scheduled'])
})

function elsewhere() {
  const one = gridEvent(publication())
  const resourceInfo = { ...one.data.resourceInfo, type: 'Microsoft.Maintenance/other' }
  return { ...one, data: { ...one.data, resourceInfo } }
}

test('what cannot be read is refused, so that Azure keeps it as a dead letter', async () => {
  const answer = await send([{ id: 'x' }])
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({ code: 'azure_event_malformed' })
})

test.each([
  ['subscription', { subscription: 'a'.repeat(100_000) }],
  ['name', { resource: `virtualMachineScaleSets/${'a'.repeat(400_000)}` }],
])('a path whose %s is longer than any of Azure is no path', async (_, more) => {
  const answer = await send(cloudEvent(publication(more)))
  expect(await answer.json()).toMatchObject({ status: 400, code: 'azure_event_malformed' })
  expect(world.lines.join('').length).toBeLessThan(10_000)
})

test('a token without the scope, and a subscription that is not configured', async () => {
  const { token } = await makeToken(world, { scopes: ['manage'] })
  const unable = await send(cloudEvent(publication()), { authorization: `Bearer ${token}` })
  expect(await unable.json()).toMatchObject({ status: 403, code: 'scope_missing' })
  const foreign = await send(cloudEvent(publication({ subscription: other })))
  expect(await foreign.json()).toMatchObject({
    ...{ status: 403, code: 'azure_subscription_unknown' },
    detail: expect.stringContaining(other),
  })
})

test('in a batch, one of an unknown subscription keeps out no other', async () => {
  const batch = [cloudEvent(publication({ subscription: other })), cloudEvent(publication())]
  expect((await send(batch)).status).toBe(204)
  expect((await world.getEvent(publication().eventId)).status).toBe(200)
  const line = world.lines.find((one) => one.includes('azure_events_homeless'))
  expect(JSON.parse(line!)).toMatchObject({ level: 'warn', count: 1, subscriptions: [other] })
})

test('with several fleets, the fleet that names the subscription, and only a token that sees it', async () => {
  const azure = { subscriptions: [publication().subscription, other] }
  const fleets = {
    prod: { key: prodKey, azureSubscriptions: [publication().subscription] },
    test: { key: testKey, azureSubscriptions: [other] },
  }
  await startWithAzure({}, { azure, fleets })
  expect((await send(cloudEvent(publication({ subscription: other })))).status).toBe(204)
  const { eventId } = publication()
  expect((await world.getEvent(eventId, 'prod')).status).toBe(404)
  expect((await world.getEvent(eventId, 'test')).status).toBe(200)
  const { token } = await makeToken(world, { name: 'p', scopes: ['report'], fleets: ['prod'] })
  const headers = { authorization: `Bearer ${token}` }
  const unseen = await send(cloudEvent(publication({ subscription: other })), headers)
  expect(await unseen.json()).toMatchObject({ code: 'azure_subscription_unknown' })
})

test('a token of one fleet sees no subscription that belongs to another fleet, or to none', async () => {
  const third = '99999999-0000-4000-8000-000000000000'
  const own = publication().subscription
  const fleets = {
    prod: { key: prodKey, azureSubscriptions: [own] },
    test: { key: testKey, azureSubscriptions: [other] },
  }
  await startWithAzure({}, { azure: { subscriptions: [own, other, third] }, fleets })
  const seenBy = async (key: string) => {
    const { subscriptions } = (await (await askApi(world, key, '/v1/azure')).json()) as {
      subscriptions: { subscriptionId: string }[]
    }
    return subscriptions.map(({ subscriptionId }) => subscriptionId)
  }
  const { token } = await makeToken(world, { scopes: ['read'], fleets: ['prod'] })
  expect(await seenBy(token)).toEqual([own])
  expect(await seenBy(adminKey)).toEqual([own, other, third])
})
