// Names and texts from outside, sent over HTTP to channels that check every limit of the real ones.
// They are shown as text, on one line, and never make a message too long.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Channel } from '../../functions/config/config.ts'
import { moments } from '../../functions/core/event/moment.ts'
import type { Outgoing } from '../../functions/notify/notifier.ts'
import { limits } from '../../shared/document.ts'
import { type Sinks, startSinks } from '../simulator/sinks.ts'
import { someOf } from '../support/whole.ts'
import { type Json, type Kind, kinds, kindTable, notifierOf } from './kinds.ts'
import { about, capture, notify } from './outgoing.ts'
import { httpNames } from './presets.ts'
import { scenes } from './scenes.ts'

let sinks: Sinks
let channels: Record<Kind, Channel | undefined>

beforeAll(async () => {
  sinks = await startSinks()
  const there = kinds.map((kind) => [kind, kindTable[kind].simulated(sinks)])
  channels = Object.fromEntries(there)
})

afterAll(() => sinks.stop())

/** Sends, expects that the channel accepted it, and returns the body. */
async function deliver(kind: Kind, what: Outgoing): Promise<string> {
  const now = Date.now()
  if (channels[kind] === undefined) {
    const { result, request } = await capture(kind, { ...what, now })
    expect(result.outcome).toBe('delivered')
    return request!.body
  }
  const result = await notify(kind, fetch, { ...what, now }, channels[kind])
  const request = sinks.received.at(-1)!
  // some services have no acknowledgement
  if (result.outcome === 'superseded' && httpNames.some((name) => name === kind)) return '{}'
  expect([request.kind, request.valid, result.outcome]).toEqual([kind, true, 'delivered'])
  return request.body
}

/** Every text that a person gets to read in a message. */
function textsOf(kind: Kind, body: string): string[] {
  return kindTable[kind].texts(JSON.parse(body)).filter(Boolean)
}

const marks = /[\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2028\u2029]|(?!\n)\p{Cc}/u
/** Text that clients turn into a link, unless they are prevented. */
const links = /[a-z]:\/\/|\bwww\.|mailto:|\bevil\.example/i
const linking: Kind[] = ['teams', 'pagerduty', 'mail', 'mail_azure', ...httpNames]

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
  ['unseen characters', 'web\u200b_\u2060\u00ad0\ufeff\u3164\ufe0f\u{e0041}\u{e007f}'],
  ['bare links', 'www.evil.example evil.example mailto:a@evil.example http\u200b://evil.example'],
  ['half a character', 'a\ud83d b\ude00'],
  ['a template', '\u0024{x} {{DATE(2020-01-01T00:00:00Z,SHORT)}} @{triggerBody()}'],
  ['blanks', '   '],
  ['a list', '- one'],
  ['a numbered list', '1. one'],
  ['marks and nothing else', '*_~`:skull: > x :a:b:_ ***'],
  ['marks behind backslashes', '\\*b\\* \\_i\\_ \\[x\\](https://evil.example) \\<!here\\>'],
]

/** A kind takes each sort of text the same way, so some for each kind show it; `test:all` tries them all. */
const someFor = <Case>(kind: Kind, cases: Case[]) => someOf(cases, kinds.indexOf(kind))

describe.each(kinds)('%s', (kind) => {
  const { live } = kindTable[kind]

  test.each(someFor(kind, names))('takes %s, and shows it as text', async (_, name) => {
    const all = about({ eventType: name, resources: [name, name], description: name, source: name })
    const several = notifierOf(kind).rate.together > 2 ? [{ ...all, also: [all, all] }] : []
    for (const what of [about({ resources: [name] }), about({ description: name }), all].concat(
      several,
    )) {
      const body = await deliver(kind, what)
      expect(JSON.stringify(JSON.parse(body))).toBe(body)
      for (const text of textsOf(kind, body)) {
        expect(text).not.toMatch(marks)
        expect(text.isWellFormed()).toBe(true)
        if (live !== 'nothing') expect(text).not.toMatch(live)
        if (linking.includes(kind)) expect(text).not.toMatch(links)
      }
    }
  })

  test('without escaping, names would become markup, unless the kind has none', () => {
    const found = names.filter(([, name]) => live !== 'nothing' && name.match(live))
    expect(found.length > 5).toBe(live !== 'nothing')
  })

  test('accepts everything at its longest', async () => {
    const resources = [...Array(limits.resources).keys()].map((i) =>
      `${i}`.padEnd(limits.name, '☃'),
    )
    for (const filling of ['x', '☃', '🚢', '<', '*', '"']) {
      const text = filling.repeat(limits.text)
      const cut = text.slice(0, limits.name)
      const long = { description: text, source: cut, eventType: cut }
      for (const names of [resources, resources.map(() => cut)]) {
        const body = await deliver(kind, about({ resources: names, ...long }))
        expect(Buffer.byteLength(body)).toBeLessThanOrEqual(kindTable[kind].maxBodyBytes)
      }
    }
  })

  test('accepts a full list of events, each at its longest', async () => {
    const { together } = notifierOf(kind).rate
    const text = '<☃🚢*"'.repeat(limits.text / 6)
    const one = about({ resources: Array(20).fill(text.slice(0, 250)), description: text })
    const also = Array.from({ length: together - 1 }, () => ({ ...one }))
    const body = await deliver(kind, { ...one, also })
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(kindTable[kind].maxBodyBytes)
  })

  test.each([
    ['no names at all', { resources: [] }],
    ['empty texts', { description: '', source: '', eventType: 'X' }],
  ])('takes %s', async (_, facts) => {
    await deliver(kind, about(facts))
  })

  // while a beacon is silent, its incident stays as it is
  const { takes } = notifierOf(kind)
  const sendsNothing = (name: string) => takes === 'incident' && name === 'some beacons are back'
  test.each(someFor(kind, Object.keys(scenes)).filter((name) => !sendsNothing(name)))(
    'takes "%s", as it comes',
    async (name) => {
      await deliver(kind, scenes[name]!)
    },
  )
})

