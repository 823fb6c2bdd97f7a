// Times of rules and routes, by the clock of their zone.
import { describe, expect, test } from 'vitest'
import { timeSchema } from '../../../functions/config/time.ts'
import {
  gapIn,
  isWithinTime,
  nextBoundary,
  nextChange,
} from '../../../functions/core/rules/time.ts'
import { mistakesOf, withValue } from '../../support/config.ts'

const nights = { days: 'Mon-Fri', from: '22:00', to: '05:00', zone: 'Europe/Berlin' }
const at = (text: string) => Date.parse(text)
const isIn = (time: object, text: string) => isWithinTime(timeSchema.parse(time), at(text))
const iso = (time: number | undefined) => time && new Date(time).toISOString().slice(0, 16)

describe('an interval', () => {
  // 2026-11-23 is a Monday; Berlin is an hour ahead of UTC
  test.each<[object, string, boolean]>([
    [nights, '2026-11-23T20:59Z', false],
    [nights, '2026-11-23T21:00Z', true],
    [nights, '2026-11-24T03:59Z', true],
    [nights, '2026-11-24T04:00Z', false],
    // it belongs to the day on which it begins
    [nights, '2026-11-28T03:59Z', true],
    [nights, '2026-11-23T03:00Z', false],
    [nights, '2026-11-28T21:30Z', false],
    [{ days: 'Sat, Sun' }, '2026-11-28T00:00Z', true],
    [{ days: 'Sat, Sun' }, '2026-11-27T23:59Z', false],
    [{ days: 'Sat,Sun' }, '2026-11-30T00:00Z', false],
    [{ days: 'Fri-Mon' }, '2026-11-29T12:00Z', true],
    [{ days: 'Fri-Mon' }, '2026-11-26T12:00Z', false],
    [{ from: '09:00', to: '17:00' }, '2026-11-24T08:59Z', false],
    [{ from: '09:00', to: '17:00' }, '2026-11-24T16:59Z', true],
    [{ from: '09:00' }, '2026-11-24T23:59Z', true],
    [{ to: '09:00' }, '2026-11-24T08:59Z', true],
    [{ to: '09:00' }, '2026-11-24T09:00Z', false],
    [[{ days: 'Sun' }, nights], '2026-11-23T22:00Z', true],
  ])('%j at %s: %s', (time, text, expected) => {
    expect(isIn(time, text)).toBe(expected)
  })

  test('without a time, a rule always counts', () => {
    expect(isWithinTime(undefined, 0)).toBe(true)
    expect([nextBoundary([undefined], 0), nextChange([undefined], 0)]).toEqual([
      Number.POSITIVE_INFINITY,
      undefined,
    ])
  })
})

const skipped = { from: '02:30', to: '04:00', zone: 'Europe/Berlin' }
const twice = { from: '22:00', to: '02:15', zone: 'Europe/Berlin' }

describe('the next change', () => {
  const changes = (time: object, text: string) =>
    iso(nextChange([timeSchema.parse(time)], at(text)))

  test.each<[string, object, string, string]>([
    ['begins', nights, '2026-11-23T12:34:56Z', '2026-11-23T21:00'],
    ['ends', nights, '2026-11-23T21:00:00Z', '2026-11-24T04:00'],
    ['passes the weekend', nights, '2026-11-28T04:00:00Z', '2026-11-30T21:00'],
    ['is at midnight', { days: 'Wed' }, '2026-11-23T12:00Z', '2026-11-25T00:00'],
    // on 2026-03-29 the clock goes from 02:00 to 03:00, and on 2026-10-25 from 03:00 to 02:00
    ['comes an hour earlier', { ...nights, days: 'Sat' }, '2026-03-28T21:30Z', '2026-03-29T03:00'],
    ['comes an hour later', { ...nights, days: 'Sat' }, '2026-10-24T20:30Z', '2026-10-25T04:00'],
    ['is in the hour that the clock skips', skipped, '2026-03-29T00:00Z', '2026-03-29T01:00'],
    ['is in the hour that comes twice', twice, '2026-10-24T20:30Z', '2026-10-25T00:15'],
    ['is the moment when the clock is set', twice, '2026-10-25T00:15Z', '2026-10-25T01:00'],
    ['is in that hour again', twice, '2026-10-25T01:00Z', '2026-10-25T01:15'],
  ])('%s', (_, time, from, expected) => {
    expect(changes(time, from)).toBe(expected)
  })

  test.each([
    { from: '01:30', to: '03:10', zone: 'Europe/Berlin' },
    { from: '02:15', to: '02:45', zone: 'Europe/Berlin' },
    skipped,
    twice,
    { days: 'Sun', zone: 'Europe/Berlin' },
  ])('is never in the past, and never missed on the days when clocks change: %j', (written) => {
    const time = timeSchema.parse(written)
    for (const day of ['2026-03-28T22:00Z', '2026-10-24T22:00Z']) {
      for (let minute = 0; minute < 480; minute += 5) {
        const now = at(day) + minute * 60_000
        const next = nextBoundary([time], now)
        expect(next).toBeGreaterThan(now)
        for (let one = now; one < next; one += 300_000) {
          expect(isWithinTime(time, one), new Date(one).toISOString()).toBe(isWithinTime(time, now))
        }
      }
    }
  })
})

test('a gap is a time at which none counts', () => {
  const monday = at('2026-01-05T00:00Z')
  const times = (...all: object[]) => all.map((one) => timeSchema.parse(one))
  const [day, night] = [
    { from: '08:00', to: '20:00' },
    { from: '20:00', to: '08:00' },
  ]
  expect(gapIn(times(day, night), monday)).toBeUndefined()
  expect(iso(gapIn(times(day), monday))).toBe('2026-01-05T00:00')
  expect(iso(gapIn(times(day, { ...night, days: 'Mon-Fri' }, { to: '08:00' }), monday))).toBe(
    '2026-01-10T20:00',
  )
  expect(gapIn([...times(day), undefined], monday)).toBeUndefined()
})

test.each<[object, string]>([
  [{ days: 'Mo-Fr' }, 'routes[0].match.time: days: "Mo" is no day; write days by three letters'],
  [{ days: 'Monday' }, '; did you mean "Mon"?'],
  [{ days: '' }, 'days: "" is no day'],
  [{ from: '25:00' }, 'routes[0].match.time: from: write a time from "00:00" to "23:59"'],
  [{ from: '08:00', to: '08:00' }, 'routes[0].match.time: to: both times are the same'],
  [{ zone: 'Berlin' }, 'routes[0].match.time: zone: "Berlin" is no time zone; write'],
  [{ zone: 'Berlin' }, '; did you mean "Europe/Berlin"?'],
  [{ zone: 'Europe/Belrin' }, '; did you mean "Europe/Berlin"?'],
  [{ days: 'Mo', zone: 'Berlin' }, 'days: "Mo" is no day'],
  [{ days: 'Mo', zone: 'Berlin' }, '; zone: "Berlin" is no time zone'],
  [[{}, { zone: 'Berlin' }], 'routes[0].match.time[1].zone: "Berlin" is no time zone'],
  [{ day: 'Mon' }, 'routes[0].match.time: unknown key "day"'],
  [[], 'routes[0].match.time: write an object in { } with days, from, to and zone'],
])('%j is a mistake', (time, said) => {
  expect(mistakesOf(JSON.stringify(withValue('routes.0.match.time', time)))).toContain(said)
})
