// Reads the times that IMDS writes, as epoch ms. It does not use `Date.parse`, which reads the year
// 0001 as 2001 and February 31 as March 3.

/** For "no date" .NET writes its first or last date. No real event is outside these years. */
const earliestAt = Date.UTC(2010, 0, 1)
const endAt = Date.UTC(2200, 0, 1)

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const rfcTime =
  /^(?:[a-z]+,\s*)?(?<day>\d{1,2}) (?<month>[a-z]{3}) (?<year>\d{4}) (?<time>\d{2}:\d{2}:\d{2}) (?:GMT|UTC)$/i
const isoTime =
  /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})T(?<time>\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(?<zone>Z|[+-]\d{2}:?\d{2})?$/i

/**
 * Epoch ms of `Mon, 19 Sep 2016 18:29:47 GMT` or an ISO 8601 time (UTC if it names no zone). The
 * weekday is ignored: Microsoft's own examples have wrong ones.
 */
export function parseNotBefore(text: string): number | undefined {
  const rfc = rfcTime.exec(text)?.groups
  const parts = rfc ?? isoTime.exec(text)?.groups
  if (parts === undefined) return undefined
  const month = rfc ? months.indexOf(rfc.month!.toLowerCase()) + 1 : Number(parts.month)
  const dayAt = readDay(Number(parts.year), month, Number(parts.day))
  const timeMs = readTime(parts.time!)
  const zoneMs = readZone(parts.zone)
  if (dayAt === undefined || timeMs === undefined || zoneMs === undefined) return undefined
  return plausible(dayAt + timeMs - zoneMs)
}

/** The time in whole ms, or undefined if no event can have it. */
export function plausible(at: number): number | undefined {
  return Number.isInteger(at) && at >= earliestAt && at < endAt ? at : undefined
}

/**
 * Undefined for a day that the calendar lacks, and for years below 100: `Date.UTC` reads them as
 * 19xx.
 */
function readDay(year: number, month: number, day: number): number | undefined {
  const at = Date.UTC(year, month - 1, day)
  const date = new Date(at)
  const same = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1
  return same && date.getUTCDate() === day ? at : undefined
}

function readTime(text: string): number | undefined {
  const [hours = 0, minutes = 0, seconds = 0] = text.split(':').map(Number)
  if (hours > 23 || minutes > 59 || seconds >= 60) return undefined
  return Math.floor((hours * 60 + minutes) * 60_000 + seconds * 1_000)
}

function readZone(text = 'Z'): number | undefined {
  if (text.toUpperCase() === 'Z') return 0
  const hours = Number(text.slice(1, 3))
  const minutes = Number(text.slice(-2))
  if (hours > 23 || minutes > 59) return undefined
  const sign = text.startsWith('-') ? -1 : 1
  return sign * (hours * 60 + minutes) * 60_000
}
