// Whether one rule covers another, compared with how both match events.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isHidden, preempts } from '../../functions/check/cover.ts'
import { decisions } from '../../functions/core/event/event.ts'
import type { Match } from '../../functions/core/rules/match.ts'
import { judgePolicy, type PolicyRule } from '../../functions/core/rules/policy.ts'
import { channelsFor, type Route } from '../../functions/core/rules/routes.ts'
import { facts, record, sight } from '../support/records.ts'

const seed = 20_261_121
const fleets = ['prod', 'test']
const rule = (decide: PolicyRule['decide'], match: Match): PolicyRule => ({
  name: decide,
  match,
  decide,
})

describe('an earlier rule preempts a later one', () => {
  const ask = (match: Match) => rule('ask', match)
  test.each<[string, PolicyRule, PolicyRule, boolean]>([
    ['everything before something', ask({}), ask({ eventType: ['Reboot'] }), true],
    ['something before everything', ask({ eventType: ['Reboot'] }), ask({}), false],
    ['the same', ask({ tag: ['a=b'] }), ask({ tag: ['a=b'] }), true],
    [
      'a longer list',
      ask({ eventType: ['freeze', 'Reboot'] }),
      ask({ eventType: ['Reboot'] }),
      true,
    ],
    [
      'a shorter list',
      ask({ eventType: ['Reboot'] }),
      ask({ eventType: ['Reboot', 'Freeze'] }),
      false,
    ],
    ['all fleets by name', ask({ fleet: fleets }), ask({}), true],
    ['one fleet of two', ask({ fleet: ['prod'] }), ask({}), false],
    ['a fleet is its exact name', ask({ fleet: ['Prod'] }), ask({ fleet: ['prod'] }), false],
    ['both sources: it may be unknown', ask({ source: ['User', 'Platform'] }), ask({}), false],
    ['another key', ask({ source: ['User'] }), ask({ eventType: ['Reboot'] }), false],
    ['one of two keys', ask({ source: ['User'] }), ask({ source: ['user'], tag: ['a'] }), true],
    ['a longer duration', ask({ maxDurationSeconds: 9 }), ask({ maxDurationSeconds: 8 }), true],
    ['a shorter duration', ask({ maxDurationSeconds: 8 }), ask({ maxDurationSeconds: 9 }), false],
    ['a duration before none', ask({ maxDurationSeconds: 8 }), ask({}), false],
    ['a glob before a name', ask({ resource: ['web_*'] }), ask({ resource: ['WEB_1'] }), true],
    [
      'a glob before a narrower one',
      ask({ resource: ['web*'] }),
      ask({ resource: ['web_?'] }),
      true,
    ],
    ['a glob before another', ask({ resource: ['web_*'] }), ask({ resource: ['web*'] }), false],
    ['? before *', ask({ resource: ['web_?'] }), ask({ resource: ['web_*'] }), false],
    ['* before nothing: no VM may be named', ask({ resource: ['*'] }), ask({}), false],
    ['a tag before its value', ask({ tag: ['Role'] }), ask({ tag: ['role=db'] }), true],
    ['a value before its tag', ask({ tag: ['role=db'] }), ask({ tag: ['role'] }), false],
    ['another value', ask({ tag: ['role=db'] }), ask({ tag: ['role=DB'] }), false],
    ['a group', ask({ resourceGroup: ['RG'] }), ask({ resourceGroup: ['rg'] }), true],
    ['approve passes unknown types on', rule('approve', {}), ask({}), false],
    ['approve before a known type', rule('approve', {}), ask({ eventType: ['Reboot'] }), true],
    ['approve before an unknown type', rule('approve', {}), ask({ eventType: ['Rebot'] }), false],
    ['approve before approve', rule('approve', {}), rule('approve', {}), true],
    [
      'approve of every VM before a rule for one',
      rule('approve', { tag: ['a'] }),
      ask({ tag: ['a'], eventType: ['Reboot'] }),
      false,
    ],
    [
      'approve of every VM before the same',
      rule('approve', { tag: ['a'] }),
      rule('approve', { tag: ['a'] }),
      true,
    ],
    ['ask for one before every', ask({ tag: ['a'] }), rule('approve', { tag: ['a=b'] }), true],
  ])('%s', (_, earlier, later, certain) => {
    expect(preempts(earlier, later, fleets)).toBe(certain)
  })
})

