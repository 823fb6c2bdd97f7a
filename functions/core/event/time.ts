// Instants and spans as text for people.

export function utc(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** Drops seconds that are 0: Azure plans by the minute. */
export function minuteUtc(text: string): string {
  return text.replace(/:00 UTC$/, ' UTC')
}

/** A time farther away than this needs its date. */
const sameDayMs = 12 * 3_600_000
/** A time nearer than this is shown with seconds. */
const secondsMatterMs = 5 * 60_000

/** Writes a time as short as is clear: `12:15 UTC`, `12:00:30 UTC`, `2026-11-27 12:00 UTC`. */
export function clock(at: number, now: number): string {
  const [date, time = ''] = new Date(at).toISOString().split('T')
  const apart = Math.abs(at - now)
  if (apart >= sameDayMs) return `${date} ${time.slice(0, 5)} UTC`
  const showsSeconds = apart < secondsMatterMs && time.slice(6, 8) !== '00'
  return `${time.slice(0, showsSeconds ? 8 : 5)} UTC`
}

/** Writes a time for texts that are also read later: with the date, unless it is today's. */
export function lastingClock(at: number, now: number): string {
  const [date, today] = [utc(at).slice(0, 10), utc(now).slice(0, 10)]
  const text = clock(at, now)
  return date === today || text.startsWith(date) ? text : `${date} ${text}`
}

export function relative(at: number, now: number): string {
  const apart = at - now
  if (Math.abs(apart) < 1_000) return 'now'
  return apart > 0 ? `in ${remaining(apart)}` : `${span(-apart)} ago`
}

/** Time left, rounded down: `45 s`, `1 min 37 s`, and from 5 minutes on as a span. */
export function remaining(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  const minutes = Math.floor(seconds / 60)
  if (minutes === 0) return `${seconds} s`
  if (ms < secondsMatterMs) return `${minutes} min${seconds % 60 === 0 ? '' : ` ${seconds % 60} s`}`
  return inMinutes(minutes)
}

/** The two largest units that matter: `45 s`, `1 min`, `75 s`, `14 min`, `2 h 5 min`, `3 d 4 h`. */
export function span(ms: number): string {
  const seconds = Math.round(ms / 1000)
  const isShort = seconds < 90 && seconds !== 60
  return isShort ? `${seconds} s` : inMinutes(Math.round(seconds / 60))
}

function inMinutes(minutes: number): string {
  if (minutes < 90) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return `${hours} h${minutes % 60 === 0 ? '' : ` ${minutes % 60} min`}`
  const days = Math.floor(hours / 24)
  return `${days} d${hours % 24 === 0 ? '' : ` ${hours % 24} h`}`
}
