// Which beacons show now whether an event still exists: those that are heard, and what each sees.
import { type EventRecord, isHit } from './event.ts'
import type { Beacon, Gone, Observer, Witness } from './observer.ts'
import { openPaceMs } from './pace.ts'

/** After this many of its own paces without a report, a beacon's document is stale. */
export const silentPaces = 3
/** With a short pace, a beacon counts as silent only after this time. */
export const leastSilenceMs = 2 * 60_000

/** If a beacon is not heard for longer, it is silent. */
export function silenceMsOf({ paceMs }: Pick<Beacon, 'paceMs'>): number {
  return Math.max(silentPaces * paceMs, leastSilenceMs)
}

/** A beacon's row is written after the events of its report, at most this much later. */
export const rowLagMs = 10_000

export type Missing = Witness & { sighting: { gone: Gone } }

/** Adds the beacon of the last report, if its own row is older or not written yet. */
export function withHeard({ heard }: EventRecord, witnesses: Witness[]): Witness[] {
  if (heard === undefined) return witnesses
  const own = witnesses.find(({ beacon }) => beacon.beacon === heard.beacon.beacon)
  if (own !== undefined && isAsNew(own.beacon, heard)) return witnesses
  return [...witnesses.filter((one) => one !== own), heard]
}

/** Whether the event keeps a report of this beacon that came after its row. */
export function isAheadOfRow({ heard }: EventRecord, known: Witness['beacon']): boolean {
  return heard?.beacon.beacon === known.beacon && !isAsNew(known, heard)
}

/**
 * Whether the row is from this report or a later one. Times do not show it: the clocks of relays
 * differ, and two relays may have got copies of one report.
 */
function isAsNew(beacon: Witness['beacon'], heard: Witness): boolean {
  return beacon.bootId === heard.beacon.bootId
    ? beacon.counter >= heard.beacon.counter
    : beacon.heardAt >= heard.beacon.heardAt
}

/** The same for hooks of a beacon whose own row is older than its report. */
export function withHeardHooks({ heard }: EventRecord, observers: Observer[]): Observer[] {
  if (heard === undefined) return observers
  const { beacon, heardAt } = heard.beacon
  return observers.map((one) => {
    if (one.beacon.beacon !== beacon || isAsNew(one.beacon, heard)) return one
    const { hooks: _, ...sighting } = one.sighting
    return { beacon: { ...one.beacon, heardAt }, sighting: { ...sighting, ...hooksOf(heard) } }
  })
}

function hooksOf({ sighting: { hooks } }: Witness): Pick<Witness['sighting'], 'hooks'> {
  return hooks === undefined ? {} : { hooks }
}

/** What a report proves about its beacon, before the relay has given it a pace for this event. */
export function asHeard(witness: Witness): Witness {
  const { beacon, sighting } = witness
  const { vm, bootId, counter, heardAt, polledAt, bootedAt, bootHeardAt, goodbye } = beacon
  const paceMs = Math.min(beacon.paceMs || openPaceMs, openPaceMs)
  return {
    beacon: {
      beacon: beacon.beacon,
      vm,
      bootId,
      counter,
      heardAt,
      bootedAt,
      bootHeardAt,
      paceMs,
      ...(polledAt === undefined ? {} : { polledAt }),
      ...(goodbye === undefined ? {} : { goodbye }),
    },
    sighting: {
      ...(sighting.gone === undefined ? {} : { gone: sighting.gone }),
      ...hooksOf(witness),
    },
  }
}

/** After the relay was down, a beacon tries again within this time. */
const returnMs = 10_000

/** Documents of two beacons may differ for this long. */
const lagMs = 60_000

/**
 * Marks VMs that miss a scheduled event, although another affected VM showed it long after. If no
 * affected VM has reported since then, most others must have shown it, and the VM itself must be
 * unaffected. It may be in another place of Azure. It counts again if it is heard when those are not.
 */
