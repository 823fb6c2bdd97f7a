// Logs lasting trouble once when it begins and once when it ends, not at every attempt.
import type { Fields, Log } from '../shared/log.ts'

export interface TroubleLog {
  /** One more failure. Logged if it is the first, or of another `kind` than the last. */
  failed(kind: string, fields: Fields): void
  /** Ends the trouble, if there is one. */
  recovered(fields?: Fields): void
}

/**
 * Logs `<name>_failing` as a warning and `<name>_recovered`, with the count of failures between.
 */
export function createTroubleLog(log: Log, name: string): TroubleLog {
  let failures = 0
  let last: string | undefined
  return {
    failed(kind, fields) {
      failures += 1
      if (kind !== last) log.warn(`${name}_failing`, fields)
      last = kind
    },
    recovered(fields = {}) {
      if (failures > 0) log.info(`${name}_recovered`, { ...fields, failures })
      failures = 0
      last = undefined
    },
  }
}
