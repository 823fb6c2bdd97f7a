// Each sink's rules, and the ways in which all of them can be told to fail.

import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SLACK_CHANNEL as channel } from './sinks/slack-bot.ts'
import { type Sinks, startSinks } from './sinks.ts'

const LIMIT_MS = 10_000
let sinks: Sinks

beforeEach(async () => {
  sinks = await startSinks()
})

afterEach(() => sinks.stop())

async function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, text: await response.text(), headers: response.headers }
}

function last() {
  return sinks.received.at(-1)!
}

describe('slack_bot', () => {
  const quiet = { unfurl_links: false, unfurl_media: false }
  const message = { channel, text: 'hi', ...quiet }
  const call = async (method: string, body: object, token = sinks.slackBot.token) => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await post(`${sinks.slackBot.endpoint}/${method}`, body, headers)
    expect(answer.status).toBe(200)
    return JSON.parse(answer.text)
  }

  test('keeps what stands in the channel: posted, edited, replied to, deleted', async () => {
    const { ok, ts } = await call('chat.postMessage', message)
    expect([ok, sinks.slackMessages.get(ts)?.text]).toEqual([true, 'hi'])
    const reply = await call('chat.postMessage', { ...message, thread_ts: ts })
    expect(sinks.slackMessages.get(reply.ts)).toMatchObject({ thread_ts: ts, broadcast: false })
    expect(await call('chat.update', { channel, ts, text: 'ho' })).toMatchObject({ ok: true, ts })
    expect(sinks.slackMessages.get(ts)).toMatchObject({ text: 'ho', blocks: [], edits: 1 })
    expect(await call('chat.delete', { channel, ts: reply.ts })).toMatchObject({ ok: true })
    expect([...sinks.slackMessages.keys()]).toEqual([ts])
  })

  test.each([
    ['chat.postMessage', { ...message, channel: 'C1' }, 'channel_not_found'],
    ['chat.postMessage', { ...message, text: '' }, 'no_text'],
    ['chat.postMessage', { ...message, blocks: [{ type: 'banner' }] }, 'invalid_blocks'],
    ['chat.postMessage', { ...message, unfurl_links: true }, 'invalid_arguments'],
    ['chat.postMessage', { ...message, thread_ts: '1.1' }, 'thread_not_found'],
    ['chat.update', { channel, ts: '1.1', text: 'ho' }, 'message_not_found'],
    ['chat.delete', { channel, ts: '1.1' }, 'message_not_found'],
    ['chat.shout', message, 'unknown_method'],
  ])('%s of %j: %s', async (method, body, error) => {
    expect(await call(method, body)).toEqual({ ok: false, error })
    expect(last()).toMatchObject({ kind: 'slack_bot', accepted: false })
    expect(sinks.slackMessages.size).toBe(0)
  })

  test('another token is refused', async () => {
    expect(await call('chat.postMessage', message, 'xoxb-other')).toMatchObject({ ok: false })
  })
})

