// How many events one beacon and one fleet may open, and how many beacons a fleet may have. The relay
// refuses further events in its answer, with the reason, and stores the rest of the report. If the
// fleet has no room for a new beacon, it refuses the whole report.
import type { EventRecord } from './event.ts'

/** Open events that no other beacon has reported. */
export const maxOpenOfBeacon = 100
export const maxOpenOfFleet = 500
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

/** The beacon that alone reports the event: it counts against it. */
export function onlyBeaconOf({ sights }: EventRecord): string | undefined {
  return sights.length === 1 ? sights[0]!.beacon : undefined
}
