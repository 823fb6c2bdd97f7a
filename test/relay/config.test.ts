// Mistakes in the configuration: each is named with its path, the value where that is no secret, and
// what to write instead; all of them at once.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { configSchema, readConfig, secretsOf } from '../../functions/config.ts'
import { baseConfig, hookSecret, prodKey, routingKey } from '../support/world.ts'

type Json = ReturnType<typeof JSON.parse>

/** The base configuration with the value at a path replaced, or removed where there is none. */
function withValue(path: string, value?: unknown): Json {
  const config: Json = structuredClone(baseConfig)
  const keys = path.split('.')
  const last = keys.pop()!
  const parent = keys.reduce((part, key) => (part[key] ??= {}), config)
  if (value === undefined) delete parent[last]
  else parent[last] = value
  return config
}

function mistakesOf(text: string, environment: Record<string, string> = {}): string {
  try {
    readConfig(text, environment)
  } catch (error) {
    expect(error).toMatchObject({ name: 'FoghornError', code: 'config_invalid' })
    return (error as Error).message
  }
  throw new Error('this configuration was taken')
}

const secrets = new RegExp(
  ['slack-secret', 'teams-secret', 'MfKQ9r8', 'aG9va3', routingKey.slice(0, 12), 'hunter2'].join(
    '|',
  ),
)
const badSecret = 'whsec_hunter2'
const write = 'write "whsec_" followed by the base64 of 24 to 64 random bytes'
const https = 'write an absolute https:// address'

const guid = '1E6D2F1C-0A4B-4C57-9B1E-5C2F0D9A7E11'

function entra(changes: object = {}): object {
  return { tenantId: guid, audience: 'api://foghorn', subscriptions: guid, ...changes }
}

