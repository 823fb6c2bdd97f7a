// Times as pages show them: in UTC. The program in the browser adds the reader's own time.
import { html } from 'hono/html'
import { utc } from '../core/event/time.ts'

/** Keeps each time and name of the text on one line. */
export function whole(text: string) {
  return html`${splitTime(text).map((piece) => (piece.isWhole ? html`<span class="t">${piece.text}</span>` : piece.text))}`
}

/** `12:02 UTC`, with the date if it is not that of `now`. */
export function utcOn(at: number, now: number): string {
  const [text, today] = [utc(at).replace(/:\d\d UTC$/, ' UTC'), utc(now).slice(0, 11)]
  return text.startsWith(today) ? text.slice(11) : text
}

interface Piece {
  text: string
  /** A time or a quoted name: it stays on one line. */
  isWhole: boolean
}

const unbroken = /((?:\d{4}-\d\d-\d\d )?\d\d:\d\d(?::\d\d)? UTC|"[^"\s]{1,40}")/

/** Splits a text so that a time or a quoted name is never broken across two lines. */
export function splitTime(text: string): Piece[] {
  // `split` puts the captured parts at the odd places.
  const pieces = text.split(unbroken).map((part, i) => ({ text: part, isWhole: i % 2 === 1 }))
  return pieces.filter((piece) => piece.text !== '')
}
