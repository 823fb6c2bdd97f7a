// Where events, beacons and deliveries are stored. Each comment on a method is a promise with a
// test in test/store/contract.ts, over every adapter of rows. A use case takes the narrowest
// interface it needs. A write is durable once it returns.

import type { Counts } from '../core/counts.ts'
import type { Settlement } from '../core/delivery/attempt.ts'
import type { Commit } from '../core/delivery/commit.ts'
import type { Claimed, Delivery } from '../core/delivery/delivery.ts'
import type { ChannelHealth } from '../core/delivery/health.ts'
import type { LoggedMoment } from '../core/delivery/moment-log.ts'
import type { Rate } from '../core/delivery/rate.ts'
import type { Beacon, ListedBeacon } from '../core/event/beacon.ts'
import type { EventRecord } from '../core/event/event.ts'
import type { OpenCounts } from '../core/limits.ts'
import type { BrowseStore } from './browse.ts'

export interface EventKey {
  fleet: string
  eventId: string
}

export type { ListedBeacon } from '../core/event/beacon.ts'
export type {
  BeaconSearch,
  BeaconsFound,
  ChannelActivity,
  EventSearch,
  FailedFound,
  FailedPage,
} from './browse.ts'
export type { Commit }

export interface EventPage {
  /** Absent: all, also those that left the configuration. */
  fleets?: readonly string[] | undefined
  /** `firstSeenAt` of the last event of the page before. */
  before?: number
  /** At least 1. */
  limit: number
}

export interface EventStore {
  /** The committed record, or undefined. */
  readEvent(key: EventKey): Promise<EventRecord | undefined>

  /**
   * Writes an event with its deliveries and moments, all or nothing. `conflict` if the stored record's sequence
   * is not `basedOn`: then read and decide again. Durable once it returns. `before`: the record as
   * `readEvent` just returned it, which may save a call.
   */
  commit(commit: Commit, before?: EventRecord): Promise<'committed' | 'conflict'>

  /**
   * The event that was first seen last comes first. A page is longer than `limit` if more events
   * share the millisecond of its last one.
   */
  listEvents(page: EventPage): Promise<EventRecord[]>

  /** Open events whose due time has come, the longest due first, at most `limit`. */
  dueEvents(now: number, limit: number): Promise<EventKey[]>

  /**
   * Counts the open events of a fleet, and those that this beacon alone reports. Counting stops at
   * the limits in core/limits.ts.
   */
  countOpen(fleet: string, beacon: string): Promise<OpenCounts>
}

export interface BeaconKey {
  fleet: string
  beacon: string
}

export interface BeaconPage {
  /** Id of the last beacon of the page before. */
  after?: string
  limit: number
}

interface BeaconStore {
  readBeacon(fleet: string, beacon: string): Promise<Beacon | undefined>

  /** A fleet's beacons, sorted by id, at most `limit`. */
  listBeacons(fleet: string, page: BeaconPage): Promise<ListedBeacon[]>

  /**
   * `stale`, and nothing written, if a later counter of the same boot was written before, or a boot
   * that retired this one. `known`: the beacon as `readBeacon` returned it, which may save a call,
   * even if another worker has written the beacon since.
   */
  writeBeacon(beacon: Beacon, known?: Beacon): Promise<'written' | 'stale'>

  /**
   * Replaces a beacon as it was read by what the relay concludes of it. `stale`, and nothing
   * written, if another write came first.
   */
  replaceBeacon(before: Beacon, after: Beacon): Promise<'written' | 'stale'>

  /** How many beacons of a fleet are stored, also those that left. */
  countBeacons(fleet: string): Promise<number>

  /** Beacons whose `silentAt` has come, the longest due first, at most `limit`. */
  dueBeacons(now: number, limit: number): Promise<BeaconKey[]>
}

/** How fast each channel accepts requests, and how many more of them this worker can send now. */
export interface Pacing {
  now: number
  rateOf(channel: string): Rate
  /** Requests that this worker may begin. With 0, claims leave the channel out. */
  roomOf(channel: string): number
}

export interface ClaimRequest extends Pacing {
  leaseMs: number
  /** Requests, of all channels together. */
  limit: number
}

export interface Claim {
  /** Each list is sent as one request. */
  requests: Claimed[][]
  /** False: more is due, and `nextDueAt` tells when it can be claimed. */
  isAll: boolean
}

export interface DeliveryPage {
  /** `next` of the page before. */
  before?: string
  /** At least 1. */
  limit: number
}

export interface DeliveryList {
  deliveries: Delivery[]
  /** Absent on the last page. Only the store can read it. */
  next?: string
}

export type Replay = ({ id: string } | { since: number; channel?: string }) & {
  /** Only deliveries of these fleets. Absent: of all. */
  fleets?: readonly string[]
}

export interface DeliveryStore {
  /**
   * All deliveries of an event, in order: those to configured channels, or those to one
   * stored channel.
   */
  readDeliveries(key: EventKey, storedId?: string): Promise<Delivery[]>

