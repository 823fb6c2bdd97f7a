// The events API, by the admin key. Tokens have tests of their own.
import { beforeEach, describe, expect, test } from 'vitest'
import { bigNames } from '../../support/big.ts'
import { commitOf, facts, record } from '../../support/records.ts'
import { startRelay, world } from '../../support/relay.ts'
import { adminKey, event, eventId, FakeBeacon, startAt, usualAnswer } from '../../support/world.ts'

beforeEach(() => startRelay())

function get(path: string, authorization = `Bearer ${adminKey}`) {
  return world.app.request(path, { headers: { authorization } })
}

describe('who can read', () => {
  test.each(['', 'Bearer', 'Bearer wrong', `Basic ${adminKey}`, `Bearer ${adminKey}x`])(
    'not with "%s"',
    async (authorization) => {
      for (const path of ['/v1/events', `/v1/events/prod/${eventId}`]) {
        const response = await get(path, authorization)
        expect(response.status).toBe(401)
        expect(await response.json()).toMatchObject({ code: 'unauthorized' })
        const isWrong = authorization.startsWith('Bearer ')
        const challenge = `Bearer${isWrong ? ' error="invalid_token"' : ''}`
        expect(response.headers.get('www-authenticate')).toBe(challenge)
      }
    },
  )

  test.each([
    ['', 'the key is missing; send "Authorization: Bearer …" with a token or FOGHORN_ADMIN_KEY'],
    ['Bearer wrong', 'this is neither a valid token nor the admin key of the relay'],
  ])('with "%s" it says what is wrong', async (authorization, detail) => {
    expect(await (await get('/v1/events', authorization)).json()).toMatchObject({ detail })
  })

  test('nobody, if the relay has no admin key', async () => {
    world.relay.credentials.adminKey = undefined
    const response = await get('/v1/events', 'Bearer ')
    expect(response.status).toBe(403)
    expect(await response.json()).toMatchObject({ code: 'api_off' })
  })
})

describe('one event', () => {
  test('shows its history and the state of every delivery', async () => {
    await new FakeBeacon(world, 'web_0').sees([event()])
    await world.drain()
    const { status, body } = await world.getEvent(eventId.toUpperCase())
    expect(status).toBe(200)
    expect(body).toMatchObject({
      fleet: 'prod',
      eventId,
      phase: 'scheduled',
      eventType: 'Reboot',
      notBefore: '2026-11-21T12:15:00.000Z',
      approvals: [],
      history: [{ what: 'seen', note: 'web_0' }],
    })
    const channels = body.deliveries.map((one: { channel: string }) => one.channel)
    expect(channels).toEqual(['chat', 'team', 'pager', 'hook'])
    for (const delivery of body.deliveries) {
      expect(delivery).toMatchObject({ moment: 'scheduled', state: 'delivered', attempts: 1 })
    }
  })

  test('that is unknown, or of another fleet, is a 404 that says so', async () => {
    await new FakeBeacon(world, 'web_0').sees([event()])
    for (const path of ['/v1/events/prod/other', `/v1/events/test/${eventId}`]) {
      const response = await get(path)
      expect(response.status).toBe(404)
      expect(await response.json()).toMatchObject({ code: 'event_unknown' })
    }
  })
})

