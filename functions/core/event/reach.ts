// How many VMs see an event that does not hit them, so that people know how far it reaches.
import { type EventRecord, isHit, type Observer } from './event.ts'

/** VMs that are not hit report within 2 s of a poll a second; a count before that would be too low. */
export const countedAfterMs = 10_000

/**
 * Undefined while VMs are still reporting, and where none does, as in a drill. A VM may have had several beacons, and counts once. What a
 * message tells is kept with it, so a later count changes no message that is owed.
 */
export function sparedBy(
  record: EventRecord,
  { observers, now }: { observers: Observer[]; now: number },
): number | undefined {
  const early = now - record.firstSeenAt < countedAfterMs
  if (early || record.drill || observers.length === 0) return undefined
  const names = observers
    .filter(({ beacon }) => !isHit(record.facts, beacon.vm))
    .map(({ beacon }) => JSON.stringify([beacon.resourceGroup, beacon.vm]).toLowerCase())
  return new Set(names).size
}
