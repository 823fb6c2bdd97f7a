// Secrets in wrong places: as a key, a name, a kind, an address or a word of a rule. The error
// names the mistake without the secret. Text that looks like a name is shown.
import { describe, expect, test } from 'vitest'
import { readConfigWith } from '../../functions/config/config.ts'
import { isPresentable, notShown } from '../../shared/presentable.ts'
import { mistakesOf } from '../support/config.ts'
import { baseConfig, hookSecret, prodKey, routingKey } from '../support/world.ts'

type Json = ReturnType<typeof JSON.parse>

const secrets = {
  'a Slack address': 'https://hooks.slack.com/services/T000/B000/hunter2',
  'a Slack address without its scheme': 'hooks.slack.com/services/T000/B000/hunter2',
  'a Teams address': 'https://prod-7.westeurope.logic.azure.com/workflows/hunter2?sig=hunter2',
  'another address': 'https://chat.example/hunter2',
  'a key': prodKey,
  'a key that is none': 'whsec_hunter2',
  'a token': 'xoxb-hunter2-hunter2',
  'a routing key': routingKey,
  base64: 'aHVudGVyMmh1bnRlcjJodW50ZXIyaHVudGVyMg==',
}
const parts = new RegExp(
  ['hunter2', prodKey.slice(8, 20), hookSecret.slice(8, 20), routingKey.slice(4, 16), 'aHVud'].join(
    '|',
  ),
)

/** Puts a secret into a wrong place. Returns what the message must still name. */
const places: Record<string, [put: (config: Json, secret: string) => void, ...said: string[]]> = {
  'a key at the top': [(config, secret) => (config[secret] = 1), '(top level): unknown key'],
  'a key of a channel': [
    ({ channels }, secret) => (channels.chat[secret] = 1),
    'channels.chat: unknown key',
    '"url"',
  ],
  'a key of a fleet': [
    ({ fleets }, secret) => (fleets.prod[secret] = 1),
    'fleets.prod: unknown key',
  ],
  'a key of a match': [
    ({ routes }, secret) => (routes[0].match[secret] = 1),
    'routes[0].match: unknown key',
  ],
  'the name of a channel that lacks all': [
    ({ channels }, secret) => (channels[secret] = {}),
    'channels.',
  ],
  'the name of a fleet that lacks all': [({ fleets }, secret) => (fleets[secret] = {}), 'fleets.'],
  'a kind': [({ channels }, secret) => (channels.chat.kind = secret), 'channels.chat.kind: write'],
  'a fallback': [({ channels }, secret) => (channels.chat.fallback = secret), '.chat.fallback: '],
  'the name of a channel with more mistakes': [
    ({ channels }, secret) =>
      (channels[secret] = { kind: 'slack', url: 'http://x.example', fallback: 'nobody' }),
    'channels.',
    'fallback: there is no channel "nobody"',
  ],
  'the name of a channel that is its own fallback': [
    ({ channels }, secret) => (channels[secret] = { ...channels.team, fallback: secret }),
    'channels.',
    '.fallback: ',
  ],
  'the name of a rule': [
    (config, secret) => (config.policy = [{ name: secret, match: {}, decide: 'ask' }]),
    'policy[0].name: messages and the history show the name, so it must not be an address or',
  ],
  'a decision': [
    (config, secret) => (config.policy = [{ match: {}, decide: secret }]),
    'policy[0].decide: write one of',
  ],
  'a moment': [({ routes }, secret) => (routes[0].moments = [secret]), 'routes[0].moments[0]'],
  'a channel of a route': [
    ({ routes }, secret) => (routes[0].channels = [secret]),
    'routes[0].channels[0]: there is no channel of that name',
  ],
  'a fleet of a match': [
    ({ routes }, secret) => (routes[0].match.fleet = secret),
    'routes[0].match.fleet: there is no fleet of that name',
  ],
  'a network': [(config, secret) => (config.allowNetworks = [secret]), 'allowNetworks[0]: write'],
  'a number': [(config, secret) => (config.retentionDays = secret), 'retentionDays: write'],
  'a list': [(config, secret) => (config.routes = secret), 'routes: write a list'],
  'a schema': [(config, secret) => (config.$schema = [secret]), '$schema: write text'],
  'a variable': [
    (config, secret) => (config.publicUrl = `env:${secret}`),
    'publicUrl: ',
    'environment|write "env:NAME"',
  ],
}

describe.each(Object.entries(places))('%s', (_, [put, ...said]) => {
  test.each(Object.entries(secrets))('that is %s is not shown', (_, secret) => {
    const config: Json = structuredClone(baseConfig)
    put(config, secret)
    const message = mistakesOf(JSON.stringify(config))
    expect(message).not.toMatch(parts)
    for (const part of said) expect(message).toMatch(new RegExp(escaped(part)))
  })
})

describe('publicUrl', () => {
  test.each([
    'xoxb-hunter2',
    'whsec_hunter2',
    'hooks.slack.com/services/T000/B000/hunter2',
    'https://prod-7.westeurope.logic.azure.com/workflows/a?sig=hunter2',
    'https://user:hunter2@foghorn.example',
  ])('%s is not shown', (publicUrl) => {
    const message = mistakesOf(JSON.stringify({ ...baseConfig, publicUrl }))
    expect(message).toMatch(/^publicUrl: write an https:\/\/ address/)
    expect(message).not.toMatch(/hunter2/)
  })
})

