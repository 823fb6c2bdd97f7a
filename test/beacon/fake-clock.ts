// A clock that moves only when a test advances it.
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../beacon/clock.ts'

export interface FakeClock extends Clock {
  /** Lets the time pass, waking each sleeper at its instant, in order. */
  advance(ms: number): Promise<void>
  /** Moves the wall clock alone, as a correction of the system time does. */
  jump(ms: number): void
}

const startedAt = Date.UTC(2026, 0, 1)

export function createFakeClock(): FakeClock {
  let elapsed = 0
  let jumped = 0
  const sleepers = new Set<{ at: number; wake: () => void }>()
  const next = () => [...sleepers].sort((a, b) => a.at - b.at)[0]
  return {
    now: () => startedAt + elapsed + jumped,
    monotonic: () => elapsed,
    jump(ms) {
      jumped += ms
    },
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve()
        const wake = () => {
          sleepers.delete(sleeper)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        const sleeper = { at: elapsed + ms, wake }
        sleepers.add(sleeper)
        signal.addEventListener('abort', wake)
      }),
    async advance(ms) {
      const until = elapsed + ms
      for (;;) {
        // Everything that can happen at this instant happens before the clock moves on.
        await setImmediate()
        const sleeper = next()
        if (sleeper === undefined || sleeper.at > until) break
        elapsed = sleeper.at
        sleeper.wake()
      }
      elapsed = until
    },
  }
}
