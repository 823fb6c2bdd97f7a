// Slack's limits, one by one: api.slack.com/reference/block-kit/blocks.
import { describe, expect, test } from 'vitest'
import { maxLinkLength } from '../../../functions/links/link.ts'
import type { Outgoing } from '../../../functions/notify/notifier.ts'
import { notifiers } from '../../../functions/notify/registry.ts'
import { limits } from '../../../shared/document.ts'
import type { Json } from '../kinds.ts'
import { about, capture } from '../outgoing.ts'
import { scenes } from '../scenes.ts'

const long = (filling: string) => filling.repeat(limits.text).slice(0, limits.text)
const cut = (filling: string) => long(filling).slice(0, limits.name)

/** Everything at its longest, in letters that grow when they are escaped, and others. */
const longest = ['x', '<', '&', '🚢', '☃'].map((filling): [string, Outgoing] => [
  `everything at its longest, in ${filling}`,
  deciding(
    about({
      resources: Array(limits.resources).fill(cut(filling)),
      ...{ description: long(filling), source: cut(filling), eventType: cut(filling) },
    }),
  ),
])

function deciding(one: Outgoing): Outgoing {
  return { ...one, buttons: { value: 'x'.repeat(2_000), notNow: true } }
}

const longestLink = 'https://foghorn.example/approve/'.padEnd(maxLinkLength, 'x')
const { together } = notifiers.slack.rate
const lists = longest.map(([name, one]): [string, Outgoing] => [
  `a list of ${together}: ${name}`,
  { ...one, also: Array(together - 1).fill(one), listUrl: longestLink },
])

const all: [string, Outgoing][] = [...Object.entries(scenes), ...longest, ...lists]

async function send(what: Outgoing): Promise<{ json: Json; blocks: Json[] }> {
  const { json } = (await capture('slack', what)).request!
  return { json, blocks: json.blocks }
}

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const length = (text: string) => [...text].length

/** All texts in the blocks that people read. */
function textIn(part: unknown): number {
  if (typeof part !== 'object' || part === null) return 0
  return Object.entries(part).reduce((sum, [key, value]) => {
    return sum + (key === 'text' && typeof value === 'string' ? value.length : textIn(value))
  }, 0)
}

describe.each(all)('%s', (_name, what) => {
  test('at most 50 blocks, with 13 000 characters in all', async () => {
    const { blocks } = await send(what)
    expect(blocks.length).toBeLessThanOrEqual(50)
    expect(textIn(blocks)).toBeLessThanOrEqual(13_000)
  })

  test('a header of 150, sections of 3 000, ten fields of 2 000, ten elements of a context', async () => {
    const { blocks } = await send(what)
    for (const { type, text, fields = [], elements = [] } of blocks) {
      if (type === 'header') expect(length(text.text)).toBeLessThanOrEqual(150)
      if (type === 'section') expect(text ?? fields[0]).toBeDefined()
      if (type === 'section' && text) expect(text.text.length).toBeLessThanOrEqual(3_000)
      expect(fields.length).toBeLessThanOrEqual(10)
      for (const field of fields) expect(field.text.length).toBeLessThanOrEqual(2_000)
      if (type === 'context') expect(elements.length).toBeLessThanOrEqual(10)
      for (const one of [text, ...fields].filter(Boolean)) expect(one.text).not.toBe('')
    }
  })

  test('buttons: 25 in a block, 75 characters, ids of 255, addresses of 3 000, values of 2 000', async () => {
    const { blocks } = await send(what)
    for (const { type, elements = [], accessory } of blocks) {
      if (type === 'actions') expect(elements.length).toBeLessThanOrEqual(25)
      const buttons = [accessory, ...(type === 'actions' ? elements : [])].filter(Boolean)
      for (const { text, url = '', value = '', action_id } of buttons) {
        expect(text.text.length).toBeLessThanOrEqual(75)
        expect(action_id.length).toBeLessThanOrEqual(255)
        expect(url.length).toBeLessThanOrEqual(3_000)
        expect(value.length).toBeLessThanOrEqual(2_000)
      }
      const ids = buttons.map(({ action_id }) => action_id)
      expect(new Set(ids).size).toBe(ids.length)
      for (const { title, text, confirm, deny } of buttons.flatMap((one) => one.confirm ?? [])) {
        for (const part of [title, text, confirm, deny]) {
          expect(part.type).toBe('plain_text')
          expect(part.text.trim()).not.toBe('')
        }
        expect(length(title.text)).toBeLessThanOrEqual(100)
        expect(length(text.text)).toBeLessThanOrEqual(300)
        expect(Math.max(confirm.text.length, deny.text.length)).toBeLessThanOrEqual(30)
      }
    }
  })

  test('a text beside the blocks, and nothing unfolds', async () => {
    const { json } = await send(what)
    expect(json.text.trim()).not.toBe('')
    expect(json.text.length).toBeLessThanOrEqual(3_000)
    // The header may be cut, but has nothing that the text lacks.
    expect(json.text.startsWith(escaped(json.blocks[0].text.text).slice(0, 100))).toBe(true)
    expect([json.unfurl_links, json.unfurl_media]).toEqual([false, false])
  })
})

describe('if the message decides', () => {
  const labels = (blocks: Json[]) =>
    blocks
      .filter(({ type }) => type === 'actions')
      .map(({ elements }) => elements.map(({ text }: Json) => text.text))

  test('after "not now", only Approve is left, and is not green', async () => {
    const { blocks } = await send(scenes['decided in Slack, after not now']!)
    expect(labels(blocks)).toEqual([['Restart now', 'Show event']])
    const { elements } = blocks.find(({ type }) => type === 'actions')
    expect(elements[0].style).toBeUndefined()
  })

  test('the dialog of many VMs says how many', async () => {
    const { blocks } = await send(scenes['decided in Slack, much of everything']!)
    expect(blocks[2].elements[0].confirm.text.text).toContain('Reboot of 24 VMs: <a name>')
  })

  test('a list has no buttons that decide: replaced for one event, it would lose the others', async () => {
    const one = scenes['decided in Slack']!
    const { blocks } = await send({ ...one, also: [one] })
    expect(JSON.stringify(blocks)).not.toContain('"value"')
    expect(labels(blocks)).toEqual([])
  })
})

test('above a list one button opens all events, and says whether there is something to decide', async () => {
  const what = scenes['a list']!
  const { blocks } = await send(what)
  expect(blocks[1].elements).toMatchObject([
    { style: 'primary', text: { text: 'Open all to decide' }, url: what.listUrl },
  ])
  const over = { ...what.also[0]!.message, asks: false }
  const also = what.also.map((part) => ({ ...part, message: { ...part.message, asks: false } }))
  const told = await send({ ...what, message: over, also })
  expect(told.blocks[1].elements).toMatchObject([{ text: { text: 'Show all' } }])
  const { listUrl: _, ...without } = what
  expect((await send(without)).blocks.map(({ type }) => type)).not.toContain('actions')
})

test('long facts go across the message, short ones side by side', async () => {
  const { blocks } = await send(scenes['much of everything']!)
  const [, , , beside, ...across] = blocks
  expect(beside.fields).toHaveLength(1)
  const long = across.filter(({ type }) => type === 'section').map(({ text }) => text.text)
  expect(long).toHaveLength(2)
  expect(long[0]).toMatch(/ and 39\d more$/)
  expect(long[1]).toMatch(/…$/)
})
