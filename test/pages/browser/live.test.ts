// The decisions of the program in the browser, tested without one. The rest is in test/browser.
import { afterEach, describe, expect, test } from 'vitest'
import { readAnswer, readNews, waitMs } from '../../../functions/pages/browser/answers.ts'
import { countdown } from '../../../functions/pages/browser/clock.ts'
import { readersTime } from '../../../functions/pages/browser/readers-time.ts'
import { splitTime } from '../../../functions/pages/times.ts'

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

test('it asks less often while the relay does not answer', () => {
  const waits = (everyMs: number) => [0, 1, 2, 3, 4, 5, 40].map((n) => waitMs(everyMs, n))
  expect(waits(5_000)).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000, 60_000])
  expect(waits(90_000)).toEqual(Array(7).fill(90_000))
})

const live = { isOurs: true, isLive: true }
const ours = { isOurs: true, isLive: false }
const foreign = { isOurs: false, isLive: false }

describe('an answer to the question for news', () => {
  test.each([
    [200, live, 'new'],
    [304, foreign, 'same'],
    [200, ours, 'gone'],
    [410, ours, 'gone'],
    [404, ours, 'gone'],
    [403, ours, 'gone'],
    [200, foreign, 'failed'],
    [429, ours, 'failed'],
    [502, foreign, 'failed'],
    [404, foreign, 'failed'],
  ])('%i %j: %s', (status, page, outcome) => {
    expect(readNews({ status, ...page })).toBe(outcome)
  })
})

describe('an answer to a form', () => {
  test.each([
    [200, live, 'shown'],
    [409, live, 'shown'],
    [429, live, 'shown'],
    [503, live, 'shown'],
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

test('times and short quoted names are not split', () => {
  const pieces = splitTime('At 2026-11-21 12:15:00 UTC "web team" or "chat", 9:00')
  expect(pieces).toEqual([
    { text: 'At ', isWhole: false, mark: '' },
    { text: '2026-11-21 12:15:00 UTC', isWhole: true, mark: '' },
    { text: ' "web team" or ', isWhole: false, mark: '' },
    // a line must not begin with a comma
    { text: '"chat"', isWhole: true, mark: ',' },
    { text: ' 9:00', isWhole: false, mark: '' },
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
    ['Europe/Berlin', '12:15 UTC', '13:15'],
    ['Europe/Berlin', '12:15:07 UTC', '13:15:07'],
    ['Europe/Berlin', '23:30 UTC', '2026-11-22 00:30'],
    ['Europe/Berlin', '2026-07-01 12:15:00 UTC', '2026-07-01 14:15:00'],
    ['America/New_York', '2026-11-21 02:00 UTC', '2026-11-20 21:00'],
    ['UTC', '12:15 UTC', ''],
    ['Europe/Berlin', '"chat"', ''],
  ])('in %s, %s: %s', (TZ, text, local) => {
    process.env.TZ = TZ
    expect(readersTime(text, now)).toBe(local)
  })
})
