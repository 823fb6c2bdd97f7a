// Deliveries: what their ids say, when an attempt is repeated or given up, and what the end overtakes.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  afterAttempt,
  type Delivery,
  giveUpMs,
  maxAttempts,
  mayHaveHeard,
  plan,
  planNotice,
  supersededBy,
} from '../../functions/core/delivery.ts'
import { type EventRecord, type Moment, moments } from '../../functions/core/event.ts'
import { at, delivery, facts, record, telling } from '../support/records.ts'

const minute = 60_000
/** The same cases at every run; another one explores others. */
const seed = 20_261_121
const hour = 60 * minute
const retry = { outcome: 'retry' as const, note: 'HTTP 503' }

function idOf(changes: Partial<EventRecord>, moment: Moment = 'scheduled', channel = 'chat') {
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
    expect(changed({ source: 'User' })).toBe(base)
    const others = [
      { notBeforeAt: 1 },
      { resources: ['b'] },
      { durationSeconds: 9 },
      { description: 'x' },
    ]
    const ids = new Set([base, ...others.map((change) => changed(change))])
    expect(ids.size).toBe(5)
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

  test('a notice has an id of its own, and begins anew', () => {
    const failed = delivery('id', { attempts: 9, state: 'pending', note: 'x' })
    const end = { state: 'refused' as const, nextAt: at, note: 'HTTP 404' }
    const notice = planNotice(failed, 'team.x', end, at + hour)
    expect(notice.id).toBe('id/notice/team%2Ex')
    expect(notice).toMatchObject({ channel: 'team.x', attempts: 0, createdAt: at + hour, note: '' })
    expect(notice.telling).toMatchObject({ about: { channel: 'chat', reason: 'HTTP 404' } })
  })
})

describe('afterAttempt', () => {
  const settle = (changes: Partial<Delivery>, now: number, retryAfterMs?: number, random = 0) =>
    afterAttempt(
      delivery('id', changes),
      { ...retry, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
      now,
      random,
    )

  test.each(['delivered', 'refused', 'superseded'] as const)('%s is the end', (outcome) => {
    const settlement = afterAttempt(delivery('id'), { outcome, note: 'n' }, at, 0.5)
    expect(settlement).toEqual({ state: outcome, nextAt: at, note: 'n' })
  })

  test.each([
    ['the first is soon', 1, 0, 500, 1_000],
    ['then doubled', 2, 0, 1_000, 2_000],
    ['and again', 3, 5_000, 2_000, 4_000],
    ['to at most 15 s near the deadline', 30, 10 * minute, 7_500, 15_000],
  ])('dense: %s', (_, attempts, passedMs, least, most) => {
    const waits = [0, 0.999].map((random) => settle({ attempts }, at + passedMs, undefined, random))
    const [low, high] = waits.map(({ nextAt }) => nextAt - at - passedMs)
    expect(low).toBe(least)
    expect(high).toBeGreaterThan(low!)
    expect(high).toBeLessThanOrEqual(most)
  })

  test.each([
    ['starts small again', 1, 30_000, 60_000],
    ['is a minute after one', minute, minute, 2 * minute],
    ['grows with the time that has passed', hour, 15 * minute, hour],
    ['to an hour', 10 * hour, 30 * minute, hour],
  ])('sparse, after the deadline: %s', (_, sinceMs, least, most) => {
    const now = at + 15 * minute + sinceMs
    for (const attempts of [5, 60, 300]) {
      const wait = settle({ attempts }, now, undefined, 0).nextAt - now
      expect(wait).toBeGreaterThanOrEqual(least)
      expect(wait).toBeLessThanOrEqual(most)
    }
  })

  test.each([
    ['waited for', 4_000, 4_000],
    ['not below our own backoff', 10, 500],
    ['0 is no reason to hurry', 0, 500],
    ['not beyond the deadline', 99 * hour, 15 * minute],
  ])('Retry-After: %s', (_, retryAfterMs, wait) => {
    expect(settle({ attempts: 1 }, at, retryAfterMs).nextAt - at).toBe(wait)
  })

  test('Retry-After after the deadline is at most an hour', () => {
    const now = at + hour
    expect(settle({ attempts: 70 }, now, 99 * hour).nextAt - now).toBe(hour)
  })

  test('given up where the next attempt would be later than 24 h, or after too many', () => {
    expect(settle({ attempts: 90 }, at + giveUpMs - minute).state).toBe('given_up')
    expect(settle({ attempts: maxAttempts }, at).state).toBe('given_up')
    expect(settle({ attempts: 90 }, at + giveUpMs - 2 * hour).state).toBe('pending')
    expect(settle({ attempts: 90 }, at + giveUpMs).note).toBe('HTTP 503')
  })

  test('whatever the deadline, attempts last for 24 h and end', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 8 * 24 * 60 }).map((minutes) => minutes * minute),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (untilMs, random) => {
          let one = delivery('id', { urgentUntil: at + untilMs })
          let now = at
          for (let settled = false; !settled; ) {
            one = { ...one, attempts: one.attempts + 1 }
            const { state, nextAt } = afterAttempt(one, retry, now, random)
            settled = state !== 'pending'
            if (!settled) expect(nextAt).toBeGreaterThan(now)
            now = nextAt
          }
          expect(one.attempts).toBeLessThan(maxAttempts)
          expect(now - at).toBeGreaterThan(giveUpMs - 61 * minute)
        },
      ),
      { seed, numRuns: 100 },
    )
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
})

