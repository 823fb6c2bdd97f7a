// Instants as pages show them: in UTC, beside which the script writes the reader's own time. What is to stay
// on one line, a time or a quoted name, is marked by one pattern here and in the script.
import { html } from 'hono/html'
import { utc } from '../core/time.ts'

/** For `split`: what it captures stays on one line. */
export const wholePattern =
  '((?:\\d{4}-\\d\\d-\\d\\d )?\\d\\d:\\d\\d(?::\\d\\d)? UTC|"[^"\\s]{1,40}")'

/** The text with its times and names kept whole. */
export function whole(text: string) {
  const parts = text.split(new RegExp(wholePattern))
  return html`${parts.map((part, i) => (i % 2 === 1 ? html`<span class="t">${part}</span>` : part))}`
}

/** `12:15 UTC`: a time that Azure plans by the minute, to the second only where it says so. */
export function minuteUtc(text: string): string {
  return text.replace(/:00 UTC$/, ' UTC')
}

/** `12:02:30 UTC`, with the date where it is not that of `now`: for what is asked for again. */
export function utcOn(at: number, now: number): string {
  const [text, today] = [utc(at), utc(now).slice(0, 11)]
  return text.startsWith(today) ? text.slice(11) : text
}
