// Which channels are notified of a moment: each matching route adds its own, until one says
// `continue: false`.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../../functions/core/delivery/delivery.ts'
import type { EventRecord } from '../../../functions/core/event/event.ts'
import { type Moment, moments } from '../../../functions/core/event/moment.ts'
import type { KnownVm } from '../../../functions/core/event/sight.ts'
import { type Match, matchEvent } from '../../../functions/core/rules/match.ts'
import * as rules from '../../../functions/core/rules/routes.ts'
import { channelsRouted, type Route } from '../../../functions/core/rules/routes.ts'
import { at, delivery, facts, notification, record, sight } from '../../support/records.ts'

const seed = 20_261_121
const tagged = (name: string, role: string) => sight(name, { tags: { role } })
const known = [tagged('db_0', 'db'), tagged('web_0', 'web')]
const hitting = (...resources: string[]) => record({ facts: facts({ resources }) })
const onDb = hitting('db_0')
const onBoth = hitting('db_0', 'web_0')

/** At a time that no route of these tests depends on. */
function channelsFor(
  routes: Route[],
  of: EventRecord,
  vms: KnownVm[],
  moment: Moment,
  existing?: Delivery[],
): string[] {
  return rules.channelsFor(routes, of, vms, moment, at, existing)
}

/** A route by a few words: its channels, and what differs from one that takes everything. */
const to = (channels: string, more: Partial<Route> = {}): Route => ({
  match: {},
  channels: channels.split(' '),
  ...more,
})
const stop = { continue: false }
const db: Match = { tag: ['role=db'] }
const other: Match = { fleet: ['test'] }

describe('every route that matches adds its channels', () => {
  const routes = [
    to('a b'),
    to('c a', { moments: ['started'] }),
    to('d', { match: { resource: ['other'] } }),
    to('e b', { match: db }),
  ]
  test('each once, in the order of the configuration', () => {
    expect(channelsFor(routes, onDb, known, 'scheduled')).toEqual(['a', 'b', 'e'])
    expect(channelsFor(routes, onDb, known, 'started')).toEqual(['a', 'b', 'c', 'e'])
    expect(channelsFor(routes, onDb, [], 'started')).toEqual(['a', 'b', 'c'])
  })
})

describe('a route that says continue: false', () => {
  test.each<[string, Route[], EventRecord, string]>([
    ['nothing said: all', [to('a'), to('b')], onDb, 'a b'],
    ['true says no more than nothing', [to('a', { continue: true }), to('b')], onDb, 'a b'],
    ['hides later ones', [to('a', stop), to('b'), to('c')], onDb, 'a'],
    ['leaves earlier ones', [to('a'), to('b', stop), to('c')], onDb, 'a b'],
    ['as the last one hides nothing', [to('a'), to('b', stop)], onDb, 'a b'],
    ['the first of two counts', [to('a', stop), to('b', stop), to('c')], onDb, 'a'],
    ['that does not match', [to('a', { match: other, ...stop }), to('b')], onDb, 'b'],
    ['that wants this moment', [to('a', { moments: ['scheduled'], ...stop }), to('b')], onDb, 'a'],
    ['that wants another', [to('a', { moments: ['started'], ...stop }), to('b')], onDb, 'b'],
    ['all its channels hear', [to('a b', stop), to('c')], onDb, 'a b'],
    ['a channel of both hears', [to('a', stop), to('a b')], onDb, 'a'],
    ['a later one that stops, too, is hidden', [to('a', stop), to('b', stop)], onDb, 'a'],
    ['about the VM that is hit', [to('a', { match: db, ...stop }), to('b')], onDb, 'a'],
    ['about one VM of two', [to('a', { match: db, ...stop }), to('b')], onBoth, 'a b'],
    [
      'about all that are hit',
      [to('a', { match: { tag: ['role'] }, ...stop }), to('b')],
      onBoth,
      'a',
    ],
    [
      'about a VM that no beacon speaks for',
      [to('a', { match: db, ...stop }), to('b')],
      hitting('db_9'),
      'b',
    ],
    [
      'about a VM and one that no beacon speaks for',
      [to('a', { match: db, ...stop }), to('b')],
      hitting('db_0', 'db_9'),
      'a b',
    ],
    [
      'by name, where no beacon has to speak',
      [to('a', { match: { resource: ['db_*'] }, ...stop }), to('b')],
      hitting('db_9'),
      'a',
    ],
  ])('%s', (_, routes, event, channels) => {
    expect(channelsFor(routes, event, known, 'scheduled').join(' ')).toBe(channels)
  })
})

