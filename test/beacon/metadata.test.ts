// The client of IMDS against a small server that answers as the facts say the real one does.
import http from 'node:http'
import { describe, expect, test } from 'vitest'
import { createImds, type Imds } from '../../beacon/metadata.ts'
import { apiVersions } from '../../shared/document.ts'
import { createFakeClock } from './fake-clock.ts'
import { type Asked, createTestLog, serve } from './world.ts'

type Reply = { status?: number; body?: string; headers?: Record<string, string> } | 'silence'

const document = JSON.stringify({
  DocumentIncarnation: 4,
  Events: [{ EventId: 'ABC-1', EventType: 'Reboot', EventStatus: 'Scheduled', Resources: ['vm1'] }],
})
const forever = new AbortController().signal
const tenMinutesMs = 10 * 60_000

/** An IMDS that answers as `reply` says, and a client of it. */
async function setUp(reply: (asked: Asked, index: number) => Reply, timeouts = {}) {
  let count = 0
  const server = await serve((asked, response) => {
    const answer = reply(asked, count++)
    if (answer === 'silence') return
    response.writeHead(answer.status ?? 200, answer.headers).end(answer.body ?? '')
  })
  const clock = createFakeClock()
  const log = createTestLog()
  const imds = createImds({ origin: server.origin, clock, log, ...timeouts })
  return { imds, log, clock, asked: server.asked, poll: () => imds.poll(forever) }
}

async function pollTimes(imds: Imds, times: number) {
  const polls = []
  for (let i = 0; i < times; i++) polls.push(await imds.poll(forever))
  return polls
}

function versionOf({ url }: Asked): string {
  return new URL(url, 'http://imds').searchParams.get('api-version') ?? ''
}

