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

/** A channel that asks for more is asked again after this time: the next event may not wait for hours. */
export const maxPauseMs = 60_000

/** Workers' clocks differ a little. */
const clocksApartMs = 5_000

/** When the next request may be sent, epoch ms. */
export function freeAt(rate: Rate, spentUntil: number, now: number): number {
  return known(rate, spentUntil, now) - (rate.burst - 1) * rate.everyMs
}

/** What lies farther ahead than any pause was written by a clock that was wrong. */
function known({ everyMs, burst }: Rate, spentUntil: number, now: number): number {
  const farthest = now + maxPauseMs + burst * everyMs + clocksApartMs
  return spentUntil > farthest ? now : spentUntil
}

/** How many requests may be sent now. */
export function turnsAt(rate: Rate, spentUntil: number, now: number): number {
  const restsMs = now - freeAt(rate, spentUntil, now)
  if (restsMs < 0) return 0
  if (rate.everyMs === 0) return Number.POSITIVE_INFINITY
  return Math.min(rate.burst, 1 + Math.floor(restsMs / rate.everyMs))
}

/** `spentUntil` after so many requests. */
export function afterTurns(rate: Rate, spentUntil: number, now: number, turns: number): number {
  return Math.max(known(rate, spentUntil, now), now) + turns * rate.everyMs
}

/** `spentUntil` of a channel that shall get nothing before `until`, and one request then. */
export function pausedUntil(rate: Rate, until: number): number {
  return until + (rate.burst - 1) * rate.everyMs
}