describe('reminders and continue: false', () => {
  const reminding = (channels: string, seconds: number[], more: Partial<Route> = {}) =>
    to(channels, { moments: ['reminder'], remindBeforeSeconds: seconds, ...more })
  const due = (...seconds: number[]) =>
    record({
      reminders: {
        passed: [],
        last: { beforeSeconds: seconds.at(-1)!, due: seconds, late: false },
      },
    })

  test.each<[string, Route[], EventRecord, string]>([
    ['of one distance', [reminding('a', [600], stop), reminding('b', [600])], due(600), 'a'],
    [
      'another distance is another moment',
      [reminding('a', [600], stop), reminding('b', [300])],
      due(300),
      'b',
    ],
    [
      'two that come due together: none is lost',
      [reminding('a', [600], stop), reminding('b', [300])],
      due(600, 300),
      'a b',
    ],
    [
      'two that come due together: what each hides stays hidden',
      [reminding('a', [600], stop), reminding('b', [600]), reminding('c', [300])],
      due(600, 300),
      'a c',
    ],
    [
      'a route without reminders does not stop them',
      [to('a', stop), reminding('b', [600])],
      due(600),
      'b',
    ],
    [
      'a route that reminds stops only there',
      [reminding('a', [600], stop), to('b', { remindBeforeSeconds: [300] })],
      due(300),
      'b',
    ],
    ['none is due', [reminding('a', [600], stop)], record(), ''],
  ])('%s', (_, routes, event, channels) => {
    expect(channelsFor(routes, event, known, 'reminder').join(' ')).toBe(channels)
  })

  test('a late reminder is for channels that were not asked, but not for hidden ones', () => {
    const late = record({
      reminders: { passed: [], last: { beforeSeconds: 600, due: [600], late: true } },
    })
    const routes = [to('a', { moments: ['scheduled'], ...stop }), to('b', { moments: ['started'] })]
    const both = { ...reminding('a b c', [600]) }
    expect(channelsFor([...routes, both], late, known, 'reminder')).toEqual(['b', 'c'])
    const all = [...routes, to('c'), both]
    expect(channelsFor(all, late, known, 'reminder')).toEqual(['b', 'c'])
  })
})

describe('a channel that was notified before the VMs were known keeps getting messages', () => {
  const routes = [
    to('dba', { match: db, ...stop }),
    to('ops'),
    to('log', { moments: ['completed'] }),
  ]
  const told = (channel: string, changes = {}) =>
    delivery(channel, { channel, notification: notification({ event: onDb, ...changes }) })

  test('ops was asked before the beacon of the VM reported, and is notified of the end', () => {
    expect(channelsFor(routes, onDb, [], 'scheduled')).toEqual(['ops'])
    const existing = [told('ops')]
    expect(channelsFor(routes, onDb, known, 'completed', existing)).toEqual(['dba', 'ops'])
    expect(channelsFor(routes, onDb, known, 'completed')).toEqual(['dba'])
  })

  test('not in another epoch', () => {
    const existing = [told('ops', { event: { ...onDb, epoch: 2 } })]
    expect(channelsFor(routes, onDb, known, 'completed', existing)).toEqual(['dba'])
  })

  test('not of a step that the owner hides', () => {
    const ends = [to('log', { moments: ['completed'], ...stop }), to('ops')]
    expect(channelsFor(ends, onDb, known, 'completed', [told('ops')])).toEqual(['log'])
  })

  test('an alert about a channel is not a message about the event', () => {
    const about = { channel: 'x', moment: 'scheduled' as const, state: 'refused', reason: '' }
    const alert = { moment: 'alert' as const, at: 0, event: onDb, about }
    const existing = [delivery('n', { channel: 'ops', notification: alert })]
    expect(channelsFor(routes, onDb, known, 'completed', existing)).toEqual(['dba'])
  })
})

