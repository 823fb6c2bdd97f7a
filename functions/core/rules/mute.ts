// A mute: for some time, people are not told of events of a fleet, a scale set or a tag. Records and
// machines go on. When it ends, channels that have heard nothing of an open event get its newest message.
import type { Decider, EventRecord, Muted } from '../event/event.ts'
import type { KnownVm } from '../event/sight.ts'
import { hitNames, type Match, matchVm } from './match.ts'

export interface MuteWish {
  fleet: string
  /** Only VMs of this scale set. */
  scaleSet?: string | undefined
  /** Only VMs with this tag: `name` or `name=value`. */
  tag?: string | undefined
  /** Epoch ms. Absent: it counts from the time when it was made. */
  from?: number | undefined
  /** Epoch ms. */
  until: number
  /** For people. */
  reason?: string | undefined
}

export interface Mute extends MuteWish {
  id: string
  createdAt: number
  by: Decider
}

/** Beacons poll every second, so by then those of all affected VMs have usually reported. */
const awaitMs = 10_000
export const maxMutes = 100
export const maxMutesOfFleet = 20
/** A muted event is looked at this often: the mute may have been ended meanwhile. */
const lookMs = 5 * 60_000
/** The longest mute, and how far ahead it may begin. */
export const maxMuteMs = 30 * 86_400_000

/** Undefined if it would begin too far ahead. */
export function timesOfMute(
  minutes: number,
  from: string | undefined,
  now: number,
): Pick<MuteWish, 'from' | 'until'> | undefined {
  const begins = Math.max(from === undefined ? now : Date.parse(from), now)
  if (begins > now + maxMuteMs) return undefined
  return { ...(begins > now && { from: begins }), until: begins + minutes * 60_000 }
}

/**
 * The mute that counts for all affected VMs. While their beacons may still report for the first time, it
 * is enough that it may count.
 */
export function mutedBy(
  mutes: Mute[],
  record: EventRecord,
  vms: KnownVm[],
  now: number,
): Muted | undefined {
  const early = record.firstSeenAt + awaitMs
  const found = mutes.flatMap((mute) => {
    const { fleet, scaleSet, tag, id, from = 0, until } = mute
    const match: Match = {
      fleet: [fleet],
      ...(scaleSet && { scaleSet: [scaleSet] }),
      ...(tag && { tag: [tag] }),
    }
    const grips = hitNames(record.facts).map((name) => matchVm(match, record, name, vms))
    if (from > now || until <= now || grips.includes('fails')) return []
    if (!grips.includes('unknown')) return [{ id, until, lookAt: Math.min(until, now + lookMs) }]
    return now < early ? [{ id, until, lookAt: Math.min(until, early), early: true as const }] : []
  })
  // one that ends later counts
  return found.sort((one, other) => other.until - one.until)[0]
}
