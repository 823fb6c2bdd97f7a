// A good configuration gets no warning, and neither does a setting that may be intended.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { adviseOn } from '../../functions/check/advice.ts'
import { readConfigWith } from '../../functions/config/config.ts'
import { routingKey } from '../support/world.ts'
import { adviceOn, all, byUsers, chat, fleets, team } from './advice-on.ts'

test('a good configuration gets no advice', () => {
  expect(adviceOn({})).toEqual([])
})

test('the example gets one: its address', () => {
  const text = readFileSync(
    new URL('../../infra/examples/full.config.json', import.meta.url),
    'utf8',
  )
  const advice = adviseOn(readConfigWith(text, {}, 'assumed').config)
  expect(advice).toEqual([expect.stringContaining('is the address of the example')])
  const own = text.replace('foghorn.example.com', 'foghorn.example.org')
  expect(adviseOn(readConfigWith(own, {}, 'assumed').config)).toEqual([])
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
        allowNetworks: ['127.0.0.0/8'],
        channels: {
          chat: { ...chat, url: 'https://127.0.0.1:9000/a' },
          team: { ...team, url: 'https://localhost:9000/b' },
        },
      },
    ],
    [
      'most types are ignored, or all of them for some VMs',
      {
        policy: [
          byUsers,
          { match: { eventType: ['Freeze', 'Reboot', 'Redeploy', 'Preempt'] }, decide: 'ignore' },
          { match: { tag: 'test' }, decide: 'ignore' },
        ],
      },
    ],
    [
      'everything is ignored, but for some VMs that people are asked about',
      {
        policy: [byUsers, { match: { tag: 'db' }, decide: 'ask' }, { match: {}, decide: 'ignore' }],
      },
    ],
    [
      'reminders where people may be asked',
      {
        policy: [byUsers, { match: { tag: 'web' }, decide: 'notify' }],
        routes: [{ ...all, remindBeforeSeconds: 300 }],
      },
    ],
    [
      'reminders of what says no source',
      {
        policy: [byUsers, { match: { source: 'Platform' }, decide: 'notify' }],
        routes: [{ ...all, remindBeforeSeconds: 300 }],
      },
    ],
    [
      'PagerDuty that only escalates',
      {
        channels: { chat: { kind: 'pagerduty', routingKey, fallback: 'team' }, team },
        routes: [
          { match: {}, channels: ['team'] },
          { match: {}, channels: ['chat'], moments: ['reminder'], remindBeforeSeconds: 300 },
        ],
      },
    ],
    [
      'one bot in two channels of Slack',
      {
        channels: {
          chat: {
            kind: 'slack',
            token: 'xoxb-bot-secret',
            channel: 'C0123456789',
            fallback: 'team',
          },
          team: {
            kind: 'slack',
            token: 'xoxb-bot-secret',
            channel: 'C9876543210',
            fallback: 'chat',
          },
        },
      },
    ],
  ])('%s', (_, changes) => {
    expect(adviceOn(changes)).toEqual([])
  })
})
