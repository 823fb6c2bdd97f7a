// Names of channels: a name whose name server is silent must not hold up the others. A name server
// on this machine stands for the world's; only the system's resolver, which has two threads, is made up.
import { createSocket, type Socket } from 'node:dgram'
import { promises } from 'node:dns'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createResolve, type Resolve } from '../../functions/notify/resolve.ts'

let nameServer: Socket
let resolve: Resolve
/** Lookups that the system has under way, of names that it does not know. */
let held: string[]
/** Ends the last of them. */
let end: () => void
let now: number

const system: Resolve = (name, _, done) => {
  if (name.startsWith('good')) setImmediate(done, null, [{ address: '1.1.1.1', family: 4 }])
  else held.push(name)
  end = () => done(new Error('no answer'), [])
}

beforeEach(async () => {
  nameServer = createSocket('udp4')
  nameServer.on('message', (query, { port, address }) => {
    const name = nameIn(query)
    if (name.startsWith('dead') || (/^(half|only)/.test(name) && isForV6(query))) return
    const answer = name.startsWith('only') ? found4(query) : notFound(query)
    nameServer.send(answer, port, address)
  })
  await new Promise<void>((listening) => nameServer.bind(0, '127.0.0.1', listening))
  const servers = new promises.Resolver({ timeout: 100, tries: 1 })
  servers.setServers([`127.0.0.1:${(nameServer.address() as AddressInfo).port}`])
  held = []
  now = 0
  resolve = createResolve(servers, system, () => now)
})
afterEach(() => nameServer.close())

const found = (name: string) =>
  new Promise((done, fail) => {
    resolve(name, { all: true }, (error, addresses) => (error ? fail(error) : done(addresses)))
  })

const noAnswer = () => expect.unreachable('a silent name was resolved')

test('names with silent servers take one thread of the system, whatever their number', async () => {
  for (let i = 0; i < 20; i++) found(`dead${i}.example`).then(noAnswer)
  found('half.example').then(noAnswer)
  await expect.poll(() => held).toHaveLength(1)
  expect(await found('good.example')).toEqual([{ address: '1.1.1.1', family: 4 }])
  // asked after the others timed out
  expect(await found('good.example')).toEqual([{ address: '1.1.1.1', family: 4 }])
  expect(held).toHaveLength(1)
})

test('if a server answers for IPv4 and never for IPv6, its answer counts at once', async () => {
  for (let i = 0; i < 20; i++) found(`dead${i}.example`).then(noAnswer)
  expect(await found('only.example')).toEqual([{ address: '192.0.2.7', family: 4 }])
  expect(held).not.toContain('only.example')
})

test('a name that waited as long as its request did is not looked up any more', async () => {
  const resolve4 = () => Promise.reject(Object.assign(new Error('silent'), { code: 'ETIMEOUT' }))
  resolve = createResolve({ resolve4, resolve6: resolve4 }, system, () => now)
  const [first, second] = [found('dead1.example'), found('dead2.example')]
  await expect.poll(() => held).toEqual(['dead1.example'])
  now = 10_000
  end()
  await expect(first).rejects.toThrow('no answer')
  await expect(second).rejects.toThrow('no name server answers for dead2.example')
  expect(held).toEqual(['dead1.example'])
})

test('if the system is slow, what the server has answered counts: names of others may hold its threads', async () => {
  const both = async () => ['192.0.2.7']
  const none = () => Promise.reject(Object.assign(new Error('none'), { code: 'ENODATA' }))
  resolve = createResolve({ resolve4: both as never, resolve6: none }, system, () => now)
  const names = Array.from({ length: 40 }, (_, i) => `slow${i}.example`)
  const answers = await Promise.all(names.map(found))
  for (const one of answers) expect(one).toEqual([{ address: '192.0.2.7', family: 4 }])
  // the others are not asked, so that no more of them wait than may
  expect(held).toHaveLength(32)
  // it knows /etc/hosts, so its answer goes first
  expect(await found('good.example')).toEqual([{ address: '192.0.2.7', family: 4 }])
  end()
  expect(await found('good.example')).toEqual([{ address: '1.1.1.1', family: 4 }])
  // its last answer goes before that of the server, too
  void found('slow40.example')
  await expect.poll(() => held).toHaveLength(33)
  expect(await found('good.example')).toEqual([{ address: '1.1.1.1', family: 4 }])
})

test('one name is looked up once at a time', async () => {
  for (let i = 0; i < 20; i++) found('slow.example').then(noAnswer)
  await expect.poll(() => held).toEqual(['slow.example'])
})

test('an error of the system is the result, and the next attempt asks again', async () => {
  let asked = 0
  const failing = createResolve(
    new promises.Resolver({ timeout: 100, tries: 1 }),
    (_, __, done) => {
      asked++
      done(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }), [])
    },
  )
  const attempt = () =>
    new Promise((done) => failing('localhost', { all: true }, (error) => done(error?.code)))
  expect(await attempt()).toBe('ENOTFOUND')
  expect(await attempt()).toBe('ENOTFOUND')
  expect(asked).toBe(2)
})

/** The first label of the question, see RFC 1035. */
function nameIn(query: Buffer): string {
  return query.toString('ascii', 13, 13 + query[12]!)
}

const typeAaaa = 28

function isForV6(query: Buffer): boolean {
  return query.readUInt16BE(query.indexOf(0, 12) + 1) === typeAaaa
}

/** The query as an answer, with the code "no such name". */
function notFound(query: Buffer): Buffer {
  const answer = Buffer.from(query)
  answer.writeUInt16BE(0x8183, 2)
  return answer
}

/** The query as an answer, with one address of IPv4. */
function found4(query: Buffer): Buffer {
  const end = query.indexOf(0, 12) + 5
  const answer = Buffer.from(query.subarray(0, end))
  answer.writeUInt16BE(0x8180, 2)
  // one answer, and no further records
  answer.writeUInt32BE(0x10000, 6)
  answer.writeUInt16BE(0, 10)
  const record = Buffer.from('c00c00010001000000010004c0000207', 'hex')
  return Buffer.concat([answer, record])
}
