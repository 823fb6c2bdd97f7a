// How many open events one beacon and one fleet may have. What is over is refused in the answer, with the
// reason, while the rest of the report is stored.
import { type EventRecord, isOpen } from './event.ts'

/** Open events that no other beacon has reported. */
export const maxOpenOfBeacon = 100
export const maxOpenOfFleet = 2_000

export interface OpenCounts {
  /** Open events of the fleet. */
  ofFleet: number
  /** Those of them that this beacon alone reports. */
  ofBeacon: number
}

/** Why one more event is refused; undefined where there is room. */
export function refusalOf({ ofBeacon, ofFleet }: OpenCounts): string | undefined {
  if (ofBeacon >= maxOpenOfBeacon) {
    return `one beacon reports ${maxOpenOfBeacon} open events that no other beacon sees, which is the limit`
  }
  if (ofFleet >= maxOpenOfFleet) {
    return `the fleet has ${maxOpenOfFleet} open events, which is the limit`
  }
  return undefined
}

/** Whether the step from one record to the other needs room: the event is new, or it is open again. */
export function opens(before: EventRecord | undefined, record: EventRecord): boolean {
  return isOpen(record) && (before === undefined || !isOpen(before))
}

/** The event as one that so far this beacon alone reports. */
export function openedBy(record: EventRecord, beacon: string): EventRecord {
  return { ...record, onlyBeacon: beacon }
}

/** Another beacon sees the event, so it no longer counts against the one that reported it first. */
export function confirmedBy(record: EventRecord, beacon: string): EventRecord {
  const { onlyBeacon, ...rest } = record
  return onlyBeacon === undefined || onlyBeacon === beacon ? record : rest
}