describe('slack', () => {
  const plain = (text: string) => ({ type: 'plain_text', text })
  const markdown = (text: string) => ({ type: 'mrkdwn', text })
  const section = (text: string) => ({ type: 'section', text: markdown(text) })
  const button = (more: object = {}) => ({ type: 'button', text: plain('Approve'), ...more })
  const actions = (...elements: object[]) => ({ type: 'actions', elements })
  const confirm = {
    title: plain('Sure?'),
    text: plain('It'),
    confirm: plain('Y'),
    deny: plain('N'),
  }
  const many = <T>(count: number, one: T) => Array.from({ length: count }, () => one)
  const long = (length: number) => 'x'.repeat(length)

  test.each([
    ['text alone', []],
    ['50 blocks', many(50, { type: 'divider' })],
    ['a header of 150', [{ type: 'header', text: plain(long(150)) }]],
    ['a section of 3000', [section(long(3000))]],
    ['3000 characters outside the basic plane', [section('🔧'.repeat(3000))]],
    ['10 fields of 1000', [{ type: 'section', fields: many(10, markdown(long(1000))) }]],
    ['a field of 2000', [{ type: 'section', fields: [markdown(long(2000))] }]],
    ['10 context elements', [{ type: 'context', elements: many(10, markdown('x')) }]],
    ['25 buttons', [actions(...many(25, button()))]],
    ['a button with all', [actions(button({ url: 'https://a.example/', value: 'v', confirm }))]],
    ['12 000 emoji', many(4, section('🔧'.repeat(3000)))],
    ['13 000 characters', [...many(4, section(long(3000))), section(long(1000))]],
  ])('takes %s', async (_, blocks) => {
    expect(await post(sinks.slackUrl, { text: 'hi', blocks })).toMatchObject({
      status: 200,
      text: 'ok',
    })
    expect(last()).toMatchObject({ kind: 'slack', valid: true, accepted: true, answered: 200 })
  })

  test.each([
    ['51 blocks', many(51, { type: 'divider' })],
    ['an unknown block', [{ type: 'banner' }]],
    ['a header of 151', [{ type: 'header', text: plain(long(151)) }]],
    ['a header in markdown', [{ type: 'header', text: markdown('x') }]],
    ['a section of 3001', [section(long(3001))]],
    ['an empty section', [section('')]],
    ['a section of nothing', [{ type: 'section' }]],
    ['11 fields', [{ type: 'section', fields: many(11, markdown('x')) }]],
    ['a field of 2001', [{ type: 'section', fields: [markdown(long(2001))] }]],
    ['11 context elements', [{ type: 'context', elements: many(11, markdown('x')) }]],
    ['26 buttons', [actions(...many(26, button()))]],
    ['a button text of 76', [actions(button({ text: plain(long(76)) }))]],
    ['a button text in markdown', [actions(button({ text: markdown('x') }))]],
    ['a value of 2001', [actions(button({ value: long(2001) }))]],
    ['a url of 3001', [actions(button({ url: `https://a.example/${long(2983)}` }))]],
    ['a url that is none', [actions(button({ url: 'javascript:alert(1)' }))]],
    ['an action_id of 256', [actions(button({ action_id: long(256) }))]],
    ['a block_id of 256', [{ type: 'divider', block_id: long(256) }]],
    ['a title of 101', [actions(button({ confirm: { ...confirm, title: plain(long(101)) } }))]],
    ['a confirm without deny', [actions(button({ confirm: { ...confirm, deny: undefined } }))]],
    ['a confirm with more', [actions(button({ confirm: { ...confirm, cancel: plain('N') } }))]],
    ['two buttons of one id', [actions(...many(2, button({ action_id: 'approve' })))]],
    ['a confirm of 301', [actions(button({ confirm: { ...confirm, text: plain(long(301)) } }))]],
  ])('refuses %s', async (_, blocks) => {
    expect(await post(sinks.slackUrl, { text: 'hi', blocks })).toMatchObject({
      status: 400,
      text: 'invalid_blocks',
    })
    expect(last()).toMatchObject({ valid: expect.stringMatching(/^invalid_blocks: /) })
    expect(last().accepted).toBe(false)
  })

  test.each([
    ['not JSON', '{', 400, 'invalid_payload'],
    ['a list', [], 400, 'invalid_payload'],
    ['no text', { blocks: [] }, 400, 'no_text'],
    ['an empty text', { text: '' }, 400, 'no_text'],
    [
      'more than 13 000 characters',
      { text: 'x', blocks: [...many(4, section(long(3000))), section(long(1001))] },
      400,
      'msg_blocks_too_long',
    ],
  ])('refuses %s', async (_, body, status, text) => {
    expect(await post(sinks.slackUrl, body)).toMatchObject({ status, text })
  })

  test.each([
    [{ text: 'x', response_type: 'ephemeral', replace_original: false }, 200],
    [{ text: 'x', replace_original: true }, 200],
    [{ text: 'x' }, 400],
    [{ text: 'x', response_type: 'in_channel', replace_original: false }, 400],
    [{ text: 'x', response_type: 'ephemeral', replace_original: true }, 400],
    [{ replace_original: true }, 400],
  ])('an answer to a press: %j', async (body, status) => {
    expect(await post(sinks.slackReplyUrl, body)).toMatchObject({ status })
  })

  test('refuses another content type, and another URL', async () => {
    const asText = await post(sinks.slackUrl, { text: 'x' }, { 'content-type': 'text/plain' })
    expect(asText).toMatchObject({ status: 400, text: 'invalid_payload' })
    const elsewhere = await post(`${sinks.slackUrl}x`, { text: 'x' })
    expect(elsewhere).toMatchObject({ status: 404, text: 'no_service' })
    expect((await post(`${sinks.slackUrl}?channel=2`, { text: 'x' })).status).toBe(200)
  })
})

