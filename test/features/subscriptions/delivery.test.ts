// The life of a subscription, from its first ping to the messages that it missed and gets by a replay.
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { passInSteps, sentTo } from '../../support/deliveries.ts'
import { has } from '../../support/features.ts'
import { beacon, hour, minute, report, startRelay, world } from '../../support/relay.ts'
import {
  ask,
  endpoint,
  endpointAnswers,
  heardBy,
  sentToEndpoint,
  stateOf,
  subscribe,
} from '../../support/subscriptions.ts'
import { makeToken } from '../../support/tokens.ts'
import {
  event,
  eventId,
  FakeBeacon,
  type Sent,
  started,
  testKey,
  usualAnswer,
} from '../../support/world.ts'

const day = 24 * hour
const ok = () => new Response(null, { status: 204 })

beforeEach(() => startRelay({ owners: ['team'] }))
afterEach(() => world.store.close())

/** The event goes through its life. */
async function live(): Promise<void> {
  await report(event())
  world.clock.now += minute
  await report(started())
  world.clock.now += minute
  await report()
  await world.pass(11_000)
  await report()
}

const deliveriesOf = async (id: string) => (await ask(world, `/${id}/deliveries`)).body.deliveries

describe('a new subscription', () => {
  test('is active after its ping, and hears every later moment once', async () => {
    const { id, secret } = await subscribe(world)
    expect(heardBy(world)).toEqual(['foghorn.ping'])
    expect(await stateOf(world, id)).toBe('active')
    await live()
    expect(heardBy(world)).toEqual(['foghorn.ping', 'scheduled', 'started', 'completed'])
    for (const sent of sentToEndpoint(world)) expect(() => verify(secret, sent)).not.toThrow()
  })

  test('gets the ids that the stream has', async () => {
    await subscribe(world)
    await live()
    const logged = await world.relay.store.readMoments(0, 100, world.clock.now)
    const own = sentToEndpoint(world).slice(1)
    expect(own.map(({ json }) => json.id)).toEqual(logged.map(({ id }) => id))
    expect(own.map(({ headers }) => headers['webhook-id'])).toEqual(logged.map(({ id }) => id))
  })

  test('stays pending while the ping fails, and misses what happens', async () => {
    endpointAnswers(world, () => new Response('no', { status: 500 }))
    const { id } = await subscribe(world)
    await report(event())
    expect(await stateOf(world, id)).toBe('pending')
    endpointAnswers(world, ok)
    await passInSteps(world, minute, 15_000)
    expect(await stateOf(world, id)).toBe('active')
    expect(heardBy(world)).not.toContain('scheduled')
  })

  test('is not sent a refused ping again, but a new one on request', async () => {
    endpointAnswers(world, () => new Response('moved', { status: 302 }))
    const { id } = await subscribe(world)
    await passInSteps(world, hour, minute)
    expect(heardBy(world)).toEqual(['foghorn.ping'])
    const [row] = await deliveriesOf(id)
    expect(row).toMatchObject({ moment: 'ping', state: 'refused' })
    expect(row.answer).toMatchObject({ status: 302, text: 'moved' })
    endpointAnswers(world, ok)
    await ask(world, `/${id}/test`, 'POST')
    await world.drain()
    expect(await stateOf(world, id)).toBe('active')
  })

  test('consents by the OPTIONS handshake if it is made so', async () => {
    let origin = ''
    endpointAnswers(world, ({ method }) =>
      method === 'OPTIONS'
        ? new Response(null, { headers: { 'webhook-allowed-origin': origin } })
        : ok(),
    )
    const { id } = await subscribe(world, { consent: 'options' })
    expect(await stateOf(world, id)).toBe('pending')
    origin = 'foghorn.example'
    expect((await ask(world, `/${id}/test`, 'POST')).status).toBe(202)
    await world.drain()
    expect(await stateOf(world, id)).toBe('active')
    const shaken = sentToEndpoint(world).map(({ method, headers }) => [
      method,
      headers['webhook-request-origin'],
    ])
    expect(shaken).toEqual(Array(2).fill(['OPTIONS', 'foghorn.example']))
    await report(event())
    expect(sentToEndpoint(world).at(-1)?.json.type).toBe('foghorn.event.scheduled')
  })

  test('alerts nobody if its endpoint is gone before it ever consented', async () => {
    endpointAnswers(world, () => new Response('gone', { status: 410 }))
    const { id } = await subscribe(world)
    await passInSteps(world, 3 * minute, 15_000)
    expect(await stateOf(world, id)).toBe('disabled')
    expect(sentTo(world, 'teams')).toEqual([])
  })
})

