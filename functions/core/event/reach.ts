// The extent of an event: what is known of the VMs that it hits, and how many others see it.
import { knownOf } from './drill.ts'
import { type EventRecord, isHit } from './event.ts'
import { hitVms } from './hit-vms.ts'
import type { Observer } from './observer.ts'
import type { Listening } from './readiness.ts'
import type { EventView } from './view.ts'

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

/** For messages and the API. `maxVmBytes` limits the facts about affected VMs. */
export function extentOf(
  record: EventRecord,
  observers: Observer[],
  listening: Listening,
  maxVmBytes: number,
): Pick<EventView, 'spared' | 'vms'> {
  const spared = sparedBy(record, { observers, now: listening.now })
  const vms = hitVms(record, knownOf(record, observers), listening, maxVmBytes)
  return {
    ...(spared === undefined ? {} : { spared }),
    ...(vms.length === 0 ? {} : { vms }),
  }
}
