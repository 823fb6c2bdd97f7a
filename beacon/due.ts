// An instant that a loop waits for, and that others may bring forward while it waits.
import type { Clock } from './clock.ts'

export interface Due {
  /** Makes it due at `at` (monotonic ms), unless it is due earlier already. */
  bring(at: number): void
  /** Resolves once it is due, and not before `notBefore`; or at once when `stop` aborts. It is then due never. */
  wait(stop: AbortSignal, notBefore?: number): Promise<void>
}

/** Timers count in 32 bits: a longer wait is made of several. */
const longestSleepMs = 86_400_000

export function createDue(clock: Clock): Due {
  let due = Number.POSITIVE_INFINITY
  let nudge = new AbortController()
  return {
    bring(at) {
      if (at >= due) return
      due = at
      nudge.abort()
    },
    async wait(stop, notBefore = 0) {
      const stopped = () => nudge.abort()
      stop.addEventListener('abort', stopped)
      while (!stop.aborted) {
        const leftMs = Math.max(due, notBefore) - clock.monotonic()
        if (leftMs <= 0) break
        nudge = new AbortController()
        await clock.sleep(Math.min(leftMs, longestSleepMs), nudge.signal)
      }
      stop.removeEventListener('abort', stopped)
      due = Number.POSITIVE_INFINITY
    },
  }
}
