// When to retry: backoff with jitter, and the wait that a server asked for.

export interface Backoff {
  /** The first wait. */
  baseMs: number
  /** No wait is longer. */
  capMs: number
}

/**
 * The wait after failed attempt number `attempt` (≥ 1). It doubles each time up to the cap, and is
 * spread over its upper half, so that many clients do not return together. `random` is in [0, 1).
 */
export function backoffMs(attempt: number, backoff: Backoff, random: number): number {
  const full = Math.min(backoff.capMs, backoff.baseMs * 2 ** Math.min(attempt - 1, 30))
  return Math.round(full / 2 + (full / 2) * random)
}

/** Reads a Retry-After header in either form, seconds or HTTP date; ms from now, or undefined. */
export function parseRetryAfter(value: string | null | undefined, now: number): number | undefined {
  if (value === null || value === undefined) return undefined
  const text = value.trim()
  if (/^\d+(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000)
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}
