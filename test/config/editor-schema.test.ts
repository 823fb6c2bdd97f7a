// The schema for editors: up to date, described, and never stricter than the relay.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { configSchema } from '../../functions/config/config.ts'
import { editorSchema } from '../../functions/config/editor-schema.ts'
import { withValue } from '../support/config.ts'
import { baseConfig } from '../support/world.ts'

const read = (path: string) =>
  JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'))
const schema = editorSchema()
const editor = z.fromJSONSchema(schema)
const example = read('infra/examples/full.config.json')

test('the example names it as seen from where it is copied to', () => {
  expect(read(example.$schema)).toHaveProperty('properties.publicUrl')
})

describe('every key', () => {
  type Node = typeof schema
  const keysOf = (node: Node | boolean | undefined, path: string): [string, Node][] => {
    if (typeof node !== 'object') return []
    const own = Object.entries(node.properties ?? {}) as [string, Node][]
    const inner = [node.items, node.additionalProperties, ...(node.anyOf ?? [])] as Node[]
    return [
      ...own.flatMap(([key, part]): [string, Node][] => [
        [`${path}.${key}`, part],
        ...keysOf(part, `${path}.${key}`),
      ]),
      ...inner.flatMap((part) => keysOf(part, path)),
    ]
  }
  const keys = keysOf(schema, '')

  test('of the configuration is there', () => {
    expect(keys.map(([key]) => key)).toEqual(
      expect.arrayContaining([
        '.fleets.entra.tenantId',
        '.channels.routingKey',
        '.routes.continue',
        '.routes.approvers',
        '.routes.approveIn',
        '.signIn.tenantId',
      ]),
    )
    expect(keys.length).toBeGreaterThan(40)
  })

  test.each(keys)('%s is described', (_, { description }) => {
    expect(description).toMatch(/^.{10,}$/)
  })
})

describe('what the relay takes, the editor takes', () => {
  test.each([
    ['the example', example],
    ['the base of all tests', baseConfig],
    ['lists', withValue('routes.0.match', { tag: ['a', 'b=c'], eventType: 'Reboot' })],
    ['continue', withValue('routes.0.continue', false)],
    ['reminders', withValue('routes.0.remindBeforeSeconds', [600, 60])],
    ['people', withValue('routes.0.approvers', ['slack:T0123ABCD/U0123ABCD'])],
    ['a place to decide', withValue('routes.0.approveIn', 'slack')],
    ['a fallback', withValue('channels.chat.fallback', 'team')],
  ])('%s', (_, config) => {
    expect(editor.safeParse(config).error?.issues).toBeUndefined()
  })

  /** Every text of the configuration, one after another, from the environment. */
  const texts = (value: unknown, path: string): string[] =>
    typeof value === 'string'
      ? [path]
      : typeof value === 'object' && value !== null
        ? Object.entries(value).flatMap(([key, part]) => texts(part, `${path}${path && '.'}${key}`))
        : []
  const id = '1e6d2f1c-0a4b-4c57-9b1e-5c2f0d9a7e11'
  const full = {
    ...example,
    allowNetworks: ['10.0.0.0/8'],
    signIn: { tenantId: id },
    slackApp: { signingSecret: ['x'], team: 'T0' },
    routes: [{ match: {}, channels: ['a'], approvers: ['b'], approveIn: 'page' }],
    fleets: {
      prod: {
        key: ['env:A'],
        entra: {
          tenantId: id,
          audience: 'x',
          subscriptions: [id],
          resourceGroups: 'rg',
          authority: 'y',
        },
      },
    },
  }
  test.each(texts(full, ''))('a value from the environment at %s', (path) => {
    const config = structuredClone(full)
    const keys = path.split('.')
    const last = keys.pop()!
    keys.reduce((part, key) => part[key], config)[last] = 'env:NAME'
    expect(editor.safeParse(config).error?.issues).toBeUndefined()
  })
})

describe('an editor reports what it can know to be wrong', () => {
  test.each([
    ['publikUrl', 'x'],
    ['publicUrl', undefined],
    ['fleets.my fleet', {}],
    ['channels.chat.kind', 'irc'],
    ['channels.chat.uri', 'x'],
    ['channels.chat.routingKey', 'x'],
    ['policy', [{ match: {}, decide: 'yes' }]],
    ['routes.0.moments', ['begun']],
    ['routes.0.continue', 'no'],
    ['routes.0.match.resources', 'x'],
    ['retentionDays', 5],
  ])('%s: %j', (path, value) => {
    const config = withValue(path, value)
    expect(editor.safeParse(config).success).toBe(false)
    expect(configSchema.safeParse(config).success).toBe(false)
  })
})
