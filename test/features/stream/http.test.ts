// The stream of moments: what a reader gets, from where, and what happens when it comes back.
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { startRelay, world } from '../../support/relay.ts'
import { askApi, makeToken } from '../../support/tokens.ts'
import { adminKey, event, eventId, FakeBeacon, testKey } from '../../support/world.ts'

const otherId = '11111111-2222-4333-8444-555555555555'
const authorization = `Bearer ${adminKey}`
let beacon: FakeBeacon
beforeEach(async () => {
  await startRelay()
  beacon = new FakeBeacon(world, 'web_0')
})

async function get(query: string, headers: Record<string, string> = {}) {
  return world.app.request(`/v1/events/stream${query}`, { headers: { authorization, ...headers } })
}

async function poll(query: string) {
  const response = await get(`?wait=0${query}`)
  expect(response.status).toBe(200)
  const { events, ...rest } = (await response.json()) as {
    events: Sent[]
    next: string
    more: boolean
  }
  return { moments: events.map(({ type }) => type.replace('foghorn.event.', '')), events, ...rest }
}

/** The header with a new token. */
async function bearer(wish: object) {
  const { token } = await makeToken(world, wish)
  return { authorization: `Bearer ${token}` }
}

/** A poll that found nothing yet. */
async function waitingPoll(headers: Record<string, string>) {
  const waits = vi.spyOn(world.relay.work.commitSignal, 'next')
  const answer = get('?wait=25', headers)
  await vi.waitFor(() => expect(waits).toHaveBeenCalled())
  return { answer }
}

async function revoke(id: string): Promise<void> {
  const { status } = await askApi(world, adminKey, `/v1/tokens/${id}`, { method: 'DELETE' })
  expect(status).toBe(204)
}

interface Sent {
  id: string
  type: string
  data: { fleet: string; eventId: string; moment: string }
}

/** Takes an event of `web_0` from its first sight to its end. */
async function live(id = eventId): Promise<void> {
  await beacon.sees([event({ eventId: id })])
  world.clock.now += 60_000
  await beacon.sees([event({ eventId: id, status: 'Started' })])
  world.clock.now += 60_000
  await beacon.sees([])
  world.clock.now += 11_000
  await beacon.sees([])
  await world.drain()
}

describe('a poll', () => {
  test('gets every moment once, however it is cut into pages', async () => {
    await live()
    await live(otherId)
    const all = await poll('&after=0')
    expect(all.moments).toEqual([
      'scheduled',
      'started',
      'completed',
      'scheduled',
      'started',
      'completed',
    ])
    expect(new Set(all.events.map(({ id }) => id)).size).toBe(6)
    const rest = await poll(`&after=${all.next}`)
    expect(rest).toMatchObject({ moments: [], events: [], more: false })
  })

  test('sends the bodies that webhooks send', async () => {
    await live()
    const { events } = await poll('&after=0')
    const hooks = world.sent.filter(({ url }) => url === 'https://hook.example/in')
    for (const [i, { json }] of hooks.entries()) {
      expect(events[i]!.data).toEqual(json.data)
      expect(json.id).toBe(`${events[i]!.id}/hook`)
    }
  })

  test('begins with what happens from now on', async () => {
    await live()
    const first = await poll('')
    expect(first.moments).toEqual([])
    await live(otherId)
    expect((await poll(`&after=${first.next}`)).moments).toEqual([
      'scheduled',
      'started',
      'completed',
    ])
  })

  test('waits for the next moment', async () => {
    const waiting = get('?wait=25&after=0')
    await beacon.sees([event()])
    const { events } = (await (await waiting).json()) as { events: Sent[] }
    expect(events.map(({ type }) => type)).toEqual(['foghorn.event.scheduled'])
  })

  test('ends after its time', async () => {
    const waiting = get('?wait=5&after=0')
    let isOver = false
    void waiting.then(() => {
      isOver = true
    })
    for (; !isOver; await new Promise(setImmediate)) {
      world.clock.now += 1_000
      world.relay.work.commitSignal.raise()
    }
    expect(await (await waiting).json()).toMatchObject({ events: [], more: false })
  })

  test('is refused if its token was revoked while it waited', async () => {
    const { id, token } = await makeToken(world, {})
    const waiting = await waitingPoll({ authorization: `Bearer ${token}` })
    await revoke(id)
    await beacon.sees([event()])
    const response = await waiting.answer
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ code: 'unauthorized' })
  })

  test('ends when its token expires', async () => {
    const key = await bearer({ expiresInDays: 1 })
    world.clock.now += 86_400_000 - 5_000
    const waiting = await waitingPoll(key)
    world.clock.now += 5_000
    world.relay.work.commitSignal.raise()
    expect((await waiting.answer).status).toBe(401)
  })

  test('ends when the relay stops', async () => {
    const waiting = get('?wait=25&after=0')
    world.relay.work.commitSignal.close()
    expect((await waiting).status).toBe(200)
  })

  test.each([
    ['moment=started&moment=completed', ['started', 'completed']],
    ['type=Reboot&moment=scheduled', ['scheduled']],
    ['type=Freeze', []],
    ['fleet=test', []],
    ['fleet=prod&fleet=test&moment=started', ['started']],
    ['resource=web_*&moment=started', ['started']],
    ['resource=db_*', []],
  ])('of %s gets %j, and goes on behind what it left out', async (query, expected) => {
    await live()
    const { moments, next } = await poll(`&after=0&${query}`)
    expect(moments).toEqual(expected)
    expect((await poll(`&after=${next}&${query}`)).moments).toEqual([])
  })

  test('of one fleet gets nothing of another', async () => {
    const other = new FakeBeacon(world, 'web_0', { fleet: 'test', key: testKey })
    await other.sees([event()])
    await beacon.sees([event()])
    const { events } = await poll('&after=0&fleet=test')
    expect(events.map(({ data }) => data.fleet)).toEqual(['test'])
  })

  test('of a token that is bound to a fleet gets nothing of another, nor a trace of it', async () => {
    const { token } = await makeToken(world, { scopes: ['read'], fleets: ['prod'] })
    const other = new FakeBeacon(world, 'web_0', { fleet: 'test', key: testKey })
    await other.sees([event()])
    const response = await get('?wait=0&after=0', { authorization: `Bearer ${token}` })
    const { events, next } = (await response.json()) as { events: Sent[]; next: string }
    expect(events).toEqual([])
    expect(next).toMatch(/^[\w-]{48}$/)
  })

  test('goes on with a cursor of an older link key, and not with one of another relay', async () => {
    await live()
    const { next } = await poll('&after=0&moment=scheduled')
    const [own, older] = world.relay.credentials.linkKeys
    world.relay.credentials.linkKeys = [older!, own!]
    expect((await poll(`&after=${next}`)).moments).toEqual([])
    world.relay.credentials.linkKeys = [older!]
    expect((await get(`?wait=0&after=${next}`)).status).toBe(409)
  })

  test.each([
    ['?wait=0&what=1', 400, 'query_invalid'],
    ['?wait=26', 400, 'query_invalid'],
    ['?wait=0&after=', 400, 'query_invalid'],
    ['?wait=0&after=0&after=0', 400, 'query_invalid'],
    ['?wait=0&moment=paused', 400, 'query_invalid'],
    ['?wait=0&type=Nap', 400, 'query_invalid'],
    ['?wait=0&fleet=x', 404, 'fleet_unknown'],
    ['?wait=0&after=99', 409, 'cursor_unknown'],
  ])('%s is refused', async (query, status, code) => {
    const response = await get(query)
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ code })
  })
})

