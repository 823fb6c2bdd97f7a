// Writes texts into the page, with the reader's own time beside each time. It does not touch a text
// that has not changed, so that screen readers do not read it again.
import { piecesOf } from '../pieces.ts'
import { relayNow } from './clock.ts'
import { readersTime } from './readers-time.ts'

/** The texts without the readers' times. */
const texts = new WeakMap<Element, string>()

export function setText(node: Element | null, text: string): void {
  if (node !== null && (texts.get(node) ?? node.textContent) !== text) fill(node, text)
}

export function newElement(name: string, text: string): HTMLElement {
  const node = document.createElement(name)
  fill(node, text)
  return node
}

/** Adds the reader's times to texts that came with the page. */
export function addReadersTimes(main: Element): void {
  for (const node of main.querySelectorAll('[data-lines], dd')) {
    texts.set(node, node.textContent ?? '')
  }
  for (const node of main.querySelectorAll('.t')) {
    const local = readersTime(node.textContent ?? '', relayNow())
    if (local !== '') node.after(' ', onOneLine(local))
  }
}

function fill(node: Element, text: string): void {
  texts.set(node, text)
  node.replaceChildren(
    ...piecesOf(text).flatMap(({ text, isWhole }) => (isWhole ? withReadersTime(text) : [text])),
  )
}

function withReadersTime(text: string): (Node | string)[] {
  const local = readersTime(text, relayNow())
  return local === '' ? [onOneLine(text)] : [onOneLine(text), ' ', onOneLine(local)]
}

function onOneLine(text: string): HTMLElement {
  const node = document.createElement('span')
  node.className = 't'
  node.textContent = text
  return node
}
