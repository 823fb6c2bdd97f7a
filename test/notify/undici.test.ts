// The guard of outgoing requests: the addresses that a channel can never reach, in URLs and behind
// names, against a real server on this machine.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import {
  type AddressInfo,
  connect,
  createServer as createPlainServer,
  isIP,
  type Socket,
} from 'node:net'
import {
  createServer as createTlsServer,
  rootCertificates,
  setDefaultCACertificates,
  type TlsOptions,
} from 'node:tls'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { fromError, readStart } from '../../functions/notify/notifier.ts'
import type { Resolve } from '../../functions/notify/resolve.ts'
import { addressJudge, createOutbound, type Outbound } from '../../functions/notify/undici.ts'
import { createAuthority } from '../support/certificate.ts'
import { serveProxy } from '../support/forward-proxy.ts'
import { channels, forbiddenOf, kinds } from './kinds.ts'
import { notify } from './outgoing.ts'

const forbidden: string[] = [
  ...['0.0.0.0', '0.255.255.255', '10.0.0.0', '10.255.255.255', '100.64.0.0', '100.127.255.255'],
  ...['127.0.0.1', '127.255.255.255', '169.254.0.1', '169.254.169.254', '168.63.129.16'],
  ...['172.16.0.0', '172.31.255.255', '192.0.0.1', '192.0.0.255', '192.0.2.1', '192.168.0.1'],
  ...['192.168.255.255', '198.18.0.1', '198.19.255.255', '198.51.100.7', '203.0.113.9'],
  ...['224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.254', '255.255.255.255'],
  ...['::', '::1', 'fc00::1', 'fdff:ffff::1', 'fe80::1', 'febf::1', 'ff00::1', 'ff02::1'],
  ...['2001:db8::1', '64:ff9b::7f00:1', '64:ff9b::10.0.0.1', '2002:7f00:1::', '2002:808:808::'],
  ...['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::ffff:169.254.169.254'],
  ...['::ffff:192.168.1.1', '::ffff:0.0.0.0', '0:0:0:0:0:ffff:7f00:0001'],
  // relays and sinks at addresses that look public
  ...['192.88.99.1', '192.31.196.1', '192.52.193.1', '192.175.48.1', '::ffff:168.63.129.16'],
  // IPv4 inside IPv6: compatible, translated, by a network's own NAT64, Teredo
  ...['::127.0.0.1', '::7f00:1', '::8.8.8.8', '::ffff:0:7f00:1', '::ffff:0:8.8.8.8'],
  ...['64:ff9b:1::1', '64:ff9b:1:ffff::7f00:1', '2001::1', '2001:0:7f00:1::', '2001:1ff:ffff::'],
  // networks that IANA has not assigned, or that no host may have
  ...['fec0::1', 'feff:ffff::1', 'FEC0::1', '100::1', '100:0:0:1::1', '5f00::1', '3fff::1'],
  ...['3fff:fff:ffff::', '2001:2::1', '2001:20::1', '2001:DB8::1', '2620:4f:8000::1', '1fff::1'],
  ...['4000::1', '8000::1', 'fbff::1', 'e000::1', '200::1'],
]

