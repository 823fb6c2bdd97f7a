// Signatures of tokens, checked by the keys of an issuer over HTTP. Only the clock is not real:
// `jose` waits between two requests.
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Entra } from '../../functions/core/rules/config.ts'
import { createEntra } from '../../functions/identity/entra.ts'
import type { Identity } from '../../functions/identity/identity.ts'
import { readIssuer } from '../../functions/identity/identity.ts'
import { createLog } from '../../shared/log.ts'
import { encode, Issuer } from '../simulator/issuer.ts'
import { claimsFor, serveIssuer, tenantId } from '../support/issuer.ts'

const startAt = Date.UTC(2026, 10, 21, 12)
const minute = 60_000
const hour = 60 * minute

let issuer: Awaited<ReturnType<typeof serveIssuer>>
let entra: Entra
let identity: Identity
let lines: string[]

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: startAt })
  issuer = await serveIssuer()
  entra = {
    ...{ tenantId, audience: ['api://foghorn'], resourceGroups: ['rg'] },
    authority: issuer.authority,
  }
  lines = []
  identity = fresh()
})

afterEach(async () => {
  await issuer.close()
  vi.useRealTimers()
})

function fresh(fetch: typeof globalThis.fetch = globalThis.fetch): Identity {
  const log = createLog({ write: (line) => lines.push(line), now: Date.now, level: 'debug' })
  return createEntra({ fetch, now: Date.now, log })
}

function pass(ms: number): void {
  vi.setSystemTime(Date.now() + ms)
}

function token(changes = {}, header = {}): string {
  return issuer.issuer.sign(claimsFor('web_0', Date.now(), changes), header)
}

/** The outcome, after a check that neither it nor the log contains a part of the token. */
async function outcomeOf(text: string) {
  const verified = await identity.verify(text, readIssuer(entra))
  const said = [JSON.stringify('reason' in verified ? verified.reason : ''), ...lines].join('\n')
  for (const part of text.split('.')) if (part.length > 8) expect(said).not.toContain(part)
  return verified
}

test('a token of the tenant is genuine, and its keys are fetched once', async () => {
  const claims = claimsFor('web_0', startAt)
  expect(await outcomeOf(token())).toEqual({ outcome: 'genuine', claims })
  await Promise.all([...Array(20)].map(() => outcomeOf(token())))
  expect(issuer.state.asked).toEqual([`/${tenantId}/discovery/v2.0/keys`])
})

test('audience and lifetime are judged elsewhere', async () => {
  const claims = { aud: 'x', exp: 1 }
  expect(await outcomeOf(issuer.issuer.sign(claims))).toEqual({ outcome: 'genuine', claims })
})

describe('a token is invalid', () => {
  const unsigned = (alg: string) => {
    const [, claims] = token().split('.')
    return `${encode(JSON.stringify({ alg, typ: 'JWT' }))}.${claims}`
  }

  test('with alg "none"', async () => {
    for (const alg of ['none', 'None', 'NONE']) {
      expect(await outcomeOf(`${unsigned(alg)}.`)).toMatchObject({
        outcome: 'invalid',
        reason: expect.stringMatching(/"alg"|no signed JWT/),
      })
    }
  })

  test('with HS256 and the public key as its secret', async () => {
    const content = unsigned('HS256')
    const { publicKey } = issuer.issuer.key
    for (const secret of [
      publicKey.export({ type: 'spki', format: 'pem' }),
      publicKey.export({ type: 'spki', format: 'der' }),
      JSON.stringify(issuer.issuer.jwks().keys[0]),
    ]) {
      const mac = encode(createHmac('sha256', secret).update(content).digest())
      expect(await outcomeOf(`${content}.${mac}`)).toMatchObject({
        outcome: 'invalid',
        reason: expect.stringContaining('"alg"'),
      })
    }
    expect(issuer.state.asked).toEqual([])
  })

  test('with another kind of RSA signature', async () => {
    for (const alg of ['RS512', 'PS256']) {
      const text = token({}, { alg })
      expect(await outcomeOf(text)).toMatchObject({ reason: expect.stringContaining('"alg"') })
    }
  })

  test("of a stranger that names the tenant's key", async () => {
    const text = new Issuer().sign(claimsFor('web_0', startAt), { kid: issuer.issuer.key.kid })
    expect(await outcomeOf(text)).toMatchObject({
      outcome: 'invalid',
      reason: expect.stringContaining('made its signature'),
    })
  })

  test('that brings its own key', async () => {
    const stranger = new Issuer()
    const jwk = stranger.jwks().keys[0]
    const own = { jwk, jku: 'http://127.0.0.1:1/keys', kid: issuer.issuer.key.kid }
    const text = stranger.sign(claimsFor('web_0', startAt), own)
    expect(await outcomeOf(text)).toMatchObject({ outcome: 'invalid' })
  })

  test('with claims changed by one letter', async () => {
    const [head, , signature] = token().split('.')
    const claims = encode(JSON.stringify(claimsFor('web_1', startAt)))
    expect(await outcomeOf(`${head}.${claims}.${signature}`)).toMatchObject({ outcome: 'invalid' })
  })

  test.each([
    ['empty', ''],
    ['not a JWT', 'eyJhbGciOiJSUzI1NiJ9'],
    ['of five parts', 'eyJhbGciOiJSUzI1NiJ9.a.b.c.d'],
    ['with a header that is not JSON', 'aGVsbG8taGVsbG8.e30.AAAA'],
  ])('that is %s', async (_, text) => {
    expect(await outcomeOf(text)).toMatchObject({ outcome: 'invalid' })
    expect(issuer.state.asked).toEqual([])
  })

  test('that is too long is not checked at all', async () => {
    const text = token({ pad: 'x'.repeat(8_192) })
    expect(await outcomeOf(text)).toMatchObject({
      outcome: 'invalid',
      reason: expect.stringContaining('at most 8192'),
    })
    expect(issuer.state.asked).toEqual([])
  })

  test('whose claims are not JSON, or not an object, is left to the judgement of claims', async () => {
    expect(await outcomeOf(issuer.issuer.sign([] as never))).toMatchObject({ claims: [] })
  })
})