describe('a decision with If-Match', () => {
  const decide = (ifMatch: string) =>
    world.app.request('/v1/events/prod/a/decision', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${adminKey}`,
        'content-type': 'application/json',
        'if-match': ifMatch,
      },
      body: '{"decision":"approve"}',
    })

  test.each<[string, (etag: string) => string, boolean, number]>([
    ['of the event as it is', (etag) => etag, false, 200],
    ['made weak by a proxy', (etag) => `W/${etag}`, false, 200],
    ['any', () => '*', true, 200],
    ['of what it was', (etag) => etag, true, 412],
    ['of what it was, made weak', (etag) => `W/${etag}`, true, 412],
    ['without quotes', (etag) => etag.replaceAll('"', ''), true, 412],
  ])('%s', async (_, header, isMoved, status) => {
    const beacon = new FakeBeacon(world, 'web_0')
    await beacon.sees([event({ eventId: 'a' })])
    const etag = (await get('/v1/events/prod/a')).headers.get('etag')!
    if (isMoved) await beacon.sees([event({ eventId: 'a', resources: ['web_0', 'web_1'] })])
    expect((await decide(header(etag))).status).toBe(status)
  })
})

interface ListPage {
  events: { eventId: string }[]
  more: boolean
  cursor?: string
}

describe('the list', () => {
  const ids = async (query: string) => {
    const { events } = (await (await get(`/v1/events${query}`)).json()) as {
      events: { eventId: string; firstSeenAt: string }[]
    }
    return events.map((one) => one.eventId)
  }

  beforeEach(async () => {
    const beacon = new FakeBeacon(world, 'web_0')
    const seen = [event({ eventId: 'a' })]
    await beacon.sees(seen)
    for (const id of ['b', 'c']) {
      await world.pass(1_000)
      seen.push(event({ eventId: id }))
      await beacon.sees(seen)
    }
  })

  test('is newest first, in pages, of one fleet or all', async () => {
    expect(await ids('')).toEqual(['c', 'b', 'a'])
    expect(await ids('?limit=2')).toEqual(['c', 'b'])
    expect(await ids('?until=2026-11-21T12:00:01.000Z')).toEqual(['a'])
    expect(await ids('?since=2026-11-21T12:00:01.000Z')).toEqual(['c', 'b'])
    expect(await ids('?fleet=test')).toEqual([])
  })

  test('has only open ones if asked, the most urgent first', async () => {
    const open = ['a', 'b'].map((id, i) =>
      event({ eventId: id, notBeforeAt: world.clock.now + (20 - i) * 60_000 }),
    )
    const beacon = new FakeBeacon(world, 'web_0')
    await beacon.sees(open)
    await world.pass(60_000)
    await beacon.sees(open)
    expect(await ids('?open=true')).toEqual(['b', 'a'])
    expect(await ids('?open=true&limit=1')).toEqual(['b'])
    const { more } = (await (await get('/v1/events?open=true&limit=1')).json()) as ListPage
    expect(more).toBe(true)
    expect(await ids('?open=true&vm=db_*')).toEqual([])
    for (const wrong of ['open=yes', 'open=true&since=2026-11-21']) {
      expect((await get(`/v1/events?${wrong}`)).status).toBe(400)
    }
  })

  test('of a fleet that does not exist is an error that lists those that do', async () => {
    const response = await get('/v1/events?fleet=prud')
    expect(response.status).toBe(404)
    const { code, detail } = (await response.json()) as { code: string; detail: string }
    expect([code, detail]).toEqual(['fleet_unknown', expect.stringContaining('"prod", "test"')])
  })

  test('is of a VM, a phase or a type, if asked', async () => {
    const others = ['a', 'b', 'c'].map((id) => event({ eventId: id }))
    const freeze = event({
      eventId: 'd',
      eventType: 'Freeze',
      resources: ['db_0'],
      status: 'Started',
    })
    await world.pass(1_000)
    await new FakeBeacon(world, 'web_0').sees([...others, freeze])
    expect(await ids('?vm=DB_*')).toEqual(['d'])
    expect(await ids('?type=Freeze')).toEqual(['d'])
    expect(await ids('?phase=started')).toEqual(['d'])
    expect(await ids('?phase=scheduled&vm=web_0&limit=1')).toEqual(['c'])
    expect(await ids('?phase=scheduled&type=Freeze')).toEqual([])
  })

  test('looks through a bounded number of events for those that match, and goes on at the cursor', async () => {
    for (let i = 0; i < 2_010; i++) {
      const one = { ...record({ eventId: `other-${i}` }), firstSeenAt: startAt + 10_000 + i }
      await world.store.commit(commitOf({ record: one }))
    }
    const query = '/v1/events?until=2026-11-22&vm=db_0'
    const first = (await (await get(query)).json()) as ListPage
    expect(first.events).toEqual([])
    expect(first).toMatchObject({ more: true })
    const next = (await (await get(`${query}&cursor=${first.cursor}`)).json()) as ListPage
    expect(next).toEqual({ events: [], more: false })
  })

  test('goes on at the cursor, also within a millisecond', async () => {
    const many = ['d', 'e', 'f', 'g'].map((id) => event({ eventId: id }))
    await world.pass(1_000)
    await new FakeBeacon(world, 'web_1').sees(many)
    const found: string[][] = []
    for (let query = '?limit=2'; ; ) {
      const page = (await (await get(`/v1/events${query}`)).json()) as ListPage
      found.push(page.events.map((one) => one.eventId))
      if (page.cursor === undefined) break
      query = `?limit=2&cursor=${page.cursor}`
    }
    expect(found).toEqual([['d', 'e'], ['f', 'g'], ['c', 'b'], ['a']])
  })

  test('ends a page after 2 MB, and misses no event at its cursor', async () => {
    for (let i = 0; i < 60; i++) {
      const whole = record({
        eventId: `big-${i}`,
        facts: facts({ resources: bigNames(0, 200, 256) }),
      })
      await world.store.commit(commitOf({ record: { ...whole, firstSeenAt: startAt + 9_000 } }))
    }
    const sizes: number[] = []
    const found: string[] = []
    for (let query = '?limit=200'; ; ) {
      const text = await (await get(`/v1/events${query}`)).text()
      expect(Buffer.byteLength(text)).toBeLessThan(2_001_000)
      const page = JSON.parse(text) as ListPage
      sizes.push(page.events.length)
      found.push(...page.events.map((one) => one.eventId))
      if (page.cursor === undefined) break
      query = `?limit=200&cursor=${page.cursor}`
    }
    expect(sizes.length).toBeGreaterThan(1)
    expect(Math.min(...sizes)).toBeGreaterThan(0)
    expect(new Set(found).size).toBe(63)
    expect(found).toHaveLength(63)
  })

  test('reads few records at once', async () => {
    const asked: number[] = []
    const { listEvents } = world.store
    world.store.listEvents = (page) => {
      asked.push(page.limit)
      return listEvents.call(world.store, page)
    }
    await get('/v1/events?limit=200')
    expect(Math.max(...asked)).toBeLessThanOrEqual(25)
  })

  test.each([
    '?limit=0',
    '?limit=201',
    '?limit=x',
    '?until=yesterday',
    '?since=x',
    '?phase=over',
    '?type=Nap',
    '?vm=',
    '?cursor=x',
    '?cursor=W10',
  ])('refuses %s with what to write', async (query) => {
    const response = await get(`/v1/events${query}`)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: 'query_invalid' })
  })
})

describe('replay', () => {
  const replay = (body: string, key = adminKey) =>
    world.app.request('/v1/deliveries/replay', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body,
    })

  beforeEach(async () => {
    world.channels.answer = () => new Response('gone', { status: 410 })
    await new FakeBeacon(world, 'web_0').sees([event()])
    await world.drain()
    world.channels.answer = usualAnswer
    world.sent.length = 0
  })

  test('plans refused deliveries again, all of them or those of one channel', async () => {
    const since = '2026-11-21T00:00:00Z'
    const one = await replay(JSON.stringify({ since, channel: 'hook' }))
    expect([one.status, await one.json()]).toEqual([200, { replayed: 1 }])
    await world.drain()
    expect(world.told()).toEqual(['foghorn.event.scheduled'])
    const rest = await replay(JSON.stringify({ since }))
    expect(await rest.json()).toEqual({ replayed: 3 })
    await world.drain()
    expect(world.sent).toHaveLength(4)
    expect(await (await replay(JSON.stringify({ since }))).json()).toEqual({ replayed: 0 })
  })

  test('one by its id', async () => {
    const { body } = await world.getEvent(eventId)
    const { id } = body.deliveries.find(({ channel }: { channel: string }) => channel === 'chat')
    expect(await (await replay(JSON.stringify({ id }))).json()).toEqual({ replayed: 1 })
    await world.drain()
    expect(world.sent.map(({ url }) => new URL(url).hostname)).toEqual(['slack.example'])
  })

  test.each(['', '{', '{}', '{"since":"yesterday"}', '{"id":""}', '{"id":"a","since":"x"}'])(
    'refuses %s with what to send',
    async (body) => {
      const response = await replay(body)
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ code: 'replay_malformed' })
    },
  )

  test('is for admins', async () => {
    expect((await replay('{"id":"a"}', 'wrong')).status).toBe(401)
  })
})
