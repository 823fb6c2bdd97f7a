// The rate of each kind against the limit of its service in kinds.ts. Requests go out as early as
// the kind's rate allows, as in a worker.
import { describe, expect, test } from 'vitest'
import { afterSlots, freeAt, type Rate, slotsAt } from '../../functions/core/delivery/rate.ts'
import { at } from '../support/records.ts'
import { kinds, kindTable, notifierOf } from './kinds.ts'

const tenMinutes = 600_000

/** The times of requests in ms, if there is always more to send. */
function sentIn(rate: Rate, totalMs: number): number[] {
  const times: number[] = []
  let [now, spentUntil] = [at, 0]
  while (now < at + totalMs) {
    const turns = slotsAt(rate, spentUntil, now)
    times.push(...Array(turns).fill(now - at))
    spentUntil = afterSlots(rate, spentUntil, now, turns)
    now = freeAt(rate, spentUntil, now)
  }
  return times
}

/** The most requests in any span of this length. */
function mostIn(times: number[], spanMs: number): number {
  let first = 0
  return times.reduce((most, time, last) => {
    while (time - times[first]! >= spanMs) first++
    return Math.max(most, last - first + 1)
  }, 0)
}

const limited = kinds.flatMap((kind) => {
  const { takes } = kindTable[kind]
  return takes === 'whatever comes' ? [] : [{ kind, takes }]
})

describe.each(limited)('$kind', ({ kind, takes }) => {
  const { rate } = notifierOf(kind)
  const { requests, inMs, ahead } = takes
  const spanMs = Math.max(tenMinutes, 3 * inMs)

  test(`is sent at most ${requests + ahead} requests in any ${inMs / 1_000} s`, () => {
    const most = mostIn(sentIn(rate, spanMs), inMs)
    expect(most).toBeLessThanOrEqual(requests + ahead)
    // Not much less either, as messages would wait for nothing.
    expect(most).toBeGreaterThanOrEqual(0.95 * (requests + ahead))
  })

  test('is sent at least three quarters of its limit, if there is much to send', () => {
    const taken = (spanMs / inMs) * requests
    const sent = sentIn(rate, spanMs).length
    expect(sent).toBeLessThanOrEqual(taken + ahead)
    expect(sent).toBeGreaterThanOrEqual(0.75 * taken)
  })

  test('takes 4 places of a worker, so a channel that hangs leaves places for others', () => {
    expect(rate.atOnce).toBe(4)
  })
})

test.each(kinds)('%s: from rest there are two at once: a decision comes with its event', (kind) => {
  expect(slotsAt(notifierOf(kind).rate, 0, at)).toBeGreaterThanOrEqual(2)
})

test('a channel without a limit takes 32 places: half of those of the smallest worker; or one for a list', () => {
  for (const kind of kinds.filter((one) => kindTable[one].takes === 'whatever comes')) {
    const { rate } = notifierOf(kind)
    const places = rate.together === 1 ? 32 : 1
    expect([slotsAt(rate, at, at), rate.atOnce]).toEqual([Number.POSITIVE_INFINITY, places])
  }
})