describe('keys that change', () => {
  test('a token of an unknown key causes a new request, at most every 30 s', async () => {
    await outcomeOf(token())
    issuer.issuer.rotate()
    expect(await outcomeOf(token())).toMatchObject({
      outcome: 'invalid',
      reason: expect.stringContaining('"kid" names no key'),
    })
    expect(issuer.state.asked).toHaveLength(1)
    pass(30_000)
    expect(await outcomeOf(token())).toMatchObject({ outcome: 'genuine' })
    for (let i = 0; i < 20; i++) await outcomeOf(token({}, { kid: `made-up-${i}` }))
    expect(issuer.state.asked).toHaveLength(2)
  })

  test('a withdrawn key counts for an hour at most', async () => {
    const old = token()
    await outcomeOf(old)
    issuer.issuer.rotate(0)
    pass(hour - 1)
    expect(await outcomeOf(old)).toMatchObject({ outcome: 'genuine' })
    pass(1)
    expect(await outcomeOf(old)).toMatchObject({ outcome: 'invalid' })
  })

  test('each tenant has its own keys', async () => {
    const other = { ...entra, tenantId: '44444444-dddd-4ddd-8ddd-444444444444' }
    await identity.verify(token(), readIssuer(entra))
    await identity.verify(token(), readIssuer(other))
    expect(issuer.state.asked).toEqual(
      [tenantId, other.tenantId].map((id) => `/${id}/discovery/v2.0/keys`),
    )
  })
})

describe('while the issuer is down', () => {
  test('known keys still work, for a day', async () => {
    const text = token()
    await outcomeOf(text)
    issuer.state.answer = { status: 503, body: '' }
    for (let i = 0; i < 23; i++) {
      pass(hour)
      expect(await outcomeOf(text)).toMatchObject({ outcome: 'genuine' })
    }
    expect(issuer.state.asked).toHaveLength(24)
    expect(lines.filter((line) => line.includes('identity_keys_not_refreshed'))).toHaveLength(23)
    pass(hour)
    expect(await outcomeOf(text)).toMatchObject({ outcome: 'unavailable' })
    issuer.state.answer = undefined
    pass(minute)
    expect(await outcomeOf(text)).toMatchObject({ outcome: 'genuine' })
  })

  test('a token of an unknown key is neither accepted nor refused', async () => {
    await outcomeOf(token())
    issuer.issuer.rotate()
    issuer.state.answer = { status: 503, body: '' }
    pass(minute)
    expect(await outcomeOf(token())).toMatchObject({
      outcome: 'unavailable',
      reason: expect.stringContaining('HTTP 503'),
    })
  })

  test('it gets a request every 5 s, however many reports come', async () => {
    issuer.state.answer = { status: 500, body: '' }
    for (let i = 0; i < 20; i++) {
      expect(await outcomeOf(token())).toMatchObject({ outcome: 'unavailable' })
    }
    expect(issuer.state.asked).toHaveLength(1)
    pass(5_000)
    issuer.state.answer = undefined
    expect(await outcomeOf(token())).toMatchObject({ outcome: 'genuine' })
  })

  test('a failure while the clock was ahead is forgotten once the clock is right', async () => {
    issuer.state.answer = { status: 500, body: '' }
    pass(hour)
    expect(await outcomeOf(token())).toMatchObject({ outcome: 'unavailable' })
    pass(-hour)
    issuer.state.answer = undefined
    expect(await outcomeOf(token())).toMatchObject({ outcome: 'genuine' })
  })

  test('nobody is authenticated if no connection can be made', async () => {
    await issuer.close()
    expect(await outcomeOf(token())).toMatchObject({
      outcome: 'unavailable',
      reason: expect.stringContaining('ECONNREFUSED'),
    })
  })

  test.each([
    ['no JSON', () => '<h1>Hello</h1>'],
    ['no keys', () => '{}'],
    ['no end', () => JSON.stringify(issuer.issuer.jwks()).padEnd(300_000)],
  ])('an answer with %s is unusable', async (_, body) => {
    issuer.state.answer = { status: 200, body: body() }
    expect(await outcomeOf(token())).toMatchObject({ outcome: 'unavailable' })
  })

  test('a key that is too weak is unusable', async () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
    const { kid } = issuer.issuer.key
    const keys = [{ ...publicKey.export({ format: 'jwk' }), kid, use: 'sig' }]
    issuer.state.answer = { status: 200, body: JSON.stringify({ keys }) }
    expect(await outcomeOf(token())).toMatchObject({
      outcome: 'unavailable',
      reason: expect.stringContaining('2048'),
    })
  })

  test('a redirect is not followed', async () => {
    issuer.state.answer = { status: 302, body: '' }
    const urls: unknown[] = []
    identity = fresh((url, init) => {
      urls.push([url, init?.redirect])
      return fetch(url, init)
    })
    expect(await outcomeOf(token())).toMatchObject({ outcome: 'unavailable' })
    expect(urls).toEqual([[expect.stringContaining(tenantId), 'manual']])
  })

  test('an answer that never comes has a time limit', async () => {
    identity = fresh((_url, init) => {
      const { signal } = init!
      return new Promise((_, reject) =>
        signal!.addEventListener('abort', () => reject(signal!.reason)),
      )
    })
    expect(await outcomeOf(token())).toMatchObject({ outcome: 'unavailable' })
  })
})
