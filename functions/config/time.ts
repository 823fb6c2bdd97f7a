// The schema of `match.time`: days, times and a time zone.
import * as z from 'zod'
import { pathOf } from '../../shared/errors.ts'
import { formatOf, type TimeInterval, weekdays } from '../core/rules/time.ts'
import { maxListed, object } from '../schema/checks.ts'

const daysRule = 'write days by three letters in one text, such as "Mon-Fri" or "Sat, Sun"'
const clockRule = 'write a time from "00:00" to "23:59"; for the end of the day, leave "to" out'
const zoneRule = 'write a time zone such as "Europe/Berlin" or "UTC"'
const sameRule = 'both times are the same; leave both out for whole days'

const day = weekdays.join('|')
const days = z
  .string(daysRule)
  .regex(new RegExp(`^(${day})(-(${day}))?(, ?(${day})(-(${day}))?)*$`), daysRule)
const clock = z.string(clockRule).regex(/^([01]\d|2[0-3]):[0-5]\d$/, clockRule)

const interval = object({
  days: days.default('Mon-Sun').describe('Such as `Mon-Fri` or `Sat, Sun`.'),
  from: clock.default('00:00').describe('The beginning, such as `22:00`.'),
  to: clock
    .default('00:00')
    .describe('The end, which is not included. Before `from`: on the next day.'),
  zone: z
    .string(zoneRule)
    .refine(isZone, { error: zoneRule })
    .default('UTC')
    .describe('A name of the IANA database, such as `Europe/Berlin`.'),
})
  .refine(({ from, to }) => from !== to || from === '00:00', { path: ['to'], error: sameRule })
  .transform(({ days: named, from, to, zone }): TimeInterval => {
    const ofDay = from === to ? '' : ` ${from} to ${to}`
    const text = `${named}${ofDay} (${zone})`
    return { days: daysIn(named), from: minuteOf(from), to: minuteOf(to), zone, text }
  })

const timeRule = `write an object in { } with days, from, to and zone, or a list of 1 to ${maxListed} of these`

/** One interval or several; always gives a list. */
export const timeSchema = z
  .union([interval, z.array(interval).min(1, timeRule).max(maxListed, timeRule)], {
    error: ({ input, errors = [] }) => whyOf(errors[Array.isArray(input) ? 1 : 0]),
  })
  .transform((value) => [value].flat())

/** The first mistake, with its place in the interval. */
function whyOf(issues: z.core.$ZodIssue[] = []): string {
  const { path = [], message = timeRule } = issues[0] ?? {}
  return path.length === 0 ? timeRule : `${pathOf(path)}: ${message}`
}

/** `Fri-Mon` passes the end of the week. */
function daysIn(text: string): number[] {
  return text.split(/, ?/).flatMap((part) => {
    const [first, last = first] = part.split('-').map((name) => weekdays.indexOf(name))
    const count = ((last! - first! + 7) % 7) + 1
    return Array.from({ length: count }, (_, i) => (first! + i) % 7)
  })
}

function minuteOf(text: string): number {
  const [hours, minutes] = text.split(':').map(Number)
  return hours! * 60 + minutes!
}

function isZone(zone: string): boolean {
  try {
    return formatOf(zone) !== undefined
  } catch {
    return false
  }
}
