// Which api-version of Scheduled Events to ask for: the newest that this cloud answers.
import { type ApiVersion, apiVersions } from '../shared/document.ts'
import type { Log } from '../shared/log.ts'

/** A 400 may have been a hiccup, and an old version lacks what policies need: so look up again. */
const probeAfterMs = 10 * 60_000

export interface Versions {
  /** The version to ask for now. */
  pick(now: number): ApiVersion
  /** It was answered 400. `fallback`: another one is worth asking for; `absent`: all were refused. */
  refused(now: number): 'fallback' | 'absent'
  /** It was answered with a document. */
  worked(): void
  /** It was answered neither so nor so: not a word about the version. */
  unclear(now: number): void
}

export function createVersions(log: Log): Versions {
  let index = 0
  let probing = false
  let exhausted = false
  let settledAt = 0
  return {
    pick(now) {
      probing = index > 0 && !exhausted && now - settledAt >= probeAfterMs
      return apiVersions[probing ? 0 : index] ?? apiVersions[0]
    },
    refused(now) {
      settledAt = now
      if (probing) return 'fallback'
      const refused = apiVersions[index]
      const older = apiVersions[index + 1]
      index = older === undefined ? 0 : index + 1
      if (!exhausted) log.warn('imds_version_refused', { refused, next: older ?? apiVersions[0] })
      exhausted ||= older === undefined
      return exhausted ? 'absent' : 'fallback'
    },
    worked() {
      exhausted = false
      if (!probing) return
      index = 0
      log.info('imds_version_restored', { apiVersion: apiVersions[0] })
    },
    unclear(now) {
      if (probing) settledAt = now
    },
  }
}