/** Reads the stream chunk by chunk. */
async function open(query = '', headers: Record<string, string> = {}) {
  const response = await get(query, headers)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const reader = response.body!.getReader()
  const next = async () => {
    const { value, done } = await reader.read()
    return done ? undefined : new TextDecoder().decode(value)
  }
  return { next, cancel: () => reader.cancel() }
}

/** The cursor and the moment of each server-sent event. */
function parse(chunk: string | undefined) {
  const blocks = (chunk ?? '').split('\n\n').filter((block) => block.includes('data: '))
  return blocks.map((block) => {
    const [, id] = /^id: (.*)$/m.exec(block)!
    const [, data] = /^data: (.*)$/m.exec(block)!
    return { cursor: id!, moment: (JSON.parse(data!) as Sent).data.moment }
  })
}

describe('a stream', () => {
  test('begins with a cursor, and sends each moment as it happens', async () => {
    const stream = await open()
    expect(await stream.next()).toMatch(/^retry: 2000\nid: [\w-]{48}\n\n$/)
    const waiting = stream.next()
    await beacon.sees([event()])
    expect(parse(await waiting).map(({ moment }) => moment)).toEqual(['scheduled'])
    await stream.cancel()
  })

  test.each(['header', 'query'])('goes on from the cursor in the %s', async (where) => {
    await live()
    const all = await open('?after=0')
    await all.next()
    const { cursor } = parse(await all.next())[0]!
    const at = where === 'header' ? { 'last-event-id': cursor } : {}
    const stream = await open(where === 'query' ? `?after=${cursor}` : '', at)
    await stream.next()
    const moments = parse(await stream.next()).map(({ moment }) => moment)
    expect(moments).toEqual(['started', 'completed'])
    await stream.cancel()
  })

  test('sends a heartbeat with the cursor behind what its filter left out', async () => {
    await live()
    const stream = await open('?after=0&type=Freeze')
    await stream.next()
    const waiting = stream.next()
    world.clock.now += 15_000
    world.relay.work.commitSignal.raise()
    const [, cursor] = /^: heartbeat\nid: (.*)\n\n$/.exec((await waiting)!)!
    await stream.cancel()
    expect((await poll(`&after=${cursor}`)).moments).toEqual([])
  })

  test('ends after 15 minutes, and when the relay stops', async () => {
    const [first, second] = [await open(), await open()]
    for (const stream of [first, second]) await stream.next()
    world.clock.now += 15 * 60_000
    world.relay.work.commitSignal.raise()
    expect(await first.next()).toBeUndefined()
    world.relay.work.commitSignal.close()
    expect(await second.next()).toBeUndefined()
  })

  test.each(['99', 'x', '-1', 'A'.repeat(48)])('is refused with the cursor %s', async (id) => {
    const response = await get('', { 'last-event-id': id })
    expect(response.status).toBe(409)
    expect(await response.json()).toMatchObject({ code: 'cursor_unknown' })
  })

  test('is refused if 100 are open, until one ends', async () => {
    const streams = []
    for (let i = 0; i < 100; i++) streams.push(await open())
    const refused = await get('')
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('15')
    await streams[0]!.cancel()
    await (await open()).cancel()
    for (const stream of streams) await stream.cancel()
  })

  test('is not open after a HEAD', async () => {
    for (let i = 0; i < 101; i++) {
      const headers = { authorization }
      const head = await world.app.request('/v1/events/stream', { method: 'HEAD', headers })
      expect(head.status).toBe(200)
    }
    await (await open()).cancel()
  })

  test('is not open after it failed', async () => {
    const failing = vi.spyOn(world.relay.store, 'readMoments').mockRejectedValue(new Error('no'))
    for (let i = 0; i < 101; i++) {
      const stream = await open()
      await stream.next()
      await expect(stream.next()).rejects.toThrow('no')
    }
    failing.mockRestore()
    await (await open()).cancel()
  })

  test('is refused if tokens of one fleet have 20, and others still get one', async () => {
    const { token } = await makeToken(world, { name: 'a', scopes: ['read'], fleets: ['prod'] })
    const authorization = { authorization: `Bearer ${token}` }
    const streams = []
    for (let i = 0; i < 20; i++) streams.push(await open('', authorization))
    expect((await get('', authorization)).status).toBe(429)
    streams.push(await open())
    for (const stream of streams) await stream.cancel()
  })

  test('counts for each fleet of its token, whatever other fleets the token has', async () => {
    const lists = [['prod'], ['prod', 'test']]
    const keys = await Promise.all(lists.map((fleets) => bearer({ fleets })))
    const streams = []
    for (let i = 0; i < 20; i++) streams.push(await open('', keys[i % 2]))
    for (const key of keys) {
      const refused = await get('', key)
      expect(refused.status).toBe(429)
      expect(await refused.json()).toMatchObject({ detail: expect.stringContaining('"prod"') })
    }
    streams.push(await open('', await bearer({ fleets: ['test'] })))
    for (const stream of streams) await stream.cancel()
  })

  test('of the admin key has room when tokens have all that they may', async () => {
    const streams = []
    for (let i = 0; i < 20; i++) streams.push(await open('', await bearer({ fleets: ['prod'] })))
    const all = await bearer({})
    for (let i = 0; i < 60; i++) streams.push(await open('', all))
    for (const key of [all, await bearer({ fleets: ['test'] })]) {
      expect((await get('', key)).status).toBe(429)
    }
    for (let i = 0; i < 20; i++) streams.push(await open())
    expect((await get('')).status).toBe(429)
    for (const stream of streams) await stream.cancel()
  })

  test('sends nothing more once its token is revoked', async () => {
    const { id, token } = await makeToken(world, {})
    const stream = await open('', { authorization: `Bearer ${token}` })
    await stream.next()
    const waiting = stream.next()
    await revoke(id)
    await beacon.sees([event()])
    expect(await waiting).toBeUndefined()
  })

  test('of a revoked token ends at the next heartbeat, and frees its place', async () => {
    const { id, token } = await makeToken(world, { fleets: ['prod'] })
    const streams = []
    for (let i = 0; i < 20; i++) {
      const stream = await open('', { authorization: `Bearer ${token}` })
      await stream.next()
      streams.push(stream)
    }
    const waiting = streams.map((stream) => stream.next())
    await revoke(id)
    world.clock.now += 15_000
    world.relay.work.commitSignal.raise()
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([undefined]))
    await (await open('', await bearer({ fleets: ['prod'] }))).cancel()
  })

  test('ends when its token expires', async () => {
    const key = await bearer({ expiresInDays: 1 })
    world.clock.now += 86_400_000 - 5_000
    const stream = await open('', key)
    await stream.next()
    const waiting = stream.next()
    world.clock.now += 5_000
    world.relay.work.commitSignal.raise()
    expect(await waiting).toBeUndefined()
  })

  test('is refused by a host that cannot hold it, and polls still work', async () => {
    world.relay.host.holdsConnections = false
    const response = await get('')
    expect(response.status).toBe(406)
    expect(await response.json()).toMatchObject({ detail: expect.stringContaining('wait=25') })
    expect((await poll('')).moments).toEqual([])
  })
})

test('counts long polls as it counts streams', async () => {
  const key = (await makeToken(world, { fleets: ['prod'] })).token
  const poll = () => askApi(world, key, '/v1/events/stream?wait=25')
  const all = Array.from({ length: 21 }, poll)
  // the others wait
  const refused = await Promise.race(all)
  expect([refused.status, await refused.json()]).toMatchObject([429, { code: 'too_many_streams' }])
  world.relay.work.commitSignal.close()
  const statuses = (await Promise.all(all)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(20)
})