/** Throws if the signature is wrong. The library compares with the clock of this machine. */
function verify(secret: string, { headers, body }: Sent): void {
  const now = Number(headers['webhook-timestamp']) * 1_000
  vi.useFakeTimers({ toFake: ['Date'], now })
  try {
    new Webhook(secret).verify(body, headers)
  } finally {
    vi.useRealTimers()
  }
}

test('hears only what all conditions of its filter let through', async () => {
  await subscribe(world, { moments: ['started'], fleets: ['prod'], resource: 'WEB_*' })
  await live()
  const other = new FakeBeacon(world, 'web_9', { fleet: 'test', key: testKey })
  await other.sees([started({ resources: ['web_9'] })])
  await beacon.sees([started({ eventId: 'a', resources: ['db_0'] })])
  await world.drain()
  expect(heardBy(world)).toEqual(['foghorn.ping', 'started'])
})

test('made by a token that is bound to a fleet, it hears that fleet only', async () => {
  const { token } = await makeToken(world, { scopes: ['manage'], fleets: ['prod'] })
  const { id } = await subscribe(world, {}, token)
  const other = new FakeBeacon(world, 'db_0', { fleet: 'test', key: testKey })
  // an owner's change of its filter does not widen it
  expect((await ask(world, `/${id}`, 'PATCH', { fleets: ['test'] })).status).toBe(200)
  await other.sees([event({ resources: ['db_0'] })])
  await report(event())
  expect(heardBy(world)).toEqual(['foghorn.ping'])
  await ask(world, `/${id}`, 'PATCH', { fleets: null })
  await other.sees([started({ resources: ['db_0'] })])
  await report(started())
  const fleets = sentToEndpoint(world).map(({ json }) => json.data.fleet)
  expect(fleets).toEqual([undefined, 'prod'])
})

test('after a rotation both secrets sign for a day, then only the new one', async () => {
  const { id, secret } = await subscribe(world)
  const { body } = await ask(world, `/${id}/rotate-secret`, 'POST')
  expect(body.secret).not.toBe(secret)
  const signers = async () => {
    await ask(world, `/${id}/test`, 'POST')
    await world.drain()
    const sent = sentToEndpoint(world).at(-1)!
    return [body.secret, secret].map((one) => {
      try {
        verify(one, sent)
        return true
      } catch {
        return false
      }
    })
  }
  expect(await signers()).toEqual([true, true])
  world.clock.now += day
  expect(await signers()).toEqual([true, false])
})

