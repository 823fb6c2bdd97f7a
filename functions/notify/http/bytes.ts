// Lengths in bytes of UTF-8. Some services count bytes and some characters: a text has no more characters
// than bytes, so it fits both.
const encoder = new TextEncoder()

export function bytesIn(text: string): number {
  return encoder.encode(text).length
}

/** Ends with `…` if something is left out. No character is split. */
export function cutToBytes(text: string, most: number): string {
  if (bytesIn(text) <= most) return text
  const room = new Uint8Array(Math.max(0, most - bytesIn('…')))
  return `${text.slice(0, encoder.encodeInto(text, room).read)}…`
}
