// An instant that survives a restart. Wall time can jump, so within one process its age comes from
// the monotonic clock.
import type { Clock } from './clock.ts'

export interface Instant {
  /** Epoch ms. */
  wall: number
  /** Of this process only. */
  monotonic?: number
}

/** The instant of a monotonic time of this process; without one, now. */
export function instantOf(clock: Clock, monotonic = clock.monotonic()): Instant {
  return { monotonic, wall: clock.now() - (clock.monotonic() - monotonic) }
}

/** At least 0 ms: the wall clock may have been set back between two processes. */
export function ageMsOf(clock: Clock, { wall, monotonic }: Instant): number {
  if (monotonic !== undefined) return clock.monotonic() - monotonic
  return Math.max(0, clock.now() - wall)
}
