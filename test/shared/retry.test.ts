import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { backoffMs, parseRetryAfter } from '../../shared/retry.ts'

// The same values in every run; a failure prints what is needed to see it again.
fc.configureGlobal({ seed: 1 })

describe('backoff', () => {
  const backoff = { baseMs: 1_000, capMs: 5_000 }
  test.each([
    [1, 0, 500],
    [1, 1, 1_000],
    [2, 0, 1_000],
    [3, 0.5, 3_000],
    [4, 0, 2_500],
    [4, 1, 5_000],
    [1_000_000, 1, 5_000],
  ])('after attempt %i with random %d: %i ms', (attempt, random, expected) => {
    expect(backoffMs(attempt, backoff, random)).toBe(expected)
  })

  test('never above the cap, never under half of the first wait, never shrinking', () => {
    const attempts = fc.integer({ min: 1, max: 10_000 })
    fc.assert(
      fc.property(attempts, fc.double({ min: 0, max: 1, noNaN: true }), (attempt, random) => {
        const waitMs = backoffMs(attempt, backoff, random)
        expect(waitMs).toBeLessThanOrEqual(5_000)
        expect(waitMs).toBeGreaterThanOrEqual(500)
        expect(backoffMs(attempt + 1, backoff, random)).toBeGreaterThanOrEqual(waitMs)
      }),
    )
  })
})

test.each([
  ['120', 120_000],
  [' 3 ', 3_000],
  ['0.5', 500],
  ['0', 0],
  ['Wed, 21 Oct 2015 07:28:00 GMT', 60_000],
  ['Wed, 21 Oct 2015 07:26:00 GMT', 0],
  ['soon', undefined],
  ['', undefined],
  [null, undefined],
  [undefined, undefined],
])('Retry-After: %s', (value, expected) => {
  expect(parseRetryAfter(value, Date.UTC(2015, 9, 21, 7, 27))).toBe(expected)
})
