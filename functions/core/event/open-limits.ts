// How many events one beacon and one fleet may open, and how many beacons a fleet may have. The relay
// refuses further events in its answer, with the reason, and stores the rest of the report. If the
// fleet has no room for a new beacon, it refuses the whole report.
import { type EventRecord, isOpen, type OpenRecord } from './event.ts'

/** Open events that no other beacon has reported. */
export const maxOpenOfBeacon = 100
export const maxOpenOfFleet = 2_000
/**
 * Events that one beacon is the first to report. An honest VM has a few in an hour. Beyond the
 * limit, another beacon that sees the event can still report it.
 */
export const maxNewInHour = 200
/**
 * Stored beacons. The relay forgets a VM that was deleted after 7 days, so a fleet of 5,000 VMs that
 * replaces all of them each day has 40,000. A beacon that left counts, too. Otherwise an invented beacon
 * could say goodbye, and make room for the next one.
 */
export const maxBeaconsOfFleet = 50_000

export function beaconRefusal(): string {
  return `the fleet has ${maxBeaconsOfFleet} beacons, which is the limit, so the relay accepts no new one`
}

export interface OpenCounts {
  /** Open events of the fleet. */
  ofFleet: number
  /** Open events that only this beacon reports. */
  ofBeacon: number
}

/** Why a new event is refused. `inHour`: new events of this beacon within an hour. */
export function newRefusal(inHour: number): string | undefined {
  if (inHour < maxNewInHour) return undefined
  return `one beacon was the first to report ${maxNewInHour} new events within an hour, which is the limit`
}

/** Why one more open event is refused, or undefined if there is room. */
export function refusalOf({ ofBeacon, ofFleet }: OpenCounts): string | undefined {
  if (ofBeacon >= maxOpenOfBeacon) {
    return `one beacon reports ${maxOpenOfBeacon} open events that no other beacon sees, which is the limit`
  }
  if (ofFleet >= maxOpenOfFleet) {
    return `the fleet has ${maxOpenOfFleet} open events, which is the limit`
  }
  return undefined
}

/** Whether the step opens an event: the event is new, or open again. */
export function opens(before: EventRecord | undefined, record: EventRecord): boolean {
  return isOpen(record) && (before === undefined || !isOpen(before))
}

/** The event as one that only this beacon reports so far. */
export function openedBy(record: OpenRecord, beacon: string): OpenRecord {
  return { ...record, onlyBeacon: beacon }
}

/** If another beacon sees the event, it no longer counts against its first reporter. */
export function confirmedBy(record: EventRecord, beacon: string): EventRecord {
  const { onlyBeacon, ...rest } = record
  return onlyBeacon === undefined || onlyBeacon === beacon ? record : rest
}
