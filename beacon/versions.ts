// Which api-version of Scheduled Events to ask for: the newest that this cloud answers. A 400 may
// be temporary, and an older version lacks values that policies need. So the beacon falls back only
// after several 400s, and then probes newer versions beside the polls.
import { type ApiVersion, apiVersions } from '../shared/document.ts'
import type { Log } from '../shared/log.ts'

/** Fall back after this many 400s in a row, if the last came this long after the first. */
const refusals = 3
const refusedForMs = 5_000
/** When to probe newer versions after a fallback. At once first: the 400s may be over. */
const probesAtMs = [0, 10_000, 30_000, 60_000]
const laterProbesMs = 10 * 60_000

/** Times are monotonic ms. */
export interface Versions {
  /** The version to poll with. */
  current(): ApiVersion
  /**
   * A poll with it was answered 400. `absent`: all versions were refused. `fallback`: keep polling.
   */
  refused(version: ApiVersion, now: number): 'fallback' | 'absent'
  /** A poll with it was answered with a document. */
  worked(version: ApiVersion, now: number): void
  /** Newer versions to ask for now, newest first. Usually none. */
  probes(now: number): readonly ApiVersion[]
  /** A probe was answered with a document. */
  restored(version: ApiVersion, now: number): void
}

export function createVersions(log: Log): Versions {
  let index = 0
  let streak: { count: number; since: number } | undefined
  /** All versions were refused. Until one works, they are tried in turn, once each and slowly. */
  let exhausted = false
  /** Set while an older version answers. `count` probes were made, the last at `lastAt`. */
  let fallenBack: { at: number; count: number; lastAt: number } | undefined

  const isRefused = (now: number): boolean => {
    streak = { count: (streak?.count ?? 0) + 1, since: streak?.since ?? now }
    return exhausted || (streak.count >= refusals && now - streak.since >= refusedForMs)
  }

  return {
    current: () => apiVersions[index] ?? apiVersions[0],

    refused(version, now) {
      if (version !== apiVersions[index] || !isRefused(now)) return 'fallback'
      streak = undefined
      fallenBack = undefined
      const older = apiVersions[index + 1]
      index = older === undefined ? 0 : index + 1
      if (!exhausted) {
        log.warn('imds_version_refused', { refused: version, next: older ?? apiVersions[0] })
      }
      exhausted ||= older === undefined
      return exhausted ? 'absent' : 'fallback'
    },

    worked(version, now) {
      if (version !== apiVersions[index]) return
      streak = undefined
      exhausted = false
      if (index > 0) fallenBack ??= { at: now, count: 0, lastAt: now }
    },

    probes(now) {
      if (fallenBack === undefined) return []
      const { at, count, lastAt } = fallenBack
      const soon = probesAtMs[count]
      if (now < (soon === undefined ? lastAt + laterProbesMs : at + soon)) return []
      fallenBack = { at, count: count + 1, lastAt: now }
      return apiVersions.slice(0, index)
    },

    restored(version, now) {
      const newer = apiVersions.indexOf(version)
      if (newer >= index) return
      log.info('imds_version_restored', { apiVersion: version })
      index = newer
      streak = undefined
      // versions newer than this one were refused just now
      fallenBack = index === 0 ? undefined : { at: now, count: 1, lastAt: now }
    },
  }
}
