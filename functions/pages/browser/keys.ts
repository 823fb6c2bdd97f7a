// Keys of a list: `/` goes to its filter, `j` and `k` to the next and the last row, and Enter opens it, as
// links do. No key decides.

/** Whether the key was one of these. */
export function press(key: string, main: HTMLElement): boolean {
  if (key === '/') {
    const field = main.querySelector<HTMLElement>('[data-search]')
    field?.closest('details')?.setAttribute('open', '')
    return focus(field)
  }
  if (key !== 'j' && key !== 'k') return false
  const links = [...main.querySelectorAll<HTMLElement>('[data-key] a[href]')].filter(isFirstOfRow)
  const row = document.activeElement?.closest('[data-key]')
  const at = links.findIndex((link) => link.closest('[data-key]') === row)
  const next = key === 'j' ? at + 1 : Math.max(0, at - 1)
  return focus(links[next])
}

function isFirstOfRow(link: HTMLElement): boolean {
  return link.closest('[data-key]')?.querySelector('a[href]') === link && link.checkVisibility()
}

function focus(node: HTMLElement | null | undefined): boolean {
  node?.focus()
  return node !== null && node !== undefined
}

/** Whether the reader types a text, or means a key of the browser. */
export function isTyping({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  const isField = target instanceof Element && target.closest('input, select, textarea') !== null
  return isField || ctrlKey || metaKey || altKey
}
