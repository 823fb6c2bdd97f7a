// Which api-version of Scheduled Events to ask for: the newest that this cloud answers. A 400 may be a
// hiccup, and an older version lacks what policies need, so leaving a version takes several of them, and
// newer ones are asked for again, beside the polls.
import { type ApiVersion, apiVersions } from '../shared/document.ts'
import type { Log } from '../shared/log.ts'

/** A version is left after so many 400s in a row, of which the last came so long after the first. */
const refusals = 3
const refusedForMs = 5_000
/** Newer versions are asked for at these times after an older one answered; the first: a burst may be over. */
const probesAtMs = [0, 10_000, 30_000, 60_000]
const laterProbesMs = 10 * 60_000

/** Instants are monotonic ms. */
export interface Versions {
  /** The version to poll with. */
  current(): ApiVersion
  /** A poll with it was answered 400. `absent`: no version is left. `fallback`: poll on as before. */
  refused(version: ApiVersion, now: number): 'fallback' | 'absent'
  /** A poll with it was answered with a document. */
  worked(version: ApiVersion, now: number): void
  /** Newer versions that are worth asking for now, newest first; mostly none. */
  probes(now: number): readonly ApiVersion[]
  /** A probe was answered with a document. */
  restored(version: ApiVersion, now: number): void
}

export function createVersions(log: Log): Versions {
  let index = 0
  let streak: { count: number; since: number } | undefined
  /** All versions were refused. Each has one more try in turn, slowly, until one works. */
  let exhausted = false
  /** Since an older version answers; `count` of its probes were made, the last at `lastAt`. */
  let settled: { at: number; count: number; lastAt: number } | undefined

  const isRefused = (now: number): boolean => {
    streak = { count: (streak?.count ?? 0) + 1, since: streak?.since ?? now }
    return exhausted || (streak.count >= refusals && now - streak.since >= refusedForMs)
  }

  return {
    current: () => apiVersions[index] ?? apiVersions[0],

    refused(version, now) {
      if (version !== apiVersions[index] || !isRefused(now)) return 'fallback'
      streak = undefined
      settled = undefined
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
      if (index > 0) settled ??= { at: now, count: 0, lastAt: now }
    },

    probes(now) {
      if (settled === undefined) return []
      const { at, count, lastAt } = settled
      const soon = probesAtMs[count]
      if (now < (soon === undefined ? lastAt + laterProbesMs : at + soon)) return []
      settled = { at, count: count + 1, lastAt: now }
      return apiVersions.slice(0, index)
    },

    restored(version, now) {
      const newer = apiVersions.indexOf(version)
      if (newer >= index) return
      log.info('imds_version_restored', { apiVersion: version })
      index = newer
      streak = undefined
      // those newer still were refused just now
      settled = index === 0 ? undefined : { at: now, count: 1, lastAt: now }
    },
  }
}
