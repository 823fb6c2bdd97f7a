// The states of a subscription, its secrets, and when it is disabled.
import { describe, expect, test } from 'vitest'
import type { Answered } from '../../../functions/core/delivery/delivery.ts'
import type { ChannelHealth } from '../../../functions/core/delivery/health.ts'
import {
  changedSubscription,
  consentedSubscription,
  disabledSubscription,
  idFor,
  maxFailingMs,
  newSubscription,
  pausedSubscription,
  planForSubscriptions,
  readFleet,
  resumedSubscription,
  roomReached,
  rotatedSecrets,
  type Subscription,
  secretsAt,
  seesSubscription,
  whyDisabled,
  whyKept,
  withNextPing,
} from '../../../functions/features/subscriptions/rule.ts'
import { at, notification } from '../../support/records.ts'

const url = 'https://cmdb.example/in'
const hour = 3_600_000
const day = 24 * hour
const fresh = newSubscription(
  { id: 'a', url, filter: {}, consent: 'ping', createdBy: 'admin' },
  's0',
  at,
)
const active = consentedSubscription(fresh, url, at + 1)
const off = disabledSubscription(active, 'gone', at + 2)
const still = pausedSubscription(active, 'admin', at + 2)

type Step = (before: Subscription) => Subscription
const consents: Step = (one) => consentedSubscription(one, url, at + 5)
const pauses: Step = (one) => pausedSubscription(one, 'admin', at + 5)
const resumes: Step = (one) => resumedSubscription(one, 'admin', at + 5)
const fails: Step = (one) => disabledSubscription(one, 'gone', at + 5)
const moves: Step = (one) => changedSubscription(one, { url: 'https://b.example/' }, at + 5)

const steps = { consents, pauses, resumes, fails, moves }

// The state after each step, and the number of pings.
test.each<[string, Subscription, Record<keyof typeof steps, string>]>([
  ['pending', fresh, after('active 1', 'paused 1', 'pending 1', 'disabled 1', 'pending 2')],
  ['active', active, after('active 1', 'paused 1', 'active 1', 'disabled 1', 'pending 2')],
  ['paused', still, after('paused 1', 'paused 1', 'active 1', 'disabled 1', 'paused 1')],
  [
    'paused before it consented',
    pausedSubscription(fresh, 'admin', at),
    after('paused 1', 'paused 1', 'pending 2', 'disabled 1', 'paused 1'),
  ],
  ['disabled', off, after('disabled 1', 'disabled 1', 'pending 2', 'disabled 1', 'disabled 1')],
])('%s', (_, before, expected) => {
  const copy = structuredClone(before)
  for (const [name, step] of Object.entries(steps)) {
    const { state, pings } = step(before)
    expect([name, `${state} ${pings}`]).toEqual([name, expected[name as keyof typeof steps]])
  }
  expect(before).toEqual(copy)
})

function after(consents: string, pauses: string, resumes: string, fails: string, moves: string) {
  return { consents, pauses, resumes, fails, moves }
}

test('a step that changes nothing returns the same, so nothing is written', () => {
  expect(consents(active)).toBe(active)
  expect(resumes(active)).toBe(active)
  expect(pauses(still)).toBe(still)
  expect(fails(off)).toBe(off)
})

test.each<[string, string[] | undefined, string[] | undefined, string]>([
  ['that it hears', undefined, ['test'], 'test'],
  ['of its maker', ['test'], undefined, 'test'],
  ['of both', ['lab', 'test'], ['test', 'prod'], 'test'],
  ['of its maker, if it hears none', ['test'], ['prod'], 'test'],
  ['of its maker, if that is not configured any more', ['gone'], undefined, 'gone'],
  ['of the configuration', undefined, undefined, 'prod'],
  ['of the configuration, if its filter knows none of them', undefined, ['gone'], 'prod'],
])('what is about the subscription itself belongs to a fleet %s', (_, bound, fleets, expected) => {
  const one = { ...fresh, bound, filter: { fleets } }
  expect(readFleet(one, ['prod', 'lab', 'test'])).toBe(expected)
})

test('consent counts for the address that was asked, once', () => {
  const moved = moves(active)
  expect(consentedSubscription(moved, url, at + 20)).toBe(moved)
  const again = consentedSubscription(moved, moved.url, at + 20)
  // what happened in between was kept for it
  expect([again.state, again.hearsSince]).toEqual(['active', at + 1])
  expect(resumes(moves(still)).state).toBe('pending')
})

test('hears moments once it consented, of the fleets of its maker', () => {
  const hears = (one: Subscription) =>
    planForSubscriptions(
      { allSubscribed: [one] },
      [{ id: 'x', notification: notification() }],
      at,
    ).map(({ state }) => state)
  expect(hears(fresh)).toEqual([])
  expect(hears(active)).toEqual(['pending'])
  expect(hears({ ...active, bound: ['test'] })).toEqual([])
  expect(hears({ ...active, bound: ['prod'], filter: { fleets: ['test'] } })).toEqual([])
  // what it misses is kept
  expect([...hears(still), ...hears(off)]).toEqual(['given_up', 'given_up'])
})

