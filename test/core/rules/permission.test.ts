// Who may decide: every combination of routes and unknown values, and the properties that every
// configuration keeps. Each row says whether the link, Ann, Bea and Cid may decide.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Decider } from '../../../functions/core/event/event.ts'
import type { Facts } from '../../../functions/core/event/facts.ts'
import type { KnownVm } from '../../../functions/core/event/sight.ts'
import { type Match, matchVm } from '../../../functions/core/rules/match.ts'
import {
  decidesInMessage,
  isListed,
  judgePermission,
  listDeciders,
} from '../../../functions/core/rules/permission.ts'
import type { Route } from '../../../functions/core/rules/routes.ts'
import { facts, record, sight } from '../../support/records.ts'

const tenant = '1e6d2f1c-0a4b-4c57-9b1e-5c2f0d9a7e11'
const people: Record<string, Decider> = {
  link: { how: 'link', who: 'chat' },
  ann: { how: 'slack', who: 'T0TEAM/U0ANN' },
  bea: { how: 'entra', who: `${tenant}/aaaaaaaa-0000-4000-8000-00000000000b` },
  cid: { how: 'slack', who: 'T0TEAM/U0CID' },
}
const nameOf = (who: string) => `${people[who]!.how}:${people[who]!.who}`

/** A route in a few words: its approvers and its VMs. */
const by = (names: string, match: Match = {}, more: Partial<Route> = {}): Route => ({
  match,
  channels: ['chat'],
  ...(names === '' ? {} : { approvers: names.split(' ').map(nameOf) }),
  ...more,
})
const stop = { continue: false }
const db: Match = { tag: ['role=db'] }
const web: Match = { tag: ['role=web'] }
const tagged = (name: string, role: string) => sight(name, { tags: { role } })
const known = [tagged('db_0', 'db'), tagged('web_0', 'web')]

function mayDecide(routes: Route[], changes: Partial<Facts>, observers: KnownVm[] = known) {
  const event = record({ facts: facts({ resources: ['db_0'], ...changes }) })
  return Object.keys(people)
    .filter((who) => judgePermission(routes, event, observers, people[who]!) === 'allowed')
    .join(' ')
}

const everybody = 'link ann bea cid'

describe('one VM with known values', () => {
  test.each<[string, Route[], string]>([
    ['no route lists anybody', [by('')], everybody],
    ['a route that lists nobody at all', [{ ...by(''), approvers: [] }], ''],
    ['listed', [by('ann')], 'ann'],
    ['several on one list', [by('ann bea')], 'ann bea'],
    ['two routes that hold add up', [by('ann'), by('bea')], 'ann bea'],
    ['a route without a list frees nobody', [by(''), by('ann'), by('')], 'ann'],
    ['a list for other VMs', [by('ann', web)], everybody],
    ['a list for other VMs beside its own', [by('ann', web), by('bea', db)], 'bea'],
    ['of another fleet', [by('ann', { fleet: ['test'] })], everybody],
    ['of another type', [by('ann', { eventType: ['Freeze'] })], everybody],
    ['case does not matter', [by('ann', { resource: ['DB_0'], tag: ['ROLE=db'] })], 'ann'],
    ['a route that tells another moment', [by('ann', {}, { moments: ['started'] })], 'ann'],
    ['a route that ends the list', [by('ann', {}, stop), by('bea')], 'ann'],
    ['one that ends it without a list', [by('', {}, stop), by('bea')], everybody],
    [
      'one that ends another moment',
      [by('', {}, { ...stop, moments: ['started'] }), by('ann')],
      'ann',
    ],
    ['one that ends it for other VMs', [by('ann', web, stop), by('bea')], 'bea'],
    ['what stood before the end', [by('ann'), by('', {}, stop), by('bea')], 'ann'],
  ])('%s', (_, routes, who) => {
    expect(mayDecide(routes, {})).toBe(who)
  })
})

describe('several VMs: allowed for each of them', () => {
  const both = { resources: ['db_0', 'web_0'] }
  test.each<[string, Route[], string]>([
    ['one list for both', [by('ann')], 'ann'],
    ['a list for one of them', [by('ann', db)], 'ann'],
    ['a list for each, nobody on both', [by('ann', db), by('bea', web)], ''],
    ['a list for each, one on both', [by('ann bea', db), by('bea cid', web)], 'bea'],
    ['one for all, one for some', [by('cid'), by('ann', db)], 'cid'],
    ['a route that ends the list for one', [by('ann', db, stop), by('bea')], ''],
    ['freed for one, listed for the other', [by('', db, stop), by('bea')], 'bea'],
  ])('%s', (_, routes, who) => {
    expect(mayDecide(routes, both)).toBe(who)
    expect(mayDecide(routes, { resources: ['WEB_0', 'db_0', 'DB_0'] })).toBe(who)
  })
})

