// Problems of the relay itself: a nearly full disk, and channels whose owners would not hear of it.
import type { Channel } from '../rules/config.ts'
import type { Troubled } from './health.ts'
import type { Problem, ProblemChange } from './problem.ts'

/** A disk is nearly full if less than the smaller of these two is free. */
const nearlyFull = { share: 0.1, bytes: 2_000_000_000 }
/** The problem is over once this many times that limit is free. */
const spaceAgain = 1.2

export interface Disk {
  freeBytes: number
  totalBytes: number
}

export function isNearlyFull({ freeBytes, totalBytes }: Disk, wasOn: boolean): boolean {
  const limit = Math.min(nearlyFull.share * totalBytes, nearlyFull.bytes)
  return freeBytes < limit * (wasOn ? spaceAgain : 1)
}

export function describeDisk({ freeBytes, totalBytes }: Disk): string {
  return `${sizeOf(freeBytes)} of ${sizeOf(totalBytes)} are free`
}

function sizeOf(bytes: number): string {
  const mb = bytes / 1_000_000
  return mb < 1_000 ? `${Math.floor(mb)} MB` : `${(mb / 1_000).toFixed(1)} GB`
}

export function diskProblem(disk: Disk, known: Problem[], now: number): ProblemChange {
  const [id, reason] = ['disk', describeDisk(disk)]
  if (!isNearlyFull(disk, known.length > 0)) return { back: [id] }
  return { add: [{ id, name: '', since: now, from: now, reason }] }
}

/** Leaves out channels whose fallback is one of the owners: it gets an alert of its own. */
export function channelProblems(
  inTrouble: Troubled[],
  channels: Record<string, Channel>,
  owners: string[],
  known: Problem[],
  now: number,
): ProblemChange {
  const unheard = inTrouble.filter(({ channel }) => {
    const { fallback } = channels[channel]!
    return (
      !(fallback !== undefined && owners.includes(fallback)) &&
      owners.some((owner) => owner !== channel)
    )
  })
  const ids = new Set(unheard.map(({ channel }) => channel))
  const gone = known.map(({ id }) => id).filter((id) => !ids.has(id))
  return {
    add: unheard.map(({ channel, since, state, note }) => {
      const reason = `${channel} is ${state}: ${note}`
      return { id: channel, name: channel, since, from: now, reason }
    }),
    back: gone.filter((id) => Object.hasOwn(channels, id)),
    left: gone.filter((id) => !Object.hasOwn(channels, id)),
  }
}
