import { describe, expect, test } from 'vitest'
import type { Failed, FailureClass } from '../../beacon/imds.ts'
import { createImdsBackoff } from '../../beacon/imds-backoff.ts'
import { createFakeClock } from './fake-clock.ts'

const failure = (kind: FailureClass, retryAfterMs?: number): Failed => ({
  kind: 'failed',
  class: kind,
  reason: '',
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
})

/** The waits after the same failure again and again, with the least jitter or the most. */
function waits(failed: Failed, times: number, random = 1, pollMs = 1_000): number[] {
  const patience = createImdsBackoff(createFakeClock(), () => random, pollMs)
  return Array.from({ length: times }, () => patience.waitMs(failed))
}

describe('the wait after a failed poll', () => {
  test.each<[FailureClass, number[]]>([
    ['transient', [1_000, 2_000, 4_000, 5_000, 5_000, 5_000, 5_000, 5_000]],
    ['throttled', [1_000, 2_000, 4_000, 5_000, 5_000, 5_000, 5_000, 5_000]],
    ['absent', [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]],
    ['updating', Array(8).fill(1_000)],
    ['fallback', Array(8).fill(1_000)],
  ])('%s: %j', (kind, expected) => {
    expect(waits(failure(kind), 8)).toEqual(expected)
  })

  test('is never shorter than the pace of polling', () => {
    expect(waits(failure('transient'), 3, 0, 700)).toEqual([700, 1_000, 2_000])
  })

  test.each([
    [7_000, 7_000],
    [0, 1_000],
    [3_600_000, 60_000],
  ])('honours Retry-After of %i ms with %i ms', (retryAfterMs, expected) => {
    expect(waits(failure('throttled', retryAfterMs), 1)).toEqual([expected])
  })

  test('honours Retry-After of a 503 as well, where it is the longer wait', () => {
    expect(waits(failure('transient', 3_000), 4)).toEqual([3_000, 3_000, 4_000, 5_000])
    expect(waits(failure('transient', 3_600_000), 1)).toEqual([60_000])
  })

  test('stays short for 70 s of 410, then grows', async () => {
    const clock = createFakeClock()
    const patience = createImdsBackoff(clock, () => 1, 1_000)
    const seen: number[] = []
    for (let i = 0; i < 73; i++) {
      seen.push(patience.waitMs(failure('updating')))
      await clock.advance(1_000)
    }
    expect(seen.slice(0, 70)).toEqual(Array(70).fill(1_000))
    expect(seen.slice(70)).toEqual([5_000, 5_000, 5_000])
  })

  test('starts over with another class, and after a success', () => {
    const patience = createImdsBackoff(createFakeClock(), () => 1, 1_000)
    for (let i = 0; i < 9; i++) patience.waitMs(failure('absent'))
    expect(patience.waitMs(failure('transient'))).toBe(1_000)
    expect(patience.waitMs(failure('transient'))).toBe(2_000)
    patience.reset()
    expect(patience.waitMs(failure('transient'))).toBe(1_000)
  })
})
