// What every notifier promises, over all kinds: which answers are a success, worth another attempt, or a
// refusal, and that nothing of the channel's secret comes out.
import { describe, expect, test } from 'vitest'
import type { Send } from '../../functions/notify/notifier.ts'
import { FoghornError } from '../../shared/errors.ts'
import { at } from '../support/records.ts'
import { channels, type Kind, kinds, notify, outgoing, secretParts } from './outgoing.ts'

const body = { slack: 'ok', teams: null, pagerduty: '{"status":"success"}', webhook: null }
const usual: Record<Kind, number> = { slack: 200, teams: 202, pagerduty: 202, webhook: 204 }

interface Row {
  status: number
  text?: string
  delivered?: Kind[]
  retry?: Kind[]
  refused?: Kind[]
}

const people: Kind[] = ['slack', 'teams', 'pagerduty']
const all: Kind[] = [...people, 'webhook']
const json = (error: string) => JSON.stringify({ ok: false, error })

/** Every answer that a channel may give, and what each kind makes of it. */
const answers: Row[] = [
  { status: 200, text: 'ok', delivered: ['slack', 'teams', 'webhook'], refused: ['pagerduty'] },
  { status: 200, text: 'ok\n', delivered: ['slack', 'teams', 'webhook'] },
  { status: 200, text: '', delivered: ['teams', 'webhook'], refused: ['slack'] },
  { status: 200, text: '<html>Sign in</html>', delivered: ['webhook'], refused: ['slack'] },
  { status: 200, text: json('rate_limited'), retry: ['slack'] },
  { status: 200, text: json('ratelimited'), retry: ['slack'] },
  { status: 200, text: json('channel_not_found'), refused: ['slack'] },
  { status: 201, delivered: ['webhook'], refused: people },
  { status: 202, delivered: ['teams', 'pagerduty', 'webhook'], refused: ['slack'] },
  { status: 204, delivered: ['webhook'], refused: people },
  { status: 299, delivered: ['webhook'], refused: people },
  ...[301, 302, 303, 307, 308].map((status) => ({ status, refused: all })),
  { status: 400, text: 'invalid_payload', retry: ['webhook'], refused: people },
  { status: 401, retry: ['webhook'], refused: people },
  { status: 403, text: 'action_prohibited', retry: ['webhook'], refused: people },
  { status: 403, text: 'invalid_token', retry: ['webhook'], refused: people },
  { status: 404, text: 'no_service', retry: ['webhook'], refused: people },
  { status: 405, retry: ['webhook'], refused: people },
  { status: 410, text: 'channel_is_archived', refused: all },
  { status: 413, retry: ['webhook'], refused: people },
  ...[429, 500, 502, 503, 504, 599].map((status) => ({ status, retry: all })),
]

const table = answers.flatMap(({ status, text, delivered = [], retry = [], refused = [] }) => [
  ...delivered.map((kind) => ({ kind, status, text, outcome: 'delivered' })),
  ...retry.map((kind) => ({ kind, status, text, outcome: 'retry' })),
  ...refused.map((kind) => ({ kind, status, text, outcome: 'refused' })),
])

/** Answers each request with a new response of this shape, and keeps the requests. */
function answering(
  status: number,
  text: string | null = null,
  headers: Record<string, string> = {},
) {
  const requests: { url: string; init: RequestInit }[] = []
  const send: Send = async (url, init) => {
    requests.push({ url, init })
    return new Response(status === 204 ? null : text, { status, headers })
  }
  return { send, requests }
}

describe('the answer decides', () => {
  test.each(table)('$kind: $status $text is $outcome', async ({ kind, status, text, outcome }) => {
    const location = { location: 'https://elsewhere.example/' }
    const { send, requests } = answering(status, text ?? null, location)
    const result = await notify(kind, send)
    expect(result.outcome).toBe(outcome)
    expect(result.note).not.toBe('')
    expect(requests).toHaveLength(1)
    expect(requests[0]?.init.redirect).toBe('manual')
    expect(requests[0]?.init.method).toBe('POST')
  })

  const inTwoMinutes = new Date(at + 120_000).toUTCString()
  const waits: [string | undefined, number | undefined][] = [
    ['120', 120_000],
    [' 7 ', 7_000],
    [inTwoMinutes, 120_000],
    [new Date(at - 5_000).toUTCString(), 0],
    ['soon', undefined],
    ['', undefined],
    [undefined, undefined],
  ]
  const retryAfter = kinds.flatMap((kind) =>
    [429, 503].flatMap((status) => waits.map(([header, ms]) => ({ kind, status, header, ms }))),
  )

  test.each(retryAfter)('$kind: $status, Retry-After $header', async (row) => {
    const headers: Record<string, string> =
      row.header === undefined ? {} : { 'retry-after': row.header }
    const result = await notify(row.kind, answering(row.status, 'x', headers).send)
    expect(result.outcome).toBe('retry')
    expect('retryAfterMs' in result ? result.retryAfterMs : undefined).toBe(row.ms)
  })
})

