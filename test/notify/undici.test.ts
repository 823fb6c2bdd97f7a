// The guard of outgoing requests: which addresses a channel may never reach, as they are written in
// addresses of the web and as names resolve to them, against a real server on this machine.
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createPlainServer } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { addressJudge, createOutbound, type Outbound } from '../../functions/notify/undici.ts'
import { channels, kinds } from './kinds.ts'
import { notify } from './outgoing.ts'

const forbidden: string[] = [
  ...['0.0.0.0', '0.255.255.255', '10.0.0.0', '10.255.255.255', '100.64.0.0', '100.127.255.255'],
  ...['127.0.0.1', '127.255.255.255', '169.254.0.1', '169.254.169.254', '168.63.129.16'].slice(
    0,
    4,
  ),
  ...['172.16.0.0', '172.31.255.255', '192.0.0.1', '192.0.0.255', '192.0.2.1', '192.168.0.1'],
  ...['192.168.255.255', '198.18.0.1', '198.19.255.255', '198.51.100.7', '203.0.113.9'],
  ...['224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.254', '255.255.255.255'],
  ...['::', '::1', 'fc00::1', 'fdff:ffff::1', 'fe80::1', 'febf::1', 'ff00::1', 'ff02::1'],
  ...['2001:db8::1', '64:ff9b::7f00:1', '64:ff9b::8.8.8.8', '2002:7f00:1::', '2002:808:808::'],
  ...['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::ffff:169.254.169.254'],
  ...['::ffff:192.168.1.1', '::ffff:0.0.0.0', '0:0:0:0:0:ffff:7f00:0001'],
]

const open: string[] = [
  ...['1.1.1.1', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255'],
  ...['128.0.0.1', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0'],
  ...['192.0.1.1', '192.0.3.1', '192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0'],
  ...['203.0.112.255', '203.0.114.0', '223.255.255.255', '2606:4700::1111', '2001:db7::1'],
  ...['::ffff:1.1.1.1', '2003::1', 'fbff::1'],
]

const refusal = { name: 'FoghornError', code: 'address_forbidden' }

describe('an address', () => {
  const judge = addressJudge([])

  test.each(forbidden)('%s is forbidden', (address) => {
    expect(() => judge(address, false)).toThrow(expect.objectContaining(refusal))
    expect(() => judge(address, true)).toThrow(expect.objectContaining(refusal))
  })

  test.each(open)('%s is open, but not by plain http', (address) => {
    expect(() => judge(address, false)).not.toThrow()
    expect(() => judge(address, true)).toThrow(/plain http/)
  })

  test.each(['', 'localhost', 'fe80::1%eth0', 'fe80::1%25eth0', '127.1'])(
    '%j is no way around',
    (text) => {
      expect(() => judge(text, false)).toThrow()
    },
  )

  test('an allowed network is open, also by plain http, and so is its form in IPv6', () => {
    const allowing = addressJudge(['10.1.0.0/16', 'fd00:1::/32'])
    for (const address of ['10.1.0.1', '10.1.255.255', '::ffff:10.1.2.3', 'fd00:1::5']) {
      for (const plain of [true, false]) expect(() => allowing(address, plain)).not.toThrow()
    }
    for (const address of ['10.2.0.1', '10.0.255.255', 'fd00:2::1', '127.0.0.1']) {
      expect(() => allowing(address, false)).toThrow(expect.objectContaining(refusal))
    }
  })
})

let server: Server
let port: number
let requests: { path: string; host: string }[] = []
let outbound: Outbound | undefined

beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push({ path: request.url ?? '', host: request.headers.host ?? '' })
    if (request.url === '/redirect') response.writeHead(307, { location: '/landed' })
    response.end('ok')
  })
  port = await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
})

afterAll(() => {
  server.close()
  server.closeAllConnections()
})

afterEach(async () => {
  await outbound?.close()
  requests = []
})

function send(url: string, allowNetworks: string[]) {
  outbound = createOutbound(allowNetworks)
  return outbound.send(url, { method: 'POST', body: '{}' })
}

/** Every error on the way from what was thrown to its cause. */
function codesOf(error: unknown): unknown[] {
  const codes: unknown[] = []
  for (let at = error; at instanceof Error; at = at.cause)
    codes.push((at as { code?: string }).code)
  return codes
}

