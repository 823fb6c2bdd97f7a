// The result of an attempt: when it is retried or given up, and how long its channel rests.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { afterAttempt, giveUpMs, maxAttempts } from '../../../functions/core/delivery/attempt.ts'
import type { Delivery } from '../../../functions/core/delivery/delivery.ts'
import { freeAt, slotsAt } from '../../../functions/core/delivery/rate.ts'
import { at, delivery } from '../../support/records.ts'

const minute = 60_000
const hour = 60 * minute
/** The same cases at every run; another one explores others. */
const seed = 20_261_121
const retry = { outcome: 'retry' as const, note: 'HTTP 503' }
const slow = { everyMs: 500, burst: 5, together: 1, atOnce: 4 }

describe('afterAttempt', () => {
  const settle = (changes: Partial<Delivery>, now: number, retryAfterMs?: number, random = 0) =>
    afterAttempt(
      delivery('id', changes),
      { ...retry, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
      now,
      random,
      slow,
    )

  test.each(['delivered', 'refused', 'superseded'] as const)('%s is the end', (outcome) => {
    const settlement = afterAttempt(delivery('id'), { outcome, note: 'n' }, at, 0.5, slow)
    expect(settlement).toMatchObject({ state: outcome, nextAt: at, note: 'n' })
    expect(settlement.unsent ?? false).toBe(outcome === 'superseded')
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
    ['half the time to the deadline at most', 99 * hour, 7.5 * minute],
  ])('Retry-After: %s', (_, retryAfterMs, wait) => {
    expect(settle({ attempts: 1 }, at, retryAfterMs).nextAt - at).toBe(wait)
  })

  test('Retry-After after the deadline is at most an hour', () => {
    const now = at + hour
    expect(settle({ attempts: 70 }, now, 99 * hour).nextAt - now).toBe(hour)
  })

  test('times are whole ms for any time left and any rest of a channel', () => {
    for (let passedMs = 0; passedMs < 20; passedMs++) {
      const { nextAt, spentUntil } = settle({ attempts: 3 }, at + passedMs, hour, 0.123)
      expect([nextAt, spentUntil].every(Number.isInteger)).toBe(true)
    }
  })

  test('gives up if the next attempt would be later than 24 h, or after too many', () => {
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
            const { state, nextAt } = afterAttempt(one, retry, now, random, slow)
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

  test.each([
    ['for as long as it asks', 4_000, 4_000],
    ['a minute at most: the next event may be due before', 10 * minute, minute],
  ])('the channel rests %s, then takes one request', (_, retryAfterMs, rest) => {
    const { spentUntil } = settle({ attempts: 1 }, at, retryAfterMs)
    expect(freeAt(slow, spentUntil!, at)).toBe(at + rest)
    expect(slotsAt(slow, spentUntil!, at + rest)).toBe(1)
  })

  test('a channel that is only down gets no pause', () => {
    expect(settle({ attempts: 1 }, at)).not.toHaveProperty('spentUntil')
  })
})
