// The rate limit of a channel: never more requests than its rate, and no fewer.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  afterSlots,
  freeAt,
  maxPauseMs,
  type Rate,
  slotsAt,
  spentByPause,
  unlimited,
} from '../../../functions/core/delivery/rate.ts'
import { at } from '../../support/records.ts'

const seed = 20_261_121
const slack: Rate = { everyMs: 1_000, burst: 1, together: 20, atOnce: 4 }
const pager: Rate = { everyMs: 667, burst: 30, together: 1, atOnce: 4 }

describe('slotsAt', () => {
  test('a rested channel takes its burst, then one in each interval', () => {
    expect(slotsAt(slack, 0, at)).toBe(1)
    const spent = afterSlots(slack, 0, at, 1)
    expect([999, 1_000, 9_000].map((ms) => slotsAt(slack, spent, at + ms))).toEqual([0, 1, 1])
    expect(freeAt(slack, spent, at)).toBe(at + 1_000)
    expect(slotsAt(pager, 0, at)).toBe(30)
    const all = afterSlots(pager, 0, at, 30)
    expect([0, 666, 667, 1_334].map((ms) => slotsAt(pager, all, at + ms))).toEqual([0, 0, 1, 2])
  })

  test('without a rate there is always a turn, but in a pause', () => {
    expect(slotsAt(unlimited, 0, at)).toBe(Number.POSITIVE_INFINITY)
    expect(afterSlots(unlimited, 0, at, 9)).toBe(at)
    expect(slotsAt(unlimited, spentByPause(unlimited, at + 5), at + 4)).toBe(0)
    expect(slotsAt(unlimited, spentByPause(unlimited, at + 5), at + 5)).toBeGreaterThan(1)
  })

  test.each([slack, pager])('after a pause there is one request, not a burst', (rate) => {
    const spent = spentByPause(rate, at + 5_000)
    expect(slotsAt(rate, spent, at + 4_999)).toBe(0)
    expect(slotsAt(rate, spent, at + 5_000)).toBe(1)
  })

  test('a pause holds for a worker whose clock is behind, but a pause by a wrong clock does not', () => {
    const spent = spentByPause(unlimited, at + maxPauseMs)
    expect(slotsAt(unlimited, spent, at - 1_000)).toBe(0)
    expect(slotsAt(slack, at + 3_600_000, at)).toBe(1)
    expect(freeAt(slack, at + 3_600_000, at)).toBe(at)
    // the burst of one, and five seconds by which clocks may differ
    const farthest = at + maxPauseMs + 1_000 + 5_000
    expect(freeAt(slack, farthest, at)).toBe(farthest)
    expect(freeAt(slack, farthest + 1, at)).toBe(at)
  })

  test('never allows more requests in a span of time than burst and rate', () => {
    const rate = fc.record({
      everyMs: fc.integer({ min: 1, max: 2_000 }),
      burst: fc.integer({ min: 1, max: 40 }),
      together: fc.constant(1),
      atOnce: fc.constant(4),
    })
    const asks = fc.array(fc.record({ ms: fc.nat(3_000), wanted: fc.nat(50) }), { maxLength: 60 })
    fc.assert(
      fc.property(rate, asks, (one, all) => {
        let spent = 0
        let now = at
        const times: number[] = []
        for (const { ms, wanted } of all) {
          now += ms
          const turns = Math.min(wanted, slotsAt(one, spent, now))
          if (turns === 0) continue
          spent = afterSlots(one, spent, now, turns)
          times.push(...Array(turns).fill(now))
        }
        for (const [i, from] of times.entries()) {
          for (const [j, until] of times.entries()) {
            const allowed = one.burst + (until - from) / one.everyMs
            if (j >= i) expect(j - i + 1).toBeLessThanOrEqual(Math.floor(allowed) + 1e-9)
          }
        }
      }),
      { seed, numRuns: 200 },
    )
  })
})