describe('a channel that a route has notified keeps getting its messages', () => {
  const freezes = to('ops', { match: { eventType: ['Freeze'] } })
  const frozen = record({ facts: facts({ resources: ['db_0'], eventType: 'Freeze' }) })
  const redeployed = record({ facts: facts({ resources: ['db_0'], eventType: 'Redeploy' }) })
  const first = (channel: string, changes = {}) =>
    delivery(channel, { channel, notification: notification({ event: frozen, ...changes }) })
  const later = (routes: Route[], moment: Moment, existing = [first('ops')]) =>
    channelsFor(routes, redeployed, known, moment, existing)

  test('after Azure changed the type', () => {
    expect(channelsFor([freezes], frozen, known, 'scheduled')).toEqual(['ops'])
    expect(later([freezes], 'changed')).toEqual(['ops'])
    expect(later([freezes], 'completed')).toEqual(['ops'])
    expect(later([freezes], 'completed', [])).toEqual([])
  })

  test('after a second VM with the same name reported other tags', () => {
    const routes = [to('dba', { match: db })]
    const twins = [...known, sight('db_0', { beacon: 'other', tags: {} })]
    const existing = [first('dba', { event: onDb })]
    expect(channelsFor(routes, onDb, twins, 'scheduled')).toEqual([])
    expect(channelsFor(routes, onDb, twins, 'completed', existing)).toEqual(['dba'])
  })

  test('only of moments that its routes name', () => {
    const asked = { ...freezes, moments: ['scheduled' as const] }
    expect(later([asked], 'completed')).toEqual([])
    const reminded = { ...freezes, remindBeforeSeconds: [600] }
    const due = (seconds: number) => ({
      ...redeployed,
      reminders: { passed: [], last: { beforeSeconds: seconds, due: [seconds], late: false } },
    })
    expect(channelsFor([reminded], due(600), known, 'reminder', [first('ops')])).toEqual(['ops'])
    expect(channelsFor([reminded], due(300), known, 'reminder', [first('ops')])).toEqual([])
  })

  test('not of moments of its other routes, while the first one matches', () => {
    const routes = [to('ops', { moments: ['scheduled'] }), freezes]
    expect(later(routes, 'completed')).toEqual([])
  })

  test.each([
    ['a fallback', { insteadOf: 'x' }],
    ['a decision, as an open incident gets it', { moment: 'approved' }],
    ['a reminder, which depends on its distance', { moment: 'reminder' }],
  ])('a message as %s is no reason', (_, changes) => {
    expect(later([freezes], 'completed', [first('ops', changes)])).toEqual([])
  })
})

