// Which rules match an event: whole names, known values, every VM for an approval.
import { describe, expect, test } from 'vitest'
import type { Facts } from '../../../functions/core/event/facts.ts'
import { type Match, matchEvent, matchesGlob } from '../../../functions/core/rules/match.ts'
import { judgePolicy, type PolicyRule, readBy } from '../../../functions/core/rules/policy.ts'
import { facts, record, sight } from '../../support/records.ts'

const web = (name: string) => sight(name, { tags: { env: 'prod', Team: 'Web' }, scaleSet: 'web' })
const known = [web('vm1'), web('vm2')]

describe('a glob', () => {
  test.each([
    ['vm1', 'vm1', true],
    ['vm1', 'vm10', false],
    ['vm1', 'avm1', false],
    ['VM1', 'vm1', true],
    ['vm?', 'vm1', true],
    ['vm?', 'vm10', false],
    ['vm*', 'vm', true],
    ['vm*', 'vm10', true],
    ['*', 'anything at all', true],
    ['*_0', 'web_0', true],
    ['*_0', 'web_00', false],
    ['w*b_*', 'web_0', true],
    ['web.0', 'web_0', false],
    ['web[0-9]', 'web1', false],
    ['web[0-9]', 'web[0-9]', true],
    ['(a|b)+', '(a|b)+', true],
    ['a\\b$^{}', 'a\\b$^{}', true],
    ['a*b', 'a\nb', true],
    ['', 'a', false],
    ['a**?b*', 'aabab', true],
    ['*ab*ab', 'abaab', true],
    // a matcher that tries every split never ends here
    ['*a'.repeat(20).concat('*b'), 'a'.repeat(256), false],
    ['*?'.repeat(20).concat('*!'), 'prod-weu-frontend-web-0000012', false],
  ])('%j and %j: %s', (glob, name, matches) => {
    expect(matchesGlob(glob, name)).toBe(matches)
  })
})

describe('a match', () => {
  const one = facts({ resources: ['vm1'], durationSeconds: 5 })
  test.each<[string, Match, Partial<Facts>, string]>([
    ['nothing asked', {}, {}, 'every'],
    ['its fleet', { fleet: ['prod'] }, {}, 'every'],
    ['another fleet', { fleet: ['test'] }, {}, 'none'],
    ['a fleet of another case, which is another fleet', { fleet: ['PROD'] }, {}, 'none'],
    ['one of a list', { fleet: ['test', 'prod'] }, {}, 'every'],
    ['its type, in any case', { eventType: ['reboot'] }, {}, 'every'],
    ['another type', { eventType: ['Freeze', 'Redeploy'] }, {}, 'none'],
    ['its source', { source: ['platform'] }, {}, 'every'],
    ['a source that is not known', { source: ['User'] }, { source: undefined as never }, 'none'],
    ['a short duration', { maxDurationSeconds: 9 }, {}, 'every'],
    ['exactly the maximum', { maxDurationSeconds: 5 }, {}, 'every'],
    ['too long', { maxDurationSeconds: 4.9 }, {}, 'none'],
    ['none at all', { maxDurationSeconds: 0 }, { durationSeconds: 0 }, 'every'],
    ['-1 is unknown, never short', { maxDurationSeconds: 9 }, { durationSeconds: -1 }, 'none'],
    ['not said', { maxDurationSeconds: 9 }, { durationSeconds: undefined as never }, 'none'],
    ['all that is asked', { fleet: ['prod'], eventType: ['Reboot'] }, {}, 'every'],
    ['one of two asked', { fleet: ['prod'], eventType: ['Freeze'] }, {}, 'none'],
    ['its name', { resource: ['VM1'] }, {}, 'every'],
    ['one of two VMs', { resource: ['vm1'] }, { resources: ['vm1', 'vm2'] }, 'some'],
    ['both VMs', { resource: ['vm1', 'vm2'] }, { resources: ['vm1', 'vm2'] }, 'every'],
    ['a longer name', { resource: ['vm1'] }, { resources: ['vm10'] }, 'none'],
    ['an unknown VM by its name', { resource: ['vm9'] }, { resources: ['vm9'] }, 'every'],
    ['a known tag', { tag: ['env=prod'] }, {}, 'every'],
    ['a tag by its name', { tag: ['TEAM'] }, {}, 'every'],
    ['a tag of another value', { tag: ['env=test'] }, {}, 'none'],
    ['a tag value of another case', { tag: ['team=web'] }, {}, 'none'],
    ['one tag of a list', { tag: ['x', 'env=prod'] }, {}, 'every'],
    ['a tag of a VM that is not known', { tag: ['env=prod'] }, { resources: ['vm9'] }, 'none'],
    ['one known, one not', { tag: ['env=prod'] }, { resources: ['vm1', 'vm9'] }, 'some'],
    ['name and tag of one VM', { resource: ['vm1'], tag: ['env=prod'] }, {}, 'every'],
    ['its group', { resourceGroup: ['RG'] }, {}, 'every'],
    ['its scale set', { scaleSet: ['web'] }, {}, 'every'],
    ['a group of an unknown VM', { resourceGroup: ['rg'] }, { resources: ['vm9'] }, 'none'],
    ['a VM, where none is named', { resource: ['*'] }, { resources: [] }, 'none'],
  ])('%s: %o', (_, match, change, extent) => {
    expect(matchEvent(match, 'prod', { ...one, ...change }, known)).toBe(extent)
  })

  test('a tag value may hold "="', () => {
    const vms = [sight('vm1', { tags: { a: 'b=c' } })]
    expect(matchEvent({ tag: ['a=b=c'] }, 'prod', one, vms)).toBe('every')
    expect(matchEvent({ tag: ['a=b'] }, 'prod', one, vms)).toBe('none')
  })

  test('two VMs of one name: neither is known', () => {
    const twins = [web('vm1'), { ...web('VM1'), beacon: 'twin' }]
    expect(matchEvent({ tag: ['env=prod'] }, 'prod', one, twins)).toBe('none')
    expect(matchEvent({ resource: ['vm1'] }, 'prod', one, twins)).toBe('every')
  })

  test('tags named like properties of every object', () => {
    expect(matchEvent({ tag: ['constructor'] }, 'prod', one, known)).toBe('none')
  })
})