describe.each(kinds)('%s', (kind) => {
  test('sends to its address alone, with the type of its body', async () => {
    const { send, requests } = answering(usual[kind], body[kind])
    expect((await notify(kind, send)).outcome).toBe('delivered')
    const channel = channels[kind]
    const url = channel.kind === 'pagerduty' ? channel.endpoint : channel.url
    expect(requests.map((request) => request.url)).toEqual([url])
    const type = new Headers(requests[0]?.init.headers).get('content-type')
    expect(type).toContain(kind === 'webhook' ? 'application/cloudevents+json' : 'application/json')
    expect(() => JSON.parse(String(requests[0]?.init.body))).not.toThrow()
  })

  test('a time-out is a retry', async () => {
    const controller = new AbortController()
    const send: Send = (_url, { signal }) =>
      new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason))
        controller.abort(new DOMException('late', 'TimeoutError'))
      })
    const result = await notify(kind, send, outgoing({ signal: controller.signal }))
    expect(result).toEqual({ outcome: 'retry', note: 'no answer in time' })
  })

  test.each(['ENOTFOUND', 'ECONNREFUSED', 'ECONNRESET', 'CERT_HAS_EXPIRED'])(
    'a network error (%s) is a retry that names the code and no address',
    async (code) => {
      const cause = Object.assign(new Error('connect to path-secret 10.1.2.3'), { code })
      const send: Send = () => Promise.reject(new TypeError('fetch failed', { cause }))
      const result = await notify(kind, send)
      expect(result).toEqual({ outcome: 'retry', note: `no answer: ${code}` })
    },
  )

  test('an address that the guard forbids is refused: only a person can mend it', async () => {
    const cause = new FoghornError('address_forbidden', 'the address is private')
    const send: Send = () => Promise.reject(new TypeError('fetch failed', { cause }))
    expect(await notify(kind, send)).toMatchObject({ outcome: 'refused' })
  })

  test.each([200, 202, 400, 500])('an answer (%i) without end is cut', async (status) => {
    let pulled = 0
    let cancelled = false
    const stream = new ReadableStream({
      pull(controller) {
        pulled++
        controller.enqueue(new TextEncoder().encode('🔥'.repeat(256)))
      },
      cancel() {
        cancelled = true
      },
    })
    const result = await notify(kind, async () => new Response(stream, { status }))
    expect(pulled).toBeLessThan(8)
    expect(cancelled).toBe(true)
    expect([...result.note].length).toBeLessThan(300)
    expect(result.note.isWellFormed()).toBe(true)
  })

  test('an answer that breaks off has said its status; Slack alone says it in the text', async () => {
    const stream = () =>
      new ReadableStream({ pull: (controller) => controller.error(new Error('reset')) })
    const send: Send = async () => new Response(stream(), { status: kind === 'slack' ? 200 : 202 })
    const expected = kind === 'slack' ? 'retry' : 'delivered'
    expect((await notify(kind, send)).outcome).toBe(expected)
  })

  test.each([200, 202, 302, 400, 410, 429, 500])(
    'no secret comes out of an answer (%i) that repeats it all',
    async (status) => {
      const channel = channels[kind]
      const url = new URL(channel.kind === 'pagerduty' ? channel.endpoint : channel.url)
      const { send, requests } = answering(status)
      await notify(kind, send)
      const said = [url.href, url.pathname + url.search, url.search, ...url.searchParams.values()]
      const echo = `${said.join(' ')} ${JSON.stringify(channel)} ${requests[0]?.init.body}`
      const straddling = `${'x'.repeat(220)}${said[1]}`
      for (const text of [...said, JSON.stringify(channel), echo, straddling]) {
        const result = await notify(kind, answering(status, text).send)
        expect(JSON.stringify(result)).not.toMatch(secretParts)
      }
    },
  )

  test('whatever is thrown, it is an outcome', async () => {
    const thrown = [new Error('path-secret'), 'path-secret', undefined, null, { code: 5 }]
    for (const one of thrown) {
      const result = await notify(kind, () => Promise.reject(one))
      expect(result.outcome).toBe('retry')
      expect(result.note).not.toMatch(secretParts)
    }
  })
})
