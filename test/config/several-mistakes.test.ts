// Mistakes in the schema hide no others: unknown names and refused addresses are reported in the
// same run.
import { describe, expect, test } from 'vitest'
import { mistakesOf, withValue } from '../support/config.ts'

/** What is said of a configuration whose form is wrong as well. */
function saidOf(changes: object): string {
  return mistakesOf(JSON.stringify({ ...withValue('retentionDays', 5), ...changes }))
}

const { channels, routes } = withValue('retentionDays', 5)
const withHook = (changes: object) => ({
  channels: { ...channels, hook: { ...channels.hook, ...changes } },
})
const withRoute = (changes: object) => ({ routes: [{ ...routes[0], ...changes }] })

const others: [changes: object, said: string][] = [
  [withRoute({ channels: ['nowhere'] }), 'routes[0].channels[0]: there is no channel "nowhere"'],
  [withRoute({ match: { fleet: 'prud' } }), 'routes[0].match.fleet: there is no fleet "prud"'],
  [
    { policy: [{ match: { fleet: 'prud' }, decide: 'ask' }] },
    'policy[0].match.fleet: there is no fleet "prud"',
  ],
  [withHook({ url: 'http://hook.example' }), 'channels.hook.url: plain http'],
  [withHook({ fallback: 'nobody' }), 'channels.hook.fallback: there is no channel "nobody"'],
  [withRoute({ approveIn: 'slack' }), 'routes[0].approveIn: "slack" needs "slackApp"'],
  [withRoute({ approvers: ['slack:T0HOME/U0ADA'] }), 'routes[0].approvers: Slack users need'],
]

test.each(others)('%j beside a mistake of form', (changes, said) => {
  const message = saidOf(changes)
  expect(message).toContain('retentionDays: write at least 10')
  expect(message).toContain(said)
})

test('in the same channel and the same route as well', () => {
  const hook = { url: 'http://hook.example', secret: 'x', fallback: 'nobody' }
  const route = { match: { fleet: 'prud' }, channels: ['nowhere'], moments: 'all' }
  const message = saidOf({ ...withHook(hook), ...withRoute(route) })
  for (const path of [
    ...['channels.hook.secret: ', 'channels.hook.url: plain http', 'channels.hook.fallback: there'],
    ...['routes[0].moments: ', 'routes[0].channels[0]: there', 'routes[0].match.fleet: there'],
  ]) {
    expect(message).toContain(path)
  }
})

test('of one value there is one mistake, and nothing is compared with what is wrong', () => {
  expect(saidOf(withHook({ fallback: '' })).match(/channels\.hook\.fallback/g)).toHaveLength(1)
  const networks = saidOf({ ...withHook({ url: 'http://10.0.0.1' }), allowNetworks: ['x'] })
  expect(networks).not.toContain('channels.hook.url')
  const slak = { channels: { ...channels, chat: { ...channels.chat, kind: 'slak' } } }
  const message = saidOf({ ...slak, ...withRoute({ channels: ['chat'], approveIn: 'slack' }) })
  expect(message).not.toContain('needs a Slack channel')
})

describe('of one value one thing is said', () => {
  const either = 'write either "url", or "token" and "channel"; remove this or "url"'
  const found = '(found 100000000000000000000)'
  test.each<[string, unknown, string]>([
    [
      'routes.0.remindBeforeSeconds',
      1e20,
      `routes[0].remindBeforeSeconds: write at most 604800 ${found}`,
    ],
    ['retentionDays', 1e20, `retentionDays: write at most 3650 ${found}`],
    ['channels.chat.channel', '#ops', `channels.chat.channel: ${either}`],
    ['channels.chat.token', 'xoxb-1', `channels.chat.token: ${either}`],
  ])('%s: %j', (path, value, said) => {
    expect(mistakesOf(JSON.stringify(withValue(path, value)))).toBe(said)
  })
})
