// Mistakes in the configuration, all reported at once: the path, the value unless it may be a
// secret, and what to write instead.
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../functions/config/config.ts'
import { kindNames } from '../../functions/notify/registry.ts'
import { mistakesOf, withValue } from '../support/config.ts'
import { baseConfig, hookSecret, prodKey, routingKey } from '../support/world.ts'

const secrets = new RegExp(
  ['slack-secret', 'teams-secret', 'MfKQ9r8', 'aG9va3', routingKey.slice(0, 12), 'hunter2'].join(
    '|',
  ),
)
const badSecret = 'whsec_hunter2'
const write = 'write "whsec_" followed by the base64 of 24 to 64 random bytes'
const https = 'write an absolute https:// address'

const kinds = `write a kind: ${kindNames.map((name) => `"${name}"`).join(', ')}`

const guid = '1E6D2F1C-0A4B-4C57-9B1E-5C2F0D9A7E11'

function entra(changes: object = {}): object {
  return { tenantId: guid, audience: 'api://foghorn', subscriptions: guid, ...changes }
}

/** Mistakes in `entra` of a fleet: what differs from a good one, and what is said. */
const entraMistakes: [changes: object, ...said: string[]][] = [
  [{ tenantId: 'contoso' }, 'entra.tenantId: write the GUID of the tenant'],
  [{ tenantId: badSecret }, 'entra.tenantId: write the GUID'],
  [{ audience: undefined }, 'entra.audience: ', 'FOGHORN_AUDIENCE'],
  [{ audience: [] }, 'entra.audience: ', 'a list of 1 to 100'],
  [{ audience: [''] }, 'entra.audience[0]: ', 'FOGHORN_AUDIENCE'],
  [
    { subscriptions: undefined },
    ': add "subscriptions", "resourceGroups" or both',
    'every VM of the tenant',
  ],
  [{ subscriptions: [] }, 'entra.subscriptions: write the GUID'],
  [{ subscriptions: 'prod' }, 'entra.subscriptions: write the GUID'],
  [{ subscriptions: ['prod'] }, 'entra.subscriptions[0]: write the GUID'],
  [{ resourceGroups: [] }, 'entra.resourceGroups: write the name'],
  [
    { resourceGroups: [`/subscriptions/${guid}/resourceGroups/rg`] },
    'entra.resourceGroups[0]: write the name of a resource group, without its path',
  ],
  [{ authority: 'login' }, 'entra.authority: write an https:// address'],
  [{ authority: 'http://login.example' }, 'entra.authority: ', 'loopback'],
  [{ authority: 'https://login.example/x' }, 'entra.authority: ', 'path'],
  [{ authority: 'https://u:hunter2@a.example' }, 'entra.authority: '],
  [{ tenant: guid }, 'unknown key "tenant"', '"tenantId"'],
]

