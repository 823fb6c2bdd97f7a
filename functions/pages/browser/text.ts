// Writes texts into the page, and adds the reader's own time beside each time.
import { relayNow } from './clock.ts'
import { readersTime } from './readers-time.ts'

/** A text that has not changed stays untouched, so that screen readers do not read it again. */
export function setText(node: Element, text: string): void {
  if (node.textContent !== text) node.textContent = text
}

/** The relay marks times, so that each stays on one line. */
export function addReadersTimes(main: Element): void {
  for (const node of main.querySelectorAll('.t')) {
    const local = readersTime(node.textContent ?? '', relayNow())
    if (local !== '') node.after(' ', onOneLine(local))
  }
}

function onOneLine(text: string): HTMLElement {
  const node = document.createElement('span')
  node.className = 't'
  node.textContent = text
  return node
}
