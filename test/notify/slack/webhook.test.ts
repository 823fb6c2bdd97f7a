// Answers of Slack's incoming webhook, word by word: which count as "ok", and other notes.
import { expect, test } from 'vitest'
import type { SendOutcome } from '../../../functions/core/delivery/attempt.ts'
import type { Send } from '../../../functions/notify/notifier.ts'
import { channels } from '../kinds.ts'
import { notify, outgoing } from '../outgoing.ts'

const limited = '{"ok":false,"error":"rate_limited"}'

test.each<[number, string, SendOutcome]>([
  [200, ' ok\n', { outcome: 'delivered', note: 'ok' }],
  [200, '', { outcome: 'refused', note: 'HTTP 200, but not "ok"' }],
  [200, 'nok', { outcome: 'refused', note: 'HTTP 200, but not "ok": nok' }],
  [
    200,
    limited,
    { outcome: 'retry', note: `HTTP 200, but not "ok": ${limited}`, retryAfterMs: 7_000 },
  ],
  [200, '<html>A', { outcome: 'refused', note: 'HTTP 200, but not "ok": <html>A', broken: true }],
  [
    200,
    'no_team',
    {
      outcome: 'refused',
      note: 'HTTP 200, but not "ok": Slack no longer knows the workspace of this webhook: no_team',
      broken: true,
    },
  ],
  [
    404,
    '{"error":"no_service"}',
    {
      outcome: 'refused',
      note: 'HTTP 404: Slack no longer knows this webhook: no_service',
      broken: true,
    },
  ],
  [201, 'ok', { outcome: 'refused', note: 'HTTP 201: ok' }],
  [400, 'no_text', { outcome: 'refused', note: 'HTTP 400: no_text' }],
  [400, 'invalid_token', { outcome: 'refused', note: 'HTTP 400: invalid_token', broken: true }],
  // The word comes from a name in the message, and says nothing about the webhook.
  [
    400,
    'invalid_blocks: no_team',
    { outcome: 'refused', note: 'HTTP 400: invalid_blocks: no_team' },
  ],
])('%i "%s"', async (status, text, outcome) => {
  const send: Send = async () => new Response(text, { status, headers: { 'retry-after': '7' } })
  expect(await notify('slack', send)).toEqual(outcome)
})

test.each([
  ['', { outcome: 'delivered', note: 'ok' }],
  ['o', { outcome: 'delivered', note: 'ok' }],
  ['ok', { outcome: 'delivered', note: 'ok' }],
  [
    '<html>',
    {
      outcome: 'refused',
      note: 'HTTP 200, but not "ok": (the text broke off)',
      broken: true,
    },
  ],
  ['{"ok":fa', { outcome: 'refused', note: 'HTTP 200, but not "ok": (the text broke off)' }],
])(
  '200, which breaks off after "%s", is taken for "ok" only where it began as that',
  async (text, outcome) => {
    let said = text === ''
    const pull = (controller: ReadableStreamDefaultController) => {
      if (said) controller.error(new TypeError('terminated'))
      else controller.enqueue(new TextEncoder().encode(text))
      said = true
    }
    const send: Send = async () => new Response(new ReadableStream({ pull }))
    expect(await notify('slack', send)).toEqual(outcome)
  },
)

test('if reading stops early, the first line is shown, but not half an address', async () => {
  const page = `<!DOCTYPE html>\n<html>${'<p>Sign in'.repeat(1_000)}`
  const note = 'HTTP 200, but not "ok": <!DOCTYPE html>…'
  expect(await notify('slack', async () => new Response(page))).toMatchObject({ note })
  const url = `https://slack.example/services/${'T0'.repeat(150)}-secret`
  const send: Send = async () => new Response(`no ${url.repeat(20)}`, { status: 400 })
  const result = await notify('slack', send, outgoing(), { ...channels.slack, url })
  expect(result).toEqual({ outcome: 'refused', note: 'HTTP 400: no' })
})

test('a status outside the standards is an answer, not a lost connection', async () => {
  const answer = { status: 999, headers: new Headers(), body: null }
  const result = await notify('slack', async () => answer as Response)
  expect(result).toEqual({ outcome: 'retry', note: 'HTTP 999' })
})
