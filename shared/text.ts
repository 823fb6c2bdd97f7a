// A text of unknown length, cut to a limit.

/** Cut to `length` UTF-16 units without splitting a character, with a visible `…`. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text
  const end = /[\uD800-\uDBFF]/.test(text[length - 2] ?? '') ? length - 2 : length - 1
  return `${text.slice(0, end)}…`
}
