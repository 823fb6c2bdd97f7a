// Clients that disconnect in the middle of a body, and bytes that are not HTTP. Neither is an error
// of the relay, and they do not get a log line each.
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { type ServerType, serve } from '@hono/node-server'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { httpHandler } from '../../functions/host/azure/http.ts'
import { fleetHeader } from '../../shared/report.ts'
import { formType, linkOf } from '../support/people.ts'
import { startWithEvent, world } from '../support/relay.ts'
import { adminKey } from '../support/world.ts'

beforeEach(async () => {
  await startWithEvent({ slackApp: { signingSecret: '0'.repeat(32), team: 'T0TEAM' } })
  world.lines.length = 0
})
afterEach(() => world.store.close())

const admin = { authorization: `Bearer ${adminKey}` }
const routes: [string, Record<string, string>][] = [
  ['/v1/reports', { [fleetHeader]: 'prod' }],
  ['/v1/reports', { [fleetHeader]: 'made-up' }],
  ['/v1/drills', admin],
  ['/v1/deliveries/replay', admin],
  ['/v1/events/prod/x/decision', admin],
  ['/slack/interactions', {}],
  ['/console/sign-in', { 'content-type': formType }],
  ['/console/sign-out', { 'content-type': formType }],
  ['the page of an event', { 'content-type': formType }],
]

const entries = () => world.lines.map((line) => JSON.parse(line))

/** How a host passes on an upload that breaks off after its first part. */
function brokenBody(): ReadableStream {
  let pulls = 0
  return new ReadableStream({
    pull(controller) {
      if (pulls++ === 0) controller.enqueue(new TextEncoder().encode('{"version":'))
      else controller.error(new Error('aborted'))
    },
  })
}

describe.each([
  ['with a length', { 'content-length': '2000' }],
  ['in chunks', { 'transfer-encoding': 'chunked' }],
])('a body %s that breaks off', (_, framing) => {
  test.each(routes)(
    'sent to %s %o: 100 are one line, and none is an error',
    async (path, headers) => {
      const url = path.startsWith('/') ? path : linkOf(world)
      for (let i = 0; i < 100; i++) {
        const init = { method: 'POST', body: brokenBody(), duplex: 'half' }
        const request = { ...init, headers: { ...headers, ...(framing as object) } }
        const response = await world.app.request(url, request as RequestInit)
        expect(response.status).toBe(400)
      }
      expect(entries()).toMatchObject([{ level: 'info', event: 'requests_broken_off', count: 1 }])
      world.clock.now += 1_000
      const init = { method: 'POST', body: brokenBody(), duplex: 'half', headers }
      await world.app.request(url, init as RequestInit)
      expect(entries()).toMatchObject([{ count: 1 }, { count: 100 }])
    },
  )
})

test('on Azure Functions as well', async () => {
  const handle = httpHandler(world.app.fetch, world.relay.log)
  for (let i = 0; i < 100; i++) {
    const headers = new Headers({ [fleetHeader]: 'prod', 'content-length': '2000' })
    const url = 'https://foghorn.example/v1/reports'
    const request = { url, method: 'POST', headers, body: brokenBody() }
    const { status } = (await handle(request as never, {} as never)) as { status: number }
    expect(status).toBe(400)
  }
  expect(entries()).toMatchObject([{ level: 'info', event: 'requests_broken_off', count: 1 }])
})

test('a Content-Length that is not a number is refused, and nothing is read', async () => {
  const headers = { 'content-length': 'many', ...admin }
  const init = { method: 'POST', body: brokenBody(), duplex: 'half', headers }
  expect((await world.app.request('/v1/drills', init as RequestInit)).status).toBe(413)
})

describe('over connections of plain Node', () => {
  let server: ServerType
  let port: number
  let answered = 0

  beforeEach(async () => {
    answered = 0
    const { app } = world
    const fetch = async (request: Request) => {
      const response = await app.fetch(request)
      answered += 1
      return response
    }
    await new Promise<void>((resolve) => {
      server = serve({ fetch, port: 0, hostname: '127.0.0.1' }, () => resolve())
    })
    port = (server.address() as AddressInfo).port
  })
  afterEach(() => new Promise((closed) => server.close(closed)))

  /** Sends bytes and closes the connection. */
  async function leave(bytes: string): Promise<void> {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    await new Promise((sent) => socket.write(bytes, sent))
    socket.destroy()
  }

  test('300 that close after 1 KB of a longer body: no error, and few lines', async () => {
    const head = `POST /v1/reports HTTP/1.1\r\nHost: x\r\n${fleetHeader}: prod\r\n`
    const bytes = `${head}Content-Length: 200000\r\n\r\n${'x'.repeat(1_000)}`
    await Promise.all(Array.from({ length: 300 }, () => leave(bytes)))
    await vi.waitFor(() => expect(answered).toBe(300), { timeout: 10_000 })
    expect(entries()).toMatchObject([{ level: 'info', event: 'requests_broken_off', count: 1 }])
  })

  test.each([
    ['no HTTP', 'hello\r\n\r\n'],
    ['a length that is none', 'POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n'],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    ['a host that is none', 'GET / HTTP/1.1\r\nHost: a b\r\n\r\n'],
    ['no host', 'GET / HTTP/1.1\r\n\r\n'],
    ['a path that cannot be decoded', 'GET /approve/%E0%A4%A HTTP/1.1\r\nHost: x\r\n\r\n'],
    [
      'chunks that are none',
      'POST /v1/reports HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    ],
  ])('%s: answered, and nothing is an error', async (_, bytes) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(bytes)
    const [answer] = await once(socket, 'data')
    socket.destroy()
    expect(String(answer)).toMatch(/^HTTP\/1\.1 4\d\d /)
    expect(entries().filter(({ level }) => level === 'error')).toEqual([])
  })
})

describe('garbage without a credential', () => {
  const paths = ['/', '/healthz', '/approve/x', '/approve/%E0%A4%A', '/approve/a.b.c']
  const more = [
    '/console',
    '/console/events/%/%',
    '/v1/events?limit=%',
    '/v1/beacons',
    '/nope',
    '//',
  ]
  const headers = {
    cookie: '__Host-foghorn-admin=1.%%%; foghorn-admin=9999999999999.AAA=',
    'x-ms-client-principal': '{}%',
    'webhook-signature': 'v1,%%% v2,',
    'webhook-id': '%',
    'webhook-timestamp': '1e9',
    'x-slack-signature': `v0=${'0'.repeat(64)}`,
    'x-slack-request-timestamp': '9'.repeat(12),
    [fleetHeader]: '__proto__',
    'content-type': formType,
  }
  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']

  test('to every route, 20 times: no error, and a line for each kind of refusal', async () => {
    const posts = routes.map(([path]) => (path.startsWith('/') ? path : linkOf(world)))
    for (let i = 0; i < 20; i++) {
      for (const path of [...paths, ...more, ...posts]) {
        for (const method of methods) {
          const body = method === 'GET' || method === 'HEAD' ? null : '{"payload": [%&=&payload=['
          const response = await world.app.request(path, { method, body, headers })
          expect(response.status).toBeLessThan(500)
        }
      }
    }
    expect(entries().filter(({ level }) => level === 'error')).toEqual([])
    const kinds = entries().map(({ event: name, code, where }) => `${name} ${code} ${where}`)
    expect(kinds).toHaveLength(new Set(kinds).size)
    expect(kinds.length).toBeLessThan(10)
  })
})
