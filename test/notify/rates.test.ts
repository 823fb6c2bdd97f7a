// What each kind is sent at most, against what its service takes by kinds.ts. Requests are asked for as a
// worker does, as early as the kind's own rate has a turn.
import { describe, expect, test } from 'vitest'
import { afterTurns, freeAt, type Rate, turnsAt } from '../../functions/core/delivery/rate.ts'
import { notifiers } from '../../functions/notify/kinds.ts'
import { at } from '../support/records.ts'
import { kinds, kindTable } from './kinds.ts'

const tenMinutes = 600_000

/** When requests go out, in ms from rest, where there is always more to send. */
function sentIn(rate: Rate, totalMs: number): number[] {
  const times: number[] = []
  let [now, spentUntil] = [at, 0]
  while (now < at + totalMs) {
    const turns = turnsAt(rate, spentUntil, now)
    times.push(...Array(turns).fill(now - at))
    spentUntil = afterTurns(rate, spentUntil, now, turns)
    now = freeAt(rate, spentUntil, now)
  }
  return times
}

/** The most that falls into any span of this length. */
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
  const { rate } = notifiers[kind]
  const { requests, inMs, ahead } = takes

  test(`is sent at most ${requests + ahead} requests in any ${inMs / 1_000} s`, () => {
    const most = mostIn(sentIn(rate, tenMinutes), inMs)
    expect(most).toBeLessThanOrEqual(requests + ahead)
    // and hardly less: what has to wait for a turn comes late
    expect(most).toBeGreaterThanOrEqual(0.95 * (requests + ahead))
  })

  test('is sent three quarters of what it takes at least, where much has to go out', () => {
    const taken = (tenMinutes / inMs) * requests
    const sent = sentIn(rate, tenMinutes).length
    expect(sent).toBeLessThanOrEqual(taken + ahead)
    expect(sent).toBeGreaterThanOrEqual(0.75 * taken)
  })

  test('takes 4 places of a worker: one that hangs leaves the others to the rest', () => {
    expect(rate.atOnce).toBe(4)
  })
})

test.each(kinds)('%s: from rest there are two at once: a decision comes with its event', (kind) => {
  expect(turnsAt(notifiers[kind].rate, 0, at)).toBeGreaterThanOrEqual(2)
})

test('whatever comes is taken, 32 at once: half of the places that the smallest worker has', () => {
  for (const kind of kinds.filter((one) => kindTable[one].takes === 'whatever comes')) {
    const { rate } = notifiers[kind]
    expect([turnsAt(rate, at, at), rate.atOnce]).toEqual([Number.POSITIVE_INFINITY, 32])
  }
})
