// Microsoft's own library reads every card without a warning. test/preview/ shows what it draws.
import { createRequire } from 'node:module'
import { describe, expect, test } from 'vitest'
import { maxLinkLength } from '../../functions/links/link.ts'
import type { Outgoing } from '../../functions/notify/notifier.ts'
import { notifiers } from '../../functions/notify/registry.ts'
import { limits } from '../../shared/document.ts'
import { type Json, kindTable } from './kinds.ts'
import { about, capture } from './outgoing.ts'
import { scenes } from './scenes.ts'

// Node can load the bundle only: the library's modules import each other without endings.
const { AdaptiveCard, SerializationContext }: typeof import('adaptivecards') = createRequire(
  import.meta.url,
)('adaptivecards/dist/adaptivecards.min.js')

/** All warnings of the library for a card, from reading and from checking it. */
function complaintsOf(card: Json): string[] {
  const context = new SerializationContext()
  const parsed = new AdaptiveCard()
  parsed.parse(card, context)
  const read = Array.from({ length: context.eventCount }, (_, i) => context.getEventAt(i).message)
  const checked = parsed.validateProperties().validationEvents.map(({ message }) => message)
  // The library drops what it does not know.
  if (JSON.stringify(parsed.toJSON()).length < 100) read.push('the card is empty')
  return [...read, ...checked]
}

const { together } = notifiers.teams.rate
const names = [
  ...['<!channel> @everyone', '*b* _i_ `c` ~s~ [x](https://evil.example) # h > q | - 1. x'],
  ...[
    '🚢👩‍👩‍👧‍👦'.repeat(50),
    'שרת_0 \u202eevil',
    'a\u0000\u001b[31mb',
    'a\nb\r\nc',
    '   ',
    '{{DATE(x)}} @{y}',
  ],
  ...['x'.repeat(10_240), '<&>*_'.repeat(2_048), '\ud83d'],
]

const hostile = names.map((name): [string, Outgoing] => [
  `named ${JSON.stringify(name.slice(0, 30))}`,
  about({ resources: [name, name], description: name, eventType: name, source: name }),
])

const longest = ['x', '☃', '🚢', '*'].map((filling): [string, Outgoing] => {
  const text = filling.repeat(limits.text).slice(0, limits.text)
  const cut = text.slice(0, limits.name)
  const resources = Array(limits.resources).fill(cut)
  return [
    `at its longest, in ${filling}`,
    about({ resources, description: text, source: cut, eventType: cut }),
  ]
})

const page = 'https://foghorn.example/approve/'
/** With names of 32 characters for fleet and channel, and a GUID for the event. */
const usualLink = page.padEnd(260, 'x')
const longestLink = page.padEnd(maxLinkLength, 'x')
const lists = [...hostile, ...longest].map(([name, one]): [string, Outgoing] => [
  `a list of ${together}, ${name}`,
  {
    ...one,
    pageUrl: usualLink,
    also: Array(together - 1).fill({ ...one, pageUrl: usualLink }),
    listUrl: longestLink,
  },
])

const all = [...Object.entries(scenes), ...hostile, ...longest, ...lists]

describe.each(all)('%s', (_name, what) => {
  test('is a card that the library accepts, of 20 KB at most, with links for buttons', async () => {
    const { result, request } = await capture('teams', what)
    const [attachment] = request!.json.attachments
    expect(complaintsOf(attachment.content)).toEqual([])
    expect(Buffer.byteLength(request!.body)).toBeLessThanOrEqual(kindTable.teams.maxBodyBytes)
    const types = request!.body.match(/"Action\.\w+"/g) ?? []
    expect(types.filter((type) => type !== '"Action.OpenUrl"')).toEqual([])
    const pages = [what, ...what.also].filter(({ pageUrl }) => pageUrl !== undefined)
    expect(types).toHaveLength(pages.length + (what.listUrl === undefined ? 0 : 1))
    expect(result).toEqual({ outcome: 'delivered', note: 'queued' })
  })
})

test('a card fills the 20 KB if necessary, and is never larger', async () => {
  const what = about({})
  const sizes = []
  for (let length = 500; length <= 800; length += 5) {
    const facts = Array(8).fill({ name: 'Why', value: '☃'.repeat(length) })
    facts.push({ name: 'Why', value: '☃'.repeat(200) })
    const full = { ...what, message: { ...what.message, facts } }
    sizes.push(Buffer.byteLength((await capture('teams', full)).request!.body))
  }
  const most = Math.max(...sizes)
  expect(most).toBeLessThanOrEqual(20 * 1024)
  expect(most).toBeGreaterThan(19 * 1024)
  // Beyond that, all values are cut.
  expect(sizes.at(-1)).toBeLessThan(12 * 1024)
})

test('if the links of its events fill the card, a list has no button for all', async () => {
  const pageUrl = page.padEnd(900, 'x')
  const one = { ...about({}), pageUrl }
  const what = { ...one, also: Array(together - 1).fill(one), listUrl: longestLink }
  const { body } = (await capture('teams', what)).request!
  expect(Buffer.byteLength(body)).toBeLessThanOrEqual(20 * 1024)
  expect(body).not.toContain(longestLink)
  expect(body.split(pageUrl)).toHaveLength(together + 1)
})

test('the library does warn about an invalid card', () => {
  const body = [{ type: 'TextBlock', text: 'x', size: 'Huge' }, { type: 'Quark' }]
  expect(complaintsOf({ type: 'AdaptiveCard', version: '1.4', body }).length).toBeGreaterThan(1)
})

describe('for clients that keep backslashes', () => {
  const textsOf = async (what?: Outgoing): Promise<string[]> =>
    kindTable.teams.texts((await capture('teams', what)).request!.json)

  test.each([
    ['db (old) {x} a_b 10.0.0.1 a-b 1.5 2)x', 'db (old) {x} a_b 10.0.0.1 a-b 1.5 2)x'],
    ['[x](https://evil.example)', '\\[x\\]\\(https\\[:\\]//evil\\[.\\]example)'],
    ['{{DATE(2020-01-01T00:00:00Z,SHORT)}}', '{\\{DATE(2020-01-01T00:00:00Z,SHORT)}}'],
    ['{{{{', '{\\{\\{\\{'],
    ['\\[x\\](y)', '\\\\\\[x\\\\\\]\\(y)'],
    ['_a_ b_c (_d_)', '\\_a\\_ b_c (\\_d\\_)'],
    ['- x - y', '\\- x - y'],
    [' + x', ' \\+ x'],
    ['12. x', '12\\. x'],
  ])('%s is sent as %s', async (description, sent) => {
    expect(await textsOf(about({ description }))).toContain(sent)
  })
})
