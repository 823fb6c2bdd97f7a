// A test of a subscription: its endpoint gets a whole message about an event that does not exist.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { moments } from '../../../functions/core/event/moment.ts'
import { checkOf } from '../../support/json-schema.ts'
import { minute, report, startRelay, world } from '../../support/relay.ts'
import {
  ask,
  endpointAnswers,
  sentToEndpoint,
  stateOf,
  subscribe,
} from '../../support/subscriptions.ts'
import { event, eventId } from '../../support/world.ts'

const schemaFile = join(import.meta.dirname, '../../../infra/event.schema.json')
const published = JSON.parse(readFileSync(schemaFile, 'utf8'))

beforeEach(() => startRelay())
afterEach(() => {
  vi.useRealTimers()
  return world.store.close()
})

async function sendTest(id: string, body?: unknown) {
  const answer = await ask(world, `/${id}/test`, 'POST', body)
  await world.drain()
  return answer
}

test.each(moments)(
  '"%s" is signed, follows the published schema, and says that it is a test',
  async (moment) => {
    const { id, secret } = await subscribe(world)
    expect((await sendTest(id, { moment })).status).toBe(202)
    const { headers, body, json } = sentToEndpoint(world).at(-1)!
    vi.useFakeTimers({ toFake: ['Date'], now: Number(headers['webhook-timestamp']) * 1_000 })
    expect(() => new Webhook(secret).verify(body, headers)).not.toThrow()
    expect(json).toMatchObject({ specversion: '1.0', type: `foghorn.event.${moment}` })
    expect(checkOf(published, 'no_further_fields')(json.data)).toBeUndefined()
    expect(json.data).toMatchObject({ moment, test: true, fleet: 'prod' })
    expect([json.subject, json.id]).toEqual([json.data.eventId, headers['webhook-id']])
  },
)

test('without a body, the event is scheduled, and passes the filter as far as that is possible', async () => {
  const wish = { fleets: ['test'], eventTypes: ['Redeploy', 'Freeze'] }
  const { id } = await subscribe(world, wish)
  await sendTest(id)
  const { data } = sentToEndpoint(world).at(-1)!.json
  expect(data).toMatchObject({ moment: 'scheduled', fleet: 'test', eventType: 'Redeploy' })
})

test('no real event has its ids, and nothing else shows it', async () => {
  const { id } = await subscribe(world)
  await report(event())
  await sendTest(id)
  await sendTest(id)
  const [, real, one, other] = sentToEndpoint(world).map(({ json }) => json)
  expect(real.data).not.toHaveProperty('test')
  expect(one.id).toMatch(/^-\/test-/)
  expect(one.data.eventId).toMatch(/^test-/)
  expect(new Set([real.id, one.id, other.id]).size).toBe(3)
  const stored = await world.store.listEvents({ limit: 10 })
  expect(stored.map((each) => each.eventId)).toEqual([eventId])
  const logged = await world.relay.store.readMoments(0, 100, world.clock.now)
  expect(logged.map(({ id: one }) => one)).toEqual([real.id])
})

test('it is sent once, and its delivery says what the endpoint answered', async () => {
  const { id } = await subscribe(world)
  endpointAnswers(world, () => new Response('busy', { status: 503 }))
  const { body } = await sendTest(id, { moment: 'started' })
  expect(body.delivery).toMatchObject({ moment: 'started', test: true, state: 'pending' })
  await world.pass(minute)
  const [row] = (await ask(world, `/${id}/deliveries`)).body.deliveries
  expect(row).toMatchObject({ id: body.delivery.id, state: 'given_up', fleet: 'prod' })
  expect(row.answer).toMatchObject({ status: 503, text: 'busy' })
  expect(sentToEndpoint(world).filter(({ json }) => json.data.test)).toHaveLength(1)
})

test('an endpoint that has not consented gets what asks for consent, and nothing else', async () => {
  endpointAnswers(world, () => new Response('no', { status: 503 }))
  const { id } = await subscribe(world)
  const before = sentToEndpoint(world).length
  for (let i = 0; i < 5; i++) await sendTest(id)
  const tried = sentToEndpoint(world)
  expect(tried).toHaveLength(before + 5)
  expect(tried.every(({ json }) => json.data.test === undefined)).toBe(true)
  endpointAnswers(world, () => new Response('ok'))
  await sendTest(id)
  expect(await stateOf(world, id)).toBe('active')
})

test.each([{ moment: 'ping' }, { moment: 7 }, { moments: ['started'] }, 'started', []])(
  'a body of %j is refused, and nothing is sent',
  async (body) => {
    const { id } = await subscribe(world)
    const answer = await sendTest(id, body)
    expect([answer.status, answer.body.code]).toEqual([400, 'subscription_malformed'])
    expect(sentToEndpoint(world)).toHaveLength(1)
  },
)
