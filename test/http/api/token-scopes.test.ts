// Each address of the API, by tokens: which scope it needs, and that a token that is bound to a
// fleet learns nothing of another one.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Scope } from '../../../functions/core/rules/access.ts'
import { apiFeatures } from '../../features/api.ts'
import { startRelay, world } from '../../support/relay.ts'
import { askApi, makeToken } from '../../support/tokens.ts'
import {
  adminKey,
  baseConfig,
  event,
  eventId,
  FakeBeacon,
  prodKey,
  testKey,
} from '../../support/world.ts'

/** No other name or text of the tests contains this word. */
const hidden = 'hidden'
const absent = 'absent'

const config = {
  fleets: { prod: { key: prodKey }, [hidden]: { key: testKey } },
  channels: {
    ...(baseConfig.channels as object),
    'hidden-chat': {
      kind: 'webhook',
      url: 'https://hidden.example/in',
      secret: 'whsec_aG9va3NlY3JldGhvb2tzZWNyZXRob29rc2VjcmV0',
      fallback: 'hidden-pager',
    },
    'hidden-pager': { kind: 'teams', url: 'https://teams.example/hidden?sig=hidden-secret' },
  },
  routes: [
    { match: { fleet: 'prod' }, channels: ['chat', 'hook'] },
    { match: { fleet: hidden }, channels: ['hidden-chat'] },
  ],
}

/** The token of the hidden fleet. */
let itsToken: { id: string; token: string }
/** One of each feature. */
let itsThings: { id: string }[]

beforeEach(async () => {
  await startRelay(config)
  world.channels.answer = () => new Response('no', { status: 410 })
  await new FakeBeacon(world, 'web_0').sees([event()])
  const other = new FakeBeacon(world, 'hidden_0', { fleet: hidden, key: testKey })
  await other.sees([event({ resources: ['hidden_0'], description: 'hidden work' })])
  await world.drain()
  const scopes = ['manage']
  itsToken = await makeToken(world, { name: 'hidden-robot', scopes, fleets: [hidden] })
  world.channels.answer = () => new Response(null, { status: 204 })
  itsThings = []
  for (const { things } of apiFeatures)
    itsThings.push(
      (await things?.make(world, itsToken.token, hidden)) ?? { id: '0000000000000000' },
    )
})
afterEach(() => world.store.close())

interface Sent {
  path: string
  body?: unknown
}

interface Address {
  scope: Scope
  /** A request about a fleet, and about a token of that fleet. */
  about(fleet: string, tokenId: string): Sent[]
}

function addressesOfFeatures(): Record<string, Address> {
  const all = apiFeatures.flatMap(({ addresses = {} }, place) =>
    Object.entries(addresses).map(([name, { scope, about }]): [string, Address] => {
      const idFor = (id: string) => (id === itsToken?.id ? itsThings[place]!.id : id)
      return [name, { scope, about: (fleet, id) => [about(fleet, idFor(id))].flat() }]
    }),
  )
  return Object.fromEntries(all)
}

const drill = { type: 'Reboot' }

