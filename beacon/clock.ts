// The clocks of the beacon. Wall time can jump, so ages within one process come from the monotonic
// clock.

export interface Clock {
  /** Epoch ms; may jump. */
  now(): number
  /** Ms since some fixed instant of this process; never goes back. */
  monotonic(): number
  /** Resolves after `ms`, or as soon as `signal` aborts; never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve()
      const done = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal.addEventListener('abort', done)
    }),
}

export interface Instant {
  /** Epoch ms. */
  wall: number
  /** A monotonic time counts only in the process that read it. */
  monotonic?: number
}

/** The instant of a monotonic time of this process; without one, now. */
export function toInstant(clock: Clock, monotonic = clock.monotonic()): Instant {
  return { monotonic, wall: clock.now() - (clock.monotonic() - monotonic) }
}

/** The age is at least 0 ms: the wall clock may have been set back between two processes. */
export function measureAgeMs(clock: Clock, { wall, monotonic }: Instant): number {
  if (monotonic !== undefined) return clock.monotonic() - monotonic
  return Math.max(0, clock.now() - wall)
}
