// Warnings about addresses, networks and keys.
import { describe, expect, test } from 'vitest'
import { hookSecret, prodKey, routingKey, testKey } from '../support/world.ts'
import { adviceOn, chat, fleets, type Row, team, testRows } from './advice-on.ts'

const slackUrl = 'https://hooks.slack.com/services/T000/B000/slack-secret'
const flowUrl = 'https://prod-7.westeurope.logic.azure.com/workflows/a?sig=teams-secret'
const newFlowUrl = 'https://abc.ef.environment.api.powerplatform.com/x?sig=teams-secret'
const connectorUrl = 'https://contoso.webhook.office.com/webhookb2/teams-secret'
const pagerUrl = 'https://events.pagerduty.com/integration/hunter2/enqueue'

const at = (url: string, of: object = team) => ({ channels: { chat, team: { ...of, url } } })
const pager = (endpoint: string) => ({
  channels: { chat, team: { kind: 'pagerduty', routingKey, endpoint, fallback: 'chat' } },
})
const hook = { kind: 'webhook', secret: hookSecret, fallback: 'chat' }

const telegram = {
  ...{ kind: 'http', preset: 'telegram', fallback: 'chat' },
  settings: { token: '123456:AAabcdefghijklmnopqrstuvwxyz0123456', chat: '-4001' },
}

testRows('addresses', [
  [
    'Telegram with a relay whose host has no dot',
    { publicUrl: 'https://foghorn', channels: { chat, team: telegram } },
    'publicUrl: "team" will refuse every message, as the host "foghorn" has no dot',
    'such as https://foghorn.contoso.com',
  ],
  [
    'Slack in a channel of Teams',
    at(slackUrl),
    'channels.team.url: Slack rejects messages of kind "teams" at this address',
    'write "kind": "slack", or another address',
  ],
  ...[flowUrl, newFlowUrl].map(
    (url): Row => [
      'Teams in a channel of Slack',
      { channels: { chat: { ...chat, url }, team } },
      'channels.chat.url: Teams rejects messages of kind "slack" at this address',
      'write "kind": "teams"',
    ],
  ),
  [
    'Teams in a channel of a bot',
    {
      channels: {
        chat: {
          ...{ kind: 'slack', token: 'xoxb-secret-secret', channel: 'C0123456789' },
          ...{ endpoint: newFlowUrl, fallback: 'team' },
        },
        team,
      },
    },
    'channels.chat.endpoint: Teams rejects messages of kind "slack" at this address',
  ],
  ['PagerDuty in a channel of Teams', at(pagerUrl), 'channels.team.url: PagerDuty rejects'],
  [
    'Slack in a channel of PagerDuty',
    pager(slackUrl),
    'channels.team.endpoint: Slack rejects messages of kind "pagerduty"',
  ],
  [
    'Discord in a channel of Slack',
    {
      channels: {
        chat: { ...chat, url: 'https://discord.com/api/webhooks/1/hunter2/slack' },
        team,
      },
    },
    'channels.chat.url: Discord rejects messages of kind "slack" at this address',
    'write "kind": "http" with "preset": "discord"',
  ],
  ['Discord in a webhook', at('https://discordapp.com/api/webhooks/1/x', hook), 'Discord rejects'],
  ['Slack in a webhook', at(slackUrl, hook), 'channels.team.url: Slack rejects', '"webhook"'],
  ...[connectorUrl, 'https://outlook.office.com/webhook/teams-secret'].map(
    (url): Row => [
      'a retired connector',
      at(url),
      'channels.team.url: Microsoft has retired Office 365 connectors; create a workflow',
      'write its address',
    ],
  ),
])

testRows(
  'workflows without what lets them in',
  [
    'https://prod-7.westeurope.logic.azure.com/workflows/teams-secret?api-version=2016-06-01',
    'https://abc.ef.environment.api.powerplatform.com/teams-secret',
  ].map(
    (url): Row => [
      url,
      at(url),
      'channels.team.url: the workflow rejects requests, because its address has no "sig"; copy',
    ],
  ),
)

testRows('networks', [
  ...['0.0.0.0/0', '::/0'].map(
    (network): Row => [
      network,
      { allowNetworks: ['10.0.0.0/8', network] },
      `allowNetworks[1]: "${network}" contains every address, and turns off the guard`,
      'such as 10.1.0.0/16',
    ],
  ),
])

testRows('networks in parts', [
  ...['0.0.0.0/1', '128.0.0.0/1', '10.0.0.0/7', '::/1', '2000::/3', '::ffff:0:0/96', '::/80'].map(
    (network): Row => [
      network,
      { allowNetworks: ['fc00::/7', network, '::ffff:10.0.0.0/104', '::1/128'] },
      `allowNetworks[1]: "${network}" is wider than any private network, and turns off`,
    ],
  ),
])

testRows('networks of the host', [
  ...['169.254.0.0/16', '168.63.129.16/32', '::ffff:168.63.0.0/112'].map(
    (network): Row => [
      network,
      { allowNetworks: ['10.0.0.0/8', network] },
      `allowNetworks[1]: "${network}" contains 16`,
    ],
  ),
])

testRows('keys', [
  [
    'two fleets with one key',
    { fleets: { prod: { key: prodKey }, test: { key: [testKey, prodKey] } } },
    'fleets.test.key: fleet "prod" has the same key, so VMs of one can report for the other',
    'openssl rand -base64 32',
  ],
  [
    "a webhook's secret that is a fleet's key",
    {
      channels: {
        chat,
        team: { ...hook, url: 'https://h.example', secret: [hookSecret, prodKey] },
      },
    },
    'channels.team.secret: this is also the key of fleet "prod", so the receiver can report',
    'openssl rand -base64 32',
  ],
])

describe('nothing is said of', () => {
  test.each<[string, object]>([
    ['Slack', { channels: { chat: { ...chat, url: slackUrl }, team } }],
    ['Teams, wherever it is', at(flowUrl)],
    ['Teams at its new place', at(newFlowUrl)],
    ['Teams at a place nobody knows yet', at('https://teams.example.net/x')],
    ['PagerDuty', pager('https://events.eu.pagerduty.com/v2/enqueue')],
    ['a proxy of PagerDuty', pager('https://proxy.example/pagerduty')],
    ['a logic app that takes webhooks', at(flowUrl, hook)],
    ['a transformer of PagerDuty', at(pagerUrl, hook)],
    [
      'a trigger in Slack that takes webhooks',
      at('https://hooks.slack.com/triggers/T0/1/slack-secret', hook),
    ],
    ['a host that only looks like one', at('https://notslack.com/slack-secret')],
    ['wide networks', { allowNetworks: ['10.0.0.0/8', 'fd00::/8'] }],
    ['fleets with keys of their own', { fleets }],
  ])('%s', (_, changes) => {
    expect(adviceOn(changes)).toEqual([])
  })
})
