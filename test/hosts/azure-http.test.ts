// The adapter between Azure Functions and Hono, over real HTTP and through the real
// `@azure/functions`. Only the host around the library is a replacement
// (test/support/functions-host.ts).
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { get, host, lineOf, open, waitFor } from './azure-running.ts'

interface Seen {
  method: string
  url: string
  headers: Record<string, string>
  queries: Record<string, string[]>
}

/** What the app saw of a raw request, which no client changed on the way. */
async function seen(path: string, headers: Record<string, string> = {}): Promise<Seen> {
  const request = httpRequest(`${host.url}`, { path, headers }).end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return JSON.parse(await text(response)) as Seen
}

describe('a request', () => {
  test('keeps every value of a repeated query key', async () => {
    const { queries } = await seen('/seen/x?match=a&match=b%26c&other=&match=a')
    expect(queries).toEqual({ match: ['a', 'b&c', 'a'], other: [''] })
  })

  test('has the path as the client wrote it', async () => {
    const { url } = await seen('/seen/a%2Fb/%C3%BC%20+;=/?x=%2F')
    expect(new URL(url).pathname).toBe('/seen/a%2Fb/%C3%BC%20+;=/')
    expect(new URL(url).search).toBe('?x=%2F')
  })

  test('has the URL that the client used', async () => {
    const headers = { host: 'foghorn.example', 'x-forwarded-proto': 'https' }
    expect((await seen('/seen/x', headers)).url).toBe('https://foghorn.example/seen/x')
  })

  test('keeps cookies with "=" in their values', async () => {
    const { headers } = await seen('/seen/x', { cookie: 'session=YWJj==; next=/a?b=c' })
    expect(headers.cookie).toBe('session=YWJj==; next=/a?b=c')
  })

  test('brings the signed-in person', async () => {
    const principal = Buffer.from('{"auth_typ":"aad","claims":[]}').toString('base64')
    const { headers } = await seen('/seen/x', { 'x-ms-client-principal': principal })
    expect(headers['x-ms-client-principal']).toBe(principal)
  })

  test.each(['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])('is a %s', async (method) => {
    const response = await host.invokeHttp('/seen/x', { method })
    expect(await response.json()).toMatchObject({ method })
  })
})

describe('a body', () => {
  test('with all 256 byte values comes and goes unchanged', async () => {
    const body = Uint8Array.from({ length: 256 }, (_, i) => i)
    const response = await host.invokeHttp('/bytes', { method: 'POST', body })
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(body)
    expect(response.headers.get('x-kind')).toBe('bytes')
  })

  test('may be empty', async () => {
    const response = await host.invokeHttp('/bytes', { method: 'POST', body: '' })
    expect([response.status, await response.text()]).toEqual([200, ''])
  })

  test('of 256 KB comes and goes completely', async () => {
    const body = Uint8Array.from({ length: 256 * 1024 }, (_, i) => (i * 7 + (i >> 8)) & 255)
    const response = await host.invokeHttp('/bytes', { method: 'POST', body })
    expect(Buffer.from(body).equals(Buffer.from(await response.arrayBuffer()))).toBe(true)
  })

  test('that is sent in pieces is read before it ends, and so is its answer', async () => {
    const request = httpRequest(`${host.url}/echo`, { method: 'POST' })
    request.write('first')
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect(String((await once(response, 'data'))[0])).toBe('first')
    request.end('second')
    expect(await text(response)).toBe('second')
  })

  test('of an upload that breaks off is an error to its reader', async () => {
    const headers = { 'content-length': '100' }
    const request = httpRequest(`${host.url}/upload`, { method: 'POST', headers })
    request.on('error', () => {}).write('abc')
    await waitFor('upload_begun')
    request.destroy()
    await waitFor('upload_broken')
    expect(host.failures).toEqual([])
  })
})

describe('an answer', () => {
  test('keeps both of its cookies, each as it was written', async () => {
    const response = await get('/cookies')
    expect(response.headers.getSetCookie()).toEqual([
      'one=a=b==; Path=/; HttpOnly; Partitioned',
      'two=c%3Dd, e; Max-Age=60',
    ])
    expect(await response.text()).toBe('two')
  })

  test('keeps a single cookie once', async () => {
    expect((await get('/cookie')).headers.getSetCookie()).toEqual(['one=a=b=='])
  })

  test('to HEAD has no body, but its length', async () => {
    const response = await host.invokeHttp('/text', { method: 'HEAD' })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-length')).toBe('13')
    expect(response.headers.get('etag')).toBe('"e"')
    expect(await response.text()).toBe('')
  })

  test.each([204, 304])('of status %i has no body', async (status) => {
    const response = await get(`/status/${status}`)
    expect([response.status, await response.text()]).toEqual([status, ''])
  })

  test('in pieces arrives piece by piece', async () => {
    const { body } = await get('/pieces/one')
    const reader = body!.getReader()
    const next = async () => Buffer.from((await reader.read()).value ?? []).toString()
    expect(await next()).toBe('first')
    await open('one')
    expect([await next(), await next()]).toEqual(['second', ''])
  })

  test('whose client leaves midway harms no other', async () => {
    const { body } = await get('/pieces/left')
    await body!.cancel()
    await open('left')
    expect(await (await get('/text')).text()).toBe('12 characters')
  })

  test('may come before the body was read, and so may the next one', async () => {
    const body = new Uint8Array(4 * 1024 * 1024)
    for (const _ of [1, 2]) {
      const response = await host.invokeHttp('/refused', { method: 'POST', body })
      expect([response.status, await response.text()]).toEqual([413, 'too large'])
    }
  })

  test('to a handler that throws is a problem without details', async () => {
    const response = await get('/throws')
    expect(response.status).toBe(500)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    const body = await response.text()
    expect(JSON.parse(body)).toMatchObject({ code: 'internal', status: 500 })
    expect(body).not.toContain('wrong')
    const line = lineOf('request_failed')
    expect(JSON.parse(line!.message).error).toBe('[secret] is wrong')
    expect(host.failures).toEqual([])
  })
})
