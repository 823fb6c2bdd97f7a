// A valid configuration: defaults, values from the environment, its secrets.
import { describe, expect, test } from 'vitest'
import { listSecrets, readConfig, readConfigWith } from '../../functions/config/config.ts'
import { notShown } from '../../shared/presentable.ts'
import { mistakesOf, withValue } from '../support/config.ts'
import { signingSecret, slackDecides } from '../support/slack-press.ts'
import { baseConfig, hookSecret, prodKey, routingKey } from '../support/world.ts'

type Json = ReturnType<typeof JSON.parse>

const guid = '1E6D2F1C-0A4B-4C57-9B1E-5C2F0D9A7E11'

function entra(changes: object = {}): object {
  return { tenantId: guid, audience: 'api://foghorn', subscriptions: guid, ...changes }
}

describe('values from the environment', () => {
  test('are filled in anywhere, and are secrets like any other', () => {
    const config = withValue('fleets.prod.key', 'env:FLEET_KEY')
    config.publicUrl = 'env:PUBLIC_URL'
    config.channels.hook.secret = ['env:HOOK', hookSecret]
    const environment = { FLEET_KEY: prodKey, PUBLIC_URL: 'https://x.example/', HOOK: hookSecret }
    const read = readConfig(JSON.stringify(config), environment)
    expect(read.fleets.prod?.key).toEqual([prodKey])
    expect(read.publicUrl).toBe('https://x.example')
    expect(listSecrets(read)).toContain(prodKey)
  })

  test.each([{}, { FLEET_KEY: '' }] as Record<string, string>[])('missing: %o', (environment) => {
    const config = withValue('fleets.prod.key', 'env:FLEET_KEY')
    const message = mistakesOf(JSON.stringify(config), environment)
    expect(message).toBe('fleets.prod.key: the environment has no FLEET_KEY; set it')
  })

  test.each(['env:', 'env: NAME', `env:${prodKey}`, 'env:https://slack.example/slack-secret'])(
    'what stands in the place of a name is not shown: %s',
    (value) => {
      const message = mistakesOf(JSON.stringify(withValue('channels.chat.url', value)))
      const remedy = '"env:" must be followed by the name of a variable; write "env:NAME"'
      expect(message).toBe(`channels.chat.url: ${remedy}`)
    },
  )

  test('a wrong one says where it came from', () => {
    const config = withValue('channels.chat.url', 'env:CHAT_URL')
    config.channels.team.fallback = 'env:R2d2C3poBb8K2so1'
    config.fleets.prod.key = [prodKey, 'env:OLD_KEY']
    config.channels.hook.url = 'env:HOOK_URL'
    const values = { CHAT_URL: 'chat', R2d2C3poBb8K2so1: 'nobody', OLD_KEY: 'x' }
    const environment = { ...values, HOOK_URL: 'http://hook.example' }
    const lines = mistakesOf(JSON.stringify(config), environment).split('\n')
    const from = lines.map((line) => line.replace(/: .*(?=\(from)/, ' ')).sort()
    expect(from).toEqual([
      'channels.chat.url (from the environment: CHAT_URL)',
      'channels.hook.url (from the environment: HOOK_URL)',
      `channels.team.fallback (from the environment: ${notShown})`,
      'fleets.prod.key[1] (from the environment: OLD_KEY)',
    ])
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

describe('values that are assumed to be valid, on another machine', () => {
  const config = structuredClone(baseConfig) as Json
  config.publicUrl = 'env:PUBLIC'
  config.fleets.prod = {
    key: ['env:KEY', 'env:OLD_KEY'],
    entra: entra({ tenantId: 'env:TENANT', subscriptions: ['env:SUB'], audience: 'env:AUD' }),
  }
  config.channels.chat.url = 'env:CHAT'
  config.channels.pager.routingKey = 'env:A_VERY_LONG_NAME_OF_A_ROUTING_KEY'
  config.channels.hook.secret = 'env:HOOK'
  const read = (environment: Record<string, string>) =>
    readConfigWith(JSON.stringify(config), environment, 'assumed')

  test('have stand-ins of the right form, and are named', () => {
    const names = ['PUBLIC', 'KEY', 'OLD_KEY', 'TENANT', 'AUD', 'SUB', 'CHAT', 'HOOK']
    const { assumed } = read({})
    expect(assumed.sort()).toEqual([...names, 'A_VERY_LONG_NAME_OF_A_ROUTING_KEY'].sort())
  })

  test('are checked where the environment has them', () => {
    expect(read({ CHAT: 'https://slack.example/x' }).assumed).not.toContain('CHAT')
    expect(() => read({ CHAT: 'slack.example' })).toThrow('channels.chat.url: write an absolute')
  })

  test('one name stands for one value, another for another', () => {
    const { fleets } = read({}).config
    const [key, oldKey] = fleets.prod?.key ?? []
    expect(key).not.toBe(oldKey)
    expect(read({}).config.fleets.prod?.key?.[0]).toBe(key)
  })

  test.each([
    ['policy', [{ match: {}, decide: 'env:X' }], 'policy[0].decide'],
    ['routes.0.channels', ['env:X'], 'routes[0].channels[0]'],
    ['routes.0.match.tag', 'env:X', 'routes[0].match.tag'],
    ['channels.chat.kind', 'env:X', 'channels.chat.kind'],
  ])('but not where they decide what the rest means: %s', (path, value, at) => {
    const text = JSON.stringify(withValue(path, value))
    expect(() => readConfigWith(text, {}, 'assumed')).toThrow(
      `${at}: the environment has no X, which other settings depend on; set it`,
    )
  })
})

describe('a good configuration', () => {
  test('what is left out has its default', () => {
    const config = structuredClone(baseConfig) as Json
    delete config.channels.pager.endpoint
    config.policy = [
      { match: {}, decide: 'notify' },
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
    expect(listSecrets(tokens.config)).not.toContain(prodKey)
    const both = read({ key: prodKey, entra: entra({ resourceGroups: 'rg' }) })
    expect(both.fleet).toMatchObject({ key: [prodKey], entra: { resourceGroups: ['rg'] } })
    expect(listSecrets(both.config)).toContain(prodKey)
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

  test('workspaces and organisations of Slack are teams, and the signing secret is a secret', () => {
    const [route] = slackDecides.routes
    const team = ['T0HOME', 'E0ORG']
    const routes = [{ ...route, approvers: ['slack:E0ORG/W0ADA', 'slack:T0HOME/U0ADA'] }]
    const slackApp = { signingSecret, team }
    const read = readConfig(JSON.stringify({ ...baseConfig, slackApp, routes }), {})
    expect(read.slackApp).toEqual({ signingSecret: [signingSecret], team })
    expect(listSecrets(read)).toContain(signingSecret)
  })

  test('every secret is known as one, with the parts of an address', () => {
    const read = readConfig(JSON.stringify(baseConfig), {})
    const known = listSecrets(read)
    for (const secret of [prodKey, hookSecret, routingKey]) {
      expect(known).toContain(secret)
    }
    expect(known).toContain('https://slack.example/services/T0/B0/slack-secret')
    expect(known).toContain('/services/T0/B0/slack-secret')
  })
})
