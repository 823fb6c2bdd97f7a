// When a rule or route counts: on some days, between two times by the clock of a zone, as in Alertmanager's
// time intervals. But an interval may pass midnight: then it belongs to the day on which it began.
import { minuteMs } from '../units.ts'

export interface TimeInterval {
  /** 0 is Monday. */
  days: number[]
  /** Minutes of the day. Equal: the whole day. `to` is not included. */
  from: number
  to: number
  /** A time zone of the IANA database. */
  zone: string
  /** The interval as the owner wrote it. */
  text: string
}

/** If there are several intervals, one is enough. Absent: always. */
export type Time = TimeInterval[] | undefined

const dayMinutes = 1_440
/** A change of a weekly interval is at most this many boundaries away: three a day and interval. */
const daysAhead = 8

export function isWithinTime(time: Time, at: number): boolean {
  return time === undefined || time.some((interval) => isWithin(interval, at))
}

/** The conditions of rules or routes that count at this time. */
export function activeAt<Rule extends { match: { time?: Time } }>(
  rules: Rule[],
  at: number,
): Rule[] {
  return rules.filter(({ match }) => isWithinTime(match.time, at))
}

/** When one of these may next begin or end, epoch ms. Infinite if none has a time. */
export function nextBoundary(times: Time[], at: number): number {
  const all = times.flatMap((time) => time ?? [])
  return Math.min(Number.POSITIVE_INFINITY, ...all.map((interval) => findBoundary(interval, at)))
}

/** When one of these next begins or ends. Undefined if none does within a week. */
export function nextChange(times: Time[], at: number): number | undefined {
  const stateAt = (one: number) => times.map((time) => isWithinTime(time, one)).join()
  const last = at + daysAhead * dayMinutes * minuteMs
  for (let next = nextBoundary(times, at); next <= last; next = nextBoundary(times, next)) {
    if (stateAt(next) !== stateAt(at)) return next
  }
  return undefined
}

/** When none of these counts, within a week. Undefined: one always does. */
export function gapIn(times: Time[], from: number): number | undefined {
  const last = from + daysAhead * dayMinutes * minuteMs
  for (let at = from; at <= last; at = nextBoundary(times, at)) {
    if (!times.some((time) => isWithinTime(time, at))) return at
  }
  return undefined
}

function isWithin({ days, from, to, zone }: TimeInterval, at: number): boolean {
  const { day, minute } = wallClock(zone, at)
  if (from < to) return days.includes(day) && from <= minute && minute < to
  if (from === to) return days.includes(day)
  return (days.includes(day) && minute >= from) || (days.includes((day + 6) % 7) && minute < to)
}

/** The next `from`, `to` or midnight by the wall clock, or the moment at which that clock is set. */
function findBoundary({ from, to, zone }: TimeInterval, at: number): number {
  const { minute } = wallClock(zone, at)
  const whole = Math.floor(at / minuteMs) * minuteMs
  const ahead = [from, to, 0].map((boundary) => {
    return (boundary - minute + dayMinutes) % dayMinutes || dayMinutes
  })
  return whole + firstSet(zone, whole, Math.min(...ahead)) * minuteMs
}

/** After how many minutes the clock is set, if it is within so many. It is set once a day at most. */
function firstSet(zone: string, from: number, within: number): number {
  const isSet = (minutes: number) => {
    const shown = wallClock(zone, from + minutes * minuteMs).minute
    return (shown - wallClock(zone, from).minute - minutes) % dayMinutes !== 0
  }
  if (!isSet(within)) return within
  let [before, after] = [0, within]
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (isSet(middle)) after = middle
    else before = middle
  }
  return after
}

function wallClock(zone: string, at: number): { day: number; minute: number } {
  const parts = Object.fromEntries(
    chooseFormat(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  )
  const day = weekdays.indexOf(parts.weekday!)
  return { day, minute: Number(parts.hour) * 60 + Number(parts.minute) }
}

export const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']

/** Making one takes far longer than using it. A configuration has few zones. */
const formats = new Map<string, Intl.DateTimeFormat>()

/** Throws RangeError for an unknown zone. */
export function chooseFormat(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known !== undefined) return known
  const shape = { weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, ...shape })
  formats.set(zone, format)
  return format
}
