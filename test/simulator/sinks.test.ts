// The simulated channels: that each takes a good message and refuses a bad one, what they keep of it, and
// how they can be told to fail. The notifiers' own limits are tested in test/notify.
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Sinks, startSinks } from './sinks.ts'

let sinks: Sinks
beforeEach(async () => {
  sinks = await startSinks()
})
afterEach(() => sinks.stop())

const LIMIT_MS = 10_000

async function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, text: await response.text(), headers: response.headers }
}

const last = () => sinks.received.at(-1)!
const hello = () => post(sinks.slackUrl, { text: 'hello' })

const callBot = (method: string, body: object, token = sinks.slackBot.token) =>
  post(`${sinks.slackBot.endpoint}/${method}`, body, { authorization: `Bearer ${token}` })

const page = {
  routing_key: 'R'.repeat(32),
  dedup_key: 'fleet event 1',
  event_action: 'trigger',
  payload: { summary: 'web_0 restarts', source: 'web_0', severity: 'warning' },
}

const card = (version: string) => ({
  type: 'message',
  attachments: [
    {
      contentType: 'application/vnd.microsoft.card.adaptive',
      content: { type: 'AdaptiveCard', version, body: [{ type: 'TextBlock', text: 'hi' }] },
    },
  ],
})

function signed(id: string, body: string, secret = sinks.webhookSecret) {
  const at = new Date()
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  }
}

const quiet = { unfurl_links: false, unfurl_media: false }
const inChannel = () => ({ channel: sinks.slackBot.channel, text: 'hi', ...quiet })

describe('a good message is taken, and a bad one is refused', () => {
  test.each<[string, number, () => ReturnType<typeof post>]>([
    ['a text for Slack', 200, hello],
    ['no text for Slack', 400, () => post(sinks.slackUrl, { blocks: [] })],
    [
      'a block that Slack does not know',
      400,
      () => post(sinks.slackUrl, { text: 'hi', blocks: [{ type: 'banner' }] }),
    ],
    ['an address that is not of Slack', 404, () => post(`${sinks.slackUrl}x`, { text: 'hi' })],
    ['a private answer to a press', 400, () => post(sinks.slackReplyUrl, { text: 'hi' })],
    ['a card for Teams', 202, () => post(sinks.teamsUrl, card('1.4'))],
    ['a card of another version', 400, () => post(sinks.teamsUrl, card('1.5'))],
    ['a card of more than 28 KB', 413, () => post(sinks.teamsUrl, card('x'.repeat(28 * 1024)))],
    ['a page', 202, () => post(sinks.pagerDutyEndpoint, page)],
    [
      'a page of another severity',
      400,
      () => post(sinks.pagerDutyEndpoint, { ...page, payload: { ...page.payload, severity: 'x' } }),
    ],
    ['a webhook', 204, () => post(sinks.webhookUrl, '{}', signed('a', '{}'))],
    [
      'a webhook that is signed for another',
      401,
      () => post(sinks.webhookUrl, '{}', signed('a', 'x')),
    ],
  ])('%s: %i', async (_, status, send) => {
    expect((await send()).status).toBe(status)
    expect(last().accepted).toBe(status < 300)
  })

  test('the Web API of Slack says so in its answer', async () => {
    expect(JSON.parse((await callBot('chat.postMessage', inChannel())).text).ok).toBe(true)
    for (const [wrong, token] of [
      [{ ...inChannel(), channel: 'C1' }, undefined],
      [{ ...inChannel(), unfurl_links: true }, undefined],
      [inChannel(), 'xoxb-other'],
    ] as const) {
      const { text } = await callBot('chat.postMessage', wrong, token)
      expect(JSON.parse(text)).toMatchObject({ ok: false })
    }
    expect(sinks.slackMessages.size).toBe(1)
  })

  test('half a character is refused by all of them', async () => {
    const { slackUrl, teamsUrl, pagerDutyEndpoint, webhookUrl } = sinks
    const urls = [slackUrl, `${sinks.slackBot.endpoint}/chat.postMessage`, teamsUrl, webhookUrl]
    for (const url of [...urls, pagerDutyEndpoint]) {
      expect((await post(url, { a: [{ b: 'x\ud83d' }] })).status).toBe(400)
      expect(last()).toMatchObject({ valid: 'half a character', accepted: false })
    }
  })
})

