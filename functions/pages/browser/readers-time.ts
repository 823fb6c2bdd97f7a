// Converts a time on the page from UTC to the time zone of the reader.

/** What a time of the page says, epoch ms. A time without a date is on the day of `now`. */
function read(text: string, now: number): { at: Date; seconds: boolean; day: string } | undefined {
  const found = instant.exec(text)
  if (found === null) return undefined
  const [, date, minutes, seconds = ''] = found
  const day = date ?? new Date(now).toISOString().slice(0, 10)
  return { at: new Date(`${day}T${minutes}${seconds}Z`), seconds: seconds !== '', day }
}

const instant = /^(?:(\S{10}) )?(\d\d:\d\d)(:\d\d)? UTC$/

/**
 * Returns `14:15` for `12:15 UTC`, with the date if it is not today's. Empty if the text is not a time, or if the
 * reader's zone is UTC. A time without a date is on the day of `now`, epoch ms.
 */
export function readersTime(text: string, now: number): string {
  const found = read(text, now)
  if (found === undefined || found.at.getTimezoneOffset() === 0) return ''
  const day = formatDay(found.at)
  return `${day === formatDay(new Date(now)) ? '' : `${day} `}${formatClock(found.at, found.seconds)}`
}

const weekMs = 6 * 86_400_000

/**
 * The time by the reader's clock alone, as short as is clear: `14:15`, `Tue 14:15`, `24 Nov 14:15`. Empty
 * if the text is not a time.
 */
export function readersOnly(text: string, now: number): string {
  const found = read(text, now)
  if (found === undefined) return ''
  const { at, seconds } = found
  const [clock, today] = [formatClock(at, seconds), new Date(now)]
  if (formatDay(at) === formatDay(today)) return clock
  const name = (options: Intl.DateTimeFormatOptions) => at.toLocaleDateString('en-GB', options)
  if (Math.abs(at.getTime() - now) < weekMs) return `${name({ weekday: 'short' })} ${clock}`
  const isThisYear = at.getFullYear() === today.getFullYear()
  return `${isThisYear ? name({ day: 'numeric', month: 'short' }) : formatDay(at)} ${clock}`
}

export function isUtcHere(now: number): boolean {
  return new Date(now).getTimezoneOffset() === 0
}

/** With seconds. */
export function localClock(now: number): string {
  return formatClock(new Date(now), true)
}

function formatDay(at: Date): string {
  return [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join('-')
}

function formatClock(at: Date, seconds: boolean): string {
  return [at.getHours(), at.getMinutes(), ...(seconds ? [at.getSeconds()] : [])].map(two).join(':')
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
