// Deliveries: their ids, their order, and how long they are urgent.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { planChannelAlert } from '../../../functions/core/delivery/alert.ts'
import { plan, readStoredId, storedChannel } from '../../../functions/core/delivery/delivery.ts'
import { type Moment, moments } from '../../../functions/core/event/moment.ts'
import { at, delivery, type Fields, facts, record } from '../../support/records.ts'

const minute = 60_000
/** The same cases at every run; another one explores others. */
const seed = 20_261_121
const hour = 60 * minute

function idOf(changes: Fields, moment: Moment = 'scheduled', channel = 'chat') {
  return plan(record(changes), [moment], () => [channel], at)[0]!.id
}

describe('ids', () => {
  test('name fleet, event, epoch, moment and channel', () => {
    expect(idOf({ eventId: 'e', epoch: 2 })).toBe('prod/e/2/scheduled/chat')
  })

  const part = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: fc.constantFrom('/', '.', '%', '2', 'F', 'a') }),
  )
  const parts = fc.record({
    fleet: part,
    eventId: part,
    epoch: fc.integer({ min: 1, max: 3 }),
    moment: fc.constantFrom(...moments.filter((m) => m !== 'changed')),
    channel: part,
  })

  test('differ where any part differs, and hold no dot or letter that a header could not carry', () => {
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        const [a, b] = [one, other].map(({ moment, channel, ...key }) => idOf(key, moment, channel))
        expect(a === b).toBe(JSON.stringify(one) === JSON.stringify(other))
        expect(a).toMatch(/^[A-Za-z0-9/%_!~*'()-]+$/)
      }),
      { seed, numRuns: 500 },
    )
  })

  test('of "changed" differ by the new values, and by nothing else', () => {
    const changed = (change: Parameters<typeof facts>[0], more = {}) =>
      idOf({ facts: facts(change), ...more }, 'changed')
    const base = changed({})
    expect(changed({}, { sequence: 9, phase: 'started' })).toBe(base)
    const others = [
      { notBeforeAt: 1 },
      { resources: ['b'] },
      { durationSeconds: 9 },
      { description: 'x' },
      { source: 'User' },
      { eventType: 'Freeze' },
    ]
    const ids = new Set([base, ...others.map((change) => changed(change))])
    expect(ids.size).toBe(7)
  })

  test('order follows the sequence of commits, then the moments within one', () => {
    const first = plan(record({ sequence: 1 }), ['scheduled', 'approved'], () => ['a', 'b'], at)
    const later = plan(record({ sequence: 2 }), ['started'], () => ['a'], at)
    const seqs = [...first, ...later].map(({ seq }) => seq)
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b))
    expect(new Set(seqs).size).toBe(5)
    const most = plan(record({ sequence: 1 }), ['scheduled'], () => Array(60).fill('x'), at)
    expect(most.at(-1)!.seq).toBeLessThan(later[0]!.seq)
  })

  test('an alert about a channel has its own id, and begins with no attempts', () => {
    const failed = delivery('id', { attempts: 9, state: 'pending', note: 'x' })
    const end = { state: 'refused' as const, nextAt: at, note: 'HTTP 404' }
    const alert = planChannelAlert(failed, 'team.x', end, at + hour)
    expect(alert.id).toBe('id/alert/team%2Ex')
    expect(alert).toMatchObject({ channel: 'team.x', attempts: 0, plannedAt: at + hour, note: '' })
    expect(alert.notification).toMatchObject({ about: { channel: 'chat', reason: 'HTTP 404' } })
  })
})

test.each(['sub_1', '', 'a:b', 'subscription:x'])('the channel of subscription %j', (id) => {
  expect(readStoredId(storedChannel(id))).toBe(id)
})

test.each(['chat', 'subscription', 'a subscription:x'])('%j is a configured channel', (name) => {
  expect(readStoredId(name)).toBeUndefined()
})

test('a question is urgent until NotBefore, anything else for 15 min', () => {
  const far = { facts: facts({ notBeforeAt: at + 5 * hour }) }
  const urgent = (moment: Moment, changes = far) =>
    plan(record(changes), [moment], () => ['a'], at)[0]!.urgentUntil - at
  for (const moment of ['scheduled', 'changed', 'stuck'] as const)
    expect(urgent(moment)).toBe(5 * hour)
  for (const moment of ['approved', 'started', 'completed'] as const) {
    expect(urgent(moment)).toBe(15 * minute)
  }
  expect(urgent('scheduled', { facts: facts({ notBeforeAt: at - hour }) })).toBe(minute)
})

test('after each expiry a decision has another id, also if two expire in one millisecond', () => {
  const expired = { decision: 'approved' as const, how: 'admin' as const, who: 'admin', at }
  const idAfter = (...times: number[]) => {
    const overruled = times.map((expiredAt) => ({ ...expired, expiredAt }))
    return idOf({ overruled }, 'approved')
  }
  const ids = [idAfter(), idAfter(at), idAfter(at, at), idAfter(at, at, at + 1)]
  expect(new Set(ids).size).toBe(4)
})
