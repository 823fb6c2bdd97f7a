// The promises of every notifier, for all kinds: which answers are a success, a retry or a refusal,
// and that no outcome contains a part of the channel's secret. kinds.ts has the table.
import { describe, expect, test } from 'vitest'
import { readAddress } from '../../functions/core/rules/address.ts'
import { createToken } from '../../functions/links/link.ts'
import { presets } from '../../functions/notify/http/presets.ts'
import type { Send } from '../../functions/notify/notifier.ts'
import { channelSecrets, notifiers } from '../../functions/notify/registry.ts'
import { FoghornError } from '../../shared/errors.ts'
import { maskOf } from '../../shared/mask.ts'
import { at } from '../support/records.ts'
import { createWorld, event, FakeBeacon, startAt } from '../support/world.ts'
import {
  channels,
  type Extras,
  forbiddenOf,
  kinds,
  kindTable,
  notifierOf,
  secretParts,
  targetOf,
  webPages,
} from './kinds.ts'
import { capture, notify, outgoing, usualAnswer } from './outgoing.ts'

const table = kinds.flatMap((kind) =>
  Object.entries(kindTable[kind].answers).flatMap(([outcome, answers]) =>
    answers.map(([status, text]) => ({ kind, status, text, outcome })),
  ),
)

/** Statuses from the services' documentation, and others of servers and proxies. */
const statuses = [
  ...[200, 201, 202, 204, 205, 299, 300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405],
  ...[408, 410, 413, 425, 429, 500, 502, 503, 504, 599],
]

/** Answers with these statuses have no text. */
const textless = [204, 205, 304]

/** Answers each request with a new response of this shape, and keeps the requests. */
function answering(
  status: number,
  text: string | null = null,
  headers: Record<string, string> = {},
) {
  const requests: { url: string; init: RequestInit }[] = []
  const send: Send = async (url, init) => {
    requests.push({ url, init })
    return new Response(textless.includes(status) ? null : text, { status, headers })
  }
  return { send, requests }
}

/** Sends this text, then the connection breaks or the encoding turns out to be wrong. */
function breakingOff(text: string, status: number): Response {
  const parts = text === '' ? [] : [new TextEncoder().encode(text)]
  const pull = (controller: ReadableStreamDefaultController) => {
    const part = parts.shift()
    if (part === undefined) controller.error(new TypeError('terminated'))
    else controller.enqueue(part)
  }
  return new Response(new ReadableStream({ pull }), { status })
}

test('every kind has a row, with the meaning of each status and of a web page', () => {
  const covered = new Set(kinds.map((kind) => channels[kind].kind))
  expect([...covered].sort()).toEqual(Object.keys(notifiers).sort())
  const given = kinds.filter((kind) => Object.hasOwn(presets, kind))
  expect(given.sort()).toEqual(Object.keys(presets).sort())
  for (const kind of kinds) {
    const judged = Object.values(kindTable[kind].answers).flat()
    expect(statuses.filter((status) => !judged.some(([one]) => one === status))).toEqual([])
    expect(webPages.filter((page) => !judged.includes(page))).toEqual([])
  }
})

