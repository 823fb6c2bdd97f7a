// Times as pages show them: in UTC. The program in the browser adds the reader's own time.
import { html } from 'hono/html'
import { utc } from '../core/event/time.ts'
import { piecesOf } from './pieces.ts'

/** Keeps each time and name of the text on one line. */
export function whole(text: string) {
  return html`${piecesOf(text).map((piece) => (piece.isWhole ? html`<span class="t">${piece.text}</span>` : piece.text))}`
}

/** Drops seconds that are 0: Azure plans by the minute. */
export function minuteUtc(text: string): string {
  return text.replace(/:00 UTC$/, ' UTC')
}

/** `12:02:30 UTC`, with the date if it is not that of `now`. */
export function utcOn(at: number, now: number): string {
  const [text, today] = [utc(at), utc(now).slice(0, 11)]
  return text.startsWith(today) ? text.slice(11) : text
}
