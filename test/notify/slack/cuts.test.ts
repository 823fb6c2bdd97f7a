// Our own lengths for Slack. Each is tested with a text that just fits, and one character more.
import { describe, expect, test } from 'vitest'
import type { Message } from '../../../functions/core/message/shape.ts'
import { slackBlocks, slackLine, slackReply } from '../../../functions/notify/slack/blocks.ts'
import { at, record } from '../../support/records.ts'
import type { Json } from '../kinds.ts'
import { outgoing } from '../outgoing.ts'

const x = (length: number) => 'x'.repeat(length)

function saying(changes: Partial<Message>) {
  const one = outgoing()
  const bare = { title: '', lines: [], facts: [], reference: '', tone: 'info' as const }
  return { ...one, message: { ...one.message, ...bare, ...changes } }
}

const single = (changes: Partial<Message>): Json => slackBlocks(saying(changes))
const inList = (changes: Partial<Message>): string => {
  const { blocks }: Json = slackBlocks({ ...saying({}), also: [saying(changes)] })
  return blocks.at(-1).text.text
}
const reply = (changes: Partial<Message>): Json =>
  slackReply(saying({ brief: [], ...changes }), false)
const page = 'https://foghorn.example/approve/token'
const line = (length: number): Json => {
  const decided = { decision: 'approved', how: 'link', who: x(length), at } as const
  return slackLine(record({ decided }), page, at)
}

/** The length of the text around, such as the mark and the blank of a title. */
const mark = '⏳ '.length

test.each<[part: string, most: number, sent: (length: number) => string, around?: number]>([
  ['a header', 150, (n) => single({ title: x(n) }).blocks[0].text.text, mark],
  ['a section', 3_000, (n) => single({ lines: [x(n)] }).blocks[1].text.text],
  ['a text', 3_000, (n) => single({ title: x(n) }).text, mark],
  ['a text of a list', 3_000, (n) => listText(n), listText(0).length],
  ['small print', 600, (n) => single({ reference: x(n) }).blocks.at(-1).elements[0].text],
  ['a fact, with its name', 800, (n) => factsOf(1, n).across[0]!, '*F0*\n'.length],
  ['a title in a list', 250 + mark + 3, (n) => inList({ title: x(n) }), mark + 3],
  ['a sentence in a list', 300, (n) => inList({ lines: [x(n)] }).split('\n')[1]!],
  [
    'an item of a list',
    500,
    (n) => inList({ title: x(n), lines: [x(300)] }),
    mark + '**\n'.length + 300,
  ],
  [
    'a reply',
    1_000,
    (n) => reply({ brief: [x(n)], asks: false }).blocks[0].text.text,
    mark + '**\n'.length,
  ],
  ['the text of a reply', 3_000, (n) => reply({ title: x(n) }).text, mark],
  ['a line', 500, (n) => line(n).text, line(0).text.length],
  [
    'a line, with its link',
    500,
    (n) => line(n).blocks[0].text.text.replace(/ <.*>$/, ''),
    line(0).text.length,
  ],
])('%s has %i characters at most', (_, most, sent, around = 0) => {
  const fitting = sent(most - around)
  expect(fitting.length).toBe(most)
  expect(fitting).not.toContain('…')
  const cut = sent(most - around + 1)
  expect(cut.length).toBeLessThanOrEqual(most)
  expect(cut).toContain('…')
})

function listText(length: number): string {
  return slackBlocks({ ...saying({}), also: [saying({ title: x(length) })] }).text!
}

function factsOf(count: number, length: number): { beside: string[]; across: string[] } {
  const facts = Array.from({ length: count }, (_, i) => ({ name: `F${i}`, value: x(length) }))
  const blocks: Json[] = single({ facts }).blocks.slice(2, -1)
  const sections = blocks.filter(({ type }) => type === 'section')
  return {
    beside: sections.flatMap(({ fields = [] }) => fields.map(({ text }: Json) => text)),
    across: sections.flatMap(({ text }) => (text === undefined ? [] : [text.text])),
  }
}

describe('facts', () => {
  test.each([
    [10, 60, [10, 0]],
    [11, 60, [10, 0]],
    [10, 61, [0, 10]],
    [11, 61, [0, 10]],
  ])(
    '%i of %i characters: ten stand side by side, or across the message',
    (count, length, shown) => {
      const { beside, across } = factsOf(count, length)
      expect([beside.length, across.length]).toEqual(shown)
    },
  )
})

test.each([
  ['a message', single({})],
  ['a reply', reply({})],
  ['a line', line(5)],
])('%s unfolds no link', (_, { unfurl_links, unfurl_media }) => {
  expect([unfurl_links, unfurl_media]).toEqual([false, false])
})