test.each<[string, Route[], boolean]>([
  ['by the only route', [by('ann')], true],
  ['not: another person is', [by('bea')], false],
  ['not: nobody is', [by('')], false],
  ['by a later route', [by('bea'), by('ann')], true],
  ['not behind a route that stops', [by('bea', {}, stop), by('ann')], false],
  ['by a route that stops', [by('bea'), by('ann', {}, stop), by('cid')], true],
  ['not by a route for one VM of two', [by('ann', db)], false],
  ['by a route for each VM', [by('ann', db), by('ann', web)], true],
  ['not by a route that may match', [by('ann', { tag: ['zone=1'] })], false],
])('Ann is on the list %s', (_, routes, listed) => {
  const event = record({ facts: facts({ resources: ['db_0', 'web_0'] }) })
  expect(isListed(routes, event, known, people.ann!)).toBe(listed)
})

describe('missing information never grants permission', () => {
  const silent: KnownVm[] = []
  const namesakes = [tagged('db_0', 'web'), sight('db_0', { beacon: 'id-2', tags: {} })]
  test.each<[string, Route[], string]>([
    ['a list that may hold', [by('ann', db)], 'ann'],
    ['two that may match: only approvers of both', [by('ann bea', db), by('bea cid', web)], 'bea'],
    ['two that may, nobody on both', [by('ann', db), by('bea', web)], ''],
    ['one that holds, one that may add', [by('ann', db), by('bea')], 'bea'],
    ['an end that may come first', [by('ann', db, stop), by('bea')], ''],
    ['an end that may come, on both lists', [by('ann', db, stop), by('ann bea')], 'ann'],
    ['an end without a list that may come', [by('', db, stop), by('bea')], 'bea'],
    ['one that may end what was asked', [by('ann'), by('', db, stop), by('bea')], 'ann'],
    ['by scale set', [by('ann', { scaleSet: ['x'] })], 'ann'],
    ['by resource group', [by('ann', { resourceGroup: ['x'] })], 'ann'],
    ['by a name that is another', [by('ann', { resource: ['x*'], ...db })], everybody],
  ])('a VM that is silent, or has a namesake: %s', (_, routes, who) => {
    expect(mayDecide(routes, {}, silent)).toBe(who)
    expect(mayDecide(routes, {}, namesakes)).toBe(who)
  })

  test.each<[string, Match, Partial<Facts>, string]>([
    ['the source', { source: ['Platform'] }, { source: undefined }, 'ann'],
    ['the duration', { maxDurationSeconds: 8 }, { durationSeconds: undefined }, 'ann'],
    [
      'both, of another type',
      { source: ['User'], eventType: ['Freeze'] },
      { source: undefined },
      everybody,
    ],
    [
      '-1 is known to be never short',
      { maxDurationSeconds: 8 },
      { durationSeconds: -1 },
      everybody,
    ],
    ['no VM named, any', {}, { resources: [] }, 'ann'],
    ['no VM named, by name', { resource: ['*'] }, { resources: [] }, 'ann'],
    ['no VM named, by tag', db, { resources: [] }, 'ann'],
  ])('unknown values of the event: %s', (_, match, changes, who) => {
    expect(mayDecide([by('ann', match)], changes as Partial<Facts>)).toBe(who)
  })
})

describe('the reason of a refusal', () => {
  const event = record()
  test.each<[string, Route[], Decider, string]>([
    ['a link, and no approvers', [by('')], people.link!, 'allowed'],
    ['a link, and approvers', [by('ann')], people.link!, 'identity_needed'],
    ['another person', [by('ann')], people.cid!, 'not_listed'],
    ['the same ids from elsewhere', [by('ann')], { ...people.ann!, how: 'entra' }, 'not_listed'],
    [
      'a channel named like a person',
      [by('ann')],
      { how: 'link', who: nameOf('ann') },
      'identity_needed',
    ],
    ['another team', [by('ann')], { how: 'slack', who: 'T0OTHER/U0ANN' }, 'not_listed'],
    [
      'another tenant',
      [by('bea')],
      { how: 'entra', who: people.bea!.who.replace('1e6', '2e6') },
      'not_listed',
    ],
    ['the admin key', [by('ann')], { how: 'admin', who: 'admin' }, 'allowed'],
    ['a token of the API', [by('ann')], { how: 'token', who: '4f0c/robot' }, 'allowed'],
    ['a rule', [by('ann')], { how: 'policy', who: 'policy[0]' }, 'allowed'],
  ])('%s', (_, routes, decider, permission) => {
    expect(judgePermission(routes, event, known, decider)).toBe(permission)
  })

  test('names all approvers, or anybody', () => {
    expect(listDeciders([by('')], event, known)).toBe('anybody')
    expect(listDeciders([by('ann bea'), by('cid', web)], event, [tagged('web_0', 'db')])).toEqual([
      nameOf('ann'),
      nameOf('bea'),
    ])
    expect(listDeciders([by('ann', db), by('bea', web)], event, [])).toEqual([])
  })
})

