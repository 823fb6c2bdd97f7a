// Where events, sightings and deliveries are kept. Every comment is a promise with a test in
// test/store/contract.ts, which each technology passes without exception.
import type { Settlement } from '../core/attempt.ts'
import type { Claimed, Delivery } from '../core/delivery.ts'
import type { Beacon, EventRecord, Observer, Sighting } from '../core/event.ts'
import type { ChannelHealth, HealthRow } from '../core/outage.ts'
import type { Superseded } from '../core/overtake.ts'
import type { Post, PostKey, PostState } from '../core/post.ts'
import type { Rate } from '../core/rate.ts'
import type { OpenCounts } from '../core/share.ts'

export interface EventKey {
  fleet: string
  eventId: string
}

export interface Commit {
  record: EventRecord
  /** `sequence` of the record this was decided from; 0 where there was none. */
  basedOn: number
  /**
   * New deliveries of this event; one whose id exists already is left as it is. What waits for a later
   * attempt on the same event and channel is due at once, so that it holds nothing up.
   */
  deliveries: Delivery[]
  /** What shall not be sent any more, and why; one under a lease or finished is left as it is. */
  supersede: Superseded[]
  now: number
}

/** How fast each channel may be told, and how much more of it this worker can do now. */
export interface Pacing {
  now: number
  rateOf(channel: string): Rate
  /** Requests that may be begun; 0: the channel is passed over. */
  roomOf(channel: string): number
}

export interface ClaimRequest extends Pacing {
  leaseMs: number
  /** Requests, of all channels together. */
  limit: number
}

/** The part of a beacon that a list shows. Its tags and the events that it sees may be large. */
export interface ListedBeacon
  extends Pick<Beacon, 'beacon' | 'vm' | 'resourceGroup' | 'scaleSet' | 'heardAt' | 'paceMs'> {
  seesEvents: number
}

export type Replay = { id: string } | { since: number; channel?: string }

export interface Store {
  /** The committed record, or undefined. */
  readEvent(key: EventKey): Promise<EventRecord | undefined>

  /**
   * Writes an event with its deliveries, all or nothing. `conflict` where the stored record's
   * sequence is not `basedOn`: read again, decide again. Durable once it returns.
   */
  commit(commit: Commit): Promise<'committed' | 'conflict'>

  /** Everybody who has seen the event, each with its sighting. */
  readObservers(key: EventKey): Promise<Observer[]>

  readBeacon(fleet: string, beacon: string): Promise<Beacon | undefined>

  /**
   * At most `limit` of a fleet's beacons, sorted by id, beginning after `after`. Reads only what is
   * listed.
   */
  listBeacons(fleet: string, page: { after?: string; limit: number }): Promise<ListedBeacon[]>

  /** This beacon's sightings of the given events, those that exist. */
  readSightings(fleet: string, beacon: string, eventIds: string[]): Promise<Sighting[]>

  /**
   * Writes a beacon with changed sightings, all or nothing. `stale`, and nothing written, where a
   * later counter of the same boot, or a boot that retired this one, was written before.
   */
  writeBeacon(beacon: Beacon, sightings: Sighting[]): Promise<'written' | 'stale'>

  /** Open events whose due time has come, the longest due first, at most `limit`. */
  dueEvents(now: number, limit: number): Promise<EventKey[]>

  /**
   * Takes due deliveries under a lease, the longest due first, each list to be sent as one request. No
   * delivery is under two leases at once; one waits while an earlier one of the same event and
   * channel is pending. All workers together keep each channel's rate. Counts an attempt; what was
   * settled as `alone` is in no list with others.
   */
  claim(request: ClaimRequest): Promise<Claimed[][]>

  /**
   * Ends an attempt and plans what follows from it, all or nothing; the channel rests from then on,
   * where it asked for that. `lost` and nothing written where the lease ended or another claim has it,
   * success or not.
   */
  settle(
    claimed: Claimed,
    settlement: Settlement,
    now: number,
    follow: Delivery[],
  ): Promise<'settled' | 'lost'>

  /** What stands in a channel of one epoch of an event, as it was written last. */
  readPost(key: PostKey): Promise<Post | undefined>

  /**
   * Notes what stands there. `conflict`, and nothing written, where the stored version is not
   * `basedOn` (0: there is none). Durable once it returns.
   */
  writePost(key: PostKey, state: PostState, basedOn: number): Promise<'written' | 'conflict'>

  /** The marks of all channels that refuse, or did, as they were written last. */
  readMarks(): Promise<HealthRow[]>

  /**
   * Marks a channel. `conflict`, and nothing written, where the stored version is not `basedOn` (0: there is
   * none). Durable once it returns.
   */
  writeMark(
    channel: string,
    health: ChannelHealth,
    basedOn: number,
  ): Promise<'written' | 'conflict'>

  /** All deliveries of an event, in order. */
  readDeliveries(key: EventKey): Promise<Delivery[]>

  /**
   * Newest first seen first; `before` is the `firstSeenAt` of the last one of the page before. A page
   * is longer than `limit` (≥ 1) where more events share the millisecond of its last one.
   */
  listEvents(page: { fleet?: string; before?: number; limit: number }): Promise<EventRecord[]>

  /**
   * Owes again what was refused or given up: one by its id, or all planned since a time, at most
   * `limit`, the oldest first. Attempts count on. Returns how many.
   */
  replay(which: Replay, now: number, limit: number): Promise<number>

  /**
   * Removes events that ended before a time, with their deliveries, posts and sightings. Also removes
   * beacons that were not heard since `unheardSince` (usually the same time). At most `limit` of
   * each. Open events stay, and so do beacons whose last document shows one. Returns how many went.
   */
  forget(before: number, limit: number, unheardSince?: number): Promise<number>

  /**
   * Counts the open events of a fleet, and those that this beacon alone reports. Counting stops at the
   * limits of core/share.ts, and may lag some seconds behind other workers.
   */
  countOpen(fleet: string, beacon: string, now: number): Promise<OpenCounts>

  /** When an event is due, or a delivery can be claimed, next; undefined where nothing waits. */
  nextDueAt(pacing: Pacing): Promise<number | undefined>
}