describe('text that looks like markup stays text', () => {
  test('Slack: no links and mentions', async () => {
    for (const [, name] of names) {
      const body = await deliver('slack', about({ resources: [name], description: name }))
      const json: Json = JSON.parse(body)
      expect([json.unfurl_links, json.unfurl_media]).toEqual([false, false])
      const rich = JSON.stringify(json.blocks).match(/"type":"mrkdwn"/g)?.length
      expect(JSON.stringify(json.blocks).match(/"verbatim":true/g)).toHaveLength(rich ?? 0)
    }
  })

  const slacked = async (name: string): Promise<string> => {
    const body = await deliver('slack', about({ description: name }))
    const fact = textsOf('slack', body).find((text) => text.startsWith('Why\n'))
    return fact!.slice('Why\n'.length)
  }

  test.each([
    ['*bold* _it_ ~x~ `c` ```c```', '∗bold∗ ˍitˍ ∼x∼ ˋcˋ ˋˋˋcˋˋˋ'],
    [':skull: :+1::skin-tone-2: :100:', '∶skull: ∶+1:∶skin-tone-2: ∶100:'],
    ['a_:b_c:_d :é: 日:本:', 'aˍ∶b_c:ˍd ∶é: 日∶本:'],
    ['> quoted', '› quoted'],
    ['>>> all of it', '››› all of it'],
    ['＞ quoted', '› quoted'],
    ['_lead trail_ mid_dle my__vm', 'ˍlead trailˍ mid_dle my__vm'],
    ['(_x_) "_x_" _x_, שרת_x_', '(ˍxˍ) "ˍxˍ" ˍxˍ, שרתˍxˍ'],
    // Owners search for names and copy them.
    ['web_3 db-0_a.b aks_pool_1_vmss_000001', 'web_3 db-0_a.b aks_pool_1_vmss_000001'],
    ['2026-11-21 12:15:00 UTC, at 12:15', '2026-11-21 12:15:00 UTC, at 12:15'],
    ['https://a.example:8080/x: c:\\x a > b', 'https://a.example:8080/x: c:\\x a &gt; b'],
  ])('Slack: %s is shown as %s', async (name, shown) => {
    expect(await slacked(name)).toBe(shown)
  })

  test('Slack: an escaped letter is never cut in half', async () => {
    for (let length = 1_960; length < 2_000; length++) {
      const body = await deliver('slack', about({ description: `${'x'.repeat(length)}<<<&&&>>>` }))
      for (const text of textsOf('slack', body).slice(2)) {
        expect(text).not.toMatch(/&(?!amp;|lt;|gt;)/)
      }
    }
  })

  test('Teams: a cut is visible', async () => {
    const body = await deliver('teams', about({ description: '☃'.repeat(4_000) }))
    expect(body).toContain('…')
  })

  test.each(kinds)('%s: half a character does not go out', async (kind) => {
    const half = 'a\ud83d'
    const facts = { resources: [half, half], description: half, eventType: half, source: half }
    for (const moment of moments) {
      const { requests } = await capture(kind, about(facts, { moment }))
      for (const { body } of requests) {
        expect(body.isWellFormed()).toBe(true)
        expect(body).not.toMatch(/\\ud[89a-f]/i)
      }
    }
  })

  test('webhooks carry names as they are: the receiver escapes', async () => {
    for (const [, name] of names) {
      const known = name.slice(0, limits.name).toWellFormed()
      const json: Json = JSON.parse(await deliver('webhook', about({ resources: [known] })))
      expect(json.data.resources).toEqual([known])
    }
  })
})
