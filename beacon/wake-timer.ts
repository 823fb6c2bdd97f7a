// The time that a loop waits for. Others may bring it forward while the loop waits.
import type { Clock } from './clock.ts'

export interface WakeTimer {
  /** Makes it due at `at` (monotonic ms), unless it is already due earlier. */
  bring(at: number): void
  /** Resolves when due, but not before `notBefore`, or when `stop` aborts. Then clears it. */
  wait(stop: AbortSignal, notBefore?: number): Promise<void>
  /** Aborts with the next `bring`. Only for the loop that waits. */
  brought(): AbortController
}

/** Timers count in 32 bits, so a longer wait takes several. */
const longestSleepMs = 86_400_000

export function createWakeTimer(clock: Clock): WakeTimer {
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
    brought() {
      nudge = new AbortController()
      if (due !== Number.POSITIVE_INFINITY) nudge.abort()
      return nudge
    },
  }
}
