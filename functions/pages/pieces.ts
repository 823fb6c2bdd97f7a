// Splits a text so that a time or a quoted name is never broken across two lines. The relay and the
// program in the browser share it.

interface Piece {
  text: string
  /** A time or a quoted name: it stays on one line. */
  isWhole: boolean
}

const whole = /((?:\d{4}-\d\d-\d\d )?\d\d:\d\d(?::\d\d)? UTC|"[^"\s]{1,40}")/

export function piecesOf(text: string): Piece[] {
  // `split` puts the captured parts at the odd places.
  const pieces = text.split(whole).map((part, i) => ({ text: part, isWhole: i % 2 === 1 }))
  return pieces.filter((piece) => piece.text !== '')
}
