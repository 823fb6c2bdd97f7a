// What is allowed and hardly meant: each kind of advice, and that a good configuration gets none.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { adviseOn } from '../../functions/advice/index.ts'
import { readConfig, readConfigWith, secretsOf } from '../../functions/config.ts'
import { baseConfig, hookSecret, routingKey } from '../support/world.ts'

const fleets = baseConfig.fleets as Record<string, object>
const chat = { kind: 'slack', url: 'https://slack.example/slack-secret', fallback: 'team' }
const team = { kind: 'teams', url: 'https://teams.example/teams-secret', fallback: 'chat' }
const byUsers = { match: { source: 'User' }, decide: 'approve' }
/** Nothing to say against it. */
const good = {
  publicUrl: 'https://foghorn.example',
  fleets: { prod: fleets.prod },
  channels: { chat, team },
  policy: [byUsers],
  routes: [{ match: {}, channels: ['chat', 'team'] }],
}
const all = { match: {}, channels: ['chat', 'team'] }

function adviceOn(changes: object): string[] {
  const config = readConfig(JSON.stringify({ ...good, ...changes }), {})
  const advice = adviseOn(config)
  for (const secret of secretsOf(config).filter((one) => one.length > 3)) {
    expect(advice.join('\n')).not.toContain(secret)
  }
  return advice
}

test('a good configuration gets no advice', () => {
  expect(adviceOn({})).toEqual([])
})

test('nor does the example', () => {
  const text = readFileSync(new URL('../../infra/example.config.json', import.meta.url), 'utf8')
  expect(adviseOn(readConfigWith(text, {}, 'taken_as_given').config)).toEqual([])
})

/** Changes to the good configuration, and parts of the only advice. */
type Row = [what: string, changes: object, ...said: string[]]

const onChannels: Row[] = [
  [
    'a channel that nothing names',
    {
      channels: {
        chat,
        team,
        hook: { kind: 'webhook', url: 'https://h.example', secret: hookSecret },
      },
    },
    'channels.hook: no route names it, and no fallback; name it in a route, or remove it',
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
    'channels.team.fallback: "twin" is the same address',
    'name a channel elsewhere',
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
    'channels.chat.fallback: "twin" is the same address',
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
    'publicUrl: "http://127.0.0.1:7071" is this machine alone',
    'messages to "chat"',
  ],
]

const onPolicy: Row[] = [
  [
    'no rule for what people ask Azure for',
    { policy: [] },
    'policy: events that somebody asked Azure for are not approved (Reboot in "prod", Redeploy in "prod": no rule',
    'delays what you ask it for by up to 15 minutes',
    'put { "match": { "source": "User" }, "decide": "approve" } first',
  ],
  [
    'a rule before it',
    { policy: [{ name: 'reboots', match: { eventType: 'Reboot' }, decide: 'tell' }, byUsers] },
    '(Reboot in "prod": policy[0] ("reboots") decides "tell")',
  ],
  [
    'a narrow rule before it',
    { policy: [{ match: { tag: 'db' }, decide: 'ask' }, byUsers] },
    'policy[0] decides "ask" for some',
  ],
  [
    'approved for some VMs only',
    { policy: [{ match: { source: 'User', tag: 'web' }, decide: 'approve' }] },
    'no rule matches all of them',
  ],
  [
    'a rule that is never reached',
    {
      policy: [
        byUsers,
        { name: 'mine', match: { source: 'user', eventType: 'Reboot' }, decide: 'ask' },
      ],
    },
    'policy[1] ("mine"): never reached: policy[0] matches all that it matches, and comes first',
    'put it before that one',
  ],
  [
    'approval without a limit',
    { policy: [{ match: {}, decide: 'approve' }] },
    'policy[0]: approves every Reboot, Redeploy, Preempt and Terminate, at any time',
    'maxDurationSeconds',
  ],
  [
    'approval of what the platform does',
    {
      policy: [
        byUsers,
        { match: { source: 'Platform', eventType: ['Freeze', 'Reboot'] }, decide: 'approve' },
      ],
    },
    'policy[1]: approves every Reboot, at any time',
  ],
  [
    'approval for some VMs',
    { policy: [byUsers, { match: { eventType: 'Redeploy', tag: 'web' }, decide: 'approve' }] },
    'policy[1]: approves every Redeploy of VMs that match its tag, at any time',
  ],
  [
    'a type that Azure does not have',
    { policy: [byUsers, { match: { eventType: 'Rebot' }, decide: 'tell' }] },
    'policy[1].match.eventType: Azure has no "Rebot" today',
    'did you mean "Reboot"?',
  ],
  [
    'a source that Azure does not have',
    { routes: [all, { match: { source: 'Usr' }, channels: ['chat'] }] },
    'routes[1].match.source: Azure has no "Usr" today',
    'did you mean "User"?',
  ],
]

