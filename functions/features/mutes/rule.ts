// A mute: for some time, people are not told of events of a fleet, a scale set or a tag. Records and
// machines go on. When it ends, channels that have heard nothing of an open event get its newest message.
import { iso } from '../../../shared/json.ts'
import type { Display } from '../../core/event/display.ts'
import { knownVms } from '../../core/event/drill.ts'
import { type Decider, type EventRecord, isOpen } from '../../core/event/event.ts'
import { addHistory } from '../../core/event/history.ts'
import { isEnd, traits } from '../../core/event/moment.ts'
import type { KnownVm } from '../../core/event/sight.ts'
import { inert, never, type Stage } from '../../core/event/stage.ts'
import { utc } from '../../core/event/time.ts'
import { hitNames, type Match, matchVm } from '../../core/rules/match.ts'
import { dayMs } from '../../core/units.ts'

/** The mute that counts for an event. */
interface Muted {
  id: string
  /** Epoch ms. */
  until: number
  /** When to look whether it still counts. */
  lookAt: number
  /** Not all beacons of affected VMs have reported, so the mute may turn out not to count. */
  early?: true
}

declare module '../../core/event/event.ts' {
  interface FeatureFields {
    /** People are not told of it now. */
    muted?: Muted
  }
  interface FeatureSteps {
    muted: true
  }
}

declare module '../../core/event/display.ts' {
  interface FeatureView {
    /** People are not told of it until then. */
    mutedUntil?: string
  }
}

declare module '../../core/event/stage.ts' {
  interface Loaded {
    /** The mutes of all fleets. If they are absent, the record's own mute still counts. */
    mutes?: Mute[]
  }
}

export interface MuteWish {
  fleet: string
  /** Mutes only VMs of this scale set. */
  scaleSet?: string | undefined
  /** Mutes only VMs with this tag: `name` or `name=value`. */
  tag?: string | undefined
  /** Epoch ms. Absent: it counts from the time when it was made. */
  from?: number | undefined
  /** Epoch ms. */
  until: number
  /** The reason for the mute, for people. */
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
export const maxMuteMs = 30 * dayMs

/** Undefined if the mute would begin too far ahead. */
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

export const mutes: Stage = {
  ...inert,
  /** Removes a mute that may be over. If it is not, the commit puts it back. */
  step(life, { listening }) {
    const { muted, ...heard } = life.record
    if (muted === undefined || muted.lookAt > listening.now) return life
    return { ...life, record: heard }
  },
  nextAt: ({ muted }) => muted?.lookAt ?? never,
  settle(record, before, { mutes: all }, now) {
    if (all === undefined) return record
    const muted = mutedBy(all, record, knownVms(record), now)
    const { muted: _, ...rest } = record
    if (muted === undefined) return record.muted === undefined ? record : rest
    const dueAt = Math.min(record.dueAt ?? muted.lookAt, muted.lookAt)
    const own = { ...rest, muted, ...(isOpen(record) && { dueAt }) } as EventRecord
    const isNoted = before?.muted?.id === muted.id && before.muted.early === undefined
    if (muted.early || isNoted) return own
    return addHistory(own, { at: now, what: 'muted', note: new Date(muted.until).toISOString() })
  },
  reach: ({ muted }) => muted?.id,
  /** People hear only the end of what they know: also that of an approval, or of the calls of an incident. */
  mayNotify({ muted }, { moment, takes, isExpiry, isKnown }) {
    if (muted === undefined || takes === 'every') return true
    const acknowledges = takes === 'incident' && traits[moment].incident === 'acknowledges'
    return isKnown && (isEnd(moment) || acknowledges || (isExpiry && moment === 'changed'))
  },
}

export const muteDisplay: Display = {
  shows: ({ ended, muted }) =>
    ended === undefined && muted !== undefined ? { mutedUntil: iso(muted.until) } : {},
  badge: ({ muted }) => (muted === undefined ? '' : 'muted'),
}

export const muteSteps = {
  muted: {
    bare: 'Muted: people are not told',
    withNote: (until: string) => `Muted until ${utc(Date.parse(until))}: people are not told`,
  },
}