describe('the policy', () => {
  const rules = (...decides: ['approve' | 'ask' | 'notify' | 'ignore', Match][]) =>
    decides.map(([decide, match], i) => ({ name: `rule ${i}`, match, decide }))
  const both = record({ facts: facts({ resources: ['vm1', 'vm2'] }) })

  test.each([
    ['no rule asks people', rules(), 'ask', 'default'],
    ['the first that matches decides', rules(['notify', {}], ['ignore', {}]), 'notify', 'rule 0'],
    ['approve needs every VM', rules(['approve', { resource: ['vm1'] }]), 'ask', 'default'],
    [
      'and passes on where it has not',
      rules(['approve', { resource: ['vm1'] }], ['notify', {}]),
      'notify',
      'rule 1',
    ],
    ['approve with every VM', rules(['approve', { resource: ['vm?'] }]), 'approve', 'rule 0'],
    ['ask needs one', rules(['ask', { resource: ['vm1'] }]), 'ask', 'rule 0'],
    ['tell needs one', rules(['notify', { resource: ['vm2'] }]), 'notify', 'rule 0'],
    ['ignore needs one', rules(['ignore', { resource: ['vm2'] }]), 'ignore', 'rule 0'],
    ['none matches', rules(['ignore', { resource: ['vm3'] }]), 'ask', 'default'],
  ])('%s', (_, policy, decide, rule) => {
    expect(judgePolicy(policy, both, known)).toEqual({ decide, rule })
  })

  test.each<[string, Partial<PolicyRule>[], object | undefined]>([
    ['nothing, if they read names', [{}, { match: { resource: ['vm1'] } }], undefined],
    ['the group', [{ match: { resourceGroup: ['rg'] } }], { resourceGroup: 'rg' }],
    ['the set', [{ match: { scaleSet: ['web'] } }], { scaleSet: 'web' }],
    ['its tag', [{ match: { tag: ['Env=prod'] } }], { tags: { env: 'prod' } }],
    ['a tag that it lacks', [{ match: { tag: ['zone=1'] } }], { tags: { zone: null } }],
    ['an earlier rule reads it, too', [{ match: { scaleSet: ['db'] } }, {}], { scaleSet: 'web' }],
    [
      'what a limit counts by, with another rule before',
      [{}, { maxConcurrent: 1 }],
      { resourceGroup: 'rg', scaleSet: 'web' },
    ],
  ])('of a VM, rules have read %s', (_, changes, read) => {
    const policy = changes.map((change, i) => {
      return { name: `rule ${i}`, match: {}, decide: 'approve' as const, ...change }
    })
    const vms = [{ ...web('vm1'), resourceGroup: 'rg' }]
    const last = policy.at(-1)!.name
    // a rule behind the one that decided reads nothing
    const all = [...policy, { ...policy[0]!, name: 'behind', match: { scaleSet: ['x'] } }]
    const expected = read === undefined ? [] : [{ name: 'vm1', ...read }]
    expect(readBy(all, last, ['VM1', 'vm9'], vms)).toEqual(expected)
  })

  test('approve by tag, only once every VM is known', () => {
    const policy = rules(['approve', { tag: ['env=prod'] }])
    expect(judgePolicy(policy, both, [web('vm1')]).decide).toBe('ask')
    expect(judgePolicy(policy, both, known).decide).toBe('approve')
    const mixed = [web('vm1'), sight('vm2', { tags: { env: 'test' } })]
    expect(judgePolicy(policy, both, mixed).decide).toBe('ask')
  })

  describe.each(['ask', 'notify', 'ignore'] as const)('after a rule that says %s', (decide) => {
    const hiding = (name: keyof Facts) => ({ [name]: undefined }) as Partial<Facts>
    const one = (changes: Partial<Facts> = {}) =>
      record({ facts: { ...facts({ resources: ['vm1'], durationSeconds: 60 }), ...changes } })
    const decided = (match: Match, event = one(), observers = known) =>
      judgePolicy(rules([decide, match], ['approve', {}], ['notify', {}]), event, observers)

    test.each<[string, Match, Partial<Facts>]>([
      ['source', { source: ['User'] }, hiding('source')],
      ['duration', { maxDurationSeconds: 9 }, hiding('durationSeconds')],
      ['tag', { tag: ['env=test'] }, { resources: ['vm9'] }],
      ['tag of one VM', { tag: ['env=test'] }, { resources: ['vm1', 'vm9'] }],
      ['group', { resourceGroup: ['other'] }, { resources: ['vm9'] }],
      ['scale set', { scaleSet: ['other'] }, { resources: ['vm9'] }],
      ['name, as no VM is named', { resource: ['vm9'] }, { resources: [] }],
    ])('an approval waits while this is unknown: %s', (_, match, unknown) => {
      expect(decided(match, one(unknown))).toEqual({ decide: 'ask', rule: 'default' })
      expect(decided(match)).toEqual({ decide: 'approve', rule: 'rule 1' })
    })

    test('what is certain without the VM does not wait', () => {
      const other = { tag: ['env=test'], eventType: ['Freeze'] }
      expect(decided(other, one({ resources: ['vm9'] })).decide).toBe('approve')
      expect(decided({ resource: ['db*'], tag: ['env'] }, one(), []).decide).toBe('approve')
      expect(decided({ maxDurationSeconds: 9 }, one({ durationSeconds: -1 })).decide).toBe(
        'approve',
      )
    })
  })

  test('an approval does not wait for another approving rule', () => {
    const policy = rules(['approve', { tag: ['env=test'] }], ['approve', {}])
    expect(judgePolicy(policy, both, []).rule).toBe('rule 1')
  })

  test.each(['Teleport', 'Unknown', 'reboot', ''])('type %j is never approved', (eventType) => {
    const odd = record({ facts: facts({ eventType }) })
    expect(judgePolicy(rules(['approve', {}]), odd, known).decide).toBe('ask')
    expect(judgePolicy(rules(['ignore', {}]), odd, known).decide).toBe('ignore')
  })
})