/** Path of the value, the value, and what the message must name; `: …` follows the path. */
const mistakes: [path: string, value: unknown, ...said: string[]][] = [
  ['publicUrl', undefined, ': '],
  ['publicUrl', 'https://x.example/?a=1', ': ', 'without query', '"https://x.example/?a=1"'],
  ['$schema', 5, ': write text in quotes', '5'],
  ['retentionDays', 5, ': write at least 10 (found 5)'],
  ['retentionDays', 9999, ': write at most 3650 (found 9999)'],
  ['retentionDays', 90.5, ': write a whole number', '90.5'],
  ['retentionDays', '90', ': write a number, without quotes (found "90")'],
  ['fleets', [], ': write an object in { }, with a name for each entry'],
  ['channels', [], ': write an object in { }, with a name for each entry'],
  ['channels.my chat', { kind: 'teams', url: 'https://x.example' }, ': a name has'],
  ['channels.chat', { kind: 'slack' }, 'channels.chat.url: missing; write an absolute https://'],
  ['channels.chat', { url: 'https://slack-secret' }, `channels.chat.kind: ${kinds}`],
  ['channels.chat.secret', hookSecret, 'channels.chat: unknown key "secret"', '"url"'],
  [
    'channels.chat',
    { kind: 'slack', token: 'xoxb-1-abc', channel: 'C0123456789' },
    'channels.chat.token: too short for a token of a bot',
  ],
  ['channels.chat.fallback', '', ': a name has 1 to 64 letters', 'found ""'],
  ['channels.pager.routingKey', 7, ': a routing key has 32 characters'],
  ['channels.hook.secret', [], ': ', write, 'a list of 1 to 4'],
  ['routes', {}, ': write a list in [ ]'],
  ['routes.0', 'chat', ': write an object in { } (found "chat")'],
  ['routes.0.channels', 'chat', ': write a list in [ ] (found "chat")'],
  ['routes.0.channels', [7], 'routes[0].channels[0]: write text in quotes (found 7)'],
  ['routes.0.moments', 'started', ': write a list in [ ] (found "started")'],
  ['routes.0.moments', ['reminder'], 'routes[0]: the moment "reminder" and remindBeforeSeconds'],
  ['routes.0.remindBeforeSeconds', 5, ': write at least 30 (found 5)'],
  ['routes.0.remindBeforeSeconds', '300', 'remindBeforeSeconds: write seconds, from 30', '"300"'],
  ['routes.0.remindBeforeSeconds', [60, 1e7], 'remindBeforeSeconds[1]: write at most 604800'],
  ['routes.0.remindBeforeSeconds', [], ': write seconds'],
  ['routes.0.continue', 'false', ': write true or false, without quotes', '"f'],
  ['routes.0.continue', 0, ': write true or false', '(found 0)'],
  ['routes.0.approvers', 'slack:T0/U0', ': write a list in [ ]', '"slack:T0/U0"'],
  ['routes.0.approvers', [], ': write a list of 1 to 100 people, or leave it out'],
  ['routes.0.approvers', [7], 'routes[0].approvers[0]: write "slack:TEAM/USER"', '(found 7)'],
  ...[
    'ann@contoso.example',
    '@ann',
    'T0123ABCD/U0123ABCD',
    'slack:U0123ABCD',
    'slack:t0123abcd/u0123',
  ]
    .concat(['slack:T0123ABCD/U0123ABCD/x', `entra:${guid}`, `entra:${guid}/ann`, 'admin:admin'])
    .map((one): [string, unknown, ...string[]] => [
      'routes.0.approvers',
      [one],
      'routes[0].approvers[0]: write "slack:TEAM/USER" with their ids',
      'are not accepted',
      JSON.stringify(one),
    ]),
  [
    'routes.0.approvers',
    Array(101).fill('slack:T0123ABCD/U0123ABCD'),
    ': write a list of 1 to 100',
  ],
  ['routes.0.approvers', ['slack:T0123ABCD/U0123ABCD'], 'Slack users need "slackApp"'],
  ['routes.0.approvers', [`entra:${guid}/${guid}`], 'Entra users need "signIn"'],
  ['viewers', [`entra:${guid}/${guid}`], 'viewers: people need "signIn"'],
  ['viewers', ['ann@contoso.example'], 'viewers[0]: write "entra:TENANT/USER" or "entra-group'],
  ['fleets.prod.viewers', [], 'fleets.prod.viewers: write a list of 1 to 100'],
  ['routes.0.approver', [], 'routes[0]: unknown key "approver"', '"approvers"'],
  ['routes.0.approveIn', 'mail', ': write one of "page", "slack", "teams"', '"mail"'],
  ['routes.0.approveIn', 'teams', ': "teams" needs a Teams channel with "channelId"'],
  ['routes.0.approveIn', 'slack', ': "slack" needs "slackApp"'],
  ['signIn', true, ': write an object in { }', 'true'],
  ['signIn', {}, 'signIn.tenantId: ', 'write the GUID of the tenant whose people sign in'],
  ['signIn.tenantId', 'contoso', ': write the GUID of the tenant', '"contoso"'],
  ['signIn', { tenantId: guid, clientId: guid }, ': unknown key "clientId"', '"tenantId"'],
  ['slackApp', {}, 'slackApp.signingSecret: ', 'slackApp.team: '],
  [
    'slackApp',
    { signingSecret: 'hunter2', team: 'T0123ABCD' },
    'slackApp.signingSecret: write the app',
  ],
  [
    'slackApp',
    { signingSecret: 'xoxb-hunter2-hunter2', team: 'T0123ABCD' },
    "slackApp.signingSecret: write the app's signing secret, 32 hexadecimal digits",
  ],
  [
    'slackApp',
    { signingSecret: '0'.repeat(32), team: 'T0123ABCD', signingSecrets: [] },
    ': unknown key "signingSecrets"; allowed are "signingSecret", "team"',
  ],
  [
    'slackApp',
    { signingSecret: '0'.repeat(32), team: 'ops' },
    'slackApp.team: write the id of a work',
  ],
  ['routes.0.match', [], ': write an object in { }'],
  ['routes.0.match.eventType', [], ': write a text', 'a list of 1 to 100'],
  ['routes.0.match.source', 5, ': write a text of 1 to 256', '(found 5)'],
  [
    'routes.0.match.resource',
    [''],
    'routes[0].match.resource[0]: write at least 1 character',
    '""',
  ],
  ['policy', 'ask', ': write a list in [ ] (found "ask")'],
  ['policy', [{ name: '', match: {}, decide: 'ask' }], 'policy[0].name: write at least 1 char'],
  ['policy', Array(201).fill({ match: {}, decide: 'ask' }), ': write at most 200 entries'],
  [
    'allowNetworks',
    [10],
    'allowNetworks[0]: write a network like 10.1.0.0/16, or one address like 10.1.2.3/32 (found 10)',
  ],
  ['publicUrl', 7, ': ', '7'],
  ['publicUrl', 'foghorn.example', ': write an https:// address', '"foghorn.example"'],
  ['publicUrl', 'http://foghorn.example', ': ', 'http:// for loopback only'],
  ['publicUrl', 'ftp://foghorn.example', ': write an https:// address'],
  ['publicUrl', 'https://user@x.example', ': write an https:// address'],
  ['fleets', undefined, ': missing; write '],
  ['fleets', {}, ': add at least one fleet'],
  ['fleets', badSecret, ': '],
  ['fleets.prod', prodKey, ': '],
  ['fleets.prod.key', badSecret, ': ', write],
  ['fleets.prod.key', 'hunter2', ': ', write],
  ['fleets.prod.key', [], ': ', write],
  ['fleets.prod.key', Array(5).fill(prodKey), ': ', 'a list'],
  ['fleets.prod.keys', [prodKey], 'fleets.prod: unknown key "keys"', 'allowed are "key"'],
  ['fleets.prod', {}, 'fleets.prod.key: ', write, '"entra"', 'or both'],
  ['fleets.prod.entra', badSecret, ': '],
  ['fleets.prod.entra', {}, 'fleets.prod.entra.tenantId: ', 'entra.audience: '],
  ...entraMistakes.map(([changes, ...said]): (typeof mistakes)[number] => [
    'fleets.prod.entra',
    entra(changes),
    ...said,
  ]),
  ['fleets.my fleet', { key: prodKey }, ': ', 'letters, digits, "_" or "-"'],
  ['channels', undefined, ': '],
  ['channels', {}, ': add at least one channel'],
  ['channels.chat', 'https://slack.example/slack-secret', ': '],
  ['channels.chat.kind', 'irc', `: ${kinds}`, '"irc"'],
  ['channels.chat.kind', undefined, ': write a kind'],
  ['channels.chat.url', undefined, ': '],
  ['channels.chat.url', 'slack-secret', ': ', https],
  ['channels.chat.url', 'ftp://slack-secret', ': ', https],
  ['channels.chat.url', 'https://user:hunter2@slack.example/', ': ', https],
  ['channels.chat.uri', 'https://slack-secret/', 'channels.chat: unknown key "uri"', '"url"'],
  ['channels.chat.fallback', 'chat', ': a channel cannot be its own fallback; write'],
  ['channels.chat.fallback', 'nobody', ': ', '"nobody"', '"pager"'],
  ...['hunter2', routingKey.slice(1), `${routingKey}0`].map(
    (key): [string, unknown, ...string[]] => [
      'channels.pager.routingKey',
      key,
      'channels.pager.routingKey: ',
      '32 characters',
    ],
  ),
  ['channels.pager.endpoint', 'events.pagerduty.com', ': ', https],
  ['channels.hook.secret', undefined, ': ', write],
  ['channels.hook.secret', [hookSecret, badSecret], 'channels.hook.secret', write],
  ['routes', undefined, ': missing; write a list in [ ]'],
  ['routes', [], ': '],
  ['routes.0.match', undefined, ': '],
  ['routes.0.channels', [], ': '],
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
  ['routes.0.moments', [], ': '],
  ['routes.0.match.fleet', 'staging', ': ', '"staging"', '"prod", "test"'],
  ['routes.0.match.tag', '', ': '],
  ['routes.0.match.tag', 5, ': '],
  ['routes.0.match.maxDurationSeconds', -1, ': ', '-1'],
  ['routes.0.match.maxDurationSeconds', '9', ': ', '"9"'],
  ['policy', {}, ': '],
  [
    'policy',
    [{ match: {}, decide: 'ask', whenReady: true }],
    'policy[0].whenReady: only a rule with "decide": "approve" waits',
    'remove "whenReady"',
  ],
  [
    'policy',
    [{ match: {}, decide: 'approve', prepareBeforeSeconds: 900 }],
    'policy[0].prepareBeforeSeconds: only a rule with "whenReady": true prepares VMs',
  ],
  [
    'policy',
    [{ match: {}, decide: 'notify', maxConcurrent: 1 }],
    'policy[0].maxConcurrent: only a rule with "decide": "approve" waits',
  ],
  [
    'policy',
    [{ match: {}, decide: 'approve', maxConcurrent: 0 }],
    'policy[0].maxConcurrent: write a whole number from 1 to 1000 (found 0)',
  ],
  [
    'policy',
    [{ match: {}, decide: 'approve', whenReady: 'yes' }],
    'policy[0].whenReady: write true or false, without quotes',
  ],
  [
    'policy',
    [{ match: {} }],
    'policy[0].decide: write one of "approve", "ask", "notify", "ignore"',
  ],
  ['policy', [{ match: {}, decide: 'yes' }], 'policy[0].decide: ', '"yes"', '"approve"'],
  ['policy', [{ decide: 'ask' }], 'policy[0].match: '],
  ['policy', [{ match: { fleet: 'x' }, decide: 'ask' }], 'policy[0].match.fleet: ', '"x"'],
  ['policy', [{ match: {}, decide: 'ask', if: 1 }], 'policy[0]: unknown key "if"', '"match"'],
  [
    'allowNetworks',
    ['10.0.0.1'],
    'allowNetworks[0]: write a network like 10.1.0.0/16, or one address like 10.1.2.3/32',
    '10.0.0.1',
  ],
  ['allowNetworks', ['10.0.0.0/33'], 'allowNetworks[0]: ', '10.0.0.0/33'],
  ['allowNetworks', '10.0.0.0/8', ': '],
]

