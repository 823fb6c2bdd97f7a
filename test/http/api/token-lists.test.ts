// The list of events for a token of several fleets: its pages are full, complete and in order, as
// if no other fleet existed. And the parameters of each list.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { record } from '../../support/records.ts'
import { startRelay, world } from '../../support/relay.ts'
import { askApi, makeToken } from '../../support/tokens.ts'
import { adminKey, eventId, startAt, testKey } from '../../support/world.ts'

const fleets = ['a', 'b', 'c', 'd']

beforeEach(() =>
  startRelay({ fleets: Object.fromEntries(fleets.map((name) => [name, { key: testKey }])) }),
)
afterEach(() => world.store.close())

interface Listed {
  fleet: string
  eventId: string
  firstSeenAt: string
}

async function read(key: string, query: string) {
  const response = await askApi(world, key, `/v1/events${query}`)
  return (await response.json()) as { events: Listed[]; more: boolean; cursor?: string }
}

async function list(key: string, query: string): Promise<Listed[]> {
  return (await read(key, query)).events
}

/** Follows the cursor from page to page. Each but the last one is full. */
async function pages(key: string, limit: number): Promise<Listed[]> {
  const all: Listed[] = []
  for (let query = `?limit=${limit}`; ; ) {
    const { events, more, cursor } = await read(key, query)
    all.push(...events)
    expect(more).toBe(cursor !== undefined)
    if (cursor === undefined) return all
    expect(events).toHaveLength(limit)
    query = `?limit=${limit}&cursor=${cursor}`
  }
}

const named = ({ fleet, eventId: id }: Listed) => `${fleet}/${id}`

describe.each([
  ['every event has a time of its own', 1],
  ['several events have one time', 7],
])('%s', (_, tied) => {
  beforeEach(async () => {
    for (let i = 0; i < 60; i++) {
      // fleet d has most of them, and the newest
      const fleet = fleets[[0, 3, 1, 3, 3, 2][i % 6]!]!
      const firstSeenAt = startAt + Math.floor(i / tied) * 1_000
      const event = record({ fleet, eventId: `e${i}`, firstSeenAt })
      await world.store.commit({
        ...{ record: event, basedOn: 0, deliveries: [], moments: [], now: startAt },
      })
    }
  })

  test.each([1, 2, 3, 5, 200])('pages of %i', async (limit) => {
    const { token } = await makeToken(world, { fleets: ['c', 'a'] })
    const all = (await list(adminKey, '?limit=200')).filter(({ fleet }) => 'ac'.includes(fleet))
    const found = await pages(token, limit)
    expect(all).toHaveLength(20)
    expect(found.map(named).sort()).toEqual(all.map(named).sort())
    const times = found.map(({ firstSeenAt }) => firstSeenAt)
    expect(times).toEqual(times.toSorted().reverse())
  })

  test('a filter shows one of its fleets', async () => {
    const { token } = await makeToken(world, { fleets: ['c', 'a'] })
    const found = await list(token, '?fleet=c&limit=200')
    expect(found).toHaveLength(10)
    expect(new Set(found.map(({ fleet }) => fleet))).toEqual(new Set(['c']))
  })
})

test('events of a fleet that left the configuration are still listed for its token', async () => {
  const { token } = await makeToken(world, { fleets: ['a', 'b'] })
  const event = record({ fleet: 'b' })
  await world.store.commit({
    ...{ record: event, basedOn: 0, deliveries: [], moments: [], now: startAt },
  })
  delete world.relay.config.fleets.b
  expect(await list(token, '')).toHaveLength(1)
  expect((await askApi(world, token, '/v1/events?fleet=b')).status).toBe(404)
})

describe('a parameter that is unknown or repeated is an error', () => {
  test.each([
    ['/v1/events?flet=a', '"fleet"'],
    ['/v1/events?fleet=a&fleet=b', 'once'],
    ['/v1/events?__proto__=1', '"limit"'],
    [`/v1/events/a/${eventId}?history=1`, 'this address takes none'],
    ['/v1/beacons?fleet=a&flet=a', '"fleet"'],
    ['/v1/beacons?fleet=a&fleet=b', 'once'],
    ['/v1/channels?fleet=a', 'this address takes none'],
    ['/v1/tokens?name=a', 'this address takes none'],
    ['/v1/tokens/0?name=a', 'this address takes none'],
  ])('%s', async (path, said) => {
    const response = await askApi(world, adminKey, path)
    const { code, detail } = (await response.json()) as { code: string; detail: string }
    expect([response.status, code]).toEqual([400, 'query_invalid'])
    expect(detail).toContain(said)
  })
})
