// `GET /healthz`: strangers get one word and cannot load the store, an admin gets the troubles.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { healthOf } from '../support/health.ts'
import { report, startRelay, world } from '../support/relay.ts'
import { adminKey, event } from '../support/world.ts'

beforeEach(() => startRelay())
afterEach(() => {
  vi.restoreAllMocks()
  world.store.close()
})

async function ask(authorization?: string) {
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
  const response = await world.app.request('/healthz', { headers })
  return { status: response.status, body: await response.json(), response }
}

/** A channel that refuses every message. */
async function breakChannel() {
  world.channels.answer = () => new Response('no_service', { status: 404 })
  await report(event())
}

test('strangers get one word for any trouble', async () => {
  expect(await ask()).toMatchObject({ status: 200, body: { status: 'ok' } })
  await breakChannel()
  world.clock.now += 5_000
  const { status, body } = await ask()
  expect([status, body]).toEqual([200, { status: 'troubled' }])
  expect((await ask('')).body).toEqual({ status: 'troubled' })
})

test('an admin learns of each trouble, and at once', async () => {
  await ask()
  expect(await healthOf(world)).toEqual({ status: 'ok', time: '2026-11-21T12:00:00.000Z' })
  await breakChannel()
  const { status, troubles = [] } = await healthOf(world)
  expect(status).toBe('troubled')
  expect(troubles.join()).toContain(
    'channel "chat" has been refusing messages since 2026-11-21T12:00',
  )
})

describe('the store', () => {
  test('is asked once in 5 s, however many strangers ask', async () => {
    const reads = [vi.spyOn(world.store, 'nextDueAt'), vi.spyOn(world.store, 'listHealth')]
    await Promise.all(Array.from({ length: 100 }, () => ask()))
    world.clock.now += 4_999
    await ask()
    expect(reads.map(({ mock }) => mock.calls.length)).toEqual([1, 1])
    world.clock.now += 1
    for (let i = 0; i < 100; i++) await ask()
    expect(reads.map(({ mock }) => mock.calls.length)).toEqual([2, 2])
  })

  test('is asked again once the clock is right, if it was ahead', async () => {
    world.clock.now += 86_400_000
    await ask()
    world.clock.now -= 86_400_000
    world.store.nextDueAt = async () => {
      throw new Error('gone')
    }
    expect((await ask()).status).toBe(503)
  })

  test('does not answer: 503 and a line in the log, both for 5 s', async () => {
    const broken = vi.spyOn(world.store, 'nextDueAt').mockRejectedValue(new Error('disk on fire'))
    for (let i = 0; i < 100; i++) {
      expect(await ask()).toMatchObject({ status: 503, body: { status: 'failed' } })
    }
    expect(broken).toHaveBeenCalledTimes(1)
    const lines = world.lines.filter((line) => line.includes('disk on fire'))
    expect(lines).toHaveLength(1)
    expect(JSON.stringify((await ask(`Bearer ${adminKey}`)).body)).not.toContain('disk on fire')
    broken.mockRestore()
    world.clock.now += 5_000
    expect((await ask()).status).toBe(200)
  })
})

test('a wrong key counts like any other: ten are answered, more get 429', async () => {
  const read = vi.spyOn(world.store, 'nextDueAt')
  const statuses: number[] = []
  for (let i = 0; i < 6; i++) {
    statuses.push((await ask(`Bearer wrong-${i}`)).status)
    const headers = { authorization: `Bearer wrong-${i}` }
    statuses.push((await world.app.request('/v1/events', { headers })).status)
  }
  expect(statuses).toEqual([...Array(10).fill(401), 429, 429])
  expect((await ask('Bearer wrong')).response.headers.get('retry-after')).toBe('60')
  expect(read).not.toHaveBeenCalled()
  expect((await ask(`Bearer ${adminKey}`)).status).toBe(200)
  expect((await ask()).status).toBe(200)
})

test('a relay without an admin key shows nobody any details', async () => {
  world.relay.credentials.adminKey = undefined
  expect((await ask()).body).toEqual({ status: 'ok' })
  expect((await ask(`Bearer ${adminKey}`)).status).toBe(403)
})