  /**
   * Adds deliveries that one step plans, and that belong to no event: a ping, or an alert. All have
   * one key. `known`, and nothing written, if the step was added before.
   */
  addDeliveries(deliveries: Delivery[]): Promise<'added' | 'known'>

  /** Deliveries to a stored channel, whatever their state. The one that was planned last comes first. */
  listDeliveries(channel: string, page: DeliveryPage): Promise<DeliveryList>

  /**
   * Leases due deliveries, the longest due first. No delivery has two leases at once. A delivery
   * waits while an earlier one of its event and channel is pending.
   * All workers together keep each channel's rate. Counts an attempt. A delivery that was settled
   * as `alone` shares its list with no other.
   */
  claim(request: ClaimRequest): Promise<Claim>

  /**
   * Ends an attempt and adds the deliveries that follow from it, all or nothing. If the channel
   * asked for a pause, the pause begins. For a delivery to a stored channel, `follow` is empty.
   * `lost`, and nothing written, if the lease ended or another claim has the delivery, even after a
   * success.
   */
  settle(
    claimed: Claimed,
    settlement: Settlement,
    now: number,
    follow: Delivery[],
  ): Promise<'settled' | 'lost'>

  /**
   * Makes refused and given-up deliveries pending again: one by its id, or all that were planned
   * since a time, the oldest first, at most `limit`. Keeps the count of attempts. Without a channel,
   * it leaves out those to stored channels. Returns how many.
   */
  replay(which: Replay, now: number, limit: number): Promise<number>
}

interface ChannelStore {
  /** The health of all channels that fail or have failed. */
  listHealth(): Promise<ChannelHealth[]>

  /** Undefined: it never failed. */
  readHealth(channel: string): Promise<ChannelHealth | undefined>

  /**
   * Replaces the health of a channel, and returns it. Calls `decide` again each time another worker
   * was faster. If it returns what it got, nothing is written.
   */
  changeHealth(
    channel: string,
    decide: (before: ChannelHealth | undefined) => ChannelHealth | undefined,
  ): Promise<ChannelHealth | undefined>

  /** A request of the channel was not made, so its rate has this much time more. */
  giveBack(channel: string, bookedMs: number): Promise<void>

  /** Removes what is kept of a channel. */
  removeChannel(channel: string): Promise<void>
}

interface MomentStore {
  /**
   * Moments of all events with a higher position, in order, at most `limit`. A moment that a later
   * call shows first has a higher position than all that were shown before, whichever worker
   * committed it. The moments of one event are in the order of its commits. On Azure, moments
   * appear 5 s late. One that took more than 3 s to write may appear twice, or after later ones.
   */
  readMoments(after: number, limit: number, now: number): Promise<LoggedMoment[]>

  /** A position before which everything was committed so far, and after which all that follows is. */
  lastPosition(now: number): number
}

export interface SmallRowKey {
  /** What each is: small-rows.ts, and the features' own. */
  kind: string
  /** The small row is forgotten with this event. */
  event?: EventKey
  name: readonly (string | number)[]
}

/** A small object that workers replace by compare-and-set. */
export interface SmallRow {
  /** Grows by one with each write. */
  version: number
}

export interface SmallRowStore {
  /** The small row as it was written last, or undefined. */
  readSmallRow(key: SmallRowKey): Promise<SmallRow | undefined>

  /** All small rows of a kind that belong to no event. */
  listSmallRows(kind: string): Promise<SmallRow[]>

  /**
   * Replaces all fields of a small row. `conflict`, and nothing written, if the stored version is not
   * `basedOn` (0: there is none). Durable once it returns.
   */
  writeSmallRow(key: SmallRowKey, fields: object, basedOn: number): Promise<'written' | 'conflict'>

  /** Removes a small row, if it is there. Durable once it returns. */
  removeSmallRow(key: SmallRowKey): Promise<void>
}

export interface CountsRequest {
  now: number
  /** Counts of other fleets may be left out. */
  fleets: readonly string[]
  /** How old the counts may be. A host with a timer asks for younger ones to prepare them. */
  maxAgeMs?: number
}

/** Usually how old counts may be. */
export const countsMs = 60_000

export interface Store
  extends EventStore,
    BeaconStore,
    DeliveryStore,
    ChannelStore,
    MomentStore,
    SmallRowStore,
    BrowseStore {
  /**
   * Removes events that ended before a time, with their deliveries and small rows. Also
   * removes beacons that were not heard since `unheardSince` (usually the same time), moments that
   * are older than the time, and deliveries to stored channels that were planned before it, except
   * pending ones. At most `limit` of each. Open events stay, and so do beacons whose last document shows one. Returns how
   * many it removed.
   */
  forget(before: number, limit: number, unheardSince?: number): Promise<number>

  /** Removes what failed writes of events left in the indexes of these fleets. Call it about once an hour. */
  tidy(fleets: readonly string[], now: number): Promise<void>

  /**
   * Counts what is stored, by the rules of core/counts.ts. What has ended stays counted after
   * `forget`.
   */
  readCounts(request: CountsRequest): Promise<Counts>

  /** When the next event is due or the next delivery can be claimed; undefined if nothing waits. */
  nextDueAt(pacing: Pacing): Promise<number | undefined>
}
