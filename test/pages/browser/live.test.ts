// The decisions of the program in the browser, tested without one. The rest is in test/browser.
import { afterEach, describe, expect, test } from 'vitest'
import { readAnswer, readStatus, waitMs } from '../../../functions/pages/browser/answers.ts'
import { countdown } from '../../../functions/pages/browser/clock.ts'
import { readersTime } from '../../../functions/pages/browser/readers-time.ts'
import { type Shown, updateOf } from '../../../functions/pages/browser/update.ts'
import { piecesOf } from '../../../functions/pages/pieces.ts'
import type { LiveState } from '../../../functions/pages/state.ts'

const [minuteMs, hourMs] = [60_000, 3_600_000]

describe('the countdown', () => {
  test.each([
    [0, '0 s'],
    [1, '1 s'],
    [59_000, '59 s'],
    [59_001, '1 min 0 s'],
    [15 * minuteMs, '15 min 0 s'],
    [90 * minuteMs - 1_000, '89 min 59 s'],
    [90 * minuteMs, '1 h 30 min'],
    [48 * hourMs - 1_000, '47 h 59 min'],
    [48 * hourMs, '2 d 0 h'],
    [76 * hourMs, '3 d 4 h'],
  ])('%i ms: %s', (ms, text) => {
    expect(countdown(ms)).toBe(text)
  })
})

test('it polls every 5 s, and less often while the relay does not answer', () => {
  expect([0, 1, 2, 3, 4, 5, 40].map(waitMs)).toEqual([
    ...[5_000, 10_000, 20_000, 40_000, 60_000, 60_000, 60_000],
  ])
})

test.each([
  [200, 'state'],
  [403, 'gone'],
  [404, 'gone'],
  [410, 'gone'],
  [429, 'failed'],
  [500, 'failed'],
])('an answer %i to the question for the state: %s', (status, outcome) => {
  expect(readStatus(status)).toBe(outcome)
})

describe('an answer to a form', () => {
  const ours = { isOurs: true, hasEvent: false }
  const event = { isOurs: true, hasEvent: true }
  const foreign = { isOurs: false, hasEvent: false }
  test.each([
    [200, event, 'shown'],
    [409, event, 'shown'],
    [429, event, 'shown'],
    [503, event, 'shown'],
    [403, ours, 'shown'],
    [429, ours, 'busy'],
    [503, ours, 'not_sent'],
    [200, foreign, 'not_sent'],
    [429, foreign, 'busy'],
    [502, foreign, 'not_sent'],
  ])('%i %j: %s', (status, page, outcome) => {
    expect(readAnswer({ status, ...page })).toBe(outcome)
  })
})

describe('a newer state', () => {
  const shown: Shown = { sequence: 4, step: 'open', seen: 'a', hasForm: true, wasClosed: false }
  const state = { sequence: 5, step: 'open', seen: 'a', decidable: true } as LiveState
  const nothing = { isNextStep: false, removesForm: false, needsReload: false }
  test.each<[string, Partial<Shown>, Partial<LiveState>, ReturnType<typeof updateOf>]>([
    ['the same again', {}, { sequence: 4 }, nothing],
    ['an older one, which was late', {}, { sequence: 3 }, undefined],
    ['other VMs', {}, { seen: 'b' }, { ...nothing, needsReload: true }],
    ['a decision', {}, { step: 'declined' }, { ...nothing, isNextStep: true }],
    [
      'it started',
      {},
      { step: 'started', decidable: false, seen: 'b' },
      { isNextStep: true, removesForm: true, needsReload: false },
    ],
    [
      'it can be decided again, and the buttons are gone',
      { hasForm: false, wasClosed: true },
      {},
      { ...nothing, needsReload: true },
    ],
    ['the reader may not decide', { hasForm: false }, {}, nothing],
  ])('%s', (_, page, news, update) => {
    expect(updateOf({ ...shown, ...page }, { ...state, ...news })).toEqual(update)
  })

  test('an event that the relay has removed stays as it was', () => {
    expect(updateOf(shown, null)).toBeUndefined()
  })
})

test('times and short quoted names are not split', () => {
  const pieces = piecesOf('At 2026-11-21 12:15:00 UTC "web team" or "chat", 9:00')
  expect(pieces).toEqual([
    { text: 'At ', isWhole: false },
    { text: '2026-11-21 12:15:00 UTC', isWhole: true },
    { text: ' "web team" or ', isWhole: false },
    { text: '"chat"', isWhole: true },
    { text: ', 9:00', isWhole: false },
  ])
})

describe("the reader's time", () => {
  const zone = process.env.TZ
  afterEach(() => {
    if (zone === undefined) delete process.env.TZ
    else process.env.TZ = zone
  })
  const now = Date.parse('2026-11-21T11:00:00Z')

  test.each([
    ['Europe/Berlin', '12:15 UTC', '(13:15 here)'],
    ['Europe/Berlin', '12:15:07 UTC', '(13:15:07 here)'],
    ['Europe/Berlin', '23:30 UTC', '(2026-11-22 00:30 here)'],
    ['Europe/Berlin', '2026-07-01 12:15:00 UTC', '(14:15:00 here)'],
    ['America/New_York', '2026-11-21 02:00 UTC', '(2026-11-20 21:00 here)'],
    ['UTC', '12:15 UTC', ''],
    ['Europe/Berlin', '"chat"', ''],
  ])('in %s, %s: %s', (TZ, text, local) => {
    process.env.TZ = TZ
    expect(readersTime(text, now)).toBe(local)
  })
})
