// The client of IMDS against a small server that answers like the documented one: polls, approvals
// and failures.
import http from 'node:http'
import { describe, expect, test } from 'vitest'
import { createImds, type Poll } from '../../beacon/imds.ts'
import { hits, limits } from '../../shared/document.ts'
import { instanceOf } from './events.ts'
import { createFakeClock } from './fake-clock.ts'
import { document, forever, pollTimes, type Reply, setUp, versionOf } from './fake-imds.ts'
import { type Asked, createTestLog, serve } from './world.ts'

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
        unreadable: { count: 0, samples: [] },
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

describe('a poll with the same text', () => {
  const hitting = (i: number) => ({ EventId: `${i}`, EventType: 'Reboot', Resources: [`vm${i}`] })
  const body = JSON.stringify({
    Events: Array.from({ length: limits.events + 1 }, (_, i) => hitting(i)),
  })

  function documentIn(poll: Poll) {
    if (poll.kind === 'failed') throw new Error(poll.reason)
    return poll.document
  }

  test('gives the same document', async () => {
    const { imds } = await setUp(() => ({ body }))
    const [first, second] = (await pollTimes(imds, 2)).map(documentIn)
    expect(second).toBe(first)
  })

  test('is read again once the VM is known, whose events come first', async () => {
    const name = `vm${limits.events}`
    const instance = instanceOf(name)
    const { imds, poll } = await setUp(({ url }) => {
      return { body: url.includes('instance') ? instance : body }
    })
    expect(documentIn(await poll()).events.some((event) => hits(event, name))).toBe(false)
    await imds.identify(forever)
    expect(documentIn(await poll()).events[0]?.resources).toEqual([name])
  })

  test('is read again as another api-version', async () => {
    const body = JSON.stringify({ Events: [{ ...hitting(1), Resources: ['_vm1'] }] })
    const { poll, clock } = await setUp((asked) => {
      return versionOf(asked) === '2017-03-01' || !isOld ? { body } : { status: 400 }
    })
    let isOld = false
    expect(documentIn(await poll()).events[0]?.resources).toEqual(['_vm1'])
    isOld = true
    let last = await poll()
    while (last.kind === 'failed') {
      await clock.advance(6_000)
      last = await poll()
    }
    expect(documentIn(last).events[0]?.resources).toEqual(['vm1'])
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

describe('an approval', () => {
  const approved = (reply: Reply) => (asked: Asked) =>
    asked.method === 'POST' ? reply : { body: document }

  test('names the event as IMDS wrote it', async () => {
    const { imds, asked, poll } = await setUp(approved({ status: 200 }))
    await poll()
    expect(await imds.start(() => ['abc-1'], forever)).toEqual({ outcome: 'accepted', status: 200 })
    expect(asked[1]).toMatchObject({
      method: 'POST',
      url: '/metadata/scheduledevents?api-version=2020-07-01',
      headers: { metadata: 'true' },
      body: '{"StartRequests":[{"EventId":"ABC-1"}]}',
    })
  })

  test('tells the preview which document it is about', async () => {
    const { imds, asked, clock } = await setUp((asked) =>
      versionOf(asked) === '2017-03-01' ? { body: document } : { status: 400 },
    )
    let poll: Poll['kind'] = 'failed'
    while (poll === 'failed') {
      poll = (await imds.poll(forever)).kind
      await clock.advance(2_000)
    }
    await clock.advance(2_000)
    await imds.start(() => ['abc-1'], forever)
    const post = asked.findLast(({ method }) => method === 'POST')
    expect(post?.url).toContain('api-version=2017-03-01')
    expect(JSON.parse(post?.body ?? '')).toEqual({
      DocumentIncarnation: '4',
      StartRequests: [{ EventId: 'ABC-1' }],
    })
  })

  test('names several events in one request, and is none without an event', async () => {
    const events = ['ABC-1', 'Def-2'].map((EventId) => ({ EventId }))
    const body = JSON.stringify({ Events: [{ EventId: 7 }, ...events] })
    const { imds, asked, poll } = await setUp((one) => (one.method === 'POST' ? {} : { body }))
    await poll()
    const started = await imds.start(() => ['def-2', 'abc-1', 'ghi-3'], forever)
    expect(started).toEqual({ outcome: 'accepted', status: 200 })
    expect(JSON.parse(asked[1]?.body ?? '')).toEqual({
      StartRequests: [{ EventId: 'Def-2' }, { EventId: 'ABC-1' }, { EventId: 'ghi-3' }],
    })
    expect(await imds.start(() => [], forever)).toBeUndefined()
    expect(asked).toHaveLength(2)
  })

  test.each<[Reply, number]>([
    [{ status: 429 }, 1_000],
    [{ status: 429, headers: { 'retry-after': '0' } }, 1_000],
    [{ status: 429, headers: { 'retry-after': '3' } }, 3_000],
    [{ status: 503, headers: { 'retry-after': '2' } }, 2_000],
    [{ status: 429, headers: { 'retry-after': '3600' } }, 60_000],
  ])('that is answered %j is throttled, for %i ms', async (reply, retryAfterMs) => {
    const { imds, poll } = await setUp(approved(reply))
    await poll()
    const started = await imds.start(() => ['abc-1'], forever)
    expect(started).toMatchObject({ outcome: 'throttled', retryAfterMs })
  })

  test.each([400, 404, 500, 503])('that is answered %i is rejected', async (status) => {
    const { imds, poll } = await setUp(approved({ status, body: 'because' }))
    await poll()
    const started = await imds.start(() => ['abc-1'], forever)
    expect(started).toEqual({ outcome: 'rejected', status, reason: 'because' })
  })

  test('without an answer is unreachable', async () => {
    const { imds, poll } = await setUp(approved('silence'), { laterTimeoutMs: 30 })
    await poll()
    expect(await imds.start(() => ['abc-1'], forever)).toMatchObject({ outcome: 'unreachable' })
  })
})
