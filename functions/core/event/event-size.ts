// Keeps an event small enough for its row. All its parts have limits but what VMs say of themselves, so
// false reports cannot make a later report or decision fail.
import type { EventRecord } from './event.ts'

/** Characters of an event as JSON. A row of Azure Tables holds 480,000. */
export const maxEventLength = 400_000

export function eventLength(event: EventRecord): number {
  return JSON.stringify(event).length
}

/** Without the largest sights, if there is no room for them. Their VMs are asked again. */
export function fitEvent(record: EventRecord): EventRecord {
  let over = eventLength(record) - maxEventLength
  if (over <= 0) return record
  const sized = record.sights.map((sight) => ({ sight, length: JSON.stringify(sight).length + 1 }))
  const cut = new Set<EventRecord['sights'][number]>()
  for (const { sight, length } of sized.sort((a, b) => b.length - a.length)) {
    if (over <= 0) break
    cut.add(sight)
    over -= length
  }
  return { ...record, sights: record.sights.filter((sight) => !cut.has(sight)) }
}
