// Requests for a token of the VM's identity. No failure shows any part of a token.
import { describe, expect, test } from 'vitest'
import { forever, type Reply, setUp } from './fake-imds.ts'

describe('a token', () => {
  const token = 'eyJ0eXAiOiJKV1QifQ.eyJhdWQiOiJhcGkifQ.c2lnbmF0dXJl'
  const body = JSON.stringify({
    access_token: token,
    expires_on: '1767312000',
    token_type: 'Bearer',
  })

  test('is asked for with its audience, and the identity where one is named', async () => {
    const { imds, asked } = await setUp(() => ({ body }))
    const expected = { kind: 'token', token, expiresAt: 1_767_312_000_000 }
    expect(await imds.token('api://foghorn', undefined, forever)).toEqual(expected)
    expect(await imds.token('api://foghorn', 'id-1', forever)).toEqual(expected)
    const url =
      '/metadata/identity/oauth2/token?api-version=2018-02-01&resource=api%3A%2F%2Ffoghorn'
    expect(asked.map((one) => one.url)).toEqual([url, `${url}&client_id=id-1`])
    expect(asked[0]?.headers.metadata).toBe('true')
  })

  test('may say its end as a number', async () => {
    const { imds } = await setUp(() => ({ body: body.replace('"1767312000"', '1767312000') }))
    expect(await imds.token('a', undefined, forever)).toMatchObject({
      expiresAt: 1_767_312_000_000,
    })
  })

  test.each<[string, Reply, object]>([
    ['400', { status: 400, body: '{"error":"invalid_request"}' }, { class: 'absent', status: 400 }],
    ['410', { status: 410 }, { class: 'updating' }],
    ['429', { status: 429, headers: { 'retry-after': '7' } }, { retryAfterMs: 7_000 }],
    ['500', { status: 500 }, { class: 'transient' }],
    ['nothing', {}, { class: 'transient', reason: 'the token answer is not JSON' }],
    [
      'no token',
      { body: '{"expires_on":"1"}' },
      { reason: expect.stringMatching(/access_token$/) },
    ],
    [
      'no end',
      { body: body.replace('expires_on', 'x') },
      { reason: expect.stringMatching(/expires_on$/) },
    ],
    [
      'no JWT',
      { body: body.replace(token, 'opaque') },
      { reason: expect.stringMatching(/access_token$/) },
    ],
    ['half an answer', { body: body.slice(0, -5) }, { class: 'transient' }],
  ])('has failed with %s, which shows none of it', async (_, reply, expected) => {
    const { imds } = await setUp(() => reply)
    const failed = await imds.token('api://foghorn', undefined, forever)
    expect(failed).toMatchObject({ kind: 'failed', ...expected })
    expect(JSON.stringify(failed)).not.toMatch(/eyJ|opaque/)
  })
})