describe('teams', () => {
  const openUrl = { type: 'Action.OpenUrl', title: 'Look', url: 'https://a.example/' }
  const card = (content: object = {}, attachment: object = {}, envelope: object = {}) => ({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          type: 'AdaptiveCard',
          version: '1.4',
          body: [{ type: 'TextBlock', text: 'hi' }],
          actions: [openUrl],
          msteams: { width: 'Full' },
          ...content,
        },
        ...attachment,
      },
    ],
    ...envelope,
  })

  test('takes a card, and answers with nothing', async () => {
    expect(await post(sinks.teamsUrl, card())).toMatchObject({ status: 202, text: '' })
    expect(last()).toMatchObject({ kind: 'teams', valid: true, accepted: true })
  })

  test.each([
    ['another envelope', card({}, {}, { type: 'MessageCard' })],
    ['no attachment', card({}, {}, { attachments: [] })],
    ['another content type', card({}, { contentType: 'application/json' })],
    ['another version', card({ version: '1.5' })],
    ['no body', card({ body: [] })],
    ['a button that needs a bot', card({ actions: [{ ...openUrl, type: 'Action.Submit' }] })],
    ['a button inside that does', card({ body: [{ type: 'ActionSet', actions: [{}] }] })],
    ['a button without URL', card({ actions: [{ ...openUrl, url: undefined }] })],
    ['not JSON', '{'],
  ])('refuses %s', async (_, body) => {
    expect((await post(sinks.teamsUrl, body)).status).toBe(400)
    expect(last()).toMatchObject({ valid: expect.any(String), accepted: false })
  })

  test('refuses more than 28 KB', async () => {
    const size = (bytes: number) => {
      const empty = JSON.stringify(card({ fallbackText: '' })).length
      return card({ fallbackText: 'x'.repeat(bytes - empty) })
    }
    expect((await post(sinks.teamsUrl, size(28 * 1024))).status).toBe(202)
    expect((await post(sinks.teamsUrl, size(28 * 1024 + 1))).status).toBe(413)
  })

  test('refuses a URL without its signature', async () => {
    const url = new URL(sinks.teamsUrl)
    url.search = ''
    expect((await post(url.href, card())).status).toBe(401)
  })
})

