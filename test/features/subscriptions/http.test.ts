// `/v1/subscriptions`: what requests may contain, what answers show, and what stays secret.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startRelay, world } from '../../support/relay.ts'
import { ask, endpoint, happen, heardBy, stateOf, subscribe } from '../../support/subscriptions.ts'
import { askApi, makeToken } from '../../support/tokens.ts'
import { adminKey } from '../../support/world.ts'

beforeEach(() => startRelay())
afterEach(() => world.store.close())

type Json = ReturnType<typeof JSON.parse>
const hour = 3_600_000

async function create(body: unknown, key?: string, token = adminKey) {
  const headers = { authorization: `Bearer ${token}`, ...(key && { 'idempotency-key': key }) }
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const request = { method: 'POST', headers, body: text }
  const response = await world.app.request('/v1/subscriptions', request)
  return { status: response.status, body: (await response.json()) as Json }
}
const listed = async (query = '') => (await ask(world, query)).body

describe('a new subscription', () => {
  test('has a secret that is shown once', async () => {
    const wish = {
      fleets: ['prod'],
      eventTypes: ['Reboot'],
      moments: ['started'],
      resource: 'web_*',
    }
    const { status, body } = await create({ url: endpoint, description: 'cmdb', ...wish })
    expect(status).toBe(201)
    const { secret, ...shown } = body
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(shown).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      state: 'pending',
      since: '2026-11-21T12:00:00.000Z',
      reason: 'the endpoint has not consented yet',
      url: endpoint,
      description: 'cmdb',
      ...wish,
      consent: 'ping',
      createdAt: '2026-11-21T12:00:00.000Z',
      createdBy: 'admin',
    })
    expect((await ask(world, `/${body.id}`)).body).toEqual({ ...shown, health: { state: 'ok' } })
    expect((await listed()).subscriptions).toEqual([shown])
  })

  test('leaves no secret in logs, lists and errors', async () => {
    const { id, secret } = await subscribe(world, { url: `${endpoint}?token=private-token-1` })
    const rotated = (await ask(world, `/${id}/rotate-secret`, 'POST')).body.secret
    await happen(world, 1)
    await world.drain()
    const texts = [
      JSON.stringify(await listed()),
      JSON.stringify(await listed(`/${id}`)),
      JSON.stringify(await listed(`/${id}/deliveries`)),
      JSON.stringify((await create({ url: endpoint, description: secret })).body),
      JSON.stringify((await ask(world, `/${secret}`)).body),
      world.lines.join(),
    ]
    for (const text of texts) {
      for (const word of [secret, rotated, 'private-token-1']) expect(text).not.toContain(word)
    }
    expect((await listed(`/${id}`)).url).toBe('https://cmdb.example/…')
  })

  test.each<[string, unknown, string]>([
    ['no JSON', '{', 'not JSON'],
    ['no address', {}, 'url: missing'],
    ['no web address', { url: 'ftp://x.example' }, 'url: write an absolute https://'],
    ['a password in it', { url: 'https://a:b@x.example' }, 'url: write an absolute https://'],
    ['an unknown key', { url: endpoint, fleet: 'prod' }, 'unknown key "fleet"'],
    ['an unknown moment', { url: endpoint, moments: ['startet'] }, 'did you mean "started"'],
    ['an unknown type', { url: endpoint, eventTypes: ['reboot'] }, 'did you mean "Reboot"'],
    ['no moment', { url: endpoint, moments: [] }, 'moments: write at least 1 entry'],
    ['another consent', { url: endpoint, consent: 'no' }, 'write one of "ping", "options"'],
    ['a description like a key', { url: endpoint, description: 'xoxb-1' }, 'description: write 1'],
  ])('%s: 400 with what to write', async (_, body, said) => {
    const answer = await create(body)
    expect([answer.status, answer.body.code]).toEqual([400, 'subscription_malformed'])
    expect(answer.body.detail).toContain(said)
    expect((await listed()).subscriptions).toEqual([])
  })

  test('for a fleet that does not exist: 422 with those that do', async () => {
    const { status, body } = await create({ url: endpoint, fleets: ['prud'] })
    expect([status, body.code]).toEqual([422, 'fleet_unknown'])
    expect(body.detail).toContain('write one of "prod", "test"')
  })

  test.each([
    'http://cmdb.example/in',
    'https://10.0.0.1/',
    'https://[::1]/',
    'https://localhost/',
    'https://2130706433/',
    'https://169.254.169.254/metadata',
    'https://cmdb.example:25/',
  ])('at %s: 422 with the reason, also at a change', async (url) => {
    const { status, body } = await create({ url })
    expect([status, body.code]).toEqual([422, 'address_refused'])
    expect(body.detail).toMatch(/private or reserved|plain http|another protocol/)
    const { id } = await subscribe(world)
    const changed = await ask(world, `/${id}`, 'PATCH', { url })
    expect([changed.status, changed.body.code]).toEqual([422, 'address_refused'])
    expect(await stateOf(world, id)).toBe('active')
  })

  test('in an allowed network may use plain http', async () => {
    world.store.close()
    await startRelay({ allowNetworks: ['10.0.0.0/8'] })
    expect((await create({ url: 'http://10.0.0.1/' })).status).toBe(201)
  })

  test('beyond 200: 409', async () => {
    const body = { url: endpoint }
    for (let i = 0; i < 200; i++) {
      // 60 a minute are allowed
      world.clock.now += 2_000
      expect((await create(body)).status).toBe(201)
    }
    const refused = await create(body)
    expect([refused.status, refused.body.code]).toEqual([409, 'too_many_subscriptions'])
  })
})

