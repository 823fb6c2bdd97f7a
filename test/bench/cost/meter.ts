// How Flex Consumption measures an instance's active time: from when it begins to execute anything until it
// executes nothing, at least a second, in steps of 100 ms, and no moment twice. So executions that
// overlap are billed once, and one that fits into a second that is billed already costs no time.
import { flex } from './prices.ts'

interface Span {
  startedAt: number
  endedAt: number
}

/** Billed ms of one instance that executed these. */
export function metered(spans: Span[]): number {
  let sum = 0
  let billedUntil = Number.NEGATIVE_INFINITY
  for (const { startedAt, endedAt } of joined(spans)) {
    const from = Math.max(startedAt, billedUntil)
    if (endedAt <= from) continue
    const activeMs = Math.max(endedAt - from, flex.leastActiveMs)
    const billedMs = Math.ceil(activeMs / flex.activeStepMs) * flex.activeStepMs
    sum += billedMs
    billedUntil = from + billedMs
  }
  return sum
}

/** Stretches in which at least one is under way. */
function joined(spans: Span[]): Span[] {
  const stretches: Span[] = []
  for (const span of spans.toSorted((a, b) => a.startedAt - b.startedAt)) {
    const last = stretches.at(-1)
    if (last !== undefined && span.startedAt <= last.endedAt) {
      last.endedAt = Math.max(last.endedAt, span.endedAt)
    } else stretches.push({ ...span })
  }
  return stretches
}

/**
 * Share of the time that an instance is billed when requests come independently of each other, as
 * those of many beacons do. A billed second is followed by another one where a request is under way at
 * its end, and else by a wait for the next request.
 */
export function activeShare(perSecond: number, durationMs: number): number {
  if (durationMs > flex.leastActiveMs) {
    throw new RangeError(`${durationMs} ms: executions of more than a second are not modelled`)
  }
  const busy = perSecond * (flex.leastActiveMs / 1_000)
  return busy / (busy + Math.exp((-perSecond * durationMs) / 1_000))
}

/** Instances so that all but one request in a hundred find room. */
export function instancesFor(underWay: number, concurrency: number): number {
  let term = Math.exp(-underWay)
  let sum = term
  let most = 0
  while (sum < 0.99) {
    most += 1
    term *= underWay / most
    sum += term
  }
  return Math.max(1, Math.ceil(most / concurrency))
}