describe('pagerduty', () => {
  const routing_key = 'R'.repeat(32)
  const dedup_key = 'fleet event 1'
  const payload = { summary: 'web_0 restarts', source: 'web_0', severity: 'warning' }
  const trigger = { routing_key, dedup_key, event_action: 'trigger', payload }
  const send = (body: unknown) => post(sinks.pagerDutyEndpoint, body)
  const say = (event_action: string) => send({ routing_key, dedup_key, event_action })
  const incident = () => sinks.incidents().get(`${routing_key} ${dedup_key}`)

  test('takes a trigger', async () => {
    const links = [{ href: 'https://a.example/', text: 'Approve' }]
    const more = { component: 'c', group: 'g', class: 'Reboot', custom_details: { a: 1 } }
    const timestamp = '2026-03-02T10:00:00.000+01:00'
    const full = { ...trigger, links, payload: { ...payload, ...more, timestamp }, client: 'F' }
    const { status, text } = await send(full)
    expect(status).toBe(202)
    expect(JSON.parse(text)).toEqual({ status: 'success', message: 'Event processed', dedup_key })
    expect(incident()).toMatchObject({ state: 'triggered', opened: 1, triggers: 1 })
  })

  test.each([
    ['a routing key of 31', { ...trigger, routing_key: 'R'.repeat(31) }, 'routing_key'],
    ['no routing key', { ...trigger, routing_key: undefined }, 'routing_key'],
    ['another action', { ...trigger, event_action: 'close' }, 'event_action'],
    ['a dedup key of 256', { ...trigger, dedup_key: 'x'.repeat(256) }, 'dedup_key'],
    ['a resolve of nothing', { routing_key, event_action: 'resolve' }, 'dedup_key'],
    ['no payload', { ...trigger, payload: undefined }, 'payload'],
    ['no summary', { ...trigger, payload: { ...payload, summary: '' } }, 'summary'],
    [
      'a long summary',
      { ...trigger, payload: { ...payload, summary: 'x'.repeat(1025) } },
      'summary',
    ],
    ['no source', { ...trigger, payload: { ...payload, source: undefined } }, 'source'],
    ['another severity', { ...trigger, payload: { ...payload, severity: 'high' } }, 'severity'],
    ['another time', { ...trigger, payload: { ...payload, timestamp: 'now' } }, 'timestamp'],
    ['a link to nowhere', { ...trigger, links: [{ text: 'x' }] }, 'href'],
    ['not JSON', '{', 'body'],
    ['too much', { ...trigger, client: 'x'.repeat(512_000) }, 'bytes'],
  ])('refuses %s', async (_, body, mention) => {
    const { status, text } = await send(body)
    expect(status).toBe(400)
    expect(JSON.parse(text)).toEqual({
      status: 'invalid event',
      message: 'Event object is invalid',
      errors: [expect.stringContaining(mention)],
    })
    expect(sinks.incidents().size).toBe(0)
  })

  test('follows an incident to its end, and into the next', async () => {
    await send(trigger)
    await send(trigger)
    await say('acknowledge')
    await send(trigger)
    expect(incident()).toMatchObject({ state: 'acknowledged', opened: 1, triggers: 3 })
    await say('resolve')
    await say('acknowledge')
    expect(incident()).toMatchObject({ state: 'resolved', acknowledges: 2, resolves: 1 })
    await send(trigger)
    expect(incident()).toMatchObject({ state: 'triggered', opened: 2, triggers: 4 })
  })

  test.each(['acknowledge', 'resolve'])(
    'takes and drops the %s of an unknown key',
    async (action) => {
      expect((await say(action)).status).toBe(202)
      expect(sinks.incidents().size).toBe(0)
    },
  )

  test('keeps the same key of two services apart', async () => {
    await send(trigger)
    await send({ ...trigger, routing_key: 'S'.repeat(32) })
    await say('resolve')
    const states = [...sinks.incidents().values()].map((one) => one.state)
    expect(states).toEqual(['resolved', 'triggered'])
  })
})

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
    expect(last()).toMatchObject({ body: BODY, json: { type: 'event.scheduled' }, valid: true })
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

test('half a character is refused by all of them', async () => {
  const { slackUrl, teamsUrl, pagerDutyEndpoint, webhookUrl } = sinks
  const urls = [slackUrl, `${sinks.slackBot.endpoint}/chat.postMessage`, teamsUrl, webhookUrl]
  for (const url of [...urls, pagerDutyEndpoint]) {
    expect((await post(url, { a: [{ b: 'x\ud83d' }] })).status).toBe(400)
    expect(last()).toMatchObject({ valid: 'half a character', accepted: false })
  }
})

describe('failures', () => {
  const hello = () => post(sinks.slackUrl, { text: 'hello' })

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
