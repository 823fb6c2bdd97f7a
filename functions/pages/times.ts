// Times as pages show them: in UTC. The program in the browser adds the reader's own time.
import { html } from 'hono/html'
import { utc } from '../core/event/time.ts'

/** Keeps each time and name of the text on one line, a time with the mark behind it. */
export function whole(text: string) {
  return html`${splitTime(text).map(({ text, isWhole, mark }) => {
    if (!isWhole) return text
    const own = html`<span class="t">${text}</span>`
    return mark === '' ? own : html`<span class="nb">${own}${mark}</span>`
  })}`
}

/** `12:02 UTC`, with the date if it is not that of `now`. */
export function utcOn(at: number, now: number): string {
  const [text, today] = [utc(at).replace(/:\d\d UTC$/, ' UTC'), utc(now).slice(0, 11)]
  return text.startsWith(today) ? text.slice(11) : text
}

interface Piece {
  text: string
  /** It is a time or a quoted name: it stays on one line. */
  isWhole: boolean
  /** The mark behind it, which begins no line. */
  mark: string
}

const unbroken = /((?:\d{4}-\d\d-\d\d )?\d\d:\d\d(?::\d\d)? UTC|"[^"\s]{1,40}")([,.;:)]*)/

/** Splits a text so that a time or a quoted name is never broken across two lines. */
export function splitTime(text: string): Piece[] {
  // `split` puts what was captured between the parts: a piece and its mark
  const parts = text.split(unbroken)
  const pieces = parts.flatMap((part, i): Piece[] => {
    if (i % 3 === 2) return []
    const isWhole = i % 3 === 1
    return [{ text: part, isWhole, mark: isWhole ? parts[i + 1]! : '' }]
  })
  return pieces.filter((piece) => piece.text !== '')
}
