// The schema of `match.time`: days, times and a time zone.
import * as z from 'zod'
import { describePath } from '../../shared/errors.ts'
import { cut } from '../../shared/text.ts'
import { chooseFormat, type TimeInterval, weekdays } from '../core/rules/time.ts'
import { maxListed, object } from '../schema/checks.ts'
import { nearest } from '../schema/suggest.ts'

const daysRule = 'write days by three letters in one text, such as "Mon-Fri" or "Sat, Sun"'
/** The name of the first day that is none, with the one that was meant. */
function daysMistake({ input }: { input: unknown }): string {
  const named = typeof input === 'string' ? input.split(/[-,]/).map((one) => one.trim()) : []
  const wrong = named.find((one) => !weekdays.includes(one))
  if (wrong === undefined) return daysRule
  const meant = weekdays.find((one) => {
    return wrong.length > 1 && one.toLowerCase().startsWith(wrong.slice(0, 2).toLowerCase())
  })
  const hint = meant === undefined ? '' : `; did you mean "${meant}"?`
  return `${quotedText(wrong)} is no day; ${daysRule}${hint}`
}
const clockRule = 'write a time from "00:00" to "23:59"; for the end of the day, leave "to" out'
const zoneRule = 'write a time zone such as "Europe/Berlin" or "UTC"'
function zoneMistake({ input }: { input: unknown }): string {
  if (typeof input !== 'string') return zoneRule
  const known = Intl.supportedValuesOf('timeZone')
  const city = known.find((one) => one.toLowerCase().endsWith(`/${input.toLowerCase()}`))
  const meant = city ?? nearest(input, known)
  const hint = meant === undefined ? '' : `; did you mean "${meant}"?`
  return `${quotedText(input)} is no time zone; ${zoneRule}${hint}`
}

function quotedText(text: string): string {
  return JSON.stringify(cut(text, 40))
}
const sameRule = 'both times are the same; leave both out for whole days'

const day = weekdays.join('|')
const days = z
  .string(daysRule)
  .regex(new RegExp(`^(${day})(-(${day}))?(, ?(${day})(-(${day}))?)*$`), { error: daysMistake })
const clock = z.string(clockRule).regex(/^([01]\d|2[0-3]):[0-5]\d$/, clockRule)

const interval = object({
  days: days.default('Mon-Sun').describe('Such as `Mon-Fri` or `Sat, Sun`.'),
  from: clock.default('00:00').describe('The beginning, such as `22:00`.'),
  to: clock
    .default('00:00')
    .describe('The end, which is not included. Before `from`: on the next day.'),
  zone: z
    .string(zoneRule)
    .refine(isZone, { error: zoneMistake })
    .default('UTC')
    .describe('A name of the IANA database, such as `Europe/Berlin`.'),
})
  .refine(({ from, to }) => from !== to || from === '00:00', { path: ['to'], error: sameRule })
  .transform(({ days: named, from, to, zone }): TimeInterval => {
    const ofDay = from === to ? '' : ` ${from} to ${to}`
    const text = `${named}${ofDay} (${zone})`
    return { days: daysIn(named), from: parseMinute(from), to: parseMinute(to), zone, text }
  })

const timeRule = `write an object in { } with days, from, to and zone, or a list of 1 to ${maxListed} of these`

/** One interval or several; always gives a list. */
export const timeSchema = z
  .union([interval, z.array(interval).min(1, timeRule).max(maxListed, timeRule)], {
    error: ({ input, errors = [] }) => describeMistake(errors[Array.isArray(input) ? 1 : 0]),
  })
  .transform((value) => [value].flat())

/** The mistakes, each with its place in the interval. */
function describeMistake(issues: z.core.$ZodIssue[] = []): string {
  const placed = issues.filter(({ path }) => path.length > 0)
  if (placed.length === 0) return timeRule
  return placed.map(({ path, message }) => `${describePath(path)}: ${message}`).join('; ')
}

/** `Fri-Mon` passes the end of the week. */
function daysIn(text: string): number[] {
  return text.split(/, ?/).flatMap((part) => {
    const [first, last = first] = part.split('-').map((name) => weekdays.indexOf(name))
    const count = ((last! - first! + 7) % 7) + 1
    return Array.from({ length: count }, (_, i) => (first! + i) % 7)
  })
}

function parseMinute(text: string): number {
  const [hours, minutes] = text.split(':').map(Number)
  return hours! * 60 + minutes!
}

function isZone(zone: string): boolean {
  try {
    return chooseFormat(zone) !== undefined
  } catch {
    return false
  }
}