const addresses: Record<string, Address> = {
  'GET /v1/events': {
    scope: 'read',
    about: (fleet) => [
      { path: `/v1/events?fleet=${fleet}` },
      { path: `/v1/events?fleet=${fleet}&limit=1&until=2030-01-01T00:00:00Z` },
    ],
  },
  'GET /v1/events/:fleet/:eventId': {
    scope: 'read',
    about: (fleet) => [{ path: `/v1/events/${fleet}/${eventId}` }],
  },
  'POST /v1/events/:fleet/:eventId/decision': {
    scope: 'decide',
    about: (fleet) => [
      { path: `/v1/events/${fleet}/${eventId}/decision`, body: { decision: 'approve' } },
      { path: `/v1/events/${fleet}/${eventId}/decision`, body: { decision: 'not_now' } },
    ],
  },
  'GET /v1/beacons': {
    scope: 'read',
    about: (fleet) => [
      { path: `/v1/beacons?fleet=${fleet}` },
      { path: `/v1/beacons?fleet=${fleet}&state=silent&limit=1` },
    ],
  },
  'DELETE /v1/beacons/:fleet/:beacon{.+}': {
    scope: 'manage',
    about: (fleet) => [{ path: `/v1/beacons/${fleet}/id-${hidden}-hidden_0` }],
  },
  'GET /v1/azure': { scope: 'read', about: () => [{ path: '/v1/azure' }] },
  'GET /v1/channels': { scope: 'read', about: () => [{ path: '/v1/channels' }] },
  'POST /v1/channels/:name/test': {
    scope: 'manage',
    about: (fleet) => [{ path: `/v1/channels/${fleet}-chat/test` }],
  },
  'POST /v1/deliveries/replay': {
    scope: 'manage',
    about: (fleet) => [
      {
        path: '/v1/deliveries/replay',
        body: { id: `${fleet}/${eventId}/1/scheduled/${fleet}-chat` },
      },
      {
        path: '/v1/deliveries/replay',
        body: { since: '2020-01-01T00:00:00Z', channel: `${fleet}-chat` },
      },
    ],
  },
  'POST /v1/drills': {
    scope: 'manage',
    about: (fleet) => [{ path: '/v1/drills', body: { ...drill, fleet } }],
  },
  ...addressesOfFeatures(),
  'GET /v1/tokens': { scope: 'manage', about: () => [{ path: '/v1/tokens' }] },
  'POST /v1/tokens': {
    scope: 'manage',
    about: (fleet) => [
      { path: '/v1/tokens', body: { name: 'x', scopes: ['read'], fleets: [fleet] } },
      { path: '/v1/tokens', body: { name: 'x', scopes: ['read'], fleets: ['prod', fleet] } },
    ],
  },
  'GET /v1/tokens/:id': {
    scope: 'manage',
    about: (_, id) => [{ path: `/v1/tokens/${id}` }],
  },
  'DELETE /v1/tokens/:id': {
    scope: 'manage',
    about: (_, id) => [{ path: `/v1/tokens/${id}` }],
  },
}

/** Of beacons, which have credentials of their own. */
const ofBeacons = ['POST /v1/reports', 'POST /v1/beacons/check']
/** See azure.test.ts. */
const ofAzure = ['POST /v1/azure/events', 'OPTIONS /v1/azure/events']
/** These need the admin key. Their own tests show that a token is refused. */
const ofAdmin = apiFeatures.flatMap((one) => one.ofAdmin ?? [])

const methodOf = (address: string) => address.split(' ')[0]!
const send = (key: string, address: string, { path, body }: Sent) =>
  askApi(world, key, path, { method: methodOf(address), body })

test('every address of the API is in this table', () => {
  const routes = world.app.routes
    .filter(({ method, path }) => method !== 'ALL' && path.startsWith('/v1/'))
    .map(({ method, path }) => `${method} ${path}`)
    .filter((address) => ![...ofBeacons, ...ofAzure, ...ofAdmin].includes(address))
  expect([...new Set(routes)].sort()).toEqual(Object.keys(addresses).sort())
})

