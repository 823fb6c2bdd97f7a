// A text of unknown length, cut to a limit or broken into lines.

/** Cut to `length` UTF-16 units without splitting a character, with a visible `…`. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text
  const end = /[\uD800-\uDBFF]/.test(text[length - 2] ?? '') ? length - 2 : length - 1
  return `${text.slice(0, end)}…`
}

/** Lines of at most `columns`, unless a word is longer. The first begins with `first`, the others with `rest`. */
export function wrap(text: string, columns: number, first = '', rest = first): string[] {
  const lines: string[] = []
  let line = first
  let isEmpty = true
  for (const word of text.split(' ')) {
    const longer = isEmpty ? line + word : `${line} ${word}`
    if (isEmpty || longer.length <= columns) line = longer
    else {
      lines.push(line)
      line = rest + word
    }
    isEmpty = false
  }
  return [...lines, line]
}