describe('what a subscription misses', () => {
  test('while it is paused is kept, and a replay sends it', async () => {
    const { id } = await subscribe(world)
    const since = new Date(world.clock.now).toISOString()
    expect((await ask(world, `/${id}/pause`, 'POST')).body.state).toBe('paused')
    await live()
    expect(heardBy(world)).toEqual(['foghorn.ping'])
    expect((await ask(world, `/${id}/replay`, 'POST', { since })).status).toBe(409)
    expect((await ask(world, `/${id}/resume`, 'POST')).body.state).toBe('active')
    const { body } = await ask(world, `/${id}/replay`, 'POST', { since })
    expect(body).toEqual({ replayed: 3 })
    await world.drain()
    expect(heardBy(world)).toEqual(['foghorn.ping', 'scheduled', 'started', 'completed'])
  })

  test('after it consented while it was paused is kept, and it hears all once it is resumed', async () => {
    endpointAnswers(world, () => new Response('no', { status: 500 }))
    const { id } = await subscribe(world)
    await ask(world, `/${id}/pause`, 'POST')
    endpointAnswers(world, ok)
    await world.pass(minute)
    await report(event())
    expect((await ask(world, `/${id}/resume`, 'POST')).body.state).toBe('active')
    world.clock.now += minute
    await report(started())
    expect(heardBy(world).filter((type) => type !== 'foghorn.ping')).toEqual(['started'])
    const rows = await deliveriesOf(id)
    const kept = rows.find(({ moment }: { moment: string }) => moment === 'scheduled')
    expect(kept).toMatchObject({ state: 'given_up', attempts: 0 })
  })

  test('one message that waits when it is paused is kept, too', async () => {
    const { id } = await subscribe(world)
    endpointAnswers(world, () => new Response('busy', { status: 503 }))
    await report(event())
    await ask(world, `/${id}/pause`, 'POST')
    endpointAnswers(world, ok)
    await world.pass(minute)
    const [row] = await deliveriesOf(id)
    expect(row).toMatchObject({ moment: 'scheduled', state: 'given_up', attempts: 1 })
    await ask(world, `/${id}/resume`, 'POST')
    expect((await ask(world, `/${id}/replay`, 'POST', { id: row.id })).body.replayed).toBe(1)
    await world.drain()
    expect(heardBy(world).filter((type) => type === 'scheduled')).toHaveLength(2)
  })

  test('at a new address waits until that consents', async () => {
    const { id } = await subscribe(world)
    const url = 'https://new.example/in'
    world.channels.answer = ({ url: to }) => new Response(null, { status: to === url ? 500 : 204 })
    expect((await ask(world, `/${id}`, 'PATCH', { url })).body.state).toBe('pending')
    await live()
    expect(heardBy(world)).toEqual(['foghorn.ping'])
    expect(new Set(heardBy(world, url))).toEqual(new Set(['foghorn.ping']))
    world.channels.answer = ok
    await passInSteps(world, hour, minute)
    expect(await stateOf(world, id)).toBe('active')
  })
})

test('its deliveries show the answers', async () => {
  const { id, secret } = await subscribe(world)
  endpointAnswers(world, () => {
    world.clock.now += 250
    return new Response(`no: ${secret} ${'x'.repeat(9_000)}`, { status: 500 })
  })
  await report(event())
  const [row] = await deliveriesOf(id)
  expect(row).toMatchObject({
    moment: 'scheduled',
    fleet: 'prod',
    eventId,
    state: 'pending',
    answer: { status: 500, tookMs: 250 },
  })
  expect(row.answer.text.length).toBeLessThanOrEqual(4_096)
  expect(row.answer.text).toMatch(/^no: \[secret\] x+$/)
  expect(world.lines.join()).not.toContain(secret)
  endpointAnswers(world, () => {
    throw new Error('down')
  })
  await world.pass(minute)
  expect((await deliveriesOf(id))[0].answer).toEqual({
    at: new Date(world.clock.now).toISOString(),
    tookMs: 0,
    text: '',
  })
})

