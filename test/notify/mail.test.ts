// Mails through Azure Communication Services: the signature, and an id that makes a repetition one mail.
import { createHash, createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Part, Send } from '../../functions/notify/notifier.ts'
import { channels, notifierFor } from './kinds.ts'
import { about, capture, notify, outgoing } from './outgoing.ts'

const { accessKey } = channels.mail_azure

test('each request is signed as Azure asks', async () => {
  const { request } = await capture('mail_azure')
  const { headers, body, url } = request!
  const { host, pathname, search } = new URL(url)
  const digest = createHash('sha256').update(body).digest('base64')
  const content = `POST\n${pathname}${search}\n${headers['x-ms-date']};${host};${digest}`
  const key = Buffer.from(accessKey, 'base64')
  const signature = createHmac('sha256', key).update(content).digest('base64')
  expect(headers['x-ms-content-sha256']).toBe(digest)
  expect(headers.authorization).toBe(
    `HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=${signature}`,
  )
})

test('a repeated attempt has the same id, and another message has another', async () => {
  const idOf = async (what = outgoing()) =>
    (await capture('mail_azure', what)).request!.headers['operation-id']
  const { delivery } = outgoing()
  const other = outgoing({ delivery: { ...delivery, id: 'prod/an-event/1/completed/mail' } })
  const [first, again, next] = [await idOf(), await idOf(), await idOf(other)]
  expect(first).toMatch(/^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/)
  expect([again === first, next === first]).toEqual([true, false])
})

describe('Azure accepts a mail before it knows whether it can send it', () => {
  /** Azure's answers, in order: to the mail, and to each look at it. The last one is repeated. */
  async function sendWith(...states: object[]) {
    const asked: string[] = []
    const send: Send = async (url, { method }) => {
      const body =
        states[Math.min(asked.push(`${method} ${new URL(url).pathname}`), states.length) - 1]
      if (body === undefined) throw new Error('no answer')
      return Response.json(body, { status: method === 'POST' ? 202 : 200 })
    }
    const waits: number[] = []
    const wait = async (ms: number) => void waits.push(ms)
    const result = await notify('mail_azure', send, outgoing({ wait }))
    return { result, asked, waits }
  }
  const running = { status: 'Running' }
  const error = { code: 'EmailDropped', message: 'The recipient is suppressed.' }
  const refused = {
    outcome: 'refused',
    note: 'Azure did not send it: EmailDropped: The recipient is suppressed.',
  }
  const delivered = { outcome: 'delivered', note: 'HTTP 202' }

  test.each([
    ['it was sent', [running, { status: 'Succeeded' }], 1, delivered],
    ['it failed', [running, { status: 'Failed', error }], 1, refused],
    ['it failed late', [running, running, { status: 'Failed', error }], 2, refused],
    ['it failed at once', [{ status: 'Failed', error }], 0, refused],
    [
      'it failed without a word',
      [running, { status: 'Canceled' }],
      1,
      { ...refused, note: 'Azure did not send it: Canceled' },
    ],
    ['it is not sent yet', [running], 2, delivered],
    ['nobody can say', [running, { odd: 1 }], 1, delivered],
    ['nobody answers', [running, undefined as never], 1, delivered],
  ])('%s', async (_, states, looks, expected) => {
    const { result, asked, waits } = await sendWith(...states)
    expect(result).toEqual(expected)
    expect(asked[0]).toBe('POST /emails:send')
    expect(waits).toEqual([3_000, 8_000].slice(0, looks))
    expect(asked.slice(1)).toEqual(
      Array.from({ length: looks }, () =>
        expect.stringMatching(/^GET \/emails\/operations\/[\da-f-]{36}$/),
      ),
    )
  })
})

test('all mails about one event have one subject, and the news in the first line', async () => {
  const mails = []
  for (const moment of ['scheduled', 'started', 'completed'] as const) {
    const { request } = await capture('mail', about({}, { moment }))
    mails.push(request!.json)
  }
  expect(new Set(mails.map(({ subject }) => subject))).toEqual(new Set(['prod: Reboot of web_0']))
  const news = mails.map(({ text }) => text.split('\n')[0])
  expect(news).toEqual([
    '⏳ prod: Reboot of web_0 at 12:15 UTC',
    expect.stringMatching(/ prod: Started.*: Reboot of web_0$/),
    expect.stringMatching(/ prod: Completed.*: Reboot of web_0$/),
  ])
})

test('with a time zone, the facts also have the time there, in summer as in winter', async () => {
  const facts = async (notBeforeAt: number) => {
    const channel = { ...channels.mail, timeZone: 'Europe/Berlin' }
    const bodies: string[] = []
    const send: Send = async (_, { body }) => {
      bodies.push(JSON.parse(body!).text)
      return new Response('ok')
    }
    await notifierFor(channel).notify(about({ notBeforeAt }), channel as never, send)
    return /^When: (.*)$/m.exec(bodies[0]!)![1]
  }
  expect(await facts(Date.parse('2026-11-21T12:15:00Z'))).toBe(
    '2026-11-21 12:15 UTC, Sat 13:15 in Europe/Berlin',
  )
  expect(await facts(Date.parse('2027-07-02T22:15:00Z'))).toBe(
    '2027-07-02 22:15 UTC, Sat 00:15 in Europe/Berlin',
  )
})

test('the subject is that of the first mail, also if the event has changed since then', async () => {
  const first = about({ resources: ['web_0'] }).delivery.notification
  const what = {
    ...about({ resources: ['web_0', 'web_1'], eventType: 'Redeploy' }),
    mayHaveHeard: [first],
  }
  const { request } = await capture('mail', what)
  expect(request!.json.subject).toBe('prod: Reboot of web_0')
})

test('events that wait are one mail, by scale set, the most urgent set first', async () => {
  const of = (name: string, scaleSet?: string) => {
    const what = about({ resources: [name] })
    const { notification } = what.delivery
    const vms = [{ name, ...(scaleSet && { scaleSet }) }]
    const event = { ...notification.event, vms }
    const delivery = {
      ...what.delivery,
      notification: { ...notification, event },
    } as Part['delivery']
    return { ...what, delivery }
  }
  const also = [of('db_0', 'db'), of('web_1', 'web'), of('alone')]
  const { request } = await capture('mail', { ...of('web_0', 'web'), also })
  const { text } = request!.json
  const order = ['Scale set web', 'web_0', 'web_1', 'Scale set db', 'db_0', 'Other VMs', 'alone']
  const places = order.map((part) => text.indexOf(part))
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(places).not.toContain(-1)
  const { html } = request!.json
  expect(html.indexOf('>Scale set web<')).toBeLessThan(html.indexOf('>Scale set db<'))
})

test('the button, and what happens if nobody acts, come before the facts; a list begins with the button for all', async () => {
  const { request } = await capture('mail', about({}))
  const { html, text } = request!.json
  const order = [
    'display:none',
    'If you do nothing',
    '</h1>',
    '<b>If you do nothing',
    'Open to decide',
    'Why',
  ]
  const places = order.map((part) => html.indexOf(part))
  expect(places.slice(1)).toEqual(places.slice(1).toSorted((a, b) => a - b))
  expect(text.indexOf('Open to decide')).toBeLessThan(text.indexOf('Why:'))
  const listUrl = 'https://foghorn.example/approve/list'
  const listed = await capture('mail', { ...about({}), also: [about({})], listUrl })
  const all = listed.request!.json
  expect(all.text).toMatch(/^Open all to decide: https/)
  expect(all.html.indexOf('Open all to decide')).toBeLessThan(all.html.indexOf('<h2'))
})