async function codesThrown(url: string, allowNetworks: string[] = []): Promise<unknown[]> {
  return codesOf(await send(url, allowNetworks).catch((error: unknown) => error))
}

const spellings = [
  '127.0.0.1',
  '127.1',
  '0x7f000001',
  '0x7f.1',
  '2130706433',
  '017700000001',
  '0177.0.0.1',
  '127.0.0.1.',
  '①②⑦.0.0.1',
  '%31%32%37.0.0.1',
  '0',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:7f00:1]',
  'localhost',
  'LOCALHOST',
]

describe('a request', () => {
  const both = spellings.flatMap((host) => ['http', 'https'].map((scheme) => [scheme, host]))

  test.each(both)('to %s://%s never reaches this machine', async (scheme, host) => {
    expect(await codesThrown(`${scheme}://${host}:${port}/`)).toContain('address_forbidden')
    expect(requests).toEqual([])
  })

  test.each(['127.0.0.1', '127.1', '0x7f000001', 'localhost'])(
    'to http://%s reaches it where its network is allowed',
    async (host) => {
      const response = await send(`http://${host}:${port}/in`, ['127.0.0.0/8', '::1/128'])
      expect(response.status).toBe(200)
      expect(requests.map(({ path }) => path)).toEqual(['/in'])
    },
  )

  test('an allowed network opens no other', async () => {
    const url = `http://127.0.0.1:${port}/`
    expect(await codesThrown(url, ['10.0.0.0/8'])).toContain('address_forbidden')
    expect(requests).toEqual([])
  })

  test('a redirect is not followed, asked for or not', async () => {
    outbound = createOutbound(['127.0.0.0/8'])
    for (const redirect of ['manual', 'follow', undefined] as const) {
      const init = { method: 'POST', body: '{}', ...(redirect === undefined ? {} : { redirect }) }
      const response = await outbound.send(`http://127.0.0.1:${port}/redirect`, init)
      expect(response.status).toBe(307)
    }
    expect(requests.map(({ path }) => path)).toEqual(['/redirect', '/redirect', '/redirect'])
  })

  test.each(kinds)('of %s that is forbidden is refused at once', async (kind) => {
    outbound = createOutbound([])
    const { send } = outbound
    const key = 'endpoint' in channels[kind] ? 'endpoint' : 'url'
    const channel = { ...channels[kind], [key]: `http://localhost:${port}/path-secret` }
    const result = await notify(kind, send, undefined, channel as never)
    const note = 'no answer: address_forbidden'
    expect(result).toEqual({ outcome: 'refused', note, broken: true })
    expect(requests).toEqual([])
  })

  test.each(kinds)('of %s to a port that fetch blocks can never work', async (kind) => {
    outbound = createOutbound(['127.0.0.0/8'])
    const key = 'endpoint' in channels[kind] ? 'endpoint' : 'url'
    const channel = { ...channels[kind], [key]: 'http://127.0.0.1:6000/path-secret' }
    const result = await notify(kind, outbound.send, undefined, channel as never)
    const note = 'no answer: port_blocked'
    expect(result).toEqual({ outcome: 'refused', note, broken: true })
  })

  test('that is answered in another protocol says so', async () => {
    const other = createPlainServer((socket) => socket.resume().end('SSH-2.0-OpenSSH_9.6\r\n'))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    outbound = createOutbound(['127.0.0.0/8'])
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}/path-secret`
    const result = await notify('slack', outbound.send, undefined, { ...channels.slack, url })
    expect(result).toEqual({ outcome: 'retry', note: 'no answer: HTTPParserError' })
    await new Promise((resolve) => other.close(resolve))
  })

  test('where nothing listens is a retry', async () => {
    const { send } = createOutbound(['127.0.0.0/8'])
    const closed = createServer()
    const free: number = await new Promise((resolve) => {
      closed.listen(0, '127.0.0.1', () => resolve((closed.address() as AddressInfo).port))
    })
    await new Promise((resolve) => closed.close(resolve))
    const channel = { ...channels.slack, url: `http://127.0.0.1:${free}/path-secret` }
    const result = await notify('slack', send, undefined, channel)
    expect(result).toEqual({ outcome: 'retry', note: 'no answer: ECONNREFUSED' })
  })
})
