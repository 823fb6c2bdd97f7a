// Names and texts from outside, sent over HTTP to channels that check every limit of the real ones: they
// are shown as text, on one line, and never make a message too long.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Channel } from '../../functions/config.ts'
import { notifiers } from '../../functions/notify/index.ts'
import type { Outgoing } from '../../functions/notify/notifier.ts'
import { limits } from '../../shared/document.ts'
import { type Sinks, startSinks } from '../simulator/sinks.ts'
import { at } from '../support/records.ts'
import { routingKey } from '../support/world.ts'
import { about, type Kind, kinds, notify } from './outgoing.ts'

let sinks: Sinks
let channels: Record<Kind, Channel>

beforeAll(async () => {
  sinks = await startSinks()
  channels = {
    slack: { kind: 'slack', url: sinks.slackUrl },
    teams: { kind: 'teams', url: sinks.teamsUrl },
    pagerduty: { kind: 'pagerduty', routingKey, endpoint: sinks.pagerDutyEndpoint },
    webhook: { kind: 'webhook', url: sinks.webhookUrl, secret: [sinks.webhookSecret] },
  }
})

afterAll(() => sinks.stop())

/** Sends, expects that the channel took it, and returns the body. */
async function deliver(kind: Kind, what: Outgoing): Promise<string> {
  const now = Date.now()
  const result = await notify(kind, fetch, { ...what, now }, channels[kind])
  const request = sinks.received.at(-1)!
  expect([request.kind, request.valid, result.outcome]).toEqual([kind, true, 'delivered'])
  return request.body
}

type Json = ReturnType<typeof JSON.parse>

/** Every text that a person gets to read in a message. */
function textsOf(kind: Kind, body: string): string[] {
  const json: Json = JSON.parse(body)
  if (kind === 'slack') {
    const blocks = json.blocks.flatMap((block: Json) => [block.text, ...(block.fields ?? [])])
    return [json.text, ...blocks.filter(Boolean).map((one: Json) => one.text)]
  }
  if (kind === 'teams') {
    const parts: Json[] = json.attachments[0].content.body
    return parts.flatMap((part) => [part.text, ...(part.facts ?? []).map((f: Json) => f.value)])
  }
  return [
    json.payload.summary,
    json.payload.source,
    ...Object.values<string>(json.payload.custom_details ?? {}),
  ]
}

const people: Kind[] = ['slack', 'teams', 'pagerduty']
const marks = /[\p{Bidi_Control}\u2028\u2029]|(?!\n)\p{Cc}/u

const names: [string, string][] = [
  ['a mention of all (Slack)', '<!channel> <!here> <@U123> <#C123>'],
  ['a mention of all', '@everyone @channel @here'],
  ['a link', '<https://evil.example|click> https://evil.example [click](https://evil.example)'],
  ['markdown', '*b* _i_ ~s~ `c` ```x``` # h > q | t | ![i](https://evil.example/i.png)'],
  ['markup', '<script>alert(1)</script> &amp; &lt; "quoted" \\ \''],
  ['entities', '&&&&&lt;&gt;'],
  ['10 KB', 'web_'.repeat(2_560)],
  ['10 KB of what grows when escaped', '<&>*_'.repeat(2_048)],
  ['emoji', '🚢👩‍👩‍👧‍👦🏳️‍🌈'.repeat(500)],
  ['right to left', 'שרת_0 \u202eevil\u202c \u2066x\u2069 \u200f'],
  ['control characters', 'a\u0000b\u0007c\u001b[31md\u007f\u0085e'],
  ['several lines', 'web_0\nApproved by everybody\r\n\u2028ok\u2029ok'],
  ['half a character', 'a\ud83d b\ude00'],
  ['a template', '\u0024{x} {{DATE(2020-01-01T00:00:00Z,SHORT)}} @{triggerBody()}'],
  ['blanks', '   '],
]

