// The host pools its connections to the worker. If one client's body is left unread on a
// connection, it breaks the next client's request. Each case refuses a body, then uses the same
// connection again.
import { once } from 'node:events'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { watchBody } from '../../functions/host/azure/http.ts'
import { get, host } from './azure-running.ts'

const pieceBytes = 16_000
/** 320 KB and 6.4 MB: less than the relay reads after its answer. */
const sizes = [20, 400]

/** Sends the whole body, even if the answer arrives before. */
async function send(path: string, pieces: number, isMeasured: boolean) {
  const headers = isMeasured ? { 'content-length': String(pieces * pieceBytes) } : {}
  // without an agent, the client asks the host to close its connection after the answer
  const agent = new Agent({ keepAlive: true })
  const request = httpRequest(`${host.url}${path}`, { method: 'POST', headers, agent })
  const answered = once(request, 'response') as Promise<[IncomingMessage]>
  const sent = once(request, 'finish')
  for (let i = 0; i < pieces; i++) request.write(Buffer.alloc(pieceBytes, 'a'))
  request.end()
  const [[response]] = await Promise.all([answered, sent])
  await text(response)
  agent.destroy()
  return response.statusCode
}

describe.each(sizes)('of %i pieces,', (pieces) => {
  test.each<[string, string, boolean, number]>([
    ['read in part, in pieces', '/limited', false, 413],
    ['of a known length', '/limited', true, 413],
    ['never read, in pieces', '/refused', false, 413],
    ['without a credential, in pieces', '/refused/401', false, 401],
    ['without a credential', '/refused/401', true, 401],
    ['for no page, in pieces', '/nowhere', false, 404],
    ['for no page', '/nowhere', true, 404],
    ['of another type, in pieces', '/refused/415', false, 415],
    ['of another type', '/refused/415', true, 415],
    ['once too often, in pieces', '/refused/429', false, 429],
    ['once too often', '/refused/429', true, 429],
    ['whose reader gives up, in pieces', '/cancelled', false, 400],
    ['whose reader fails, in pieces', '/throws', false, 500],
  ])('a body %s, harms no other request', async (_, path, isMeasured, status) => {
    expect(await send(path, pieces, isMeasured)).toBe(status)
    expect((await get('/text')).status).toBe(200)
  })
})

describe('the rest of a body', () => {
  /** A body without an end, and what happened to it. */
  function endless() {
    const seen = { bytes: 0, cancelled: false }
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull(controller) {
        seen.bytes += pieceBytes
        controller.enqueue(new Uint8Array(pieceBytes))
      },
      cancel() {
        seen.cancelled = true
      },
    })
    return { body, seen }
  }

  test('is read up to a limit, then the connection is closed', async () => {
    const { body, seen } = endless()
    const limits = { bytes: 10 * pieceBytes, ms: 10_000 }
    await watchBody(body, limits).finish()
    expect(seen.cancelled).toBe(true)
    expect(seen.bytes).toBeLessThan(limits.bytes + 3 * pieceBytes)
  })

  test('is awaited up to a limit, then the connection is closed', async () => {
    let cancelled = false
    const silent = new ReadableStream({
      cancel() {
        cancelled = true
      },
    })
    await watchBody(silent, { bytes: 1, ms: 1 }).finish()
    expect(cancelled).toBe(true)
  })

  test('may break off', async () => {
    const broken = new ReadableStream({ pull: () => Promise.reject(new Error('gone')) })
    await expect(watchBody(broken).finish()).resolves.toBeUndefined()
  })

  test('is read after the part that its handler had asked for', async () => {
    const { body } = endless()
    const watched = watchBody(body, { bytes: pieceBytes, ms: 10_000 })
    const reader = watched.body.getReader()
    expect((await reader.read()).value).toHaveLength(pieceBytes)
    await reader.cancel()
    expect(watched.ended()).toBe(false)
    await watched.finish()
    expect(watched.ended()).toBe(true)
  })
})
