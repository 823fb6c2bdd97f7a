// Signatures against the published known answer and against an independent implementation.
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { nodeHmac } from '../../functions/host/parts.ts'
import {
  fromBase64,
  secretBytes,
  sign,
  signatureToleranceMs,
  toBase64,
  verify,
  webHmac,
} from '../../shared/signature.ts'

// The same values in every run; a failure prints what is needed to see it again.
fc.configureGlobal({ seed: 1 })

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const other = `whsec_${toBase64(new Uint8Array(32).fill(7))}`
const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek'
const at = 1_614_265_330_000
const body = '{"test": 2432232314}'

async function signed(secrets = [secret], text = body, now = at) {
  return new Headers({ ...(await sign(secrets, id, now, text)) })
}

function from(headers: Headers) {
  return (name: string) => headers.get(name)
}

function changed(headers: Headers, name: string, value?: string): Headers {
  const copy = new Headers(headers)
  if (value === undefined) copy.delete(name)
  else copy.set(name, value)
  return copy
}

test('the known answer of Standard Webhooks', async () => {
  expect(await sign([secret], id, at + 999, body)).toEqual({
    'webhook-id': id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

test('the HMAC of Node and that of WebCrypto are one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 24 }), fc.string(), async (key, text) => {
      const bytes = new Uint8Array(key)
      expect([...(await nodeHmac(bytes, text))]).toEqual([...(await webHmac(bytes, text))])
    }),
  )
})

describe('with the library standardwebhooks', () => {
  const text = '{"name":"Zürich 🙂"}'
  test('it accepts what we sign', async () => {
    const headers = await sign([secret], id, Date.now(), text)
    expect(new Webhook(secret).verify(text, { ...headers })).toEqual({ name: 'Zürich 🙂' })
  })

  test('we accept what it signs', async () => {
    const headers = new Headers({
      'webhook-id': id,
      'webhook-timestamp': String(at / 1000),
      'webhook-signature': new Webhook(secret).sign(id, new Date(at), text),
    })
    expect(await verify([secret], from(headers), at, text)).toBe('valid')
  })
})

describe('while a secret is rotated', () => {
  test('a message signed with both satisfies a holder of either', async () => {
    const headers = await signed([secret, other])
    expect(headers.get('webhook-signature')?.split(' ')).toHaveLength(2)
    expect(await verify([secret], from(headers), at, body)).toBe('valid')
    expect(await verify([other], from(headers), at, body)).toBe('valid')
  })

  test('a holder of both accepts either signature', async () => {
    expect(await verify([secret, other], from(await signed([other])), at, body)).toBe('valid')
  })
})

test.each([
  ['exactly at the tolerance', signatureToleranceMs, 'valid'],
  ['past it', signatureToleranceMs + 1, 'outside_tolerance'],
  ['as far in the future', -signatureToleranceMs, 'valid'],
  ['farther in the future', -signatureToleranceMs - 1, 'outside_tolerance'],
])('a timestamp %s', async (_, lateMs, check) => {
  expect(await verify([secret], from(await signed()), at + lateMs, body)).toBe(check)
})

describe('refused', () => {
  const signature = 'webhook-signature'
  test.each<[string, string, string | undefined, string]>([
    ['no id', 'webhook-id', undefined, 'missing_header'],
    ['no timestamp', 'webhook-timestamp', undefined, 'missing_header'],
    ['no signature', signature, undefined, 'missing_header'],
    ['an ISO timestamp', 'webhook-timestamp', '2021-02-25T15:02:10Z', 'malformed_timestamp'],
    ['a negative timestamp', 'webhook-timestamp', '-1', 'malformed_timestamp'],
    ['an endless timestamp', 'webhook-timestamp', '9'.repeat(13), 'malformed_timestamp'],
    ['another timestamp', 'webhook-timestamp', '1614265331', 'no_match'],
    ['another id', 'webhook-id', 'msg_other', 'no_match'],
    ['a signature of another version', signature, 'v1a,AAAA', 'no_match'],
    ['a signature that is not base64', signature, 'v1,?', 'no_match'],
    ['an empty MAC', signature, 'v1,', 'no_match'],
  ])('%s', async (_, name, value, check) => {
    const headers = changed(await signed(), name, value)
    expect(await verify([secret], from(headers), at, body)).toBe(check)
  })

  test('another secret, and none', async () => {
    expect(await verify([other], from(await signed()), at, body)).toBe('no_match')
    expect(await verify([], from(await signed()), at, body)).toBe('no_match')
  })

  test('any other body', async () => {
    const headers = await signed()
    await fc.assert(
      fc.asyncProperty(fc.string(), async (text) => {
        expect(await verify([secret], from(headers), at, text)).toBe('no_match')
      }),
    )
  })

  test('a forged time stays "no match": only the owner of the key learns about clocks', async () => {
    const headers = changed(await signed(), 'webhook-timestamp', '1')
    expect(await verify([secret], from(headers), at, body)).toBe('no_match')
  })
})

describe('a secret', () => {
  const ofLength = (bytes: number) => `whsec_${toBase64(new Uint8Array(bytes))}`
  test.each([24, 32, 64])('of %i bytes is one', (bytes) => {
    expect(secretBytes(ofLength(bytes))).toHaveLength(bytes)
  })
  test.each([ofLength(23), ofLength(65), ofLength(32).slice(6), 'whsec_', 'whsec_not*base64', ''])(
    '%s is none, and the error does not show it',
    (text) => {
      const read = () => secretBytes(text)
      expect(read).toThrow(expect.objectContaining({ code: 'secret_malformed' }))
      if (text.length > 8) expect(read).not.toThrow(text.slice(6))
    },
  )
})

test('base64 there and back, with or without padding', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const text = toBase64(bytes)
      expect(text).toBe(Buffer.from(bytes).toString('base64'))
      expect(fromBase64(text)).toEqual(bytes)
      expect(fromBase64(text.replace(/=+$/, ''))).toEqual(bytes)
    }),
  )
  expect(fromBase64('a-_b')).toBeUndefined()
  expect(fromBase64('abcde')).toBeUndefined()
})
