// Keeps what was last read, so that all who look at the same time share one read.
import { setNewest } from '../core/newest.ts'
import type { Relay } from './relay.ts'

/** Things whose last read is kept. */
const maxKept = 100

export interface ShortCache<Value> {
  /** `names` of what is read: fleets, mostly. */
  read(names: string[]): Promise<Value>
  /** The next read is a new one. */
  drop(): void
}

/** `read` is called again once its value is as old as `keptMs`, or if it failed. */
export function createShortCache<Value>(
  { now }: Pick<Relay, 'now'>,
  keptMs: number,
  read: (names: string[]) => Promise<Value>,
): ShortCache<Value> {
  const kept = new Map<string, { at: number; value: Promise<Value> }>()
  return {
    read(names) {
      const name = JSON.stringify(names)
      const known = kept.get(name)
      const at = now()
      if (known !== undefined && at >= known.at && at - known.at < keptMs) return known.value
      // a value may have megabytes
      for (const [other, one] of kept) if (at - one.at >= keptMs) kept.delete(other)
      const value = read(names)
      setNewest(kept, name, { at, value }, maxKept)
      value.catch(() => kept.delete(name))
      return value
    },
    drop: () => kept.clear(),
  }
}
