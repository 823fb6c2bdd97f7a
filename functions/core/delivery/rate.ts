// The rate limit of a channel: the generic cell rate algorithm. The store keeps one number for each
// channel, which all workers share: `spentUntil`, the time when the average rate has caught up with all
// requests so far. Up to `burst - 1` requests may go out before that time.

export interface Rate {
  /** One request in this time, on average. 0: no limit. */
  everyMs: number
  /** Requests that an idle channel accepts at once. */
  burst: number
  /** Deliveries that one request may contain. Messages that had to wait become one list. */
  together: number
  /** Requests of one worker at a time, so that a channel that hangs does not block the others. */
  atOnce: number
}

export const unlimited: Rate = { everyMs: 0, burst: 1, together: 1, atOnce: 32 }
/** The rate of each channel that is stored. */
export const storedRate: Rate = { ...unlimited, atOnce: 5 }

/** A longer pause than this is cut, as the next event cannot wait for hours. */
export const maxPauseMs = 60_000

/** Workers' clocks differ a little. */
const clocksApartMs = 5_000

/** When the next request may be sent, epoch ms. */
export function freeAt(rate: Rate, spentUntil: number, now: number): number {
  return plausible(rate, spentUntil, now) - (rate.burst - 1) * rate.everyMs
}

/** Ignores a value farther ahead than any pause, which a wrong clock wrote. */
function plausible({ everyMs, burst }: Rate, spentUntil: number, now: number): number {
  const farthest = now + maxPauseMs + burst * everyMs + clocksApartMs
  return spentUntil > farthest ? now : spentUntil
}

/** How many requests may be sent now. */
export function slotsAt(rate: Rate, spentUntil: number, now: number): number {
  const restedMs = now - freeAt(rate, spentUntil, now)
  if (restedMs < 0) return 0
  if (rate.everyMs === 0) return Number.POSITIVE_INFINITY
  return Math.min(rate.burst, 1 + Math.floor(restedMs / rate.everyMs))
}

/** A rate that allows nothing for longer than any wait between two dense attempts holds its messages up. */
const heldUpMs = 15_000

export function holdsUp(freeAt: number, now: number): boolean {
  return freeAt > now + heldUpMs
}

/** `spentUntil` after this many requests. */
export function afterSlots(rate: Rate, spentUntil: number, now: number, slots: number): number {
  return Math.max(plausible(rate, spentUntil, now), now) + slots * rate.everyMs
}

/** `spentUntil` of a channel that gets one request at `until`, and none before. */
export function spentByPause(rate: Rate, until: number): number {
  return until + (rate.burst - 1) * rate.everyMs
}