describe('the answer decides', () => {
  test.each(table)('$kind: $status $text is $outcome', async ({ kind, status, text, outcome }) => {
    const location = { location: 'https://elsewhere.example/' }
    const { send, requests } = answering(status, text ?? null, location)
    const result = await notify(kind, send)
    const isBroken = 'broken' in result && result.broken === true
    expect(isBroken ? 'broken' : result.outcome).toBe(outcome)
    if (isBroken) expect(result.outcome).toBe('refused')
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
    const { result, request } = await capture(kind)
    expect(result.outcome).toBe('delivered')
    expect([request?.method, request?.url]).toEqual(['POST', targetOf(kind)])
    expect(request?.headers['content-type']).toContain(kindTable[kind].contentType)
  })

  test('carries the value of a button, at its longest, if it has buttons that decide', async () => {
    const { buttons } = notifierOf(kind)
    const value = 'v'.repeat(buttons?.maxValueLength ?? 2_000)
    const { request } = await capture(kind, outgoing({ buttons: { value, notNow: true } }))
    expect(request!.body.includes(value)).toBe(buttons !== undefined)
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

  test.each([
    ['ENOTFOUND', true],
    ['ECONNREFUSED', true],
    ['CERT_HAS_EXPIRED', true],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', true],
    ['ECONNRESET', false],
    ['UND_ERR_SOCKET', false],
  ])(
    'a network error (%s) is a retry that names the code and no address',
    async (code, isUnreached) => {
      const cause = Object.assign(new Error('connect to path-s3cret 10.1.2.3'), { code })
      const send: Send = () => Promise.reject(new TypeError('fetch failed', { cause }))
      const result = await notify(kind, send)
      const more = isUnreached ? { unreached: true } : {}
      expect(result).toEqual({ outcome: 'retry', note: `no answer: ${code}`, ...more })
    },
  )

  test('without a code, the note has the name of the error, if that is informative', async () => {
    const parser = Object.assign(new Error('no HTTP from path-s3cret'), { name: 'BodyError' })
    const odd = Object.assign(new Error('x'), {
      code: 'https://10.1.2.3/path-s3cret',
      cause: parser,
    })
    for (const cause of [parser, odd]) {
      const send: Send = () => Promise.reject(new TypeError('fetch failed', { cause }))
      const note = 'no answer: BodyError'
      expect(await notify(kind, send)).toEqual({ outcome: 'retry', note })
    }
  })

  test.each(['HPE_INVALID_HEADER_TOKEN', 'HTTPParserError', 'UND_ERR_HEADERS_OVERFLOW'])(
    'an answer that cannot be read (%s) is repeated once: the message may have arrived',
    async (code) => {
      const cause = Object.assign(new Error('both lengths'), { code })
      const send: Send = () => Promise.reject(new TypeError('fetch failed', { cause }))
      const attempt = (attempts: number) => {
        const { delivery } = outgoing()
        return notify(kind, send, outgoing({ delivery: { ...delivery, attempts } }))
      }
      const note = `no readable answer: ${code}`
      expect(await attempt(1)).toEqual({ outcome: 'retry', note })
      const twice = `${note}; the message may have arrived twice`
      expect(await attempt(2)).toMatchObject({ outcome: 'refused', note: twice })
    },
  )

  test('an address that the guard forbids is refused: only a person can change it', async () => {
    const cause = new FoghornError('address_forbidden', 'the address is private')
    const send: Send = () => Promise.reject(new TypeError('fetch failed', { cause }))
    expect(await notify(kind, send)).toMatchObject(forbiddenOf(kind))
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
    const { maxAnswerKb = 8 }: Extras = kindTable[kind]
    expect(pulled).toBeLessThan(maxAnswerKb)
    expect(cancelled).toBe(true)
    expect([...result.note].length).toBeLessThanOrEqual(320)
    expect(result.note.isWellFormed()).toBe(true)
  })

  test('an answer that breaks off counts: the message may have been posted, and is not sent again', async () => {
    const { status: usual } = usualAnswer(kind)
    const status = textless.includes(usual) ? 200 : usual
    const text = await usualAnswer(kind).text()
    for (const length of new Set([0, 1, text.length - 1].filter((some) => some >= 0))) {
      const result = await notify(kind, async () => breakingOff(text.slice(0, length), status))
      expect(result.outcome).toBe(kindTable[kind].brokenOff)
      expect(result).not.toHaveProperty('broken')
    }
  })

  test('if the text of a failure breaks off, its note has the part that came, and says so', async () => {
    const result = await notify(kind, async () => breakingOff('too b', 503))
    expect(result).toMatchObject({ outcome: 'retry', note: 'HTTP 503: too (the text broke off)' })
  })

  test('half a secret at the end of the text is not shown', async () => {
    const words = channelSecrets(channels[kind]).filter((one) => !one.includes(' '))
    for (const secret of words.filter(({ length }) => length > 8)) {
      const { note } = await notify(kind, async () => breakingOff(`no ${secret.slice(0, -1)}`, 410))
      expect(note).toBe('HTTP 410: no (the text broke off)')
    }
  })

  test('if an answer repeats the message, its link does not get into the note', async () => {
    const keys: [Uint8Array<ArrayBuffer>] = [new Uint8Array(32).fill(7)]
    const key = { fleet: 'prod', eventId: 'e', channel: 'chat', issuedAt: 5 }
    const link = `https://foghorn.example/approve/${await createToken(keys, key)}`
    for (const status of [400, 410, 500]) {
      const { note } = await notify(kind, answering(status, `bad url ${link} there`).send)
      expect(note).toBe(`HTTP ${status}: bad url https://foghorn.example/approve/[token] there`)
    }
  })

  test.each([200, 400, 410, 500])('a note of %i is plain, and on one line', async (status) => {
    const binary = '\u0000\u0001\u001b[31mno\u0007\u202e\u2028 way\u009b\r\nmore'
    for (const text of [binary, `\r\n${binary}`, JSON.stringify({ ok: false, error: binary })]) {
      const { note } = await notify(kind, answering(status, text).send)
      expect(note).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u)
      if (status !== 200) expect(note).toMatch(/^HTTP \d+: .*no/)
    }
  })

  test.each([200, 202, 302, 400, 410, 429, 500])(
    'no secret comes out of an answer (%i) that repeats it all',
    async (status) => {
      const channel = channels[kind]
      const url = new URL(readAddress(channel))
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

  test('everything thrown becomes an outcome', async () => {
    const thrown = [new Error('path-s3cret'), 'path-s3cret', undefined, null, { code: 5 }]
    for (const one of thrown) {
      const result = await notify(kind, () => Promise.reject(one))
      expect(result.outcome).toBe('retry')
      expect(result.note).not.toMatch(secretParts)
    }
  })
})

describe('what is logged and kept', () => {
  test.each(kinds)('%s: no secret in logs and rows, whatever the channel answers', async (kind) => {
    const { written = channels[kind], group }: Extras = kindTable[kind]
    const config = {
      channels: {
        ...(group !== undefined ? {} : { it: { ...written, fallback: 'other' } }),
        other: channels.webhook,
      },
      ...(group !== undefined && { [group]: { it: written } }),
      azure: { clientId: '5e5e5e5e-0000-4000-8000-000000000002' },
      routes: [{ match: {}, channels: [group !== undefined ? 'other' : 'it'] }],
    }
    const world = await createWorld({ config })
    const url = targetOf(kind)
    let status = 500
    world.channels.answer = (request) => {
      const echo = `${JSON.stringify(channels[kind])} ${request.url} ${request.body}`
      if (request.url !== url) return new Response(null, { status: 204 })
      if (status === 0) throw new TypeError(echo, { cause: new Error(echo) })
      return new Response(echo, { status })
    }
    await new FakeBeacon(world, 'web_0').sees([event()])
    for (status of [500, 429, 0, 410]) await world.pass(60_000)
    const { body } = await world.getEvent(event().eventId)
    const states = body.deliveries.map(({ state }: { state: string }) => state)
    expect(states).toContain(group !== undefined ? 'pending' : 'refused')
    expect(world.lines.length).toBeGreaterThan(3)
    // The alert about the refusal goes to another channel.
    const notices = world.sent.filter((request) => request.url !== url).map(({ body: b }) => b)
    expect([...world.lines, JSON.stringify(body), ...notices].join('\n')).not.toMatch(secretParts)
    expect(world.clock.now).toBe(startAt + 240_000)
  })
})

test('each part of an address that looks like a key is a secret by itself', () => {
  const url = 'https://hook.example/in/k3y-of-the-team/deliver'
  const secrets = channelSecrets({ kind: 'webhook', url, secret: [] })
  expect(secrets).toEqual(expect.arrayContaining([url, 'k3y-of-the-team']))
  expect(secrets).not.toContain('in')
  // a setting is none: check-config would tell people to hide it
  expect(channelSecrets({ kind: 'webhook', url, secret: [], links: 'decide' })).not.toContain(
    'decide',
  )
})

test('a part of an address that is named as a secret is masked, also if it looks like words', () => {
  const url = 'https://teams.example/workflow?api-version=2016-06-01&sig=teams-secret'
  const mask = maskOf(channelSecrets({ kind: 'webhook', url, secret: [] }))
  expect(mask('HTTP 400: teams-secret is wrong, for 2016-06-01')).not.toContain('teams-secret')
  expect(mask('api-version=2016-06-01')).toContain('2016-06-01')
})

test.each([
  'https://hook.example/hooks/delivery',
  'https://hook.example/data/events?api-version=2016-06-01&event=message.created',
])('words in %s are no secrets: they may stand in any line of the log', (url) => {
  const mask = maskOf(channelSecrets({ kind: 'webhook', url, secret: [] }))
  for (const line of ['delivery_retried', '/data/events', '2016-06-01', 'message.created']) {
    expect(mask(line)).toBe(line)
  }
  expect(mask(`POST ${url} failed`)).toBe('POST [secret] failed')
})

test.each(['a path as it is read', '/hooks/s3cr%t key', 's3cr%t key'])(
  'a server repeats %s: the key in it is masked',
  (said) => {
    const url = 'https://hook.example/hooks/s3cr%25t%20key'
    const shown = maskOf(channelSecrets({ kind: 'webhook', url, secret: [] }))(`no ${said} here`)
    expect(shown).not.toContain('s3cr%t')
  },
)
