// The transport of the executable, here over Node's `fetch`. The tests of the process run it over
// Bun's.
import type { OutgoingHttpHeaders } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { Exchange } from '../../beacon/exchange.ts'
import { createFetchTransport } from '../../beacon/fetch.ts'
import { serve } from './world.ts'

const { exchange } = createFetchTransport({})

function ask(origin: string, changes: Partial<Exchange> = {}) {
  const signal = new AbortController().signal
  const limits = { timeoutMs: 5_000, maxBytes: 1_000 }
  return exchange({
    ...{ url: new URL('/path?a=b', origin), method: 'GET', headers: { metadata: 'true' }, signal },
    ...{ ...limits, ...changes },
  })
}

test('the status, two headers and the text, without a byte order mark', async () => {
  const { origin, asked } = await serve((_, response) => {
    response.writeHead(429, { 'retry-after': '7', location: '/there', other: 'x' })
    response.end('\ufeff{"a":"ü"}')
  })
  expect(await ask(origin)).toEqual({
    ...{ kind: 'answered', status: 429, text: '{"a":"ü"}' },
    headers: { 'retry-after': '7', location: '/there' },
  })
  expect(asked).toMatchObject([{ method: 'GET', url: '/path?a=b', headers: { metadata: 'true' } }])
})

test('a body is sent as it is', async () => {
  const { origin, asked } = await serve((_, response) => response.end())
  const headers = { 'content-type': 'application/json', 'content-length': '8' }
  await ask(origin, { method: 'POST', body: '{"ü":1}', headers })
  expect(asked).toMatchObject([{ method: 'POST', body: '{"ü":1}', headers }])
})

test('a redirect is an answer', async () => {
  const { origin, asked } = await serve((_, response) =>
    response.writeHead(302, { location: '/elsewhere' }).end(),
  )
  expect(await ask(origin)).toMatchObject({ status: 302, headers: { location: '/elsewhere' } })
  expect(asked).toHaveLength(1)
})

test('an answer that is too large', async () => {
  const { origin } = await serve((_, response) => response.end('x'.repeat(1_001)))
  const reason = 'the answer is larger than 1000 bytes'
  expect(await ask(origin)).toEqual({ kind: 'unanswered', reason, stale: false })
  expect(await ask(origin, { maxBytes: 1_001 })).toMatchObject({ kind: 'answered' })
})

const packed = gzipSync(Buffer.alloc(1_001))

test.each<[string, OutgoingHttpHeaders, Buffer]>([
  ['of unknown length', { 'transfer-encoding': 'chunked' }, Buffer.alloc(1_001)],
  [
    'that is small while it is packed',
    { 'content-encoding': 'gzip', 'content-length': packed.length },
    packed,
  ],
])('an answer %s is too large', async (_, headers, body) => {
  const { origin } = await serve((_, response) => {
    response.writeHead(200, headers)
    response.end(body)
  })
  const reason = 'the answer is larger than 1000 bytes'
  expect(await ask(origin)).toEqual({ kind: 'unanswered', reason, stale: false })
  expect(await ask(origin, { maxBytes: 1_001 })).toMatchObject({ text: '\0'.repeat(1_001) })
})

test.each([
  ['no answer', 0],
  ['half an answer', 5],
])('%s in time', async (_, bytes) => {
  const { origin } = await serve((_, response) => {
    if (bytes > 0) response.writeHead(200, { 'content-length': '10' }).write('x'.repeat(bytes))
  })
  const reason = 'no answer within 0.05 s'
  expect(await ask(origin, { timeoutMs: 50 })).toMatchObject({ kind: 'unanswered', reason })
})

test('an answer that breaks off', async () => {
  const { origin } = await serve((_, response) => {
    response.writeHead(200, { 'content-length': '10' }).write('x')
    response.destroy()
  })
  expect(await ask(origin)).toMatchObject({ kind: 'unanswered' })
})

test('the beacon stops, before or meanwhile', async () => {
  const stopping = new AbortController()
  const { origin, asked } = await serve(() => stopping.abort())
  const expected = { kind: 'unanswered', reason: 'the beacon is stopping' }
  expect(await ask(origin, { signal: stopping.signal })).toMatchObject(expected)
  expect(await ask(origin, { signal: stopping.signal })).toMatchObject(expected)
  expect(asked).toHaveLength(1)
})

test('nobody listens', async () => {
  const outcome = await ask('http://127.0.0.1:1')
  expect(outcome).toMatchObject({ kind: 'unanswered', reason: expect.stringMatching(/\S/) })
})
