// Counts the VMs that see an event without being hit, so that people know its extent.
import { type EventRecord, isHit } from './event.ts'
import type { Observer } from './observer.ts'

/** VMs that are not hit report some seconds later. An earlier count would be too low. */
export const countedAfterMs = 10_000

/**
 * Undefined while VMs are still reporting, and for a drill. A VM with several beacons counts once.
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
