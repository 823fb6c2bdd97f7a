// Which api-version of Scheduled Events to ask for: the newest that this cloud answers. A 400 may
// be temporary, and an older version lacks values that policies need. So the beacon falls back only
// after several 400s, and then probes newer versions beside the polls. It also probes the preview, with
// which it does not begin.
import { type ApiVersion, apiVersions, previewVersion } from '../shared/document.ts'
import type { Log } from '../shared/log.ts'

/** Fall back after this many 400s in a row, if the last came this long after the first. */
const refusals = 3
const refusedForMs = 5_000
/** When to probe newer versions after a fallback. At once first: the 400s may be over. */
const probesAtMs = [0, 10_000, 30_000, 60_000]
const laterProbesMs = 10 * 60_000

/** Newest first. The beacon begins with the newest that is generally available. */
const versions: ApiVersion[] = [previewVersion, ...apiVersions]
const general = 1

/** Times are monotonic ms. */
export interface Versions {
  /** The version to poll with. */
  current(): ApiVersion
  /**
   * A poll with it was answered 400, or 404 if it is the preview. `absent`: all versions were refused.
   * `fallback`: keep polling.
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
  let index = general
  let streak: { count: number; since: number } | undefined
  /** All versions were refused. Until one works, they are tried in turn, once each and slowly. */
  let exhausted = false
  /** Set while an older version than the preview answers. `count` probes were made, the last at `lastAt`. */
  let fallenBack: { at: number; count: number; lastAt: number } | undefined

  const isRefused = (now: number): boolean => {
    streak = { count: (streak?.count ?? 0) + 1, since: streak?.since ?? now }
    return exhausted || (streak.count >= refusals && now - streak.since >= refusedForMs)
  }

  return {
    current: () => versions[index]!,

    refused(version, now) {
      if (version !== versions[index] || !isRefused(now)) return 'fallback'
      streak = undefined
      fallenBack = undefined
      const older = versions[index + 1]
      index = older === undefined ? general : index + 1
      if (!exhausted) {
        log.warn('imds_version_refused', { refused: version, next: versions[index] })
      }
      exhausted ||= older === undefined
      return exhausted ? 'absent' : 'fallback'
    },

    worked(version, now) {
      if (version !== versions[index]) return
      streak = undefined
      exhausted = false
      // nobody waits for the preview, so it is asked for at once, and then every 10 min
      const count = index > general ? 0 : probesAtMs.length
      if (index > 0) fallenBack ??= { at: now, count, lastAt: Number.NEGATIVE_INFINITY }
    },

    probes(now) {
      if (fallenBack === undefined) return []
      const { at, count, lastAt } = fallenBack
      const soon = probesAtMs[count]
      if (now < (soon === undefined ? lastAt + laterProbesMs : at + soon)) return []
      fallenBack = { at, count: count + 1, lastAt: now }
      return versions.slice(0, index)
    },

    restored(version, now) {
      const newer = versions.indexOf(version)
      if (newer >= index) return
      log.info('imds_version_restored', { apiVersion: version })
      index = newer
      streak = undefined
      // versions newer than this one were refused just now
      const count = index > general ? 1 : probesAtMs.length
      fallenBack = index === 0 ? undefined : { at: now, count, lastAt: now }
    },
  }
}
