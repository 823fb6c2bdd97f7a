// Who is notified of each moment: the channels of the routes, fallbacks, and channels with an open
// incident.
import { describe, expect, test } from 'vitest'
import type { ChannelFacts } from '../../../functions/core/delivery/audience.ts'
import { commitPlan } from '../../../functions/core/delivery/commit.ts'
import type { Delivery } from '../../../functions/core/delivery/delivery.ts'
import { type Moment, moments } from '../../../functions/core/event/moment.ts'
import type { Route } from '../../../functions/core/rules/routes.ts'
import { at, delivery, type Fields, notification, record } from '../../support/records.ts'

const routes: Route[] = [{ match: {}, channels: ['routed'], remindBeforeSeconds: [300] }]
const reminder = { beforeSeconds: 300, due: [300], late: false }

/** `pager` opens incidents. `removed` is no longer in the configuration. */
const channels: ChannelFacts = {
  takes: (name) => {
    if (name === 'removed') return undefined
    return name.includes('pager') ? 'incident' : name === 'hook' ? 'every' : 'newest'
  },
  fallbackOf: (name) => ({ chat: 'mail', mail: 'pager' })[name],
  sinks: [],
}

const heard = (channel: string, changes: Partial<Delivery> = {}) =>
  delivery(channel, { channel, state: 'delivered', attempts: 1, ...changes })
const insteadOf = (channel: string, changes: Partial<Delivery> = {}) =>
  heard(channel, { notification: notification({ insteadOf: 'routed' }), ...changes })

function hearers(
  moment: Moment,
  deliveries: Delivery[],
  { before = {}, after = {} }: { before?: Fields; after?: Fields } = {},
  given: Route[] = routes,
): string[] {
  const decided = {
    record: record({ reminders: { passed: [], last: reminder }, ...before, ...after }),
    moments: [moment],
  }
  const context = {
    deliveries,
    now: at,
    listeningSince: 0,
    subscriptions: [],
  }
  const plan = commitPlan(given, channels, record(before), decided, context)
  return plan.deliveries.map(({ channel }) => channel).sort()
}

describe('each moment', () => {
  const earlier = [
    heard('pager'),
    insteadOf('reached'),
    insteadOf('refused', { state: 'refused', attempts: 2 }),
  ]
  const usual = ['reached', 'routed']
  const closing = ['pager', 'reached', 'refused', 'routed']
  test.each<[Moment, string[]]>([
    ['scheduled', usual],
    ['changed', usual],
    ['not_ready', usual],
    ['reminder', ['routed']],
    ['approved', closing],
    ['declined', closing],
    ['stuck', usual],
    ['started', usual],
    ['completed', closing],
    ['cancelled', closing],
    ['lost', closing],
  ])('%s', (moment, expected) => {
    expect(hearers(moment, earlier)).toEqual(expected)
  })

  test('is in this table', () => {
    expect(moments).toHaveLength(11)
  })
})

test('the end of an expired approval also goes to open incidents', () => {
  const expire = {
    after: {
      overruled: [
        { decision: 'approved' as const, how: 'admin' as const, who: 'admin', at, expiredAt: at },
      ],
    },
  }
  expect(hearers('changed', [heard('pager')], expire)).toEqual(['pager', 'routed'])
})

test('a change brings "scheduled" to a channel of a route that matches only now', () => {
  const moments: Moment[] = ['scheduled', 'completed']
  const reboots: Route[] = [
    ...routes,
    { match: { eventType: ['Reboot'] }, moments, channels: ['reboots'] },
  ]
  const changed = (deliveries: Delivery[]) => {
    const decided = {
      record: record({ notified: { epoch: 1, count: 2, last: '' } }),
      moments: ['changed' as const],
    }
    const before = record({ facts: { ...decided.record.facts, eventType: 'Freeze' } })
    const context = {
      deliveries,
      now: at,
      listeningSince: 0,
      subscriptions: [],
    }
    const { deliveries: sent, moments } = commitPlan(reboots, channels, before, decided, context)
    expect(moments.map(({ notification }) => notification.moment)).toEqual(['changed'])
    return sent.map(({ channel, notification }) => [channel, notification.moment])
  }
  const both = [
    ['routed', 'changed'],
    ['reboots', 'scheduled'],
  ]
  expect(changed([heard('routed')])).toEqual(both)
  expect(changed([])).toEqual(both)
  expect(changed([heard('reboots')])).toEqual(both.slice(0, 1))
})

test('if a notified channel is gone, all incident channels of the routes count', () => {
  const renamed: Route[] = [{ match: {}, moments: ['started'], channels: ['new-pager'] }]
  expect(hearers('completed', [heard('removed')], {}, renamed)).toEqual(['new-pager'])
  expect(hearers('completed', [heard('routed')], {}, renamed)).toEqual([])
})

test('and so do the fallbacks of notified channels, and their fallbacks', () => {
  expect(hearers('completed', [heard('chat'), heard('removed')])).toEqual(['pager', 'routed'])
})

test('a fallback message of an earlier epoch does not count', () => {
  const old = insteadOf('reached', { notification: notification({ insteadOf: 'routed' }) })
  expect(hearers('started', [old], { before: { epoch: 2 } })).toEqual(['routed'])
})

describe('an event that a rule ignores', () => {
  const ignored = { before: { policy: { decide: 'ignore' as const, rule: 'quiet' } } }

  test('notifies only channels that know of it of the end', () => {
    expect(hearers('completed', [heard('routed')], ignored)).toEqual(['routed'])
    expect(hearers('completed', [], ignored)).toEqual([])
  })

  test.each(['scheduled', 'started', 'changed'] as const)('%s is not sent', (moment) => {
    expect(hearers(moment, [heard('routed')], ignored)).toEqual([])
  })
})

describe('the log of moments', () => {
  const logged = (moment: Moment, fields: Fields = {}) =>
    commitPlan([], channels, undefined, { record: record(fields), moments: [moment] }, nothing)
  const nothing = { deliveries: [], now: at, listeningSince: 0, subscriptions: [] }

  test('gets each moment, also if no channel is notified', () => {
    const [entry] = logged('scheduled').moments
    expect(entry).toMatchObject({ notification: { moment: 'scheduled', at } })
    expect(entry!.id).toMatch(/^prod\/[^/]+\/1\/scheduled$/)
  })

  test('gets the moments of an event that a rule ignores', () => {
    const ignored = { policy: { decide: 'ignore' as const, rule: 'policy[0]' } }
    expect(logged('started', ignored).moments).toHaveLength(1)
  })
})