describe('a poll', () => {
  test('asks as IMDS wants to be asked, on one connection', async () => {
    const { imds, asked } = await setUp(() => ({ body: document }))
    await pollTimes(imds, 2)
    expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual(
      Array(2).fill('GET /metadata/scheduledevents?api-version=2020-07-01'),
    )
    expect(asked[0]?.headers).toMatchObject({ metadata: 'true', connection: 'keep-alive' })
    expect(asked[0]?.headers).not.toHaveProperty('x-forwarded-for')
  })

  test('gives the document in canonical form', async () => {
    const { poll } = await setUp(() => ({ body: document }))
    expect(await poll()).toEqual({
      kind: 'document',
      apiVersion: '2020-07-01',
      document: {
        incarnation: 4,
        events: [
          { eventId: 'abc-1', eventType: 'Reboot', status: 'Scheduled', resources: ['vm1'] },
        ],
        oddities: [],
      },
    })
  })

  test.each([
    [404, 'absent'],
    [405, 'absent'],
    [403, 'absent'],
    [408, 'transient'],
    [410, 'updating'],
    [429, 'throttled'],
    [500, 'transient'],
    [503, 'transient'],
    [204, 'transient'],
    [302, 'transient'],
  ])('that is answered %i has failed: %s', async (status, expected) => {
    const { poll } = await setUp(() => ({ status, headers: { location: '/elsewhere' } }))
    expect(await poll()).toMatchObject({ kind: 'failed', class: expected, status })
  })

  test.each([
    ['an empty body', ''],
    ['HTML', '<html></html>'],
    ['null', 'null'],
    ['no Events', '{"DocumentIncarnation":1}'],
  ])('that is answered 200 with %s has failed too', async (_, body) => {
    const { poll } = await setUp(() => ({ body }))
    expect(await poll()).toMatchObject({ kind: 'failed', class: 'transient', status: 200 })
  })

  test('tells what Retry-After asks for', async () => {
    const { poll } = await setUp(() => ({ status: 429, headers: { 'retry-after': '7' } }))
    expect(await poll()).toMatchObject({ retryAfterMs: 7_000 })
  })

  test('reads past a byte order mark', async () => {
    const { poll } = await setUp(() => ({ body: `\uFEFF${document}` }))
    expect(await poll()).toMatchObject({ kind: 'document' })
  })

  test('refuses a body without an end', async () => {
    const { poll } = await setUp(() => ({ body: 'x'.repeat(2 * 1024 * 1024) }))
    expect(await poll()).toMatchObject({
      class: 'transient',
      reason: expect.stringMatching(/larger than 1048576 bytes/),
    })
  })

  test('has failed where nothing listens', async () => {
    const clock = createFakeClock()
    const imds = createImds({ origin: 'http://127.0.0.1:1', clock, log: createTestLog() })
    const poll = await imds.poll(forever)
    expect(poll).toMatchObject({
      class: 'transient',
      reason: expect.stringMatching(/ECONNREFUSED/),
    })
  })

  test('has failed where the connection breaks in the middle of the answer', async () => {
    const server = await serve((_, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('{"Ev')
      setImmediate(() => response.destroy())
    })
    const clock = createFakeClock()
    const imds = createImds({ origin: server.origin, clock, log: createTestLog() })
    expect(await imds.poll(forever)).toMatchObject({ kind: 'failed', class: 'transient' })
  })

  test('survives that a kept connection was closed meanwhile', async () => {
    const server = http.createServer({ keepAliveTimeout: 60_000 })
    let sockets: import('node:net').Socket[] = []
    server.on('connection', (socket) => sockets.push(socket))
    const { origin, asked } = await serve((_, response) => response.end(document), server)
    const imds = createImds({ origin, clock: createFakeClock(), log: createTestLog() })
    await imds.poll(forever)
    for (const socket of sockets) socket.resetAndDestroy()
    sockets = []
    expect(await imds.poll(forever)).toMatchObject({ kind: 'document' })
    expect(asked).toHaveLength(2)
  })

  test('ends at once when the beacon stops', async () => {
    const stopping = new AbortController()
    const { imds } = await setUp(() => {
      stopping.abort()
      return 'silence'
    })
    expect(await imds.poll(stopping.signal)).toMatchObject({ reason: 'the beacon is stopping' })
    expect(await imds.poll(stopping.signal)).toMatchObject({ kind: 'failed' })
  })
})

test('the first answer may take long, those after the first document may not', async () => {
  const timeouts = { firstTimeoutMs: 20_000, laterTimeoutMs: 30 }
  const server = await serve((_, response) => {
    if (server.asked.length > 2) return
    setTimeout(() => response.end(server.asked.length === 1 ? '' : document), 60)
  })
  const clock = createFakeClock()
  const imds = createImds({ origin: server.origin, clock, log: createTestLog(), ...timeouts })
  expect(await pollTimes(imds, 3)).toMatchObject([
    { kind: 'failed', reason: 'the body is empty' },
    { kind: 'document' },
    { kind: 'failed', class: 'transient', reason: 'no answer within 0.03 s' },
  ])
})

