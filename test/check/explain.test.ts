// Why a rule does not match. The explanation never contradicts the relay.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { whyNoMatch, whyNotDecided } from '../../functions/check/explain.ts'
import { decisions } from '../../functions/core/event/event.ts'
import { type Match, matchEvent } from '../../functions/core/rules/match.ts'
import { judgePolicy } from '../../functions/core/rules/policy.ts'
import { facts, record, sight } from '../support/records.ts'

const seed = 20_261_121
const known = [
  sight('web_1', { tags: { role: 'web' }, scaleSet: 'web' }),
  sight('db_1', { tags: { role: 'db' } }),
]
const on = (changes = {}) => record({ facts: facts({ resources: ['web_1'], ...changes }) })

describe('a rule does not match because', () => {
  test.each<[Match, object, string | undefined]>([
    [{}, {}, undefined],
    [{ fleet: ['test'] }, {}, 'fleet is "prod", not "test"'],
    [
      { eventType: ['Freeze', 'Redeploy'] },
      {},
      'eventType is "Reboot", none of "Freeze", "Redeploy"',
    ],
    [{ source: ['User'] }, {}, 'source is "Platform", not "User"'],
    [{ source: ['User'] }, { source: undefined }, 'source is unknown, not "User"'],
    [{ maxDurationSeconds: 8 }, { durationSeconds: 30 }, 'duration is 30 s, over 8'],
    [{ maxDurationSeconds: 8 }, { durationSeconds: -1 }, 'duration is unknown'],
    [{ resource: ['db_*'] }, {}, 'resource: no affected VM has "db_*"'],
    [{ resource: ['db_*'] }, { resources: [] }, 'resource: no VM is named'],
    [{ tag: ['role=db'] }, {}, 'tag: no affected VM has "role=db"'],
    [{ tag: ['whsec_hunter2'] }, {}, 'tag: no affected VM has (not shown, as it may be a secret)'],
    [
      { scaleSet: ['web'] },
      { resources: ['web_9'] },
      'scaleSet: no affected VM has "web" (some are unknown, because their beacons have not reported)',
    ],
    [
      { resource: ['web_*'], tag: ['role=db'] },
      { resources: ['web_1', 'db_1'] },
      'no single VM meets resource and tag at once',
    ],
    [
      { source: ['User'], eventType: ['Freeze'] },
      {},
      'source is "Platform", not "User"; eventType is "Reboot", not "Freeze"',
    ],
  ])('%o %o: %s', (match, changes, why) => {
    expect(whyNoMatch(match, on(changes), known)).toBe(why)
  })
})

describe('an approval does not hold because', () => {
  const approve = (match: Match) => ({ name: 'x', match, decide: 'approve' as const })
  test.each<[Match, object, string | undefined]>([
    [{ tag: ['role=web'] }, {}, undefined],
    [
      { tag: ['role=web'] },
      { resources: ['web_1', 'db_1'] },
      'approve must match every VM, and tag does not match "db_1"',
    ],
    [{}, { eventType: 'Teleport' }, 'no rule approves "Teleport", an unknown type'],
  ])('%o %o: %s', (match, changes, why) => {
    expect(whyNotDecided(approve(match), on(changes), known)).toBe(why)
  })
})

test('what is said agrees with what is judged', () => {
  const some = (...values: string[]) =>
    fc.option(fc.subarray(values, { minLength: 1 }), { nil: undefined })
  const match: fc.Arbitrary<Match> = fc.record({
    eventType: some('Reboot', 'Teleport'),
    source: some('User', 'Platform'),
    resource: some('web*', 'db_1'),
    scaleSet: some('web'),
    tag: some('role=web', 'role=db'),
    maxDurationSeconds: fc.option(fc.constant(5), { nil: undefined }),
  })
  const changes = fc.record({
    eventType: fc.constantFrom('Reboot', 'Teleport'),
    resources: fc.subarray(['web_1', 'web_2', 'db_1']),
    durationSeconds: fc.constantFrom(-1, 4, 9),
  })
  fc.assert(
    fc.property(match, fc.constantFrom(...decisions), changes, (match, decide, change) => {
      const event = on(change)
      const rule = { name: 'x', match, decide }
      const holds = judgePolicy([rule], event, known).rule === 'x'
      expect(whyNotDecided(rule, event, known) === undefined).toBe(holds)
      const matches = matchEvent(match, 'prod', event.facts, known) !== 'none'
      expect(whyNoMatch(match, event, known) === undefined).toBe(matches)
    }),
    { seed, numRuns: 2_000 },
  )
})
