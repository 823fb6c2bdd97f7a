// Requests to /slack/interactions: signature, time and form. No other request can decide, and
// refusals do not reveal secrets.
import { beforeEach, describe, expect, test } from 'vitest'
import { createSlackPresses } from '../../../functions/notify/slack/presses.ts'
import { webHmac } from '../../../shared/signature.ts'
import { beacon, minute, report, startWithEvent, world } from '../../support/relay.ts'
import {
  actionOf,
  approvalsOf,
  formOf,
  payloadOf,
  postSigned,
  pressInSlack,
  repliesIn,
  replyUrl,
  signatureOf,
  signingSecret,
  slackDecides,
  toldInPrivate,
  valueIn,
} from '../../support/slack-press.ts'
import { event, eventId, startAt } from '../../support/world.ts'

const oldSecret = 'ffffffffffffffffffffffffffffffff'

const begin = (config: object = slackDecides) => startWithEvent(config)

beforeEach(() => begin())

async function problemOf(response: Response) {
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  const text = await response.text()
  expect(text).not.toContain(signingSecret)
  expect(text).not.toContain('reply-secret')
  expect(text).not.toContain(valueIn(world))
  return JSON.parse(text)
}

const form = () => formOf(payloadOf(valueIn(world)))

test("Slack's published example is genuine, and any other letter is not", async () => {
  const body =
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c'
  const secret = '8f742231b10e8888abcd99yyyzzz85a5'
  const headers: Record<string, string> = {
    'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    'x-slack-request-timestamp': '1531420618',
  }
  const presses = createSlackPresses(webHmac)
  const read = (text: string, changes: Record<string, string> = {}) => {
    const all = { ...headers, ...changes }
    return presses.read((name) => all[name], text, [secret], 1_531_420_618_000)
  }
  // The example is a command without a payload.
  expect(await read(body)).toMatchObject({ outcome: 'refused', code: 'payload_missing' })
  const invalid = { outcome: 'refused', status: 401, code: 'signature_invalid' }
  expect(await read(`${body}x`)).toMatchObject(invalid)
  expect(await read(body, { 'x-slack-request-timestamp': '1531420619' })).toMatchObject(invalid)
})

describe('who signed it', () => {
  test.each([
    ['another secret', { secret: oldSecret }, 'signature_invalid'],
    ['no signature', { headers: { 'x-slack-signature': '' } }, 'signature_missing'],
    ['another version', { headers: { 'x-slack-signature': 'v1=00' } }, 'signature_missing'],
    ['no time', { headers: { 'x-slack-request-timestamp': '' } }, 'signature_missing'],
    ['a time that is none', { headers: { 'x-slack-request-timestamp': '1e9' } }, 'signature_missi'],
    ['6 minutes ago', { at: startAt - 6 * minute }, 'outside_tolerance'],
    ['in 6 minutes', { at: startAt + 6 * minute }, 'outside_tolerance'],
  ])('%s: 401, and nothing decided', async (_, signing, code) => {
    const { response } = await postSigned(world, form(), signing)
    expect(response.status).toBe(401)
    expect((await problemOf(response)).code).toContain(code)
    expect(await approvalsOf(world, eventId)).toEqual([])
    expect(repliesIn(world)).toEqual([])
  })

  test.each([-4, 4])('%d minutes apart: taken', async (minutes) => {
    const { response } = await postSigned(world, form(), { at: startAt + minutes * minute })
    expect([response.status, await response.text()]).toEqual([200, ''])
    expect(await approvalsOf(world, eventId)).toHaveLength(1)
  })

  test('while a secret is replaced, both are valid; then only the new one', async () => {
    for (const [team, answered] of [
      [[signingSecret, oldSecret], 200],
      [[oldSecret, signingSecret], 200],
      [[signingSecret], 401],
    ] as const) {
      await begin({ ...slackDecides, slackApp: { signingSecret: team, team: 'T0HOME' } })
      const { response } = await postSigned(world, form(), { secret: oldSecret })
      expect(response.status).toBe(answered)
      expect(await approvalsOf(world, eventId)).toHaveLength(answered === 200 ? 1 : 0)
    }
  })

  test('an upper-case signature, two of them, or a longer one: refused', async () => {
    const body = form()
    const time = String(startAt / 1000)
    const good = await signatureOf(body, time)
    for (const one of [good.toUpperCase(), `${good},${good}`, `${good}00`, good.slice(0, -1)]) {
      const headers = { 'x-slack-signature': one }
      expect((await postSigned(world, body, { headers })).response.status, one).toBe(401)
    }
  })
})

