// The client of the relay against a small server that answers like a relay, or like another server.
import { describe, expect, onTestFinished, test } from 'vitest'
import { createKeyCredential } from '../../beacon/credential.ts'
import type { ProxyEnvironment } from '../../beacon/exchange.ts'
import { createRelay } from '../../beacon/relay-client.ts'
import { verify } from '../../shared/signature.ts'
import { aDirective } from './agent-world.ts'
import { createFakeClock } from './fake-clock.ts'
import { type Asked, fleetKey, serve } from './world.ts'

type Reply = { status?: number; body?: unknown; headers?: Record<string, string> }

const forever = new AbortController().signal
const answer = { outcome: 'accepted', time: 1, paceMs: 2_000, directives: [aDirective()] }
const hour = 3_600_000

async function setUp(reply: (asked: Asked, index: number) => Reply | 'silence', path = '') {
  let count = 0
  const { origin, asked } = await serve((one, response) => {
    const { status = 200, body, headers } = withDefaults(reply(one, count++))
    if (status === 0) return
    response.writeHead(status, headers)
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  return { asked, ...client({ url: `${origin}${path}` }) }
}

function withDefaults(reply: Reply | 'silence'): Reply {
  return reply === 'silence' ? { status: 0 } : reply
}

function client(options: { url: string; environment?: ProxyEnvironment }) {
  const clock = createFakeClock()
  let id = 0
  let built = 0
  const relay = createRelay({
    environment: {},
    ...options,
    ...{ fleet: 'shop', clock, timeoutMs: 5_000 },
    credential: createKeyCredential(fleetKey, () => `msg_${++id}`),
  })
  onTestFinished(relay.close)
  const build = () => `{"built":${++built},"name":"Zürich"}`
  return { clock, send: (signal = forever) => relay.send(build, signal) }
}

function checkOf({ headers, body }: Asked, now: number) {
  return verify([fleetKey], (name) => headers[name] as string | undefined, now, body)
}

test('a report is signed as Standard Webhooks has it, with its fleet', async () => {
  const { send, asked, clock } = await setUp(() => ({ body: answer }), '/foghorn/')
  expect(await send()).toEqual({
    kind: 'accepted',
    answer: { ...answer, preparations: [], refused: [] },
  })
  const [one] = asked
  expect(one).toMatchObject({
    method: 'POST',
    url: '/foghorn/v1/reports',
    headers: {
      'x-foghorn-fleet': 'shop',
      'content-type': 'application/json',
      'webhook-id': 'msg_1',
    },
    body: '{"built":1,"name":"Zürich"}',
  })
  expect(await checkOf(one!, clock.now())).toBe('valid')
})

test('each attempt has a body and an id of its own', async () => {
  const { send, asked } = await setUp(() => ({ status: 503 }))
  await send()
  await send()
  expect(asked.map(({ body }) => JSON.parse(body).built)).toEqual([1, 2])
  expect(asked.map(({ headers }) => headers['webhook-id'])).toEqual(['msg_1', 'msg_2'])
})

describe('an answer', () => {
  test.each<[string, Reply, object]>([
    ['409 of a retired boot', problem(409, 'boot_retired'), { kind: 'retired' }],
    ['409 of another kind', problem(409, 'other'), { kind: 'refused', status: 409 }],
    [
      '400',
      problem(400, 'body_invalid'),
      { kind: 'refused', status: 400, reason: expect.stringMatching(/detail of/) },
    ],
    ['401', problem(401, 'signature_invalid'), { kind: 'refused', status: 401 }],
    ['401 without the time', problem(401, 'clock_outside_tolerance'), { kind: 'refused' }],
    [
      '404 of a stranger',
      { status: 404, body: '<h1>Nothing</h1>' },
      { kind: 'failed', reason: expect.stringMatching(/<h1>Nothing/) },
    ],
    ['400 of a proxy', { status: 400, body: '<h1>No</h1>' }, { kind: 'failed', status: 400 }],
    ['413 of a proxy', { status: 413, body: '{"error":"too large"}' }, { kind: 'failed' }],
    ['409 of a proxy', { status: 409, body: '' }, { kind: 'failed' }],
    ['413', problem(413, 'too_large'), { kind: 'refused', status: 413 }],
    ['408', problem(408, 'slow'), { kind: 'failed', status: 408 }],
    ['429', { ...problem(429, 'busy'), headers: { 'retry-after': '9' } }, { retryAfterMs: 9_000 }],
    ['429 without a time', problem(429, 'busy'), { kind: 'failed', status: 429 }],
    [
      '500 without a word',
      { status: 500, body: '' },
      { kind: 'failed', reason: expect.stringMatching(/\(empty body\)/) },
    ],
    [
      '503',
      { status: 503, body: 'later' },
      { kind: 'failed', status: 503, reason: expect.stringMatching(/later/) },
    ],
    [
      'a refusal of 100 KB and many lines',
      { ...problem(503, 'busy'), body: { code: 'busy', detail: 'x\n'.repeat(50_000) } },
      { kind: 'failed', reason: expect.stringMatching(/^[^\n]{900,1100}$/) },
    ],
    [
      'a redirect',
      { status: 302, headers: { location: 'https://elsewhere/' } },
      {
        kind: 'failed',
        reason: expect.stringMatching(/FOGHORN_RELAY_URL .* https:\/\/elsewhere\//),
      },
    ],
    ['200 of a stranger', { body: '<html>Log in</html>' }, { kind: 'failed', status: 200 }],
    ['200 with half an answer', { body: { outcome: 'accepted' } }, { kind: 'failed' }],
    [
      '200 without an end',
      { body: 'x'.repeat(300 * 1024) },
      { reason: expect.stringMatching(/larger than 262144/) },
    ],
  ])('%s', async (_, reply, expected) => {
    const { send, asked } = await setUp(() => reply)
    expect(await send()).toMatchObject(expected)
    expect(asked).toHaveLength(1)
  })

  test('that never comes is given up on', async () => {
    const server = await serve(() => {})
    const relay = createRelay({
      ...{ url: server.origin, fleet: 'shop', environment: {}, timeoutMs: 30 },
      ...{ clock: createFakeClock(), credential: createKeyCredential(fleetKey, () => 'msg') },
    })
    for (const [waitMs, reason] of [
      [undefined, 'no answer within 0.03 s'],
      [20, 'no answer within 0.05 s'],
    ] as const) {
      expect(await relay.send(() => '{}', forever, waitMs)).toMatchObject({
        kind: 'failed',
        reason,
      })
    }
  })

  test('is not waited for when the beacon stops', async () => {
    const stopping = new AbortController()
    const { send } = await setUp(() => {
      stopping.abort()
      return 'silence'
    })
    expect(await send(stopping.signal)).toMatchObject({ kind: 'failed' })
  })
})

describe('where the clock of this VM is wrong', () => {
  /** A relay whose clock is `ahead` of ours, and which tells so. */
  async function setUpRelay(aheadMs: () => number) {
    const checks: string[] = []
    const server = await serve(async (asked, response) => {
      const now = world.clock.now() + aheadMs()
      const check = await checkOf(asked, now)
      checks.push(check)
      const late = problem(401, 'clock_outside_tolerance', now)
      const { status, body } = check === 'valid' ? { status: 200, body: answer } : late
      response.writeHead(status ?? 200).end(JSON.stringify(body))
    })
    const world = client({ url: server.origin })
    return { ...world, ...server, checks }
  }

  test('the relay is asked what time it is, once', async () => {
    const { send, asked, checks } = await setUpRelay(() => hour)
    expect(await send()).toMatchObject({ kind: 'accepted' })
    expect(await send()).toMatchObject({ kind: 'accepted' })
    expect(checks).toEqual(['outside_tolerance', 'valid', 'valid'])
    expect(asked.map(({ body }) => JSON.parse(body).built)).toEqual([1, 2, 3])
  })

  test('and again after the clock was set right', async () => {
    let ahead = -hour
    const { send, checks } = await setUpRelay(() => ahead)
    await send()
    ahead = 0
    expect(await send()).toMatchObject({ kind: 'accepted' })
    expect(checks).toEqual(['outside_tolerance', 'valid', 'outside_tolerance', 'valid'])
  })

  test('a relay that is never content is not asked a third time', async () => {
    const { send, asked } = await setUp(() => problem(401, 'clock_outside_tolerance', 5))
    expect(await send()).toMatchObject({ kind: 'refused', status: 401 })
    expect(asked).toHaveLength(2)
  })
})

test('a relay on this machine is reached past the proxy', async () => {
  const proxy = await serve((_, response) => response.writeHead(502).end())
  const { origin } = await serve((_, response) => response.end(JSON.stringify(answer)))
  const { send } = client({ url: origin, environment: { HTTPS_PROXY: proxy.origin } })
  expect(await send()).toMatchObject({ kind: 'accepted' })
  expect(proxy.asked).toEqual([])
})

function problem(status: number, code: string, time?: number): Reply {
  return { status, body: { code, title: code, status, detail: `detail of ${code}`, time } }
}