describe('the api-version', () => {
  const knowing = (version: string) => (asked: Asked) =>
    versionOf(asked) === version ? { body: document } : { status: 400 }

  test('falls back to the newest that is answered, and stays there', async () => {
    const { imds, asked, log } = await setUp(knowing('2019-04-01'))
    const polls = await pollTimes(imds, 4)
    expect(polls.map((poll) => (poll.kind === 'failed' ? poll.class : poll.apiVersion))).toEqual([
      'fallback',
      'fallback',
      '2019-04-01',
      '2019-04-01',
    ])
    expect(asked.map(versionOf)).toEqual(['2020-07-01', '2019-08-01', '2019-04-01', '2019-04-01'])
    expect(log.named('imds_version_refused')).toHaveLength(2)
  })

  test('refused all the way down, it starts over, slowly and in silence', async () => {
    const { imds, asked, log } = await setUp(() => ({ status: 400 }))
    const polls = await pollTimes(imds, 2 * apiVersions.length)
    expect(asked.map(versionOf)).toEqual([...apiVersions, ...apiVersions])
    const classes = polls.map((poll) => poll.kind === 'failed' && poll.class)
    expect(classes.slice(0, 6)).toEqual(Array(6).fill('fallback'))
    expect(classes.slice(6)).toEqual(Array(8).fill('absent'))
    expect(log.named('imds_version_refused')).toHaveLength(apiVersions.length)
  })

  test('after a hiccup it is the newest again, some minutes later', async () => {
    const { imds, clock, asked, log } = await setUp((_, i) =>
      i === 0 ? { status: 400 } : { body: document },
    )
    await pollTimes(imds, 2)
    await clock.advance(tenMinutesMs)
    await pollTimes(imds, 2)
    expect(asked.map(versionOf)).toEqual(['2020-07-01', '2019-08-01', '2020-07-01', '2020-07-01'])
    expect(log.named('imds_version_restored')).toHaveLength(1)
  })

  test('looking up again costs one poll in ten minutes where the newest stays unknown', async () => {
    const { imds, clock, asked } = await setUp(knowing('2019-08-01'))
    await pollTimes(imds, 2)
    await clock.advance(tenMinutesMs)
    const polls = await pollTimes(imds, 3)
    expect(asked.slice(2).map(versionOf)).toEqual(['2020-07-01', '2019-08-01', '2019-08-01'])
    expect(polls[0]).toMatchObject({ class: 'fallback' })
  })
})

describe('an approval', () => {
  const approved = (reply: Reply) => (asked: Asked) =>
    asked.method === 'POST' ? reply : { body: document }

  test('names the event as IMDS wrote it', async () => {
    const { imds, asked, poll } = await setUp(approved({ status: 200 }))
    await poll()
    expect(await imds.start('abc-1', forever)).toEqual({ outcome: 'accepted', status: 200 })
    expect(asked[1]).toMatchObject({
      method: 'POST',
      url: '/metadata/scheduledevents?api-version=2020-07-01',
      headers: { metadata: 'true' },
      body: '{"StartRequests":[{"EventId":"ABC-1"}]}',
    })
  })

  test('tells the preview which document it is about', async () => {
    const { imds, asked } = await setUp((asked) =>
      versionOf(asked) === '2017-03-01' ? { body: document } : { status: 400 },
    )
    await pollTimes(imds, apiVersions.length)
    await imds.start('abc-1', forever)
    expect(asked.at(-1)?.url).toContain('api-version=2017-03-01')
    expect(JSON.parse(asked.at(-1)?.body ?? '')).toEqual({
      DocumentIncarnation: '4',
      StartRequests: [{ EventId: 'ABC-1' }],
    })
  })

  test.each([400, 404, 429, 500])('that is answered %i is rejected', async (status) => {
    const { imds, poll } = await setUp(approved({ status, body: 'because' }))
    await poll()
    const started = await imds.start('abc-1', forever)
    expect(started).toEqual({ outcome: 'rejected', status, reason: 'because' })
  })

  test('without an answer is unreachable', async () => {
    const { imds, poll } = await setUp(approved('silence'), { laterTimeoutMs: 30 })
    await poll()
    expect(await imds.start('abc-1', forever)).toMatchObject({ outcome: 'unreachable' })
  })
})