test('messages are kept unless it is active, pings only if it is disabled', () => {
  const ping = { ...notification(), moment: 'alert' as const, about: { ping: 'a' } }
  const states = [active, fresh, still, off]
  expect(states.map((one) => whyKept(one) === undefined)).toEqual([true, false, false, false])
  const pings = states.map((one) => whyKept(one, ping) === undefined)
  expect(pings).toEqual([true, true, true, false])
  // a test that was planned for an address that has consented
  const tests = { ...ping, about: { ...ping.about, tests: 'scheduled' as const } }
  const sent = states.map((one) => whyKept(one, tests) === undefined)
  expect(sent).toEqual([true, false, true, false])
})

test('old secrets sign for a day, and never more than four in all', () => {
  const once = rotatedSecrets(active, 's1', at)
  expect(secretsAt(once, at)).toEqual(['s1', 's0'])
  expect(secretsAt(once, at + day - 1)).toEqual(['s1', 's0'])
  expect(secretsAt(once, at + day)).toEqual(['s1'])
  const twice = rotatedSecrets(once, 's2', at + day / 2)
  expect(secretsAt(twice, at + day)).toEqual(['s2', 's1'])
  const often = ['s1', 's2', 's3', 's4', 's5'].reduce(
    (one, text) => rotatedSecrets(one, text, at),
    active,
  )
  expect(secretsAt(often, at)).toEqual(['s5', 's4', 's3', 's2'])
})

describe('an attempt disables it', () => {
  const answered = (status: number | undefined, later = 0) => {
    return { status, text: '', tookMs: 1, at: at + later }
  }
  const since = (state: ChannelHealth['state']) => ({ state, since: at }) as ChannelHealth
  const away = since('unreachable')
  test.each<[string, Subscription, Answered, ChannelHealth | undefined, boolean, triedMs?: number]>(
    [
      ['410', active, answered(410), undefined, true],
      ['410 to a ping', fresh, answered(410), undefined, true],
      ['404', active, answered(404), undefined, false],
      ['just failing', active, answered(503), since('unreachable'), false],
      ['almost 5 days', active, answered(503, maxFailingMs - 1), since('unreachable'), false],
      ['5 days', active, answered(503, maxFailingMs), since('unreachable'), true],
      [
        '5 days without any answer',
        active,
        answered(undefined, maxFailingMs),
        since('unreachable'),
        true,
      ],
      ['5 days, but paused', still, answered(503, maxFailingMs), since('unreachable'), false],
      [
        '5 days, but this is the first attempt since',
        active,
        answered(503, maxFailingMs),
        away,
        false,
        0,
      ],
      [
        '5 days after a redirect, and this is the first attempt since',
        ...[active, answered(503, maxFailingMs), since('refusing'), false, 0],
      ] as const,
      ['5 days of redirects', active, answered(301, maxFailingMs), since('refusing'), true, 0],
      ['it works again', active, answered(503, maxFailingMs), since('ok'), false],
    ],
  )('%s', (_, one, answer, health, isDisabled, triedMs = hour) => {
    const outcome = answer.status === 301 ? 'refused' : 'retry'
    const why = whyDisabled(one, outcome, answer, health, answer.at - triedMs)
    expect(why !== undefined).toBe(isDisabled)
  })
})

test('a bound token sees those of its fleets, and cannot take all the room', () => {
  const maker = { by: 'token', id: 't', name: 'n', scopes: ['manage'], fleets: ['prod'] } as const
  const access = { ...maker, scopes: ['manage' as const], fleets: ['prod'] }
  const sees = (bound?: string[]) => seesSubscription(access, { bound })
  expect([sees(['prod']), sees(['prod', 'test']), sees(['test']), sees()]).toEqual([
    ...[true, false, false, false],
  ])
  const many = (count: number, bound?: string[]) => Array(count).fill({ bound })
  expect(roomReached(access, many(49, ['prod']))).toBe(undefined)
  expect(roomReached(access, many(50, ['prod']))).toBe(50)
  expect(roomReached(access, many(50, ['test']))).toBe(undefined)
  expect(roomReached({ by: 'admin' }, many(199))).toBe(undefined)
  expect(roomReached({ by: 'admin' }, many(200))).toBe(200)
})

test('the same key of the same maker names one subscription', () => {
  expect(idFor('admin', 'k')).toMatch(/^[0-9a-f]{16}$/)
  expect(idFor('admin', 'k')).toBe(idFor('admin', 'k'))
  expect(new Set([idFor('admin', 'k'), idFor('admin', 'l'), idFor('token:a', 'k')]).size).toBe(3)
  expect(withNextPing(active).pings).toBe(2)
})
