// The exact texts that people read: `messages.txt` has the message of each scene, `layouts.json` a few
// requests of each kind. Look at a change (`npm run preview`) before you accept it:
//   FOGHORN_GOLDEN=write npm test -- test/notify/golden.test.ts && npm run format
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { moments } from '../../functions/core/event/moment.ts'
import { composeList } from '../../functions/core/message/message.ts'
import type { Message } from '../../functions/core/message/shape.ts'
import type { Outgoing } from '../../functions/notify/notifier.ts'
import type { groupedKinds } from '../features/kinds.ts'
import { has } from '../support/features.ts'
import { goldenTexts, writesGolden } from '../support/golden.ts'
import { type Extras, type Json, type Kind, kinds, kindTable } from './kinds.ts'
import { capture } from './outgoing.ts'
import type { HttpName } from './presets.ts'
import { scenes } from './scenes.ts'

const layouts = join(import.meta.dirname, 'golden/layouts.json')

/** The scenes whose layouts differ. `hostile.test.ts` sends every scene to every kind. */
const layoutsOf: Record<Exclude<Kind, HttpName | keyof typeof groupedKinds>, string[]> &
  Partial<Record<Kind, string[]>> = {
  template: ['decided in Slack', 'a list'],
  jsm: ['completed', 'scheduled'],
  slack: ['decided in Slack', 'a list'],
  slack_bot: ['changed'],
  teams: ['scheduled', 'a list'],
  teams_bot: ['changed'],
  mail: ['scheduled', 'a list'],
  mail_azure: ['scheduled'],
  pagerduty: ['scheduled', 'a channel refuses everything'],
  webhook: ['completed', 'a channel refuses everything'],
}

function listLayouts(kind: Kind): readonly string[] {
  const { layouts = ['scheduled'] }: Extras = kindTable[kind]
  return layoutsOf[kind as keyof typeof layoutsOf] ?? layouts
}

/** Later texts only name the facts that they share with this one. */
const first = scenes.scheduled!.message

describe('messages', () => {
  const texts = Object.fromEntries(Object.entries(scenes).map(([name, one]) => [name, textOf(one)]))
  const golden = goldenTexts(new URL('golden/messages.txt', import.meta.url), texts)

  test('each moment and each scene has a golden text, and there are no others', () => {
    // without a feature, its messages are not here
    const isWhole = has('problems') && has('silence')
    if (isWhole) expect(Object.keys(golden)).toEqual(Object.keys(scenes))
    expect(Object.keys(golden)).toEqual(expect.arrayContaining(Object.keys(scenes)))
    expect(Object.keys(golden)).toEqual(expect.arrayContaining([...moments]))
  })

  test.each(Object.keys(scenes))('"%s" reads as written down', (name) => {
    expect(texts[name]).toBe(golden[name])
  })
})

describe('layouts', async () => {
  const rows = kinds.flatMap((kind) => listLayouts(kind).map((scene) => ({ kind, scene })))
  const sent: Record<string, Json> = {}
  for (const { kind, scene } of rows) sent[`${kind}: ${scene}`] = await layoutOf(kind, scene)
  if (writesGolden) writeFileSync(layouts, pretty(sent))
  const golden: Record<string, Json> = JSON.parse(readFileSync(layouts, 'utf8'))

  test('each kind sends something in each situation, and each has a golden layout', () => {
    expect(Object.keys(golden)).toEqual(Object.keys(sent))
    expect(Object.values(sent).filter((requests) => requests.length === 0)).toEqual([])
  })

  test.each(Object.keys(sent))('%s', (name) => {
    expect(sent[name]).toEqual(golden[name])
    // Keys have the order of the bytes that are sent.
    expect(JSON.stringify(sent[name])).toBe(JSON.stringify(golden[name]))
  })
})

/** The whole requests, without the vendor library's own name and version. */
async function layoutOf(kind: Kind, scene: string): Promise<Json> {
  const { requests } = await capture(kind, scenes[scene])
  return requests.map(({ method, url, headers: all, json: body }) => {
    const { 'user-agent': _agent, ...headers } = all
    return { method, url, headers, body }
  })
}

/** A line each: title, lasting title if it differs, flags, sentences, facts. */
function textOf({ message, also }: Outgoing): string {
  if (also.length === 0) return partText(message)
  const { title, tone } = composeList([message, ...also.map((part) => part.message)])
  return `# ${title} (${tone})`
}

function partText(message: Message): string {
  const { title, lastingTitle, tone, asks, declined, lookOnly, lines } = message
  const flags = Object.entries({ asks, declined, lookOnly }).filter(([, is]) => is)
  return oneLineEach([
    `# ${title} (${[tone, ...flags.map(([name]) => name)].join(', ')})`,
    ...(lastingTitle === title ? [] : [`lasting: ${lastingTitle}`]),
    ...lines,
    ...factLines(message),
  ])
}

function factLines(message: Message): string[] {
  const rowsOf = ({ facts, reference }: Message) => [
    ...facts,
    { name: 'Reference', value: reference },
  ]
  const known = rowsOf(first).map(({ name, value }) => `${name}: ${value}`)
  const isKnown = (row: { name: string; value: string }) =>
    message !== first && known.includes(`${row.name}: ${row.value}`)
  const same = rowsOf(message).filter(isKnown)
  const others = rowsOf(message).filter((row) => !isKnown(row))
  return [
    ...others.map(({ name, value }) => `- ${name}: ${value}`),
    ...(same.length === 0
      ? []
      : [`- As in "scheduled": ${same.map(({ name }) => name).join(', ')}`]),
  ]
}

function oneLineEach(rows: string[]): string {
  return rows.map((row) => row.replaceAll('\n', '\\n')).join('\n')
}

/** Formats like the formatter, which keeps short objects on one line. */
function pretty(sent: Record<string, Json>): string {
  const rows = Object.entries(sent).map(
    ([name, requests]) => `${JSON.stringify(name)}: ${JSON.stringify(requests)}`,
  )
  return `{\n${rows.join(',\n')}\n}\n`
}