test('PagerDuty follows an incident to its end, and into the next', async () => {
  const incident = () => sinks.incidents().get(`${page.routing_key} ${page.dedup_key}`)
  const say = (event_action: string) => post(sinks.pagerDutyEndpoint, { ...page, event_action })
  await say('trigger')
  await say('acknowledge')
  await say('trigger')
  expect(incident()).toMatchObject({ state: 'acknowledged', opened: 1, triggers: 2 })
  await say('resolve')
  await say('acknowledge')
  expect(incident()).toMatchObject({ state: 'resolved', acknowledges: 2, resolves: 1 })
  await say('trigger')
  expect(incident()).toMatchObject({ state: 'triggered', opened: 2, triggers: 3 })
})

test('webhooks are counted by their ids', async () => {
  for (const id of ['a', 'a', 'b']) await post(sinks.webhookUrl, '{}', signed(id, '{}'))
  expect([...sinks.webhookIds()]).toEqual([
    ['a', 2],
    ['b', 1],
  ])
})

describe('failures', () => {
  test('answer as told, so often, in order, and only their kind', async () => {
    sinks.failNext({ kind: 'teams' })
    sinks.failNext({ kind: 'slack', status: 429, headers: { 'retry-after': '2' }, times: 2 })
    sinks.failNext({ kind: 'slack', body: { ok: false, error: 'rate_limited' } })
    const limited = await hello()
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '2'])
    expect((await hello()).status).toBe(429)
    expect(await hello()).toMatchObject({ status: 200, text: expect.stringContaining('limited') })
    expect(sinks.received.every((one) => one.valid === true && !one.accepted)).toBe(true)
    expect(await hello()).toMatchObject({ status: 200, text: 'ok' })
    expect(last().accepted).toBe(true)
    expect((await post(sinks.teamsUrl, {})).status).toBe(500)
  })

  test.each([
    ['dropped', { afterAccept: true }],
    [503, { afterAccept: true, status: 503 }],
  ] as const)('after taking the message: %s', async (answered, failure) => {
    sinks.failNext({ kind: 'slack', ...failure })
    await hello().catch(() => {})
    expect(last()).toMatchObject({ accepted: true, answered })
  })

  test('dropping breaks the connection', async () => {
    sinks.failNext({ kind: 'slack', afterAccept: true })
    await expect(hello()).rejects.toThrow()
  })

  test('hanging ends with stop only, and takes nothing', async () => {
    sinks.failNext({ kind: 'slack', hang: true })
    const hanging = expect(hello()).rejects.toThrow()
    const one = await sinks.waitFor(({ kind }) => kind === 'slack', LIMIT_MS)
    expect(one).toMatchObject({ accepted: false, answered: 'hung' })
    await sinks.stop()
    await hanging
  })

  test('a delay is the right answer, late', async () => {
    sinks.failNext({ kind: 'slack', delayMs: 60 })
    const since = performance.now()
    expect(await hello()).toMatchObject({ status: 200, text: 'ok' })
    expect(performance.now() - since).toBeGreaterThan(55)
    expect(last().accepted).toBe(true)
  })
})

describe('waiting', () => {
  test('finds what was received before, and what comes later', async () => {
    const later = sinks.waitFor((one) => one.kind === 'teams', LIMIT_MS)
    await post(sinks.slackUrl, { text: 'hello' })
    expect(await sinks.waitFor((one) => one.kind === 'slack', LIMIT_MS)).toBe(last())
    await post(sinks.teamsUrl, {})
    expect(await later).toMatchObject({ kind: 'teams', answered: 400 })
  })

  test('gives up with what there was', async () => {
    await post(sinks.slackUrl, { text: 'hello' })
    await expect(sinks.waitFor(() => false, 5)).rejects.toThrow('received: slack 200')
  })
})

test.each([
  ['GET', 'slackUrl', 405],
  ['POST', 'url', 404],
] as const)('%s to %s is answered %d and not recorded', async (method, name, status) => {
  expect((await fetch(sinks[name], { method })).status).toBe(status)
  expect(sinks.received).toEqual([])
})