describe.runIf(has('problems'))('the relay disables it', () => {
  const alerts = () =>
    sentTo(world, 'teams').filter(({ body }) => body.includes('The relay disabled'))

  test('after 410, at once, and alerts the owners once', async () => {
    const { id } = await subscribe(world)
    endpointAnswers(world, () => new Response('gone', { status: 410 }))
    await live()
    expect(await stateOf(world, id)).toBe('disabled')
    expect(heardBy(world)).toEqual(['foghorn.ping', 'scheduled'])
    await passInSteps(world, 2 * hour, 10 * minute)
    expect(alerts()).toHaveLength(1)
    expect(heardBy(world)).toEqual(['foghorn.ping', 'scheduled'])
  })

  test('after 410 to a ping, and alerts the owners of a fleet that it hears', async () => {
    const { id } = await subscribe(world, { fleets: ['test'] })
    world.channels.answer = (sent) =>
      sent.url.startsWith(endpoint) ? new Response('gone', { status: 410 }) : usualAnswer(sent)
    // a new address gets a ping
    await ask(world, `/${id}`, 'PATCH', { url: `${endpoint}/new` })
    await passInSteps(world, hour, 10 * minute)
    expect(await stateOf(world, id)).toBe('disabled')
    expect(alerts()).toHaveLength(1)
    const [line] = world.lines.filter((one) => one.includes('"problem_begun"'))
    expect(JSON.parse(line!)).toMatchObject({ fleet: 'test', names: [id] })
  })

  test('and one alert counts all that are disabled at once', async () => {
    for (let i = 0; i < 12; i++) await subscribe(world, { url: `${endpoint}/${i}` })
    world.channels.answer = (sent) =>
      sent.url.startsWith(endpoint) ? new Response('gone', { status: 410 }) : usualAnswer(sent)
    await report(event())
    await passInSteps(world, 2 * minute, 10_000)
    expect(alerts()).toHaveLength(1)
    expect(alerts()[0]!.body).toContain('The relay disabled 12 subscriptions')
    await passInSteps(world, hour, minute)
    expect(alerts()).toHaveLength(1)
  })

  test('and alerts the owners of another one, too, 15 minutes after the first alert', async () => {
    const first = await subscribe(world, { url: `${endpoint}/first`, moments: ['scheduled'] })
    const second = await subscribe(world, { url: `${endpoint}/second`, moments: ['started'] })
    world.channels.answer = (sent) =>
      sent.url.startsWith(endpoint) ? new Response('gone', { status: 410 }) : usualAnswer(sent)
    await report(event())
    await passInSteps(world, 2 * minute, 10_000)
    await report(started())
    await passInSteps(world, 12 * minute, minute)
    expect(alerts()).toHaveLength(1)
    await passInSteps(world, hour, minute)
    expect(alerts()).toHaveLength(2)
    expect(alerts()[0]!.body).toContain(first.id)
    expect(alerts()[1]!.body).toContain(second.id)
    expect(alerts()[1]!.body).not.toContain(first.id)
  })

  test('after 5 days without success, and a resumed one gets all by a replay', async () => {
    const { id } = await subscribe(world)
    const since = new Date(world.clock.now).toISOString()
    endpointAnswers(world, () => new Response('down', { status: 503 }))
    for (let passed = 0; passed < 5; passed++) {
      expect(await stateOf(world, id)).toBe('active')
      // a new secret repairs no endpoint
      await ask(world, `/${id}/rotate-secret`, 'POST')
      await beacon.sees([event({ eventId: eventId.replace('c', String(passed)) })])
      await passInSteps(world, day, hour)
    }
    await report(event())
    await passInSteps(world, 4 * hour, 10 * minute)
    expect(await stateOf(world, id)).toBe('disabled')
    expect(alerts()).toHaveLength(1)
    endpointAnswers(world, ok)
    const from = world.sent.length
    expect((await ask(world, `/${id}/resume`, 'POST')).body.state).toBe('pending')
    await world.drain()
    expect(await stateOf(world, id)).toBe('active')
    const { replayed } = (await ask(world, `/${id}/replay`, 'POST', { since })).body
    expect(replayed).toBeGreaterThan(5)
    await world.drain()
    const got = world.sent.slice(from).filter(({ url }) => url === endpoint)
    expect(got).toHaveLength(1 + replayed)
    const states = (await deliveriesOf(id)).map(({ state }: { state: string }) => state)
    expect(new Set(states)).toEqual(new Set(['delivered']))
  })
})

test('a deleted subscription gets nothing more', async () => {
  const { id } = await subscribe(world)
  endpointAnswers(world, () => new Response('busy', { status: 503 }))
  await report(event())
  expect((await ask(world, `/${id}`, 'DELETE')).status).toBe(204)
  const from = world.sent.length
  await passInSteps(world, hour, minute)
  world.clock.now += minute
  await report(started())
  expect(world.sent.slice(from).filter(({ url }) => url === endpoint)).toEqual([])
  expect((await ask(world, `/${id}`)).status).toBe(404)
})
