// The extent of an event: what is known of the VMs that it hits, and how many others see it.
import type { EventRecord } from './event.ts'
import { isTooLarge } from './facts.ts'
import { hitVms } from './hit-vms.ts'
import { isAffected, type Listening, maxOnlookers } from './sight.ts'
import type { EventView } from './view.ts'

/** VMs that are not hit report some seconds later. An earlier count would be too low. */
const countedAfterMs = 10_000

/**
 * How many VMs see the event without being affected. Undefined while VMs are still reporting, for a
 * drill, and if there may be more than have a sight.
 */
function sparedBy(record: EventRecord, now: number): number | undefined {
  const { facts, sights, firstSeenAt, drill } = record
  if (now - firstSeenAt < countedAfterMs || drill || sights.length === 0) return undefined
  // affected VMs without a name here count as onlookers
  if (isTooLarge(facts)) return undefined
  const onlookers = sights.filter((one) => !isAffected(facts, one))
  if (onlookers.length >= maxOnlookers) return undefined
  const names = onlookers.map(({ resourceGroup, vm }) => `${resourceGroup}/${vm}`.toLowerCase())
  return new Set(names).size
}

/** For messages and the API. `maxVmBytes` limits the facts about affected VMs. */
export function extentOf(
  record: EventRecord,
  listening: Listening,
  maxVmBytes: number,
): Pick<EventView, 'spared' | 'vms'> {
  const spared = sparedBy(record, listening.now)
  const vms = hitVms(record, listening, maxVmBytes)
  return {
    ...(spared === undefined ? {} : { spared }),
    ...(vms.length === 0 ? {} : { vms }),
  }
}