export function withOutliers(record: EventRecord, witnesses: Witness[]): Witness[] {
  const isShown = witnesses.some(({ sighting }) => sighting.gone === undefined)
  if (record.phase !== 'scheduled' || !isShown) return witnesses
  const isOfHit = ({ beacon }: Witness) => isHit(record.facts, beacon.vm)
  return witnesses.map((one) => {
    const { gone } = one.sighting
    if (gone === undefined) return one
    const misses = (other: Witness) => other.sighting.gone !== undefined
    const showsLater = (other: Witness) =>
      !misses(other) && polledAt(other.beacon) > gone.firstAt + lagMs
    const heard = witnesses.filter(
      (other) => other !== one && (misses(other) || freshUntil(other) >= polledAt(one.beacon)),
    )
    // an affected VM that fell silent meanwhile does not know
    const affected = heard.filter((other) => isOfHit(other) && (misses(other) || showsLater(other)))
    const others = affected.length > 0 ? affected : heard.filter((other) => !isOfHit(other))
    const later = others.filter(showsLater).length
    const isOverruled = affected.length > 0 ? later > 0 : later > others.length / 2
    // of an affected VM, only another one knows more
    const isOutlier = isOverruled && (affected.length > 0 || !isOfHit(one))
    return isOutlier ? { ...one, sighting: { ...one.sighting, isOutlier } } : one
  })
}

/** Silence counts only from the time when the relay began to listen. */
export function heardSince(witnesses: Witness[], listeningSince: number): Witness[] {
  return witnesses.map(({ beacon, sighting }) => {
    if (beacon.heardAt >= listeningSince) return { beacon, sighting }
    const paceMs = Math.max(beacon.paceMs, returnMs)
    const returned = { ...beacon, heardAt: listeningSince, paceMs }
    // a document that lacks the event is as old as it is
    if (sighting.gone !== undefined) return { beacon: returned, sighting }
    return { beacon: { ...returned, polledAt: listeningSince }, sighting }
  })
}

/**
 * Observers whose last document lacks the event, without outliers. After a reopening, an observer
 * counts only if it saw the event again, or restarted: the first report after a restart shows the
 * current events.
 */
export function missingIn({ reopenedAt = 0 }: EventRecord, witnesses: Witness[]): Missing[] {
  return witnesses.flatMap(({ beacon, sighting }) => {
    const gone = goneSince(reopenedAt, beacon, sighting.gone)
    if (gone === undefined || sighting.isOutlier) return []
    return [{ beacon, sighting: { ...sighting, gone } }]
  })
}

export function hasOutlier(witnesses: Witness[]): boolean {
  return witnesses.some(({ sighting }) => sighting.isOutlier)
}

function goneSince(
  reopenedAt: number,
  beacon: Witness['beacon'],
  gone: Witness['sighting']['gone'],
): Witness['sighting']['gone'] {
  if (gone === undefined || gone.firstAt > reopenedAt) return gone
  const { bootHeardAt } = beacon
  const hasRestarted = bootHeardAt > reopenedAt && polledAt(beacon) > reopenedAt
  return hasRestarted ? { firstAt: bootHeardAt, lastSeenAt: reopenedAt } : undefined
}

/** Observers whose document still shows the event and is fresh. A failing IMDS proves nothing. */
export function seeingIn(record: EventRecord, witnesses: Witness[], now: number): Witness[] {
  return witnesses.filter(
    (one) =>
      one.sighting.gone === undefined &&
      freshUntil(one) >= now &&
      !isTakenAway(record, witnesses, one),
  )
}

/** Preempt or Terminate removed this VM: it was last heard before others missed the event. */
function isTakenAway(record: EventRecord, witnesses: Witness[], { beacon }: Witness): boolean {
  const firstGoneAt = Math.min(...missingIn(record, witnesses).map((one) => goneOf(one).firstAt))
  return takesVm(record) && isHit(record.facts, beacon.vm) && beacon.heardAt < firstGoneAt
}

/** Its package was removed or upgraded. After *shutdown* or *stopped*, the VM may restart. */
export function hasLeft({ beacon: { goodbye } }: Witness): boolean {
  return goodbye?.reason === 'removed' || goodbye?.reason === 'upgrade'
}

export function goneOf({ sighting }: Missing) {
  return sighting.gone
}

export function takesVm({ facts: { eventType } }: EventRecord): boolean {
  return eventType === 'Preempt' || eventType === 'Terminate'
}

export function freshUntil({ beacon }: Witness): number {
  return polledAt(beacon) + silentPaces * beacon.paceMs
}

/** The beacon polls every second. If its document is this old, its polls fail. */
const failingMs = 10_000

/** Whether the beacon is heard while its polls fail. Then only its uptime counts. */
export function isHeardWithoutPolls({ beacon }: Witness, now: number): boolean {
  const isFresh = beacon.heardAt + silentPaces * beacon.paceMs >= now
  return isFresh && beacon.heardAt > polledAt(beacon) + failingMs
}

/** A beacon that is heard but cannot poll repeats its last document with a growing age. */
export function polledAt(beacon: Witness['beacon']): number {
  return beacon.polledAt ?? beacon.heardAt
}