describe('the end', () => {
  const owed = moments.map((moment) => delivery(moment, { telling: telling({ moment }) }))

  test.each(['completed', 'cancelled', 'lost'] as const)(
    '"%s" overtakes what asks or opens',
    (end) => {
      const overtaken = supersededBy([end], owed, () => false)
      const asking = ['changed', 'declined', 'reminder', 'scheduled', 'started', 'stuck']
      expect(overtaken.sort()).toEqual(asking)
      expect(supersededBy([end], owed, () => true)).toEqual([])
      const done = owed.map((one) => ({ ...one, state: 'delivered' as const }))
      expect(supersededBy([end], done, () => false)).toEqual([])
    },
  )

  test.each(['scheduled', 'changed', 'approved', 'declined', 'stuck', 'started'] as const)(
    '"%s" overtakes nothing',
    (moment) => {
      expect(supersededBy([moment], owed, () => false)).toEqual([])
    },
  )
})

describe('mayHaveHeard', () => {
  const own = delivery('own', { seq: 128 })
  const earlier = (changes: Partial<Delivery> = {}) =>
    delivery('e', { seq: 64, attempts: 1, ...changes })
  const epoch2 = { ...telling(), event: { ...telling().event, epoch: 2 } }
  const notice = { ...telling(), moment: 'notice' as const, about: {} as never }

  test.each([
    ['nothing earlier', [], false],
    ['only itself', [{ ...own, attempts: 3 }], false],
    ['delivered', [earlier({ state: 'delivered' })], true],
    ['in doubt', [earlier({ state: 'pending' })], true],
    ['given up', [earlier({ state: 'given_up' })], true],
    ['refused', [earlier({ state: 'refused' })], false],
    ['never tried', [earlier({ attempts: 0 })], false],
    ['tried, then overtaken by the end', [earlier({ state: 'superseded' })], true],
    [
      'held back by its notifier',
      [earlier({ state: 'superseded', telling: telling({ moment: 'approved' }) })],
      false,
    ],
    ['on another channel', [earlier({ channel: 'team' })], false],
    ['of another epoch', [earlier({ telling: epoch2 })], false],
    ['a later one', [earlier({ seq: 192, state: 'delivered' })], false],
    ['a notice', [earlier({ state: 'delivered', telling: notice })], false],
  ])('%s', (_, siblings, heard) => {
    expect(mayHaveHeard(own, siblings)).toBe(heard)
  })
})
