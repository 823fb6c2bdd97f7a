// Problems of the relay itself: a nearly full disk, and channels whose owners would not hear of it.

import type { Troubled } from '../../core/delivery/health.ts'
import { type Disk, describeDisk, isNearlyFull } from '../../core/disk.ts'
import type { Channel } from '../../core/rules/config.ts'
import type { NotedProblem, ProblemChange } from './rule.ts'

export function diskProblem(disk: Disk, known: NotedProblem[], now: number): ProblemChange {
  const [id, reason] = ['disk', describeDisk(disk)]
  if (!isNearlyFull(disk, known.length > 0)) return { back: [id] }
  return { add: [{ id, name: '', since: now, from: now, reason }] }
}

/** Leaves out channels whose fallback is one of the owners: it gets an alert of its own. */
export function channelProblems(
  inTrouble: Troubled[],
  channels: Record<string, Channel>,
  owners: string[],
  known: NotedProblem[],
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