describe('the identity', () => {
  const compute = {
    name: 'web_18',
    vmId: 'id-1',
    resourceGroupName: 'shop',
    subscriptionId: 'sub',
    vmScaleSetName: 'web',
    placementGroupId: 'pg',
    location: 'westeurope',
    zone: '',
    tagsList: [
      { name: 'tier', value: 'front' },
      { name: '__proto__', value: 'x' },
      { name: 7 },
      'odd',
    ],
  }

  test('is read from its own api-version', async () => {
    const { imds, asked } = await setUp(() => ({ body: JSON.stringify({ compute }) }))
    expect(await imds.identify(forever)).toEqual({
      kind: 'vm',
      vm: {
        name: 'web_18',
        vmId: 'id-1',
        resourceGroup: 'shop',
        subscriptionId: 'sub',
        scaleSet: 'web',
        placementGroup: 'pg',
        location: 'westeurope',
        zone: '',
        tags: Object.fromEntries([
          ['tier', 'front'],
          ['__proto__', 'x'],
        ]),
      },
    })
    expect(asked[0]?.url).toBe('/metadata/instance?api-version=2021-02-01')
    expect(asked[0]?.headers.metadata).toBe('true')
  })

  test('needs no more than a name', async () => {
    const { imds } = await setUp(() => ({ body: '{"compute":{"name":"vm1"}}' }))
    expect(await imds.identify(forever)).toMatchObject({ vm: { name: 'vm1', zone: '', tags: {} } })
  })

  test.each<[string, Reply]>([
    ['a refusal', { status: 503 }],
    ['an empty body', {}],
    ['no compute', { body: '{}' }],
    ['no name', { body: '{"compute":{"name":""}}' }],
  ])('has failed with %s', async (_, reply) => {
    const { imds } = await setUp(() => reply)
    expect(await imds.identify(forever)).toMatchObject({ kind: 'failed', class: 'transient' })
  })
})

describe('a token', () => {
  const token = 'eyJ0eXAiOiJKV1QifQ.eyJhdWQiOiJhcGkifQ.c2lnbmF0dXJl'
  const body = JSON.stringify({
    access_token: token,
    expires_on: '1767312000',
    token_type: 'Bearer',
  })

  test('is asked for with its audience, and the identity where one is named', async () => {
    const { imds, asked } = await setUp(() => ({ body }))
    const expected = { kind: 'token', token, expiresAt: 1_767_312_000_000 }
    expect(await imds.token('api://foghorn', undefined, forever)).toEqual(expected)
    expect(await imds.token('api://foghorn', 'id-1', forever)).toEqual(expected)
    const url =
      '/metadata/identity/oauth2/token?api-version=2018-02-01&resource=api%3A%2F%2Ffoghorn'
    expect(asked.map((one) => one.url)).toEqual([url, `${url}&client_id=id-1`])
    expect(asked[0]?.headers.metadata).toBe('true')
  })

  test('may say its end as a number', async () => {
    const { imds } = await setUp(() => ({ body: body.replace('"1767312000"', '1767312000') }))
    expect(await imds.token('a', undefined, forever)).toMatchObject({
      expiresAt: 1_767_312_000_000,
    })
  })

  test.each<[string, Reply, object]>([
    ['400', { status: 400, body: '{"error":"invalid_request"}' }, { class: 'absent', status: 400 }],
    ['410', { status: 410 }, { class: 'updating' }],
    ['429', { status: 429, headers: { 'retry-after': '7' } }, { retryAfterMs: 7_000 }],
    ['500', { status: 500 }, { class: 'transient' }],
    ['nothing', {}, { class: 'transient', reason: 'the answer for a token is not JSON' }],
    [
      'no token',
      { body: '{"expires_on":"1"}' },
      { reason: expect.stringMatching(/access_token$/) },
    ],
    [
      'no end',
      { body: body.replace('expires_on', 'x') },
      { reason: expect.stringMatching(/expires_on$/) },
    ],
    [
      'no JWT',
      { body: body.replace(token, 'opaque') },
      { reason: expect.stringMatching(/access_token$/) },
    ],
    ['half an answer', { body: body.slice(0, -5) }, { class: 'transient' }],
  ])('has failed with %s, which shows none of it', async (_, reply, expected) => {
    const { imds } = await setUp(() => reply)
    const failed = await imds.token('api://foghorn', undefined, forever)
    expect(failed).toMatchObject({ kind: 'failed', ...expected })
    expect(JSON.stringify(failed)).not.toMatch(/eyJ|opaque/)
  })
})