/** Path of the value, the value, and what the message must name: where, found, remedy. */
const mistakes: [path: string, value: unknown, ...said: string[]][] = [
  ['publicUrl', undefined, 'publicUrl: '],
  ['publicUrl', 7, 'publicUrl: ', '7'],
  ['publicUrl', 'foghorn.example', 'publicUrl: write an https:// address', '"foghorn.example"'],
  ['publicUrl', 'http://foghorn.example', 'publicUrl: ', 'http:// for loopback only'],
  ['publicUrl', 'ftp://foghorn.example', 'publicUrl: write an https:// address'],
  ['publicUrl', 'https://user@x.example', 'publicUrl: write an https:// address'],
  ['publikUrl', 'https://x.example', '(top level): unknown key "publikUrl"', '"publicUrl"'],
  ['fleets', undefined, 'fleets: missing; write '],
  ['fleets', {}, 'fleets: name at least one fleet'],
  ['fleets', badSecret, 'fleets: '],
  ['fleets.prod', prodKey, 'fleets.prod: '],
  ['fleets.prod', {}, 'fleets.prod.key: ', write],
  ['fleets.prod.key', badSecret, 'fleets.prod.key: ', write],
  ['fleets.prod.key', 'hunter2', 'fleets.prod.key: ', write],
  ['fleets.prod.key', [], 'fleets.prod.key: ', write],
  ['fleets.prod.key', Array(5).fill(prodKey), 'fleets.prod.key: ', 'a list'],
  ['fleets.prod.keys', [prodKey], 'fleets.prod: unknown key "keys"', 'allowed are "key"'],
  ['fleets.prod', {}, 'fleets.prod.key: ', '"entra"', 'or both'],
  ['fleets.prod.entra', badSecret, 'fleets.prod.entra: '],
  ['fleets.prod.entra', {}, 'fleets.prod.entra.tenantId: ', 'entra.audience: '],
  [
    'fleets.prod.entra',
    entra({ tenantId: 'contoso' }),
    'entra.tenantId: write the GUID of the tenant',
  ],
  ['fleets.prod.entra', entra({ tenantId: badSecret }), 'entra.tenantId: write the GUID'],
  ['fleets.prod.entra', entra({ audience: undefined }), 'entra.audience: ', 'FOGHORN_AUDIENCE'],
  ['fleets.prod.entra', entra({ audience: [] }), 'entra.audience: ', 'a list of 1 to 100'],
  ['fleets.prod.entra', entra({ audience: [''] }), 'entra.audience[0]: ', 'FOGHORN_AUDIENCE'],
  [
    'fleets.prod.entra',
    entra({ subscriptions: undefined }),
    'fleets.prod.entra: name "subscriptions", "resourceGroups" or both',
    'every VM of the tenant',
  ],
  ['fleets.prod.entra', entra({ subscriptions: [] }), 'entra.subscriptions: write the GUID'],
  ['fleets.prod.entra', entra({ subscriptions: 'prod' }), 'entra.subscriptions: write the GUID'],
  [
    'fleets.prod.entra',
    entra({ subscriptions: ['prod'] }),
    'entra.subscriptions[0]: write the GUID',
  ],
  ['fleets.prod.entra', entra({ resourceGroups: [] }), 'entra.resourceGroups: write the name'],
  [
    'fleets.prod.entra',
    entra({ resourceGroups: [`/subscriptions/${guid}/resourceGroups/rg`] }),
    'entra.resourceGroups[0]: write the name of a resource group, without its path',
  ],
  [
    'fleets.prod.entra',
    entra({ authority: 'login' }),
    'entra.authority: write an https:// address',
  ],
  [
    'fleets.prod.entra',
    entra({ authority: 'http://login.example' }),
    'entra.authority: ',
    'loopback',
  ],
  [
    'fleets.prod.entra',
    entra({ authority: 'https://login.example/x' }),
    'entra.authority: ',
    'path',
  ],
  ['fleets.prod.entra', entra({ authority: 'https://u:hunter2@a.example' }), 'entra.authority: '],
  ['fleets.prod.entra', entra({ tenant: guid }), 'unknown key "tenant"', '"tenantId"'],
  ['fleets.my fleet', { key: prodKey }, 'fleets.my fleet: ', 'letters, digits, "_" and "-"'],
  ['channels', undefined, 'channels: '],
  ['channels', {}, 'channels: name at least one channel'],
  ['channels.chat', 'https://slack.example/slack-secret', 'channels.chat: '],
  ['channels.chat.kind', 'irc', 'channels.chat.kind: write a kind: "slack", "teams"', '"irc"'],
  ['channels.chat.kind', undefined, 'channels.chat.kind: write a kind'],
  ['channels.chat.url', undefined, 'channels.chat.url: '],
  ['channels.chat.url', 'slack-secret', 'channels.chat.url: ', https],
  ['channels.chat.url', 'ftp://slack-secret', 'channels.chat.url: ', https],
  ['channels.chat.url', 'https://user:hunter2@slack.example/', 'channels.chat.url: ', https],
  ['channels.chat.url', 'http://slack.example/', 'channels.chat', 'allowNetworks', 'https://'],
  ['channels.chat.uri', 'https://slack-secret/', 'channels.chat: unknown key "uri"', '"url"'],
  [
    'channels.chat.fallback',
    'chat',
    'channels.chat.fallback: there is no channel "chat"',
    '"team"',
  ],
  ['channels.chat.fallback', 'nobody', 'channels.chat.fallback: ', '"nobody"', '"pager"'],
  ['channels.pager.routingKey', 'hunter2', 'channels.pager.routingKey: ', '32 characters'],
  ['channels.pager.endpoint', 'events.pagerduty.com', 'channels.pager.endpoint: ', https],
  ['channels.hook.secret', undefined, 'channels.hook.secret: ', write],
  ['channels.hook.secret', [hookSecret, badSecret], 'channels.hook.secret', write],
  ['routes', undefined, 'routes: missing; write array'],
  ['routes', [], 'routes: '],
  ['routes.0.match', undefined, 'routes[0].match: '],
  ['routes.0.channels', [], 'routes[0].channels: '],
  [
    'routes.0.channels',
    ['chat', 'nobody'],
    'routes[0].channels[1]: ',
    '"nobody"',
    '"chat", "team"',
  ],
  ['routes.0.channels', ['constructor'], 'routes[0].channels[0]: there is no channel'],
  [
    'routes.0.channels',
    ['https://slack.example/slack-secret'],
    'routes[0].channels[0]: ',
    '"chat"',
  ],
  ['routes.0.moments', ['begun'], 'routes[0].moments[0]: write one of ', '"begun"', '"started"'],
  ['routes.0.moments', [], 'routes[0].moments: '],
  ['routes.0.match.resources', 'web_0', 'routes[0].match: unknown key "resources"', '"resource"'],
  ['routes.0.match.fleet', 'staging', 'routes[0].match.fleet: ', '"staging"', '"prod", "test"'],
  ['routes.0.match.tag', '', 'routes[0].match.tag: '],
  ['routes.0.match.tag', 5, 'routes[0].match.tag: '],
  ['routes.0.match.maxDurationSeconds', -1, 'routes[0].match.maxDurationSeconds: ', '-1'],
  ['routes.0.match.maxDurationSeconds', '9', 'routes[0].match.maxDurationSeconds: ', '"9"'],
  ['policy', {}, 'policy: '],
  ['policy', [{ match: {} }], 'policy[0].decide: write one of "approve", "ask", "tell", "ignore"'],
  ['policy', [{ match: {}, decide: 'yes' }], 'policy[0].decide: ', '"yes"', '"approve"'],
  ['policy', [{ decide: 'ask' }], 'policy[0].match: '],
  ['policy', [{ match: { fleet: 'x' }, decide: 'ask' }], 'policy[0].match.fleet: ', '"x"'],
  ['policy', [{ match: {}, decide: 'ask', if: 1 }], 'policy[0]: unknown key "if"', '"match"'],
  ['allowNetworks', ['10.0.0.1'], 'allowNetworks[0]: write a network like 10.1.0.0/16', '10.0.0.1'],
  ['allowNetworks', ['10.0.0.0/33'], 'allowNetworks[0]: ', '10.0.0.0/33'],
  ['allowNetworks', '10.0.0.0/8', 'allowNetworks: '],
]