describe('the same again', () => {
  test('the same request: acknowledged, and nothing done', async () => {
    const body = formOf(payloadOf(valueIn(world), actionOf(valueIn(world), 'not_now')))
    const { again } = await postSigned(world, body)
    expect(repliesIn(world)).toHaveLength(1)
    const response = await again()
    expect([response.status, await response.text()]).toEqual([200, ''])
    expect(repliesIn(world)).toHaveLength(1)
  })

  test('a process that did not see it finds the event decided', async () => {
    const { again } = await postSigned(world, form())
    world.relay.presses.slack = createSlackPresses(webHmac)
    await again()
    expect(await approvalsOf(world, eventId)).toHaveLength(1)
    expect(toldInPrivate(world)).toContain('already decided')
  })

  test('an old payload, signed anew once the event came again: it decides nothing', async () => {
    const body = form()
    await beacon.sees([])
    await world.pass(11_000)
    await report(event())
    await postSigned(world, body)
    expect(await approvalsOf(world, eventId)).toEqual([])
    expect(toldInPrivate(world)).toContain('changed or was decided after this message')
  })

  test('signatures are kept up to a limit; beyond it the oldest goes', async () => {
    const presses = createSlackPresses(webHmac, 100)
    const read = async (body: string, now: number) => {
      const time = String(Math.floor(now / 1000))
      const headers: Record<string, string> = {
        'x-slack-signature': await signatureOf(body, time),
        'x-slack-request-timestamp': time,
      }
      const one = (at: number) => presses.read((name) => headers[name], body, [signingSecret], at)
      return { outcome: (await one(now)).outcome, one }
    }
    const first = await read(formOf({ type: 'one' }), startAt)
    expect((await first.one(startAt + 5 * minute)) as object).toMatchObject({
      note: 'a repeated request',
    })
    for (let i = 0; i < 99; i++) await read(formOf({ type: `${i}` }), startAt)
    expect(await first.one(startAt)).toMatchObject({ note: 'a repeated request' })
    await read(formOf({ type: 'one too many' }), startAt)
    expect(await first.one(startAt)).toMatchObject({ note: 'ignored the type "one"' })
  })
})

describe('its form', () => {
  const malformed: [string, () => string, string][] = [
    ['JSON', () => JSON.stringify(payloadOf(valueIn(world))), 'payload_missing'],
    ['no payload', () => 'token=x', 'payload_missing'],
    ['an empty body', () => '', 'payload_missing'],
    ['no JSON in it', () => 'payload=%7B', 'payload_malformed'],
    ['a list', () => formOf([]), 'payload_malformed'],
    ['no actions', () => formOf(payloadOf('', { actions: [] })), 'payload_malformed'],
    ['no user', () => formOf(payloadOf(valueIn(world), { user: {} })), 'payload_malformed'],
    ['a user by name', () => formOf(payloadOf('v', { user: { id: 'ada' } })), 'payload_malformed'],
    [
      'no team',
      () => formOf(payloadOf('v', { user: { id: 'U0ADA' }, team: null })),
      'payload_malformed',
    ],
    ['no reply', () => formOf(payloadOf('v', { response_url: '' })), 'payload_malformed'],
    ['a long value', () => formOf(payloadOf('v'.repeat(2_001))), 'payload_malformed'],
  ]

  test.each(malformed)('%s: 400, and nothing decided', async (_, body, code) => {
    const { response } = await postSigned(world, body())
    expect(response.status).toBe(400)
    expect(await problemOf(response)).toMatchObject({ code, status: 400 })
    expect(await approvalsOf(world, eventId)).toEqual([])
  })

  test('a check of the certificate, signed or not: 200, without effect or warning', async () => {
    const body = 'ssl_check=1&token=xxx'
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const unsigned = { method: 'POST', body, headers }
    expect((await world.app.request('/slack/interactions', unsigned)).status).toBe(200)
    expect((await postSigned(world, body)).response.status).toBe(200)
    const payload = { ...unsigned, body: `${body}&${form()}` }
    expect((await world.app.request('/slack/interactions', payload)).status).toBe(401)
    expect(world.lines.filter((line) => line.includes('slack_refused'))).toHaveLength(1)
  })

  test('100 KB: refused before it is judged', async () => {
    const body = formOf(payloadOf(valueIn(world), { filling: 'x'.repeat(100_000) }))
    const { response } = await postSigned(world, body)
    expect(response.status).toBe(413)
    expect((await problemOf(response)).code).toBe('body_too_large')
  })

  const acknowledged: [string, object][] = [
    ['a link that was opened', actionOf('', 'open')],
    ['another button', actionOf('', 'launch')],
    ['a dialog', { type: 'view_submission', view: {}, actions: undefined }],
    ['a shortcut', { type: 'shortcut', actions: undefined }],
  ]

  test.each(acknowledged)('%s: 200, and nothing is done', async (_, changes) => {
    const { response } = await postSigned(world, formOf(payloadOf(valueIn(world), changes)))
    expect([response.status, await response.text()]).toEqual([200, ''])
    expect(await approvalsOf(world, eventId)).toEqual([])
    expect(repliesIn(world)).toEqual([])
  })
})

test('without slackApp the address does not exist', async () => {
  await begin({})
  const { response } = await postSigned(world, 'payload=%7B%7D')
  expect(response.status).toBe(404)
  expect((await response.json()) as object).toMatchObject({ code: 'not_found', status: 404 })
  expect((await world.app.request('/slack/interactions')).status).toBe(404)
})

test('no log line, history or answer contains a secret', async () => {
  world.channels.answer = ({ url }) => new Response(`no: ${url}`, { status: 404 })
  await postSigned(world, form(), { secret: oldSecret })
  await postSigned(world, 'payload=%7B')
  await pressInSlack(world, { value: 'forged:1-0123456789abcdef' })
  await pressInSlack(world)
  await pressInSlack(world, { person: 'U0BOB' })
  const { body } = await world.getEvent(eventId)
  const said = [...world.lines, JSON.stringify(body)].join('\n')
  expect(said).toContain('slack_reply_failed')
  for (const secret of [signingSecret, oldSecret, replyUrl, 'reply-secret', valueIn(world)]) {
    expect(said).not.toContain(secret)
  }
  expect(said).not.toContain(valueIn(world).split(':')[0])
})
