// Instants as pages show them: in UTC. The program in the browser adds the reader's own time.
import { html } from 'hono/html'
import { utc } from '../core/event/time.ts'
import { piecesOf } from './pieces.ts'

/** The text with its times and names kept on one line. */
export function whole(text: string) {
  return html`${piecesOf(text).map((piece) => (piece.isWhole ? html`<span class="t">${piece.text}</span>` : piece.text))}`
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
