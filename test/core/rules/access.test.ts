// What the admin key and tokens may do, which fleets they see, and which tokens they may make.
import { describe, expect, test } from 'vitest'
import {
  type Access,
  describeAccess,
  type Grant,
  grantTo,
  listFleets,
  may,
  type Scope,
  scopes,
  seesFleet,
  seesToken,
  toDecider,
} from '../../../functions/core/rules/access.ts'

const admin: Access = { by: 'admin' }
const token = (own: Scope[], more: Partial<Grant> = {}): Access => {
  return { by: 'token', id: '4f0c', name: 'robot', scopes: own, ...more }
}
const configured = ['prod', 'test', 'lab']

describe('scopes', () => {
  test.each<[string, Access, Scope[]]>([
    ['the admin key', admin, ['read', 'decide', 'manage', 'calendar', 'report']],
    ['no scope', token([]), []],
    ['read', token(['read']), ['read', 'calendar']],
    ['decide', token(['decide']), ['read', 'decide', 'calendar']],
    ['manage', token(['manage']), ['read', 'manage', 'calendar']],
    ['decide and manage', token(['decide', 'manage']), ['read', 'decide', 'manage', 'calendar']],
    ['calendar', token(['calendar']), ['calendar']],
    ['report', token(['report']), ['report']],
  ])('%s', (_, access, allowed) => {
    expect(scopes.filter((scope) => may(access, scope))).toEqual(allowed)
  })
})

describe('fleets', () => {
  test.each<[string, Access, string[]]>([
    ['the admin key', admin, configured],
    ['a token for all', token(['read']), configured],
    ['a token for two', token(['read'], { fleets: ['lab', 'prod'] }), ['prod', 'lab']],
    ['a token for one that was removed', token(['read'], { fleets: ['old'] }), []],
    ['a token for none', token(['manage'], { fleets: [] }), []],
  ])('%s', (_, access, seen) => {
    expect(listFleets(access, configured)).toEqual(seen)
    for (const fleet of configured) expect(seesFleet(access, fleet)).toBe(seen.includes(fleet))
  })

  test('names are exact', () => {
    expect(seesFleet(token(['read'], { fleets: ['prod'] }), 'Prod')).toBe(false)
  })
})

describe('tokens of others', () => {
  const bound = token(['manage'], { fleets: ['prod', 'test'] })
  test.each<[string, Access, string[] | undefined, boolean]>([
    ['the admin key sees those for all fleets', admin, undefined, true],
    ['the admin key sees those for one', admin, ['prod'], true],
    ['a token for all sees those for all', token(['manage']), undefined, true],
    ['a bound one sees those for its fleets', bound, ['test', 'prod'], true],
    ['a bound one sees those for one of them', bound, ['test'], true],
    ['not those for all', bound, undefined, false],
    ['not those for another', bound, ['lab'], false],
    ['not those for one of its own and another', bound, ['prod', 'lab'], false],
  ])('%s', (_, access, fleets, seen) => {
    expect(seesToken(access, { fleets })).toBe(seen)
  })
})

describe('a new token', () => {
  const bound = token(['manage'], { fleets: ['prod', 'old'], expiresAt: 100 })
  const granted = (grant: Grant) => ({ outcome: 'granted', grant })

  test.each<[string, Access, Grant, ReturnType<typeof grantTo> | object]>([
    ['by the admin key: anything', admin, { scopes: ['manage'] }, granted({ scopes: ['manage'] })],
    [
      'in the order of scopes, each once',
      admin,
      { scopes: ['decide', 'read', 'decide'], fleets: ['lab', 'lab'], expiresAt: 5 },
      granted({ scopes: ['read', 'decide'], fleets: ['lab'], expiresAt: 5 }),
    ],
    [
      'by a token: scopes that it has, also by another',
      token(['manage']),
      { scopes: ['read', 'manage'] },
      granted({ scopes: ['read', 'manage'] }),
    ],
    [
      'not a scope that it lacks',
      token(['manage']),
      { scopes: ['read', 'decide'] },
      { outcome: 'scope_missing', scopes: ['decide'] },
    ],
    [
      'fleets and end left out: those of its maker',
      bound,
      { scopes: ['read'] },
      granted({ scopes: ['read'], fleets: ['prod', 'old'], expiresAt: 100 }),
    ],
    [
      'for fewer fleets, and a shorter time',
      bound,
      { scopes: ['read'], fleets: ['prod'], expiresAt: 99 },
      granted({ scopes: ['read'], fleets: ['prod'], expiresAt: 99 }),
    ],
    [
      'not for another fleet',
      bound,
      { scopes: ['read'], fleets: ['prod', 'test'] },
      { outcome: 'fleet_unknown', fleet: 'test' },
    ],
    [
      'not for a fleet that was removed',
      bound,
      { scopes: ['read'], fleets: ['old'] },
      { outcome: 'fleet_unknown', fleet: 'old' },
    ],
    [
      'not for a fleet that does not exist',
      admin,
      { scopes: ['read'], fleets: ['prud'] },
      { outcome: 'fleet_unknown', fleet: 'prud' },
    ],
    [
      'until the end of its maker',
      bound,
      { scopes: ['read'], expiresAt: 100 },
      granted({ scopes: ['read'], fleets: ['prod', 'old'], expiresAt: 100 }),
    ],
    [
      'not for longer',
      bound,
      { scopes: ['read'], expiresAt: 101 },
      { outcome: 'too_long', until: 100 },
    ],
    [
      'with an end, by a token without one',
      token(['manage']),
      { scopes: ['read'], expiresAt: 1e15 },
      granted({ scopes: ['read'], expiresAt: 1e15 }),
    ],
  ])('%s', (_, access, wish, outcome) => {
    expect(grantTo(access, wish, configured)).toEqual(outcome)
  })
})

test('the record of a decision names the token by id and name', () => {
  expect(toDecider(admin)).toEqual({ how: 'admin', who: 'admin' })
  expect(toDecider(token(['decide']))).toEqual({ how: 'token', who: '4f0c/robot' })
  expect([describeAccess(admin), describeAccess(token(['decide']))]).toEqual([
    'admin',
    'token:4f0c/robot',
  ])
})
