// What was refused, in the log of each relay process: whoever sends junk must not fill it. One line a second at
// most for each kind, with a `count` of what it stands for. The surprise: what comes after a line waits for the
// next refusal of its kind, however late that is.
import type { Fields, Log } from '../../shared/log.ts'

const logEveryMs = 1_000

export interface Refusals {
  /** `kind` tells apart what has the same name; one of few, never a text that a stranger chose. */
  note(name: string, fields?: Fields, kind?: string, level?: 'info' | 'warn'): void
}

export function createRefusals({ now, log }: { now(): number; log: Log }): Refusals {
  const kinds = new Map<string, { unsaid: number; saidAt: number }>()
  return {
    note(name, fields = {}, kind = '', level = 'warn') {
      const key = `${name} ${kind}`
      const known = kinds.get(key) ?? { unsaid: 0, saidAt: Number.NEGATIVE_INFINITY }
      kinds.set(key, known)
      known.unsaid += 1
      const at = now()
      if (at - known.saidAt < logEveryMs) return
      log[level](name, { ...fields, count: known.unsaid })
      known.unsaid = 0
      known.saidAt = at
    },
  }
}
