// Warnings about channels.
import { hookSecret, routingKey } from '../support/world.ts'
import { chat, type Row, team, testRows } from './advice-on.ts'

const plainMail = { kind: 'mail', tls: 'none', from: 'a@example.com', to: 'b@example.com' }
const token = 'a8f5f167f44f4964e6c998dee827110c'
const template = { kind: 'http', url: 'https://h.example/in', fallback: 'chat' }
const bot = { kind: 'slack', token: 'xoxb-bot-secret', channel: 'C0123456789' }

testRows('channels', [
  [
    'a channel that nothing names',
    {
      channels: {
        chat,
        team,
        hook: { kind: 'webhook', url: 'https://h.example', secret: hookSecret },
      },
    },
    'channels.hook: no route, fallback or list of owners names it; add it to a route, or remove it',
  ],
  [
    'no fallback',
    { channels: { chat: { ...chat, fallback: undefined }, team } },
    'channels.chat: it has no fallback',
    'write "fallback": "team"',
  ],
  [
    'no fallback, and no other channel',
    {
      channels: { chat: { ...chat, fallback: undefined } },
      routes: [{ match: {}, channels: ['chat'] }],
    },
    'channels.chat: it has no fallback',
    'add a second channel',
  ],
  [
    'the same address as fallback',
    {
      channels: { chat, team: { ...team, fallback: 'twin' }, twin: { ...team, fallback: 'chat' } },
    },
    'channels.team.fallback: "twin" has the same address',
    'write another channel',
  ],
  [
    'the same key as fallback',
    {
      channels: {
        chat: { kind: 'pagerduty', routingKey, fallback: 'twin' },
        twin: { kind: 'pagerduty', routingKey, fallback: 'team' },
        team,
      },
    },
    'channels.chat.fallback: "twin" has the same address',
  ],
  [
    'mail without TLS to a server outside allowNetworks',
    {
      channels: { chat, team: { ...plainMail, server: '10.0.0.5', fallback: 'chat' } },
      allowNetworks: ['10.1.0.0/16'],
    },
    'channels.team.tls: "tls": "none" works only within allowNetworks',
    'leave "tls" out',
  ],
  [
    'a template without the page',
    { channels: { chat, team: { ...template, body: { text: '{{title}}' } } } },
    'channels.team.body: no text has {{page}}',
  ],
  [
    'a template with a secret in its body',
    { channels: { chat, team: { ...template, body: { page: '{{page}}', auth: { token } } } } },
    'channels.team.body.auth.token: this looks like a secret',
    'write it in "settings"',
  ],
  [
    'a template with a secret in a list of its body',
    {
      channels: {
        chat,
        team: { ...template, body: { page: '{{page}}', headers: [`Bearer ${token}`] } },
      },
    },
    'channels.team.body.headers.0: this looks like a secret',
    'write it in "settings"',
  ],
  [
    'plain http',
    {
      channels: { chat, team: { ...team, url: 'http://10.0.0.5/x' } },
      allowNetworks: ['10.0.0.0/8'],
    },
    'channels.team.url: plain http',
    'write https://',
  ],
  [
    'a link to the own machine',
    { publicUrl: 'http://127.0.0.1:7071' },
    'publicUrl: "http://127.0.0.1:7071" is loopback',
    'messages to "chat"',
  ],
  [
    'two channels that are one',
    {
      channels: {
        chat: { ...chat, fallback: 'other' },
        team: { ...chat, fallback: 'other' },
        other: team,
      },
    },
    'channels.team: "chat" has the same address, so messages for both arrive twice',
    'write "chat" in its routes, and remove this one',
  ],
  [
    'two channels with the same bot and place, written in two ways',
    {
      channels: {
        chat: { ...bot, endpoint: 'https://slack.com/api', fallback: 'other' },
        team: { ...bot, fallback: 'other' },
        other: team,
      },
    },
    'channels.team: "chat" has the same address',
  ],
  ...[
    ['approved', 'completed'],
    ['declined', 'cancelled', 'lost'],
  ].map(
    (moments): Row => [
      `PagerDuty that receives ${moments} only`,
      {
        owners: ['team'],
        channels: { chat: { kind: 'pagerduty', routingKey, fallback: 'team' }, team },
        routes: [
          { match: {}, channels: ['team'] },
          { match: {}, moments, channels: ['chat'] },
        ],
      },
      `channels.chat: its routes send only ${moments.slice(0, -1).join(', ')} and ${moments.at(-1)}`,
      'add "scheduled" to their "moments"',
    ],
  ),
])