describe.each(Object.entries(addresses))('%s', (address, { scope, about }) => {
  test('needs its scope, and names it where it is missing', async () => {
    const including: Record<Scope, Scope[]> = {
      read: ['read', 'decide', 'manage'],
      decide: ['decide'],
      manage: ['manage'],
      calendar: [],
      report: ['report'],
    }
    for (const own of ['read', 'decide', 'manage', 'calendar', 'report'] as const) {
      const { token } = await makeToken(world, { scopes: [own] })
      const response = await send(token, address, about('prod', 'none')[0]!)
      if (including[scope].includes(own)) expect(response.status).not.toBe(403)
      else {
        expect(response.status).toBe(403)
        expect(response.headers.get('content-type')).toBe('application/problem+json')
        const problem = await response.json()
        expect(problem).toMatchObject({
          code: 'scope_missing',
          detail: expect.stringContaining(`"${scope}"`),
        })
      }
    }
  })

  test('answers of another fleet as of one that does not exist', async () => {
    const { token } = await makeToken(world, {
      ...{ name: 'bound', scopes: ['decide', 'manage'], fleets: ['prod'] },
    })
    const before = await everything()
    const none = '0000000000000000'
    const own = about(absent, none)
    const its = about(hidden, itsToken.id)
    for (const [i, request] of its.entries()) {
      const [known, unknown] = [
        await send(token, address, request),
        await send(token, address, own[i]!),
      ]
      const text = [itsToken, ...itsThings].reduce(
        (shown, { id }) => shown.replaceAll(id, none),
        await known.text(),
      )
      expect(known.status).toBe(unknown.status)
      expect(text.replaceAll(hidden, absent)).toBe(
        (await unknown.text()).replaceAll(hidden, absent),
      )
      expect([...known.headers]).toEqual([...unknown.headers])
      if (!JSON.stringify(request).includes(hidden)) expect(text).not.toContain(hidden)
    }
    expect(await everything()).toEqual(before)
  })
})

/** All that the API shows of the hidden fleet, and the requests to its channels. */
async function everything() {
  const read = async (path: string) => (await askApi(world, adminKey, path)).json()
  await world.drain()
  const { tokens } = (await read('/v1/tokens')) as { tokens: { id: string }[] }
  return [
    await read(`/v1/events?fleet=${hidden}`),
    await read(`/v1/events/${hidden}/${eventId}`),
    await read(`/v1/beacons?fleet=${hidden}`),
    ((await read('/v1/channels')) as { channels: { name: string }[] }).channels.filter(({ name }) =>
      name.startsWith(hidden),
    ),
    tokens.find(({ id }) => id === itsToken.id),
    await Promise.all(
      apiFeatures.flatMap(({ things }, place) =>
        (things?.lists ?? []).map((path) => read(path.replace('{id}', itsThings[place]!.id))),
      ),
    ),
    world.sent.filter(({ url }) => url.includes(hidden)),
  ]
}

describe('lists of a token that is bound to a fleet', () => {
  let token: string
  beforeEach(async () => {
    const wish = { name: 'bound', scopes: ['decide', 'manage'], fleets: ['prod'] }
    token = (await makeToken(world, wish)).token
  })
  const read = async (path: string, body?: unknown) => {
    const response = await askApi(world, token, path, body ? { method: 'POST', body } : {})
    return (await response.json()) as ReturnType<typeof JSON.parse>
  }

  test('its own fleet is complete', async () => {
    const { events } = await read('/v1/events')
    expect(events.map(({ fleet }: { fleet: string }) => fleet)).toEqual(['prod'])
    expect(await read('/v1/events?fleet=prod')).toEqual({ events, more: false })
    expect((await read(`/v1/events/prod/${eventId}`)).deliveries).toHaveLength(2)
    expect((await read('/v1/beacons')).beacons).toHaveLength(1)
    const { channels } = await read('/v1/channels')
    expect(channels.map(({ name }: { name: string }) => name)).toEqual(['chat', 'hook'])
  })

  test('an error lists its own fleets only', async () => {
    for (const path of ['/v1/events?fleet=x', '/v1/beacons?fleet=x']) {
      expect((await read(path)).detail).toBe('there is no fleet "x"; write one of "prod"')
    }
  })

  test('replays, drills and decides in its own fleet', async () => {
    const since = '2020-01-01T00:00:00Z'
    expect(await read('/v1/deliveries/replay', { since })).toEqual({ replayed: 2 })
    expect(await read('/v1/drills', { ...drill, fleet: 'prod' })).toMatchObject({ drill: true })
    const path = `/v1/events/prod/${eventId}/decision`
    const { approvals } = await read(path, { decision: 'approve' })
    expect(approvals).toMatchObject([{ decision: 'approved', how: 'token' }])
  })
})
