// How often a channel takes a request: one number per channel, kept by the store, says it for all
// workers. It is the generic cell rate algorithm: `spentUntil` is when the channel will have rested
// from all that it was sent; a burst may run ahead of that by a few requests.

export interface Rate {
  /** One request in this time, in the long run; 0: as many as come. */
  everyMs: number
  /** Requests that a rested channel takes at once. */
  burst: number
  /** Deliveries that one request tells together: what had to wait becomes one message. */
  together: number
  /** Requests of one worker that may be under way: a channel that hangs must not take every place. */
  atOnce: number
}

export const unlimited: Rate = { everyMs: 0, burst: 1, together: 1, atOnce: 32 }

/** When the next request may be sent, epoch ms. */
export function freeAt(rate: Rate, spentUntil: number): number {
  return spentUntil - (rate.burst - 1) * rate.everyMs
}

/** How many requests may be sent now. */
export function turnsAt(rate: Rate, spentUntil: number, now: number): number {
  if (now < freeAt(rate, spentUntil)) return 0
  if (rate.everyMs === 0) return Number.POSITIVE_INFINITY
  return Math.min(rate.burst, 1 + Math.floor((now - freeAt(rate, spentUntil)) / rate.everyMs))
}

/** `spentUntil` after so many requests. */
export function afterTurns(rate: Rate, spentUntil: number, now: number, turns: number): number {
  return Math.max(spentUntil, now) + turns * rate.everyMs
}

/** `spentUntil` of a channel that shall get nothing before `until`, and one request then. */
export function pausedUntil(rate: Rate, until: number): number {
  return until + (rate.burst - 1) * rate.everyMs
}