describe('properties', () => {
  const seed = 20_261_121
  const matches: fc.Arbitrary<Match> = fc.constantFrom(
    {},
    db,
    web,
    { resource: ['db*'] },
    { fleet: ['test'] },
  )
  const lists = fc.constantFrom('', '', 'ann', 'bea', 'ann bea', 'bea cid')
  const routes = fc.array(
    fc
      .record({ names: lists, match: matches, ends: fc.boolean() })
      .map(({ names, match, ends }) => by(names, match, ends ? stop : {})),
    { maxLength: 5 },
  )
  const vms = fc.uniqueArray(fc.constantFrom('db_0', 'web_0', 'x_0'), { minLength: 1 })
  const seen = fc.subarray([...known, tagged('x_0', 'db')])
  const set = (text: string) => new Set(text.split(' ').filter(Boolean))
  const common = ([first, ...rest]: Set<string>[]) =>
    new Set([...first!].filter((who) => rest.every((one) => one.has(who))))

  test('for several VMs, exactly those may decide who may for each', () => {
    fc.assert(
      fc.property(routes, vms, seen, (some, resources, observers) => {
        const each = resources.map((vm) => set(mayDecide(some, { resources: [vm] }, observers)))
        expect(set(mayDecide(some, { resources }, observers))).toEqual(common(each))
      }),
      { seed, numRuns: 500 },
    )
  })

  test('knowing less never permits more', () => {
    fc.assert(
      fc.property(routes, (some) => {
        const unknown = mayDecide(some, {}, []).split(' ').filter(Boolean)
        for (const role of ['db', 'web', 'other']) {
          const answer = mayDecide(some, {}, [tagged('db_0', role)])
          for (const who of unknown) expect(answer).toContain(who)
        }
      }),
      { seed, numRuns: 500 },
    )
  })

  /** Every way in which routes that ask for a tag may turn out: each holds, or it does not. */
  function worlds([first, ...rest]: Route[]): Route[][] {
    if (first === undefined) return [[]]
    const turns = first.match.tag ? [{}, { fleet: ['test'] }] : [first.match]
    return turns.flatMap((match) => worlds(rest).map((world) => [{ ...first, match }, ...world]))
  }

  test('while tags are not known, exactly those may whom every answer would permit', () => {
    fc.assert(
      fc.property(routes, (some) => {
        const answers = worlds(some).map((world) => set(mayDecide(world, {}, [])))
        expect(set(mayDecide(some, {}, []))).toEqual(common(answers))
      }),
      { seed, numRuns: 500 },
    )
  })

  test('one more list at the end never permits a link, and removes no approver', () => {
    fc.assert(
      fc.property(routes, matches, vms, seen, (some, match, resources, observers) => {
        const before = set(mayDecide(some, { resources }, observers))
        const after = set(mayDecide([...some, by('cid', match)], { resources }, observers))
        if (!before.has('link')) expect(after.has('link')).toBe(false)
        const withPlain = set(mayDecide([...some, by('', match)], { resources }, observers))
        expect(withPlain).toEqual(before)
      }),
      { seed, numRuns: 500 },
    )
  })

  test('if a link may decide, everybody may', () => {
    fc.assert(
      fc.property(routes, vms, seen, (some, resources, observers) => {
        const who = mayDecide(some, { resources }, observers)
        if (who.includes('link')) expect(who).toBe(everybody)
      }),
      { seed, numRuns: 500 },
    )
  })
})

describe('buttons in a channel', () => {
  const slack = { approveIn: 'slack' as const }
  const mixed = record({ facts: facts({ resources: ['db_0', 'web_0'] }) })
  test.each<[string, Route[], boolean]>([
    ['asked for', [by('', {}, slack)], true],
    ['not asked for', [by('')], false],
    ['on the page', [by('', {}, { approveIn: 'page' })], false],
    ['in another channel', [{ ...by('', {}, slack), channels: ['team'] }], false],
    ['for one VM of two', [by('', db, slack)], true],
    ['for none', [by('', { fleet: ['test'] }, slack)], false],
    ['after a route that ends the list', [by('', {}, stop), by('', {}, slack)], false],
    ['after one that ends it for some', [by('', db, stop), by('', {}, slack)], true],
    ['by the route that ends it', [by('', {}, { ...slack, ...stop })], true],
  ])('%s', (_, routes, decides) => {
    expect(decidesInMessage(routes, mixed, known, { channel: 'chat', approveIn: 'slack' })).toBe(
      decides,
    )
  })
})

test('a beacon without a name speaks for no VM', () => {
  const nameless = [sight('', { tags: { role: 'web' } })]
  const event = record({ facts: facts({ resources: [] }) })
  expect(matchVm(db, event, '', nameless)).toBe('unknown')
})
