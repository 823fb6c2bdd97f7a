// Law 14: what one event, beacon, fleet or owner may use up. The relay refuses what exceeds a limit in its
// answer, with the reason, stores the rest, and alerts the owners. Limits of one request or of one loop
// are beside the code that has them.

/** Names of VMs that are stored of one event. Foghorn decides nothing about an event of more VMs. */
export const maxVms = 200
/** Sights of VMs that an event does not affect. */
export const maxOnlookers = 4
/**
 * Characters of an event as JSON. A row of Azure Tables holds 480,000. All parts of an event have limits
 * but what VMs say of themselves, so false reports cannot make a later report or decision fail.
 */
export const maxEventLength = 400_000
/** Characters of what a person writes about a decision. */
export const maxReasonLength = 200
/** Characters of the name that a holder of a link or of the admin key gives. */
export const maxGivenNameLength = 40
/** Open events that no other beacon has reported. */
export const maxOpenOfBeacon = 100
export const maxOpenOfFleet = 500
/** Open events of a fleet that only Azure has reported, from outside the VMs. The rest is for beacons. */
const maxOpenOfAzure = 400
/** Open drills of a fleet. A drill wakes people, so there must not be many. */
export const maxOpenDrills = 3
/**
 * Stored beacons. The relay forgets a VM that was deleted after 7 days, so a fleet of 5,000 VMs that
 * replaces all of them each day has 40,000. A beacon that left counts, too. Otherwise an invented beacon
 * could say goodbye, and make room for the next one.
 */
export const maxBeaconsOfFleet = 50_000
/** Problems of one kind in a fleet. Others wait until there is room. */
export const maxProblems = 500
/** Tokens of a relay. */
export const maxTokens = 1_000
/** A maker that is bound to fleets sees at most this many, so that other fleets have room. */
export const maxTokensOfBound = 200

export function beaconRefusal(): string {
  return `the fleet has ${maxBeaconsOfFleet} beacons, which is the limit, so the relay accepts no new one`
}

export interface OpenCounts {
  /** Open events of the fleet. */
  ofFleet: number
  /** Open events that only this beacon reports. */
  ofBeacon: number
}

/** Whose share of the open events one more would take. `list`: Azure's own, which has no share. */
export type Sharer = 'beacon' | 'event_grid' | 'list'

/** Why one more open event is refused, or undefined if there is room. */
export function describeLimit(
  { ofBeacon, ofFleet }: OpenCounts,
  sharer: Sharer = 'beacon',
): string | undefined {
  if (sharer === 'event_grid' && ofBeacon >= maxOpenOfAzure) {
    return `Azure tells of ${maxOpenOfAzure} open events that no beacon sees, which is the limit`
  }
  if (sharer === 'beacon' && ofBeacon >= maxOpenOfBeacon) {
    return `one beacon reports ${maxOpenOfBeacon} open events that no other beacon sees, which is the limit`
  }
  if (ofFleet >= maxOpenOfFleet) {
    return `the fleet has ${maxOpenOfFleet} open events, which is the limit`
  }
  return undefined
}