describe('a mistake is named with its path, its value and the remedy, and never a secret', () => {
  test.each(mistakes)('%s: %j', (path, value, ...said) => {
    const message = mistakesOf(JSON.stringify(withValue(path, value)))
    for (const part of said) expect(message).toContain(part)
    expect(message).not.toMatch(secrets)
    expect(message).not.toMatch(/undefined|\[object/)
    expect(message.split('\n').length).toBeLessThanOrEqual(2)
  })

  test('too many channels', () => {
    const channels = Object.fromEntries([...Array(21).keys()].map((i) => [`c${i}`, chat]))
    const config = { ...baseConfig, channels, routes: [{ match: {}, channels: ['c0'] }] }
    expect(mistakesOf(JSON.stringify(config))).toContain('at most 20 channels')
  })

  test('all of them at once, one line each', () => {
    const config = withValue('publicUrl', 'x')
    config.routes[0].match = { fleets: 'prod' }
    config.channels.pager.routingKey = 'short'
    config.fleets.prod.key = 'env:MISSING'
    const lines = mistakesOf(JSON.stringify(config)).split('\n')
    expect(lines.map((line) => line.split(': ')[0]).sort()).toEqual([
      'channels.pager.routingKey',
      'fleets.prod.key',
      'publicUrl',
      'routes[0].match',
    ])
  })

  test.each([
    ['empty', '', 'end of JSON'],
    ['cut off', '{"fleets": {"prod": {"key": "whsec_hunter2"', 'position'],
    ['without quotes', '{\n"key": whsec_hunter2_hunter2\n}', 'line 2'],
    ['with a word beside a secret', '{\n"a": 1,\n"key": "whsec_hunter2" hunter2 }', '(line 3'],
    ['with a comma too many', '{\n"key": "whsec_hunter2",\n}', '(line 3'],
    ['with a comma too many in a list', '{\n"key": ["whsec_hunter2",]\n}', 'line 2'],
    ['in apostrophes', "{'key': 'whsec_hunter2'}", '(line 1'],
  ])('not JSON: %s', (_, text, where) => {
    const message = mistakesOf(text)
    expect(message).toContain('not JSON')
    expect(message).toContain(where)
    expect(message).not.toMatch(/hunter2/)
  })

  test.each(['null', '[]', '"text"', '5'])('%s is no configuration', (text) => {
    expect(mistakesOf(text)).toContain('(top level)')
  })
})

const chat = { kind: 'slack', url: 'https://slack.example/services/T0/B0/slack-secret' }

describe('values from the environment', () => {
  test('are filled in anywhere, and are secrets like any other', () => {
    const config = withValue('fleets.prod.key', 'env:FLEET_KEY')
    config.publicUrl = 'env:PUBLIC_URL'
    config.channels.hook.secret = ['env:HOOK', hookSecret]
    const environment = { FLEET_KEY: prodKey, PUBLIC_URL: 'https://x.example/', HOOK: hookSecret }
    const read = readConfig(JSON.stringify(config), environment)
    expect(read.fleets.prod?.key).toEqual([prodKey])
    expect(read.publicUrl).toBe('https://x.example')
    expect(secretsOf(read)).toContain(prodKey)
  })

  test.each([{}, { FLEET_KEY: '' }] as Record<string, string>[])('missing: %o', (environment) => {
    const config = withValue('fleets.prod.key', 'env:FLEET_KEY')
    const message = mistakesOf(JSON.stringify(config), environment)
    expect(message).toBe('fleets.prod.key: the environment has no FLEET_KEY; set it')
  })

  test('a bad value is not shown, wherever it stands', () => {
    for (const path of ['fleets.prod.key', 'publicUrl', 'channels.chat.kind', 'policy']) {
      const config = withValue(path, path === 'policy' ? [{ match: {}, decide: 'env:X' }] : 'env:X')
      const message = mistakesOf(JSON.stringify(config), { X: 'hunter2-hunter2' })
      expect(message).toContain(path)
      expect(message).not.toContain('hunter2')
    }
  })
})

describe('a good configuration', () => {
  test('what is left out has its default', () => {
    const config = structuredClone(baseConfig) as Json
    delete config.channels.pager.endpoint
    config.policy = [
      { match: {}, decide: 'tell' },
      { name: 'own', match: {}, decide: 'ask' },
    ]
    const read = readConfig(JSON.stringify(config), {})
    expect(read.allowNetworks).toEqual([])
    expect(read.policy.map(({ name }) => name)).toEqual(['policy[0]', 'own'])
    expect(read.channels.pager).toMatchObject({
      endpoint: 'https://events.pagerduty.com/v2/enqueue',
    })
    expect(readConfig(JSON.stringify(withValue('policy')), {}).policy).toEqual([])
  })

  test('one value or a list is the same', () => {
    const one = readConfig(JSON.stringify(withValue('routes.0.match', { tag: 'a=b' })), {})
    const list = readConfig(JSON.stringify(withValue('routes.0.match', { tag: ['a=b'] })), {})
    expect(one).toEqual(list)
    expect(one.channels.hook).toMatchObject({ secret: [hookSecret] })
  })

  test('a fleet may take tokens, keys or both', () => {
    const read = (fleet: object) => {
      const config = readConfig(JSON.stringify(withValue('fleets.prod', fleet)), {})
      return { config, fleet: config.fleets.prod! }
    }
    const tokens = read({ entra: entra() })
    expect(tokens.fleet.entra).toEqual({
      tenantId: guid.toLowerCase(),
      audience: ['api://foghorn'],
      subscriptions: [guid.toLowerCase()],
      authority: 'https://login.microsoftonline.com',
    })
    expect(tokens.fleet.key).toBeUndefined()
    expect(secretsOf(tokens.config)).not.toContain(prodKey)
    const both = read({ key: prodKey, entra: entra({ resourceGroups: 'rg' }) })
    expect(both.fleet).toMatchObject({ key: [prodKey], entra: { resourceGroups: ['rg'] } })
    expect(secretsOf(both.config)).toContain(prodKey)
    const groups = { subscriptions: undefined, resourceGroups: ['a', 'b'] }
    expect(read({ entra: entra(groups) }).fleet.entra?.subscriptions).toBeUndefined()
  })

  test.each([
    'http://127.0.0.1:9100',
    'http://localhost:9100/',
    'https://login.microsoftonline.us/',
  ])('the authority %s', (authority) => {
    const config = withValue('fleets.prod', { entra: entra({ authority }) })
    const { fleets } = readConfig(JSON.stringify(config), {})
    expect(fleets.prod?.entra?.authority).toBe(authority.replace(/\/$/, ''))
  })

  test.each(['http://localhost:7071', 'http://127.0.0.1:7071/', 'http://[::1]:7071//'])(
    'publicUrl %s, for trying it out',
    (publicUrl) => {
      const read = readConfig(JSON.stringify(withValue('publicUrl', publicUrl)), {})
      expect(read.publicUrl).toBe(publicUrl.replace(/\/+$/, ''))
    },
  )

  test('plain http within allowNetworks', () => {
    const config = {
      ...withValue('channels.chat.url', 'http://10.0.0.5/x'),
      allowNetworks: ['10.0.0.0/8', 'fd00::/8'],
    }
    expect(readConfig(JSON.stringify(config), {}).allowNetworks).toHaveLength(2)
  })

  test('every secret is known as one, with the parts of an address', () => {
    const read = readConfig(JSON.stringify(baseConfig), {})
    const known = secretsOf(read)
    for (const secret of [prodKey, hookSecret, routingKey, 'slack-secret', 'teams-secret']) {
      expect(known).toContain(secret)
    }
    expect(known).toContain('https://slack.example/services/T0/B0/slack-secret')
    expect(known).toContain('/services/T0/B0/slack-secret')
  })

  test('the schema can be exported for editors', () => {
    const schema = z.toJSONSchema(configSchema, { io: 'input' })
    expect(schema.properties).toHaveProperty('routes')
    expect(schema.additionalProperties).toBe(false)
  })
})