describe('publicUrl is no address of another service', () => {
  test.each([
    'https://hooks.slack.com/services/T000/B000/hunter2',
    'https://prod-7.westeurope.logic.azure.com/workflows/hunter2',
    'https://contoso.webhook.office.com/webhookb2/hunter2',
    'https://outlook.office.com/webhook/hunter2',
    'https://events.eu.pagerduty.com/integration/hunter2/enqueue',
    'https://discord.com/api/webhooks/1/hunter2',
  ])('%s', (publicUrl) => {
    const remedy = 'and may be a secret; write the address of the relay for browsers'
    expect(mistakesOf(JSON.stringify({ ...baseConfig, publicUrl }))).toBe(
      `publicUrl: this is the address of another service, ${remedy}`,
    )
  })

  test.each([
    'https://foghorn-a1b2c3d4e5f6g7h8.westeurope-01.azurewebsites.net',
    'https://xapp-prod.example',
  ])('a host that only looks like a secret is none: %s', (publicUrl) => {
    expect(
      readConfigWith(JSON.stringify({ ...baseConfig, publicUrl }), {}, 'rejected'),
    ).toBeTruthy()
  })
})

test('a name that is refused or nowhere is shown beside one that is hidden', () => {
  const routes = [{ match: {}, channels: ['nowhere', routingKey] }]
  const lines = mistakesOf(JSON.stringify({ ...baseConfig, routes })).split('\n')
  expect(lines).toEqual([
    expect.stringContaining('there is no channel "nowhere"; '),
    expect.stringContaining('there is no channel of that name; '),
  ])
  const config: Json = structuredClone(baseConfig)
  Object.assign(config.channels.chat, { colour: 1, [prodKey]: 1 })
  expect(mistakesOf(JSON.stringify(config))).toContain(`unknown key "colour", ${notShown}; allowed`)
})

test('of what is hidden it is said which it is', () => {
  const config: Json = structuredClone(baseConfig)
  config.channels['#ops'] = { kind: 'slack' }
  config.channels[prodKey] = { kind: 'slack', url: 'https://x.example', fallback: 'nobody' }
  const hidden = (place: number) => `channels.(entry ${place}, not shown, as it may be a secret)`
  expect(mistakesOf(JSON.stringify(config)).split('\n')).toEqual([
    expect.stringContaining(`${hidden(5)}: a name has 1 to 64 letters`),
    expect.stringContaining(`${hidden(6)}: a name has 1 to 64 letters`),
    expect.stringContaining(`${hidden(6)}.fallback: there is no channel "nobody"`),
  ])
})

test('a name of words is taken, also with an address in it', () => {
  const name = 'freezes, see https://wiki.example/freeze'
  const policy = [{ name, match: {}, decide: 'ask' }]
  const { config } = readConfigWith(JSON.stringify({ ...baseConfig, policy }), {}, 'rejected')
  expect(config.policy[0]?.name).toBe(name)
})

test('a secret as the name of a variable that is taken as given', () => {
  const publicUrl = 'env:R2d2C3poBb8K2so1'
  const text = JSON.stringify({ ...baseConfig, publicUrl })
  expect(readConfigWith(text, {}, 'assumed').assumed).toEqual([notShown])
})

describe('the form of a name', () => {
  test.each([
    ...['', 'chat', 'my chat', 'ops-slack', 'remindBeforeSeconds', 'DurationInSeconds', '$schema'],
    ...[
      'kubernetesprod01',
      'SlackWebhookUrl2024Prod',
      'prod-database-cluster-2',
      'équipe.données',
      'resourceGroupName',
    ],
    ...['linuxapp-prod', 'inbox-xoxo'],
    'a-team-that-has-a-rather-long-name-of-several-words',
  ])('%j is shown', (name) => {
    expect(isPresentable(name)).toBe(true)
  })

  test.each([
    ...Object.values(secrets),
    ...['xoxp-1', 'XOXB-1', 'xapp-1', 'Whsec_a', 'me@example.com', 'x'.repeat(65), 'a\u0000b'],
    // random, as others make them
    ...['R2d2C3poBb8K2so1', '9f86d081884c7d659a2feaa0c55ad015', 'XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX'],
  ])('%j is not', (name) => {
    expect(isPresentable(name)).toBe(false)
  })
})

function escaped(part: string): string {
  return part.includes('|') ? part : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

test('a secret or an address that comes from a file may end with a line break', () => {
  const config = structuredClone(baseConfig) as Json
  config.fleets.prod.key = 'env:KEY'
  config.publicUrl = 'env:URL'
  const environment = { KEY: `${prodKey}\n`, URL: 'https://foghorn.example\r\n' }
  const read = readConfigWith(JSON.stringify(config), environment, 'rejected')
  expect(JSON.stringify(read)).toContain('"publicUrl":"https://foghorn.example"')
})