const onRoutes: Row[] = [
  [
    'a type that nobody hears of',
    {
      routes: [
        { match: { eventType: ['Reboot', 'Redeploy', 'Terminate', 'Freeze'] }, channels: ['chat'] },
      ],
    },
    'routes: nobody hears when Preempt is scheduled in fleet "prod": no route matches',
    'such as { "match": {}, "channels": ["chat"] }',
  ],
  [
    'a source that nobody hears of',
    { routes: [{ match: { source: 'Platform' }, channels: ['chat'] }] },
    'Freeze (source User), Reboot (source User)',
  ],
  [
    'routes that tell later steps only',
    { routes: [{ match: {}, moments: ['completed'], channels: ['chat'] }] },
    'nobody hears when Freeze, Reboot, Redeploy, Preempt or Terminate is scheduled',
  ],
  [
    'routes with conditions only',
    { routes: [all, { match: { tag: 'a' }, channels: ['chat'] }].slice(1) },
    'routes: only routes with conditions on VMs or duration tell of Freeze, Reboot',
    'add a route without',
  ],
  [
    'a fleet that nobody hears of',
    { fleets, routes: [{ match: { fleet: 'prod' }, channels: ['chat'] }] },
    'nobody hears when Freeze, Reboot, Redeploy, Preempt or Terminate is scheduled in fleet "test"',
  ],
  [
    'a route that never tells',
    {
      routes: [
        { ...all, continue: false },
        { match: { tag: 'db' }, channels: ['chat'] },
      ],
    },
    'routes[1]: never tells: earlier routes match all of it and stop',
    'remove their "continue": false',
  ],
  [
    'a reminder as early as the event',
    { routes: [{ ...all, remindBeforeSeconds: [900, 300] }] },
    'routes[0].remindBeforeSeconds: 900 s is no later than Azure announces',
    'write less than 900',
  ],
  [
    'a reminder earlier than its type is announced',
    {
      routes: [
        all,
        { match: { eventType: 'Redeploy' }, channels: ['chat'], remindBeforeSeconds: 600 },
      ],
    },
    'announces Redeploy (about 600 s ahead)',
    'write less than 600',
  ],
  [
    'a reminder too early for one type of two',
    {
      routes: [
        all,
        {
          match: { eventType: ['Reboot', 'Redeploy'] },
          channels: ['chat'],
          remindBeforeSeconds: 700,
        },
      ],
    },
    'announces Redeploy (about 600 s ahead)',
    'name Redeploy in a route of its own',
  ],
  [
    'a reminder of Preempt',
    {
      routes: [
        all,
        { match: { eventType: 'Preempt' }, channels: ['chat'], remindBeforeSeconds: 30 },
      ],
    },
    'announces Preempt (about 30 s ahead)',
    'leave it out',
  ],
]

describe.each([
  ['channels', onChannels],
  ['policy', onPolicy],
  ['routes', onRoutes],
])('advice on %s', (_, rows) => {
  test.each(rows)('%s', (_, changes, ...said) => {
    const advice = adviceOn(changes)
    // nothing but what the change brings about
    expect(advice).toHaveLength(1)
    for (const part of said) expect(advice[0]).toContain(part)
  })
})

describe('no advice where it is not certain', () => {
  test.each<[string, object]>([
    [
      'two services of PagerDuty stand in for each other',
      {
        channels: {
          chat: { kind: 'pagerduty', routingKey, fallback: 'team' },
          team: { kind: 'pagerduty', routingKey: 'x'.repeat(32), fallback: 'chat' },
        },
      },
    ],
    [
      'an ignored type has no hearers',
      {
        policy: [byUsers, { match: { eventType: 'Preempt' }, decide: 'ignore' }],
        routes: [
          { match: { source: 'User' }, channels: ['team'] },
          {
            match: { eventType: ['Freeze', 'Reboot', 'Redeploy', 'Terminate'] },
            channels: ['chat'],
          },
        ],
      },
    ],
    [
      'two sources cover all',
      {
        routes: [
          { match: { source: 'User' }, channels: ['chat'] },
          { match: { source: 'Platform' }, channels: ['team'] },
        ],
      },
    ],
    ['a channel that is only a fallback', { routes: [{ match: {}, channels: ['chat'] }] }],
    [
      'approval of short events',
      {
        policy: [byUsers, { match: { maxDurationSeconds: 8 }, decide: 'approve' }],
      },
    ],
    [
      'a stop for one fleet',
      {
        fleets,
        routes: [{ match: { fleet: 'test' }, channels: ['team'], continue: false }, all],
      },
    ],
    [
      'a reminder that most types are in time for',
      {
        routes: [{ ...all, remindBeforeSeconds: [600] }],
      },
    ],
    [
      'loopback everywhere, to try it out',
      {
        publicUrl: 'http://127.0.0.1:7071',
        channels: {
          chat: { ...chat, url: 'https://127.0.0.1:9000/a' },
          team: { ...team, url: 'https://localhost:9000/b' },
        },
      },
    ],
  ])('%s', (_, changes) => {
    expect(adviceOn(changes)).toEqual([])
  })
})