describe('for any routes', () => {
  const names = fc.constantFrom('a', 'b', 'c', 'd')
  const matches = fc.constantFrom<Match>({}, db, other, { tag: ['role'] }, { resource: ['web_*'] })
  const route = (stops: fc.Arbitrary<boolean | undefined>): fc.Arbitrary<Route> =>
    fc.record({
      match: matches,
      channels: fc.array(names, { minLength: 1, maxLength: 2 }),
      moments: fc.option(fc.subarray([...moments], { minLength: 1 }), { nil: undefined }),
      remindBeforeSeconds: fc.option(fc.subarray([600, 300, 60], { minLength: 1 }), {
        nil: undefined,
      }),
      continue: stops,
    })
  const reminder = fc.record({
    beforeSeconds: fc.constant(60),
    due: fc.subarray([600, 300, 60], { minLength: 1 }),
    late: fc.boolean(),
  })
  const events = fc.record({
    resources: fc.subarray(['db_0', 'web_0', 'x_0'], { minLength: 1 }),
    reminder: fc.option(reminder, { nil: undefined }),
    moment: fc.constantFrom(...moments),
  })
  type Case = { resources: string[]; reminder: EventRecord['reminders']['last'] }
  const eventOf = ({ resources, reminder }: Case) => ({
    ...hitting(...resources),
    ...(reminder && { reminders: { passed: [], last: reminder } }),
  })

  test('without continue: false nothing is hidden', () => {
    const routes = fc.array(route(fc.constantFrom(undefined, true)), { maxLength: 5 })
    fc.assert(
      fc.property(routes, events, (routes, { moment, ...rest }) => {
        const event = eventOf(rest)
        const all = (wanted: string) =>
          routes.filter(
            ({ match, moments, remindBeforeSeconds }) =>
              (moments === undefined || moments.some((one) => one === wanted)) &&
              (wanted !== 'reminder' ||
                remindBeforeSeconds?.some((one) => event.reminders.last?.due.includes(one))) &&
              matchEvent(match, event.fleet, event.facts, known) !== 'none',
          )
        const channels = new Set(all(moment).flatMap((one) => one.channels))
        if (moment === 'reminder' && event.reminders.last?.late) {
          for (const name of all('scheduled').flatMap((one) => one.channels)) channels.delete(name)
        }
        expect(channelsFor(routes, event, known, moment)).toEqual([...channels])
      }),
      { seed, numRuns: 1_000 },
    )
  })

  test('continue: false only removes channels, and never all', () => {
    const routes = fc.array(route(fc.constantFrom(undefined, false)), { maxLength: 5 })
    fc.assert(
      fc.property(routes, events, (routes, { moment, ...rest }) => {
        const event = eventOf({
          ...rest,
          reminder: rest.reminder && { ...rest.reminder, late: false },
        })
        const open = routes.map((one) => ({ ...one, continue: true }))
        const all = channelsFor(open, event, known, moment)
        const some = channelsFor(routes, event, known, moment)
        expect(all).toEqual(expect.arrayContaining(some))
        expect(some.length > 0).toBe(all.length > 0)
      }),
      { seed, numRuns: 1_000 },
    )
  })

  test('nothing that the relay learns removes a channel that was notified', () => {
    const routes = fc.array(route(fc.constantFrom(undefined, false)), { maxLength: 5 })
    const observers = fc.constantFrom([], known, [tagged('db_0', 'web'), tagged('web_0', 'db')])
    fc.assert(
      fc.property(routes, events, observers, observers, (routes, rest, before, after) => {
        const event = eventOf({ ...rest, reminder: undefined })
        const open = routes.map((one) => ({ ...one, moments: undefined }))
        const first = channelsFor(open, event, before, 'scheduled')
        const existing = first.map((channel) =>
          delivery(channel, { channel, notification: notification({ event }) }),
        )
        const later = channelsFor(open, event, after, 'completed', existing)
        expect(later).toEqual(expect.arrayContaining(first))
      }),
      { seed, numRuns: 1_000 },
    )
  })
})

describe('the channels of some fleets', () => {
  const routes = [
    to('all'),
    to('p q', { match: { fleet: ['prod'] } }),
    to('t', { match: { fleet: ['test', 'lab'] } }),
  ]
  const channels = {
    all: {},
    p: { fallback: 'first' },
    q: {},
    t: { fallback: 'p' },
    first: { fallback: 'second' },
    second: { fallback: 'first' },
    unused: { fallback: 'all' },
  }
  test.each([
    [['prod'], 'all p q first second'],
    [['lab'], 'all t p first second'],
    [['test', 'prod'], 'all p q t first second'],
    [['other'], 'all'],
    [[], ''],
  ])('%j: those that routes name, and their fallbacks', (fleets, names) => {
    expect(channelsRouted(routes, channels, fleets).join(' ')).toBe(names)
  })
})