describe('a route is hidden by earlier ones that stop', () => {
  const to = (more: Partial<Route> = {}): Route => ({ match: {}, channels: ['a'], ...more })
  const stop = (more: Partial<Route> = {}) => to({ continue: false, ...more })
  test.each<[string, Route[], Route, boolean]>([
    ['by none', [], to(), false],
    ['by one that goes on', [to()], to(), false],
    ['by one that stops', [stop()], to(), true],
    ['but not its reminders', [stop()], to({ remindBeforeSeconds: [60] }), false],
    [
      'with its reminders',
      [stop({ remindBeforeSeconds: [60, 300] })],
      to({ remindBeforeSeconds: [60] }),
      true,
    ],
    ['by one for other moments', [stop({ moments: ['started'] })], to(), false],
    ['in its only moment', [stop({ moments: ['started'] })], to({ moments: ['started'] }), true],
    [
      'by two together',
      [stop({ moments: ['started'] }), stop({ moments: ['lost'] })],
      to({ moments: ['lost', 'started'] }),
      true,
    ],
    ['by one of another fleet', [stop({ match: { fleet: ['test'] } })], to(), false],
    ['where it is narrower', [stop()], to({ match: { tag: ['a'] } }), true],
    [
      'never certainly by one about VMs',
      [stop({ match: { tag: ['a'] } })],
      to({ match: { tag: ['a'] } }),
      false,
    ],
  ])('%s', (_, earlier, later, hidden) => {
    expect(isHidden(later, earlier, fleets)).toBe(hidden)
  })
})

describe('what is certain holds for events', () => {
  const some = (...values: string[]) =>
    fc.option(fc.subarray(values, { minLength: 1 }), { nil: undefined })
  const match: fc.Arbitrary<Match> = fc.record({
    fleet: some('prod', 'test'),
    eventType: some('Reboot', 'freeze', 'Teleport'),
    source: some('User', 'Platform'),
    resource: some('*', 'web*', 'web_?', 'web_1', 'db_*'),
    tag: some('role', 'role=web', 'role=db'),
    maxDurationSeconds: fc.option(fc.constantFrom(5, 9), { nil: undefined }),
  })
  const event = fc.record({
    fleet: fc.constantFrom('prod', 'test'),
    eventType: fc.constantFrom('Reboot', 'Freeze', 'Teleport'),
    source: fc.constantFrom('User', 'Platform', ''),
    resources: fc.subarray(['web_1', 'web_22', 'db_1', 'x']),
    durationSeconds: fc.constantFrom(-1, 5, 7),
    known: fc.subarray(['web_1', 'web_22', 'db_1', 'x']),
  })
  const eventOf = ({
    fleet,
    known,
    ...changes
  }: typeof event extends fc.Arbitrary<infer T> ? T : never) => ({
    record: record({ fleet, facts: facts(changes) }),
    observers: known.map((name) => sight(name, { tags: { role: name.split('_')[0]! } })),
  })

  test('a preempted rule never decides', () => {
    const rules = fc.tuple(
      match,
      fc.constantFrom(...decisions),
      match,
      fc.constantFrom(...decisions),
    )
    let certain = 0
    fc.assert(
      fc.property(rules, event, ([first, one, second, other], happened) => {
        const policy = [
          { name: 'first', match: first, decide: one },
          { name: 'second', match: second, decide: other },
        ]
        if (!preempts(policy[0]!, policy[1]!, fleets)) return
        certain++
        const { record, observers } = eventOf(happened)
        expect(judgePolicy(policy, record, observers).rule).not.toBe('second')
      }),
      { seed, numRuns: 20_000 },
    )
    expect(certain).toBeGreaterThan(100)
  })

  test('a hidden route never tells', () => {
    let certain = 0
    fc.assert(
      fc.property(match, match, event, (first, second, happened) => {
        const earlier: Route = { match: first, channels: ['a'], continue: false }
        const later: Route = { match: second, channels: ['b'] }
        if (!isHidden(later, [earlier], fleets)) return
        certain++
        const { record, observers } = eventOf(happened)
        expect(channelsFor([earlier, later], record, observers, 'started', 0)).not.toContain('b')
      }),
      { seed, numRuns: 20_000 },
    )
    expect(certain).toBeGreaterThan(50)
  })
})