describe('with an Idempotency-Key', () => {
  test('repeated requests make one subscription, also at once', async () => {
    const wish = { url: endpoint }
    const answers = await Promise.all([create(wish, 'k'), create(wish, 'k'), create(wish, 'k')])
    const [first] = answers
    for (const answer of answers) expect(answer).toEqual(first)
    expect(first!.body.secret).toMatch(/^whsec_/)
    await world.drain()
    expect(heardBy(world)).toEqual(['foghorn.ping'])
    expect((await listed()).subscriptions).toHaveLength(1)
    expect((await create(wish, 'l')).body.id).not.toBe(first!.body.id)
    const { token } = await makeToken(world, { scopes: ['manage'] })
    expect((await create(wish, 'k', token)).body.id).not.toBe(first!.body.id)
  })

  test('a repeated request completes one that broke off', async () => {
    const { addDeliveries } = world.store
    world.store.addDeliveries = async () => {
      throw new Error('the disk is busy')
    }
    expect((await create({ url: endpoint }, 'k')).status).toBe(500)
    world.store.addDeliveries = addDeliveries
    const { status, body } = await create({ url: endpoint }, 'k')
    expect([status, body.secret]).toEqual([201, expect.stringMatching(/^whsec_/)])
    await world.drain()
    expect(await stateOf(world, body.id)).toBe('active')
  })

  test('another body is refused', async () => {
    await create({ url: endpoint }, 'k')
    const { status, body } = await create({ url: `${endpoint}/2` }, 'k')
    expect([status, body.code]).toEqual([422, 'idempotency_key_reused'])
    expect((await create({ url: endpoint }, 'a b')).body.code).toBe('idempotency_key_malformed')
  })

  test('the secret is shown again for a day, unless it was rotated', async () => {
    const { secret, id } = (await create({ url: endpoint }, 'k')).body
    const again = async () => (await create({ url: endpoint }, 'k')).body.secret
    world.clock.now += 23 * hour
    expect(await again()).toBe(secret)
    world.clock.now += hour
    expect(await again()).toBe(undefined)
    await create({ url: endpoint }, 'm')
    expect((await ask(world, `/${id}/rotate-secret`, 'POST')).body.oldSecretUntil).toBe(
      '2026-11-23T12:00:00.000Z',
    )
    expect(await again()).toBe(undefined)
  })

  test('a deleted one is made again, and gets its ping', async () => {
    const { id } = (await create({ url: endpoint }, 'k')).body
    await world.drain()
    await ask(world, `/${id}`, 'DELETE')
    world.clock.now += 1
    expect((await create({ url: endpoint }, 'k')).body.id).toBe(id)
    await world.drain()
    expect(await stateOf(world, id)).toBe('active')
  })
})

describe('a list', () => {
  test('has pages, the newest first, and survives a deletion', async () => {
    const ids: string[] = []
    for (let i = 0; i < 5; i++) {
      world.clock.now += i % 2
      ids.push((await create({ url: endpoint })).body.id)
    }
    const all = (await listed()).subscriptions.map(({ id }: { id: string }) => id)
    expect([...all].sort()).toEqual([...ids].sort())
    const { subscriptions, cursor, more } = await listed('?limit=2')
    expect([subscriptions.map(({ id }: { id: string }) => id), more]).toEqual([
      all.slice(0, 2),
      true,
    ])
    await ask(world, `/${all[1]}`, 'DELETE')
    const rest = await listed(`?limit=200&cursor=${cursor}`)
    expect(rest.subscriptions.map(({ id }: { id: string }) => id)).toEqual(all.slice(2))
    expect([rest.more, rest.cursor]).toEqual([false, undefined])
  })

  test('of deliveries has pages, the last planned first', async () => {
    const { id } = await subscribe(world)
    await happen(world, 3)
    await world.drain()
    const seen: string[] = []
    for (let cursor = '', pages = 0; pages < 4; pages++) {
      const page = await listed(`/${id}/deliveries?limit=1${cursor}`)
      seen.push(page.deliveries[0].moment)
      cursor = `&cursor=${encodeURIComponent(page.cursor)}`
      expect(page.more).toBe(pages < 3)
    }
    expect(seen).toEqual(['scheduled', 'scheduled', 'scheduled', 'ping'])
  })

  test.each(['?limt=1', '?limit=0', '?limit=201', '?limit=x', '?cursor=x', '?cursor='])(
    '%s: 400',
    async (query) => {
      const { status, body } = await ask(world, query)
      expect([status, body.code]).toEqual([400, 'query_invalid'])
    },
  )
})