describe.each(kinds)('%s', (kind) => {
  test.each(names)('takes %s', async (_, name) => {
    const long = { eventType: name, resources: [name, name], description: name, source: name }
    for (const facts of [{ resources: [name] }, { description: name }, long]) {
      const body = await deliver(kind, about(facts))
      expect(JSON.stringify(JSON.parse(body))).toBe(body)
      if (!people.includes(kind)) continue
      for (const text of textsOf(kind, body).filter(Boolean)) {
        expect(text).not.toMatch(marks)
        if (name.isWellFormed()) expect(text.isWellFormed()).toBe(true)
      }
    }
  })

  test('takes everything at its longest', async () => {
    const resources = [...Array(limits.resources).keys()].map((i) =>
      `${i}`.padEnd(limits.name, '☃'),
    )
    for (const filling of ['x', '☃', '🚢', '<', '*', '"']) {
      const text = filling.repeat(limits.text)
      const cut = text.slice(0, limits.name)
      const long = { description: text, source: cut, eventType: cut }
      for (const names of [resources, resources.map(() => cut)]) {
        const body = await deliver(kind, about({ resources: names, ...long }))
        // what Teams takes in practice is less than what its documentation says
        if (kind === 'teams') expect(Buffer.byteLength(body)).toBeLessThanOrEqual(20 * 1024)
      }
    }
  })

  test('takes as many as its rate puts into one message, each at its longest', async () => {
    const { together } = notifiers[kind].rate
    const text = '<☃🚢*"'.repeat(limits.text / 6)
    const one = about({ resources: Array(20).fill(text.slice(0, 250)), description: text })
    const also = Array.from({ length: together - 1 }, () => ({ ...one }))
    const body = await deliver(kind, { ...one, also })
    if (kind === 'teams') expect(Buffer.byteLength(body)).toBeLessThanOrEqual(20 * 1024)
    if (kind !== 'slack') return
    const texts = JSON.parse(body).blocks.map((block: Json) => block.text.text.length)
    expect(texts.reduce((sum: number, length: number) => sum + length, 0)).toBeLessThan(13_000)
  })

  test.each([
    ['no names at all', { resources: [] }],
    ['empty texts', { description: '', source: '', eventType: 'X' }],
  ])('takes %s', async (_, facts) => {
    await deliver(kind, about(facts))
  })

  test('takes every moment', async () => {
    for (const moment of [
      'scheduled',
      'changed',
      'started',
      'stuck',
      'completed',
      'lost',
    ] as const) {
      await deliver(kind, about({}, { moment, at }))
    }
  })
})

describe('what looks like markup is text', () => {
  test('Slack: nothing that it would read as a mention or a link', async () => {
    for (const [, name] of names) {
      const body = await deliver('slack', about({ resources: [name], description: name }))
      const json: Json = JSON.parse(body)
      for (const text of [json.text, ...textsOf('slack', body).slice(2)]) {
        expect(text).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/)
      }
      expect([json.unfurl_links, json.unfurl_media]).toEqual([false, false])
      const rich = JSON.stringify(json.blocks).match(/"type":"mrkdwn"/g)?.length
      expect(JSON.stringify(json.blocks).match(/"verbatim":true/g)).toHaveLength(rich ?? 0)
    }
  })

  test('Slack: an escaped letter is never cut in half', async () => {
    for (let length = 1_960; length < 2_000; length++) {
      const body = await deliver('slack', about({ description: `${'x'.repeat(length)}<<<&&&>>>` }))
      for (const text of textsOf('slack', body).slice(2)) {
        expect(text).not.toMatch(/&(?!amp;|lt;|gt;)/)
      }
    }
  })

  test('Teams: every letter that its markdown reads is escaped', async () => {
    for (const [, name] of names) {
      const body = await deliver('teams', about({ resources: [name], description: name }))
      for (const text of textsOf('teams', body).filter(Boolean)) {
        const bare = text.replace(/\\[\\`*_[\]()#~<>|]/g, '')
        expect(bare).not.toMatch(/[\\`*[\]<>|~]/)
      }
    }
  })

  test('Teams: what is cut is cut visibly', async () => {
    const body = await deliver('teams', about({ description: '☃'.repeat(4_000) }))
    expect(body).toContain('…')
  })

  test('Teams: cut harder where many values are long', async () => {
    const what = about({})
    const value = '☃'.repeat(4_000)
    const facts = what.message.facts.map(({ name }) => ({ name, value }))
    const body = await deliver('teams', { ...what, message: { ...what.message, facts } })
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(20 * 1024)
  })

  test('webhooks carry names as they are: the receiver escapes', async () => {
    for (const [, name] of names) {
      const json: Json = JSON.parse(await deliver('webhook', about({ resources: [name] })))
      expect(json.data.resources).toEqual([name])
    }
  })
})