describe('a mistake is named with its path, its value and the remedy, and never a secret', () => {
  test.each(mistakes)('%s: %j', (path, value, ...said) => {
    const message = mistakesOf(JSON.stringify(withValue(path, value)))
    const at = path.replace(/\.(\d+)/g, '[$1]')
    for (const part of said) {
      expect(message).toContain(part.startsWith(': ') ? `${at}${part}` : part)
    }
    expect(message).not.toMatch(secrets)
    expect(message).not.toMatch(/undefined|\[object/)
    expect(message.split('\n').length).toBeLessThanOrEqual(2)
  })

  test('people of a tenant that is not let in', () => {
    const config = withValue('signIn', { tenantId: guid })
    const other = guid.toLowerCase().replace('1e6', '2e6')
    config.routes[0].approvers = [`entra:${guid}/${guid}`, `entra:${other}/${guid}`]
    expect(mistakesOf(JSON.stringify(config)).split('\n')).toEqual([
      `routes[0].approvers[1]: "signIn.tenantId" is not "${other}"; correct one of them`,
    ])
  })

  test('buttons in a route without a channel of Slack', () => {
    const config = withValue('routes.0', { match: {}, channels: ['team'], approveIn: 'slack' })
    config.slackApp = { signingSecret: '0'.repeat(32), team: 'T0123ABCD' }
    expect(mistakesOf(JSON.stringify(config))).toContain('needs a Slack channel in this route')
  })

  test('too many channels', () => {
    const channels = Object.fromEntries([...Array(201).keys()].map((i) => [`c${i}`, chat]))
    const config = { ...baseConfig, channels, routes: [{ match: {}, channels: ['c0'] }] }
    expect(mistakesOf(JSON.stringify(config))).toContain('at most 200 channels')
  })

  test.each([
    ['20 of each fleet', 20, {}, undefined],
    ['21 of one', 21, {}, 'events of the fleet "prod" reach 21 channels'],
    ['20, and their fallback', 20, { fallback: 'c100' }, '"prod" reach 21 channels'],
  ])('channels that an event can reach: %s', (_, prod, more, said) => {
    const names = [...Array(200).keys()].map((i) => `c${i}`)
    const channels = Object.fromEntries(names.map((name) => [name, chat]))
    const routes = [
      { match: { fleet: 'prod' }, channels: names.slice(0, prod) },
      { match: { fleet: 'test' }, channels: names.slice(50, 70) },
    ]
    const c0 = { ...chat, ...more }
    const config = { ...baseConfig, channels: { ...channels, c0 }, routes }
    if (said === undefined) readConfig(JSON.stringify(config), {})
    else expect(mistakesOf(JSON.stringify(config))).toContain(said)
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
})

const chat = { kind: 'slack', url: 'https://slack.example/services/T0/B0/slack-secret' }

test.each(['nobody', 'only', 'hunter2hunter2hunter2hunter2hunter2'])(
  'the fallback %j of the only channel: there is no other to name',
  (fallback) => {
    const only = { kind: 'webhook', url: 'https://hook.example/in', secret: hookSecret, fallback }
    const routes = [{ match: {}, channels: ['only'] }]
    expect(mistakesOf(JSON.stringify({ ...baseConfig, channels: { only }, routes }))).toBe(
      'channels.only.fallback: there is no other channel; add one under "channels", or remove "fallback"',
    )
  },
)

test('more mistakes than anybody mends at once: the first hundred, and how many more', () => {
  const channels = Array.from({ length: 5_000 }, (_, i) => `nobody-${i}`)
  const message = mistakesOf(JSON.stringify({ ...baseConfig, routes: [{ match: {}, channels }] }))
  const lines = message.split('\n')
  expect(lines).toHaveLength(101)
  expect(lines[99]).toContain('"nobody-99"')
  expect(lines[100]).toBe('and 4900 more')
})

test.each(['channels', 'fleets'])(
  '%s with 9,000 names that look secret: few are described',
  (part) => {
    const names = Object.fromEntries(Array.from({ length: 9_000 }, (_, i) => [`whsec_${i}`, 7]))
    const message = mistakesOf(JSON.stringify({ ...baseConfig, [part]: names }))
    expect(message.split('\n').length).toBeLessThan(110)
    expect(message).not.toContain('whsec_1')
  },
)

test('9,000 unknown keys: a hundred are named, and how many more', () => {
  const names = Object.fromEntries(Array.from({ length: 9_000 }, (_, i) => [`k${i}`, 7]))
  const message = mistakesOf(JSON.stringify({ ...baseConfig, ...names }))
  expect(message).toContain('"k99" and 8900 more; allowed are')
  expect(message.length).toBeLessThan(2_000)
})
