// Logs what may happen often, so that it cannot fill the log: each relay process writes at most one
// line in a while for each kind, with a `count`. What happens within that time is counted in the next
// line of its kind, however late it comes.
import type { Fields, Log } from '../../shared/log.ts'

export interface FrequentLog {
  /** `kind` distinguishes lines of one name. Never a text that a stranger chose: it is kept. */
  note(name: string, fields?: Fields, kind?: string, level?: 'info' | 'warn'): void
}

export function createFrequentLog(
  { now, log }: { now(): number; log: Log },
  everyMs = 1_000,
): FrequentLog {
  const kinds = new Map<string, { unlogged: number; loggedAt: number }>()
  return {
    note(name, fields = {}, kind = '', level = 'warn') {
      const key = `${name} ${kind}`
      const known = kinds.get(key) ?? { unlogged: 0, loggedAt: Number.NEGATIVE_INFINITY }
      kinds.set(key, known)
      known.unlogged += 1
      const at = now()
      if (at - known.loggedAt < everyMs) return
      log[level](name, { ...fields, count: known.unlogged })
      known.unlogged = 0
      known.loggedAt = at
    },
  }
}
