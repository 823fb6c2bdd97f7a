// Instants and spans for people: short and clear.
import { expect, test } from 'vitest'
import { clock, lastingClock, relative, span, utc } from '../../../functions/core/event/time.ts'
import { at } from '../../support/records.ts'

const minute = 60_000

test.each([
  [0, '0 s'],
  [499, '0 s'],
  [89_400, '89 s'],
  [89_500, '2 min'],
  [90_000, '2 min'],
  [15 * minute, '15 min'],
  [89 * minute, '89 min'],
  [90 * minute, '1 h 30 min'],
  [120 * minute, '2 h'],
  [47 * 60 * minute + 59 * minute, '47 h 59 min'],
  [48 * 60 * minute, '2 d'],
  [7 * 24 * 60 * minute - minute, '6 d 23 h'],
])('%i ms is %s', (ms, text) => {
  expect(span(ms)).toBe(text)
})

test.each([
  [0, 'now'],
  [999, 'now'],
  [-999, 'now'],
  [1_000, 'in 1 s'],
  [-5_000, '5 s ago'],
  [59_999, 'in 59 s'],
  [97_999, 'in 1 min 37 s'],
  [2 * minute, 'in 2 min'],
  [5 * minute - 1, 'in 4 min 59 s'],
  [5 * minute, 'in 5 min'],
  [15 * minute - 1, 'in 14 min'],
  [14 * minute, 'in 14 min'],
  [2 * 60 * minute - 1, 'in 1 h 59 min'],
])('%i ms apart is %s', (ms, text) => {
  expect(relative(at + ms, at)).toBe(text)
})

test.each([
  [15 * minute, '12:15 UTC'],
  [30_000, '12:00:30 UTC'],
  [4 * minute, '12:04 UTC'],
  [-30_000, '11:59:30 UTC'],
  [15 * minute + 1_000, '12:15 UTC'],
  [12 * 60 * minute, '2026-11-22 00:00 UTC'],
  [-20 * 60 * minute, '2026-11-20 16:00 UTC'],
])('the hour %i ms away is %s', (ms, text) => {
  expect(clock(at + ms, at)).toBe(text)
})

test.each([
  [at, '12:00 UTC'],
  [at + 30_000, '12:00:30 UTC'],
  [at + 12 * 60 * minute - 1_000, '23:59 UTC'],
  [at + 12 * 60 * minute, '2026-11-22 00:00 UTC'],
  [at - 12 * 60 * minute, '2026-11-21 00:00 UTC'],
  [at + 48 * 60 * minute, '2026-11-23 12:00 UTC'],
])('the instant %i, read later, is %s', (then, text) => {
  expect(lastingClock(then, at)).toBe(text)
})

test('shows the date for a time past midnight, not for one before', () => {
  const now = Date.parse('2026-11-21T23:59:00Z')
  expect(lastingClock(now + 2 * minute, now)).toBe('2026-11-22 00:01 UTC')
  expect(lastingClock(now - 2 * minute, now)).toBe('23:57 UTC')
})

test('an instant is in UTC, and says how far it is', () => {
  expect(utc(at)).toBe('2026-11-21 12:00:00 UTC')
})
