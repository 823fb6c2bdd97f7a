// Protects against presses that miss because the page has just changed: they do not count for a moment.
// If a part of the page appears or disappears, the page scrolls along.

const guardMs = 700
let guardedUntil = 0

export function guardPresses(): void {
  guardedUntil = performance.now() + guardMs
}

export function arePressesGuarded(): boolean {
  return performance.now() < guardedUntil
}

/** `follow`: scroll so that the first target stays in place. */
export function keepInPlace(change: () => void, follow = true): void {
  const all = [...document.querySelectorAll<HTMLElement>('button, summary, a')]
  const targets = all
    .filter((node) => node.offsetHeight > 0 && node.getBoundingClientRect().bottom > 0)
    .map((node) => ({ node, top: topOf(node) }))
  change()
  const first = targets.find(({ node }) => node.isConnected && node.offsetHeight > 0)
  if (follow && first !== undefined) scrollBy(0, topOf(first.node) - first.top)
  const hasMoved = targets.some(
    ({ node, top }) => !node.isConnected || Math.abs(topOf(node) - top) > 1,
  )
  if (hasMoved) guardPresses()
}

function topOf(node: Element): number {
  return node.getBoundingClientRect().top
}
