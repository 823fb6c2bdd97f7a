// The sink of webhooks takes what is signed, and counts repeats.

import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { last, post, sinks, useSinks } from '../posting.ts'
import { startSinks } from '../sinks.ts'

useSinks()

describe('webhook', () => {
  const BODY = '{"type":"event.scheduled"}'
  const signed = (id: string, body = BODY, at = new Date(), secret = sinks.webhookSecret) => ({
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  })

  test('takes what is signed, and counts repeats', async () => {
    const first = await post(sinks.webhookUrl, BODY, signed('a'))
    expect(first).toMatchObject({ status: 204, text: '' })
    await post(sinks.webhookUrl, BODY, signed('a'))
    await post(sinks.webhookUrl, BODY, signed('b'))
    expect([...sinks.webhookIds()]).toEqual([
      ['a', 2],
      ['b', 1],
    ])
    expect(last()).toMatchObject({
      body: BODY,
      json: { type: 'event.scheduled' },
      valid: true,
    })
  })

  test.each([
    ['unsigned', () => ({})],
    ['signed for another body', () => signed('a', '{}')],
    ['signed for another id', () => ({ ...signed('a'), 'webhook-id': 'b' })],
    ['signed long ago', () => signed('a', BODY, new Date(Date.now() - 301_000))],
    ['signed by another', () => signed('a', BODY, new Date(), `whsec_${btoa('x'.repeat(32))}`)],
  ])('refuses what is %s', async (_, headers) => {
    expect((await post(sinks.webhookUrl, BODY, headers())).status).toBe(401)
    expect(sinks.webhookIds().size).toBe(0)
    expect(last()).toMatchObject({ valid: expect.any(String), accepted: false })
  })

  test('takes a secret of its own', async () => {
    const webhookSecret = `whsec_${btoa('y'.repeat(24))}`
    const own = await startSinks({ webhookSecret })
    const headers = signed('a', BODY, new Date(), webhookSecret)
    expect((await post(own.webhookUrl, BODY, headers)).status).toBe(204)
    await own.stop()
  })
})
