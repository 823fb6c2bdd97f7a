// Writes texts into the page, and shows times by the reader's own clock.
import { clockText, relayNow } from './clock.ts'
import { placeMarks } from './marks.ts'
import { isUtcHere, localClock, readersOnly, readersTime } from './readers-time.ts'

/** A text that has not changed stays untouched, so that screen readers do not read it again. */
export function setText(node: Element, text: string): void {
  if (node.textContent !== text) node.textContent = text
}

/** The relay marks times, so that each stays on one line. The reader's own clock comes first. */
export function addReadersTimes(main: Element): void {
  for (const node of main.querySelectorAll('.t')) {
    const inUtc = node.textContent ?? ''
    const local = readersTime(inUtc, relayNow())
    if (local === '') continue
    setText(node, local)
    // the date is that of the reader's own clock
    node.after(' ', onOneLine(`(${inUtc.replace(/^\d{4}-\S+ /, '')})`))
  }
}

const zoneName = 'foghorn-zone'

/** In the console, one clock at a time: the reader's, or UTC. The other is the title. */
export function showOneClock(main: Element): void {
  const isUtc = wantsUtc()
  for (const node of main.querySelectorAll<HTMLElement>('.t')) {
    node.dataset.utc ??= node.textContent ?? ''
    const own = readersOnly(node.dataset.at ?? node.dataset.utc, relayNow())
    if (own === '') continue
    setText(node, isUtc ? node.dataset.utc : own)
    node.title = isUtc ? `${own} here` : node.dataset.utc
  }
  const isSame = isUtcHere(relayNow())
  for (const node of main.querySelectorAll('[data-zone-label]')) {
    setText(node, isUtc || isSame ? 'UTC' : 'Your time')
  }
  placeMarks(main, isUtc)
  const button = document.querySelector<HTMLButtonElement>('[data-zone]')
  if (button !== null) showZone(button, isUtc, isSame)
}

/** A reader in UTC has nothing to choose, but sees what the times are. */
function showZone(button: HTMLButtonElement, isUtc: boolean, isSame: boolean): void {
  button.hidden = false
  button.disabled = isSame
  setText(button, isUtc || isSame ? 'Times: UTC' : 'Times: local')
}

/** The clock of a wall, in the zone of the times beside it. */
export function clockHere(): string {
  const now = relayNow()
  const isUtc = wantsUtc() || isUtcHere(now)
  return isUtc ? clockText(now) : `${localClock(now)}, local time`
}

export function turnZone(): void {
  localStorage.setItem(zoneName, wantsUtc() ? 'local' : 'utc')
}

function wantsUtc(): boolean {
  return localStorage.getItem(zoneName) === 'utc'
}

function onOneLine(text: string): HTMLElement {
  const node = document.createElement('small')
  node.className = 't'
  node.textContent = text
  return node
}
