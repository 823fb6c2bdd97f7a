// Converts a time on the page from UTC to the time zone of the reader.

const instant = /^(?:(\S{10}) )?(\d\d:\d\d)(:\d\d)? UTC$/

/**
 * `(14:15 here)` for `12:15 UTC`, with the date only if it differs. Empty if the text is not a
 * time, or if the reader's zone is UTC. A time without a date is on the day of `now`, epoch ms.
 */
export function readersTime(text: string, now: number): string {
  const found = instant.exec(text)
  if (found === null) return ''
  const [, date, minutes, seconds = ''] = found
  const day = date ?? new Date(now).toISOString().slice(0, 10)
  const at = new Date(`${day}T${minutes}${seconds}Z`)
  if (at.getTimezoneOffset() === 0) return ''
  const localDay = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join('-')
  const clock = [at.getHours(), at.getMinutes(), ...(seconds === '' ? [] : [at.getSeconds()])]
  return `(${localDay === day ? '' : `${localDay} `}${clock.map(two).join(':')} here)`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
