// Logs refused requests, so that junk cannot fill the log: each relay process writes at most one
// line a second for each kind, with a `count`. Refusals within that second are counted in the next
// line of their kind, however late it comes.
import type { Fields, Log } from '../../shared/log.ts'

const logEveryMs = 1_000

export interface Refusals {
  /** `kind` distinguishes refusals of one name. Never a text that a stranger chose: it is kept. */
  note(name: string, fields?: Fields, kind?: string, level?: 'info' | 'warn'): void
}

export function createRefusals({ now, log }: { now(): number; log: Log }): Refusals {
  const kinds = new Map<string, { unlogged: number; loggedAt: number }>()
  return {
    note(name, fields = {}, kind = '', level = 'warn') {
      const key = `${name} ${kind}`
      const known = kinds.get(key) ?? { unlogged: 0, loggedAt: Number.NEGATIVE_INFINITY }
      kinds.set(key, known)
      known.unlogged += 1
      const at = now()
      if (at - known.loggedAt < logEveryMs) return
      log[level](name, { ...fields, count: known.unlogged })
      known.unlogged = 0
      known.loggedAt = at
    },
  }
}