describe('a change', () => {
  test('replaces what it names, and null removes a condition', async () => {
    const { id } = await subscribe(world, { moments: ['started'], resource: 'a' })
    const { body } = await ask(world, `/${id}`, 'PATCH', { moments: null, description: 'x' })
    expect(body).toMatchObject({ state: 'active', resource: 'a', description: 'x' })
    expect('moments' in body).toBe(false)
    await happen(world, 1)
    await world.drain()
    expect(heardBy(world)).toEqual(['foghorn.ping'])
    await ask(world, `/${id}`, 'PATCH', { resource: null })
    expect('resource' in (await listed(`/${id}`))).toBe(false)
  })

  test.each<[unknown, number]>([
    [{}, 400],
    [{ state: 'active' }, 400],
    [{ url: null }, 400],
    [{ fleets: [] }, 400],
    [{ fleets: ['nope'] }, 422],
  ])('%j is refused', async (change, status) => {
    const { id } = await subscribe(world)
    const before = await listed(`/${id}`)
    expect((await ask(world, `/${id}`, 'PATCH', change)).status).toBe(status)
    expect(await listed(`/${id}`)).toEqual(before)
  })
})

test('no address takes a parameter that it does not know', async () => {
  const { id } = await subscribe(world)
  const addresses = [
    ['POST', ''],
    ['GET', `/${id}`],
    ['PATCH', `/${id}`],
    ['DELETE', `/${id}`],
    ['GET', `/${id}/deliveries`],
    ...['test', 'pause', 'resume', 'rotate-secret', 'replay'].map((name) => [
      'POST',
      `/${id}/${name}`,
    ]),
  ] as [string, string][]
  for (const [method, path] of addresses) {
    const { status, body } = await ask(world, `${path}?force=1`, method)
    expect([path, status, body.code]).toEqual([path, 400, 'query_invalid'])
  }
  expect(await stateOf(world, id)).toBe('active')
})

test('a test and a replay need a subscription that can get them', async () => {
  const { id } = await subscribe(world)
  const other = await subscribe(world, { url: `${endpoint}/2` })
  const [row] = (await listed(`/${other.id}/deliveries`)).deliveries
  const post = (path: string, body?: unknown) => ask(world, `/${id}/${path}`, 'POST', body)
  expect((await post('replay', { id: row.id })).body.code).toBe('delivery_unknown')
  expect((await post('replay', { since: 'yesterday' })).body.code).toBe('replay_malformed')
  expect((await post('replay', {})).body.code).toBe('replay_malformed')
  world.channels.answer = () => new Response(null, { status: 410 })
  await post('test')
  await world.drain()
  expect(await stateOf(world, id)).toBe('disabled')
  expect((await post('test')).body.code).toBe('subscription_not_active')
})

test('a replay of channels takes no message of a subscription', async () => {
  const { id } = await subscribe(world)
  await ask(world, `/${id}/pause`, 'POST')
  await happen(world, 1)
  await world.drain()
  const [row] = (await listed(`/${id}/deliveries`)).deliveries
  const replay = (body: unknown) =>
    askApi(world, adminKey, '/v1/deliveries/replay', { method: 'POST', body })
  expect((await replay({ id: row.id })).status).toBe(400)
  const since = '2020-01-01T00:00:00Z'
  expect(await (await replay({ since })).json()).toEqual({ replayed: 0 })
})

test('tests an endpoint 60 times in a minute at most', async () => {
  const { id } = await subscribe(world)
  const test = () => ask(world, `/${id}/test`, 'POST', {})
  const statuses: number[] = []
  for (let i = 0; i < 61; i++) statuses.push((await test()).status)
  // making it was the first one
  expect(statuses.filter((status) => status === 202)).toHaveLength(59)
  expect((await test()).body).toMatchObject({ code: 'too_many_requests' })
  world.clock.now += 60_000
  expect((await test()).status).toBe(202)
})
