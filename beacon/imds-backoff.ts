// How long to wait after IMDS failed: depends on the failure and on how often it was repeated.
import { type Backoff, backoffMs } from '../shared/retry.ts'
import type { Clock } from './clock.ts'
import type { Failed, FailureClass } from './imds.ts'

/** How long 410 ("being updated") is expected to last at most. */
const updatingMs = 70_000
const transientBackoff: Backoff = { baseMs: 1_000, capMs: 5_000 }
const absentBackoff: Backoff = { baseMs: 1_000, capMs: 60_000 }
const longestRetryAfterMs = 60_000

/** The failures of one class in a row, the newest included. */
interface Streak {
  attempt: number
  /** Time since the first of these failures. */
  lastingMs: number
}

/** No wait is shorter than `pollMs`; `random` is in [0, 1). */
function imdsWaitMs(failed: Failed, streak: Streak, pollMs: number, random: number): number {
  const backedOffMs = backoffMs(streak.attempt, transientBackoff, random)
  const askedMs = Math.min(failed.retryAfterMs ?? 0, longestRetryAfterMs)
  const transientMs = Math.max(backedOffMs, askedMs)
  const waitMs: Record<FailureClass, number> = {
    fallback: pollMs,
    updating: streak.lastingMs < updatingMs ? pollMs : transientMs,
    throttled: failed.retryAfterMs === undefined ? backedOffMs : askedMs,
    transient: transientMs,
    absent: backoffMs(streak.attempt, absentBackoff, random),
  }
  return Math.max(pollMs, waitMs[failed.class])
}

export interface ImdsBackoff {
  /** Ms to wait after this failure. */
  waitMs(failed: Failed): number
  /** Call after a success: the next failure counts as the first. */
  reset(): void
}

/** Counts the consecutive failures of one kind of request. */
export function createImdsBackoff(
  clock: Pick<Clock, 'monotonic'>,
  random: () => number,
  pollMs: number,
): ImdsBackoff {
  let streak: { class: FailureClass; attempt: number; since: number } | undefined
  return {
    waitMs(failed) {
      const now = clock.monotonic()
      if (streak?.class !== failed.class) streak = { class: failed.class, attempt: 0, since: now }
      streak.attempt += 1
      const { attempt, since } = streak
      return imdsWaitMs(failed, { attempt, lastingMs: now - since }, pollMs, random())
    },
    reset() {
      streak = undefined
    },
  }
}
