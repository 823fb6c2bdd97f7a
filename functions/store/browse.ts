// What the console reads: open events, searches of events and beacons, and what happened in
// channels. Every list has a limit and goes on at a cursor that only the store can
// read. A page may be shorter than its limit and still not be the last one.
import type { Delivery } from '../core/delivery/delivery.ts'
import type { ListedBeacon } from '../core/event/beacon.ts'
import type { EventRecord } from '../core/event/event.ts'
import type { EventStep, EventSummary } from '../core/event/summary.ts'

interface Page {
  /** `next` of the page before. */
  after?: string | undefined
  /** At least 1. */
  limit: number
}

export interface EventSearch extends Page {
  fleets: readonly string[]
  eventType?: string | undefined
  steps?: readonly EventStep[] | undefined
  /**
   * The beginning of the name of an affected VM, or of the event's id. Its case does not matter. If
   * very many names begin with it, some may be missing.
   */
  prefix?: string | undefined
  /** First seen at this time or later, and before. Epoch ms. */
  since?: number | undefined
  until?: number | undefined
}

export interface EventsFound {
  events: EventSummary[]
  /** Absent on the last page. */
  next?: string
  /** Too many names begin with the prefix: some events are missing. */
  partial?: true
}

export interface BeaconSearch extends Page {
  fleet: string
  /** The beginning of the VM's name. Its case does not matter. */
  prefix?: string | undefined
  state?: 'heard' | 'silent' | 'left' | undefined
  now: number
}

export interface BeaconsFound {
  beacons: ListedBeacon[]
  next?: string
}

export interface ChannelActivity {
  channel: string
  /** When the channel last accepted a message, at most a minute too early. Absent: never. */
  deliveredAt?: number
  /** When the oldest pending delivery was planned. Absent: none is pending. */
  pendingSince?: number
  /** How many are pending, and how many were refused or given up. Counting stops at `maxCounted`. */
  pending: number
  failed: number
  /** When the newest that failed was planned. Absent: none failed. */
  failedAt?: number
  /** Only for a stored channel, if the question has `since`. */
  recent?: Recent
}

/** What was planned since a time, and how much of it was refused or given up. */
interface Recent {
  planned: number
  failed: number
}

export interface ActivityQuestion {
  /** Counts only deliveries of these fleets. */
  fleets?: readonly string[] | undefined
  /** Also counts what was planned for each stored channel since then. Epoch ms. */
  since?: number
}

export const maxCounted = 1_000

export interface FailedPage extends Page {
  channel: string
  /** Absent: of all fleets. */
  fleets?: readonly string[] | undefined
}

export interface FailedFound {
  /** The one that was planned last comes first. */
  deliveries: Delivery[]
  next?: string
}

export interface BrowseStore {
  /**
   * Open events, without alerts, at most `limit`. Those whose NotBefore is next come first. `keep`: which of them. The
   * others do not stay in memory, of which 500 large events would need all.
   */
  listOpen(
    fleets: readonly string[],
    limit: number,
    keep?: (record: EventRecord) => boolean,
  ): Promise<EventRecord[]>

  /** Events that match, without alerts. The event that was first seen last comes first. */
  findEvents(search: EventSearch): Promise<EventsFound>

  /** Beacons of a fleet that match, in an order that stays. */
  findBeacons(search: BeaconSearch): Promise<BeaconsFound>

  /** What happened in these channels, in the same order. */
  channelActivity(
    channels: readonly string[],
    question?: ActivityQuestion,
  ): Promise<ChannelActivity[]>

  /** Deliveries of a channel that were refused or given up. */
  listFailed(page: FailedPage): Promise<FailedFound>
}