const open: string[] = [
  ...['1.1.1.1', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255'],
  ...['128.0.0.1', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0'],
  ...['192.0.1.1', '192.0.3.1', '192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0'],
  ...['203.0.112.255', '203.0.114.0', '223.255.255.255', '2606:4700::1111', '2001:db7::1'],
  ...[
    '64:ff9b::8.8.8.8',
    '::ffff:1.1.1.1',
    '2003::1',
    '2001:200::1',
    '2400::1',
    '3ffe::1',
    '3fff:1000::1',
    '2000::1',
  ],
  ...['168.63.129.15', '168.63.129.17', '192.88.98.255', '192.88.100.0', '2620:4f:8001::1'],
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

  test.each([
    ...[
      '',
      'localhost',
      'fe80::1%eth0',
      'fe80::1%25eth0',
      '2606:4700::1111%1',
      '127.1',
      '8.8.8.8.',
    ],
    ...[
      '0x8.8.8.8',
      '010.8.8.8',
      '8.8.8.08',
      '[2606:4700::1111]',
      '2606:4700::1::1',
      '2606:4700::g',
    ],
    ...['26060::1', '::ffff:8.8.8.256', '::ffff:8.8.8', '2606:4700::1111/128', '%38.8.8.8'],
  ])('%j is no address, and no way around', (text) => {
    expect(() => judge(text, false)).toThrow(expect.objectContaining(refusal))
  })

  test.each([
    ['168.63.129.16', '168.63.129.16/32'],
    ['64:ff9b:1::a', '64:ff9b:1::/48'],
    ['fec0::1', 'fec0::/10'],
    ['2001:0:1::1', '2001::/32'],
  ])('%s is open where %s is allowed', (address, network) => {
    const allowing = addressJudge([network])
    for (const plain of [true, false]) expect(() => allowing(address, plain)).not.toThrow()
  })

  test('an allowed network is open, also for plain http, and so is its form in IPv6', () => {
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
    if (request.url === '/gzip') {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('ok'))
      return
    }
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

const post = { method: 'POST', redirect: 'manual', body: '{}' } as const

function send(url: string, allowNetworks: string[]) {
  outbound = createOutbound(allowNetworks)
  return outbound.send(url, post)
}

/** The chain of causes of an error. */
function codesOf(error: unknown): unknown[] {
  const codes: unknown[] = []
  for (let at = error; at instanceof Error; at = at.cause)
    codes.push((at as { code?: string }).code)
  return codes
}

async function codesThrown(url: string, allowNetworks: string[] = []): Promise<unknown[]> {
  return codesOf(await send(url, allowNetworks).catch((error: unknown) => error))
}

/** Accepts nothing for 0.4 s, with a full queue: the next handshake takes a second, when its packet is sent again. */
async function slowListener(): Promise<number> {
  const program = `
    const { createServer } = require('node:http')
    const server = createServer((_, response) => response.end('ok'))
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      process.send(server.address().port)
      process.once('message', () => {
        process.send('busy')
        setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400))
      })
    })`
  const stdio = ['ignore', 'inherit', 'inherit', 'ipc'] as const
  const child = spawn(process.execPath, ['-e', program], { stdio: [...stdio] })
  const [port] = (await once(child, 'message')) as [number]
  const fillers: Socket[] = []
  onTestFinished(() => {
    for (const one of fillers) one.destroy()
    child.kill()
  })
  child.send('wait')
  await once(child, 'message')
  for (let i = 0; i < 2; i++) {
    const filler = connect(port, '127.0.0.1')
    fillers.push(filler)
    await once(filler, 'connect')
  }
  return port
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
  '１２７.０.０.１',
  '127。0。0。1',
  '0X7F.0.0.1',
  '0x7f.0x0.0x0.0x1',
  '0177.1',
  '[::127.0.0.1]',
  '[::7F00:1]',
  '[::FFFF:0:127.0.0.1]',
  '[64:ff9b:1::127.0.0.1]',
  '168.63.129.16',
  '0xa83f8110',
  '[fec0::1]',
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

  const answers = ['168.63.129.16', '10.0.0.1', '::127.0.0.1', '::ffff:0:7f00:1', '64:ff9b:1::1']
  test.each([...answers, '2001::1', 'fec0::1', '3fff::1', '5f00::1', 'fe80::1%eth0'])(
    'to a name that resolves to %s is refused',
    async (address) => {
      const resolved = [{ address, family: isIP(address) }]
      outbound = createOutbound([], { resolve: (_, __, done) => done(null, resolved) })
      const failed = outbound.send(`https://chat.example:${port}/`, post)
      expect(codesOf(await failed.catch((error: unknown) => error))).toContain('address_forbidden')
      expect(requests).toEqual([])
    },
  )

  test.each([...answers, '::1'])(
    'to a name reaches what is allowed of it, not %s',
    async (other) => {
      const resolved = [other, '127.0.0.1', other].map((address) => ({
        address,
        family: isIP(address),
      }))
      outbound = createOutbound(['127.0.0.0/8'], { resolve: (_, __, done) => done(null, resolved) })
      expect((await outbound.send(`http://chat.example:${port}/in`, post)).status).toBe(200)
    },
  )

  test('to a name without an address finds none', async () => {
    outbound = createOutbound([], { resolve: (_, __, done) => done(null, []) })
    const failed = outbound.send(`https://chat.example:${port}/`, post)
    expect(codesOf(await failed.catch((error: unknown) => error))).toContain('ENOTFOUND')
  })

  test('to the only address that answers, although its first packet is lost', async () => {
    const slow = await slowListener()
    const resolved = [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ]
    outbound = createOutbound(['127.0.0.0/8', '::1/128'], {
      resolve: (_, __, done) => done(null, resolved),
    })
    expect((await outbound.send(`http://chat.example:${slow}/`, post)).status).toBe(200)
  })

  test('to a name reaches its address, if the network is allowed', async () => {
    const resolved = [{ address: '127.0.0.1', family: 4 }]
    outbound = createOutbound(['127.0.0.0/8'], { resolve: (_, __, done) => done(null, resolved) })
    const url = `http://chat.example:${port}/in`
    expect((await outbound.send(url, post)).status).toBe(200)
    expect(requests).toEqual([{ path: '/in', host: `chat.example:${port}` }])
  })

  test.each(['[fe80::1%25eth0]', '[::1%lo]'])('to a zone of %s is none', async (host) => {
    await expect(send(`https://${host}:${port}/`, [])).rejects.toThrow('Invalid URL')
  })

  test('whose answer is compressed, though nobody asked, is read', async () => {
    const response = await send(`http://127.0.0.1:${port}/gzip`, ['127.0.0.0/8'])
    expect(await readStart(response, 100)).toMatchObject({ text: 'ok' })
  })

  test('an allowed network opens no other', async () => {
    const url = `http://127.0.0.1:${port}/`
    expect(await codesThrown(url, ['10.0.0.0/8'])).toContain('address_forbidden')
    expect(requests).toEqual([])
  })

  test('a redirect is not followed', async () => {
    outbound = createOutbound(['127.0.0.0/8'])
    const response = await outbound.send(`http://127.0.0.1:${port}/redirect`, post)
    expect(response.status).toBe(307)
    expect(requests.map(({ path }) => path)).toEqual(['/redirect'])
  })

  test.each(kinds)('of %s that is forbidden is refused at once', async (kind) => {
    outbound = createOutbound([])
    const { send } = outbound
    const key = 'endpoint' in channels[kind] ? 'endpoint' : 'url'
    const channel = { ...channels[kind], [key]: `http://localhost:${port}/path-s3cret` }
    const result = await notify(kind, send, undefined, channel as never)
    const note = expect.stringMatching(
      /^no answer: address_forbidden: (127.0.0.1|::1): .* add its network to allowNetworks$/,
    )
    expect(result).toEqual({ ...forbiddenOf(kind), note })
    expect(requests).toEqual([])
  })

  test.each(kinds)('of %s to a port that fetch blocks can never work', async (kind) => {
    outbound = createOutbound(['127.0.0.0/8'])
    const key = 'endpoint' in channels[kind] ? 'endpoint' : 'url'
    const channel = { ...channels[kind], [key]: 'http://127.0.0.1:6000/path-s3cret' }
    const result = await notify(kind, outbound.send, undefined, channel as never)
    const note = expect.stringMatching(/^no answer: port_blocked: HTTP clients refuse this port/)
    expect(result).toEqual({ ...forbiddenOf(kind), note })
  })

  test('that is answered in another protocol says so', async () => {
    const other = createPlainServer((socket) => socket.resume().end('SSH-2.0-OpenSSH_9.6\r\n'))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    outbound = createOutbound(['127.0.0.0/8'])
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}/path-s3cret`
    const result = await notify('slack', outbound.send, undefined, { ...channels.slack, url })
    expect(result).toEqual({ outcome: 'retry', note: 'no readable answer: HTTPParserError' })
    await new Promise((resolve) => other.close(resolve))
  })

  describe('over TLS', () => {
    const authority = createAuthority()
    beforeAll(() => setDefaultCACertificates([...rootCertificates, authority.certificate]))
    afterAll(() => setDefaultCACertificates([...rootCertificates]))

    /** What a message becomes whose service speaks TLS like this. */
    async function notified(options: TlsOptions, take: (socket: Socket) => void) {
      const server = createTlsServer(options, take)
      server.on('tlsClientError', (error) => refusals.push(error.message))
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      outbound = createOutbound(['127.0.0.0/8'])
      const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/path-s3cret`
      const result = await notify('slack', outbound.send, undefined, { ...channels.slack, url })
      await new Promise((resolve) => server.close(resolve))
      return result
    }
    const refusals: string[] = []

    test('offers no DHE: the other side would choose how long the thread computes', async () => {
      const { certificate: cert, key } = authority.issue({ keyType: 'rsa' })
      const dhe = { ciphers: 'DHE-RSA-AES128-GCM-SHA256', dhparam: 'auto' as const }
      const result = await notified({ cert, key, ...dhe, maxVersion: 'TLSv1.2' }, () => {})
      expect(result.outcome).toBe('retry')
      expect(refusals.join()).toMatch(/no shared cipher/)
    })

    test('reads no answer that comes in thousands of pieces', async () => {
      const { certificate: cert, key } = authority.issue()
      const result = await notified({ cert, key }, (socket) => {
        socket.on('error', () => {})
        socket.once('data', async () => {
          for (const letter of 'HTTP/1.1 103 Wait\r\n\r\n'.repeat(400)) {
            socket.write(letter)
            await new Promise((resolve) => setImmediate(resolve))
          }
          socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
        })
      })
      expect(result.note).toContain('ANSWER_TOO_LARGE')
    })
  })

  test('to a closed port is a retry', async () => {
    const { send } = createOutbound(['127.0.0.0/8'])
    const closed = createServer()
    const free: number = await new Promise((resolve) => {
      closed.listen(0, '127.0.0.1', () => resolve((closed.address() as AddressInfo).port))
    })
    await new Promise((resolve) => closed.close(resolve))
    const channel = { ...channels.slack, url: `http://127.0.0.1:${free}/path-s3cret` }
    const result = await notify('slack', send, undefined, channel)
    expect(result).toEqual({ outcome: 'retry', note: 'no answer: ECONNREFUSED', unreached: true })
  })
})

describe('behind a forward proxy', () => {
  const secure = createSecureServer(createAuthority().issue({ host: 'chat.example' }))
  beforeAll(() => {
    // the certificate is made up; beacon/certificates.test.ts checks that wrong ones are refused
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  })
  afterAll(() => {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    secure.close()
  })

  const nobody: Resolve = (hostname, _, done) => {
    done(Object.assign(new Error(`no ${hostname}`), { code: 'ENOTFOUND' }), [])
  }
  const through = (url: string, except = '') => {
    outbound = createOutbound([], { resolve: nobody, proxy: { url, except } })
    return outbound.send('https://chat.example/in', post)
  }

  test('a name that only the proxy knows is reached, with the password of the proxy', async () => {
    const { proxy, tunnels } = await serveProxy({ target: await addressOf(secure) })
    const response = await through(proxy.replace('//', '//me:p%40ss@'))
    expect(response.status).toBe(200)
    const authorization = `Basic ${Buffer.from('me:p@ss').toString('base64')}`
    expect(tunnels).toEqual([{ url: 'chat.example:443', authorization }])
  })

  test.each(['other.example,chat.example', 'other.example chat.example'])(
    'not the hosts in NO_PROXY: %s',
    async (except) => {
      const { proxy, tunnels } = await serveProxy()
      expect(codesOf(await through(proxy, except).catch((e: unknown) => e))).toContain('ENOTFOUND')
      expect(tunnels).toEqual([])
    },
  )

  test('what the proxy refuses has its status', async () => {
    const { proxy } = await serveProxy({ status: 403 })
    const error: unknown = await through(proxy).catch((thrown: unknown) => thrown)
    const note = 'no answer: proxy_answered_403'
    const { signal } = new AbortController()
    expect(fromError(error, { signal })).toEqual({ outcome: 'retry', note })
  })

  test('an address that is written out stays forbidden', async () => {
    const { proxy, tunnels } = await serveProxy()
    outbound = createOutbound([], { proxy: { url: proxy, except: '' } })
    const sent = outbound.send('https://10.0.0.1/in', post)
    expect(codesOf(await sent.catch((e: unknown) => e))).toContain('address_forbidden')
    expect(tunnels).toEqual([])
  })

  test('keys of Entra are read through it, too', async () => {
    const { proxy, tunnels } = await serveProxy({ target: await addressOf(secure) })
    outbound = createOutbound([], { proxy: { url: proxy, except: '' } })
    expect((await outbound.fetch('https://login.example/keys', {})).status).toBe(200)
    expect(tunnels).toMatchObject([{ url: 'login.example:443' }])
  })
})

function createSecureServer({ certificate, key }: { certificate: string; key: string }) {
  return createHttpsServer({ cert: certificate, key }, (_, response) => response.end('ok'))
}

async function addressOf(server: Server): Promise<string> {
  if (!server.listening) await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}
