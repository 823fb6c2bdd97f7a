// A row of deliveries: those that one commit plans for its channels, or one to a stored channel. The
// event as it was then is in the row of the commit's moments.
import { alertPrefix } from '../../shared/document.ts'
import type { Count } from '../core/counts.ts'
import { type Delivery, noFleet, readStoredId } from '../core/delivery/delivery.ts'
import type { EventView } from '../core/event/view.ts'
import { hash } from '../core/hash.ts'
import type { Content } from './edits.ts'
import { buildKey, findEnd, findStart, newestFirst, timeKey } from './keys.ts'
import type { Change, Key } from './rows.ts'
import { having } from './shapes.ts'

export const pendingIndex = 'pending'
export const countsIndex = 'counts'
export const endedIndex = 'ended'
export const failedIndex = 'failed'

/**
 * `names`: of a row of stored channels, the ids of those for which a delivery still waits; else the VM that
 * told of the event.
 */
export type PendingSummary = [
  channel: string,
  fleet: string,
  plannedAt: number,
  eventId: string,
  names?: string[],
]

/** Whether the list is a summary: flipped bits may leave another list. */
export const isPending = having({
  ...{ 0: 'string', 1: 'string', 2: 'number', 3: 'string', '4?': 'list' },
})

export type HistorySummary = [fleet: string, state: Delivery['state']]
export const isOfHistory = having({ 0: 'string', 1: 'string' })

type WithoutEvent<T> = T extends unknown ? Omit<T, 'event'> : never

export interface StoredDelivery extends Omit<Delivery, 'fleet' | 'eventId' | 'notification'> {
  notification: WithoutEvent<Delivery['notification']>
  /** The commit whose moments have the event as it was. Absent: it is here. */
  sequence?: number
  event?: EventView
  lease?: string | undefined
  /** Shares no list with others. */
  alone?: true
  /** The time in its key while it is pending. `nextAt` may be later. */
  keyAt?: number | undefined
  /** When its last attempt failed. */
  triedAt?: number
  /** Changes of the counts, each with its position. */
  counted?: [position: number, counts: Count[]][]
}

export interface StoredDeliveries {
  fleet: string
  eventId: string
  deliveries: StoredDelivery[]
}

/** Deliveries to all stored channels of one chunk are one queue. No configured channel has this name. */
export const subscribers = ':subscriptions'
/** Rows of one commit for stored channels: each has about 25 of the 200. */
const chunks = 8

/** Where the deliveries of an event are that wait for each other, as names of rows. */
export function findRange(channel: string): [from: string, to: string] {
  const storedId = readStoredId(channel)
  // the event itself and its moments are in between
  if (storedId === undefined) return [findStart('deliveries'), findEnd('moment')]
  return rangeOfChunk(findChunk(storedId))
}

function rangeOfChunk(chunk: string): [from: string, to: string] {
  return [findStart('subscribed', chunk), findEnd('subscribed', chunk)]
}

/** The range of `findRange` that contains this row. */
export function rangeAround(row: string): [from: string, to: string] {
  const [kind, chunk = ''] = row.split('|')
  return kind === 'subscribed' ? rangeOfChunk(chunk) : findRange('')
}

function findChunk(storedId: string): string {
  return String(Number.parseInt(hash(storedId).slice(0, 8), 16) % chunks)
}

/**
 * The rows of deliveries that are planned together. `event`: the event as the row of moments of this
 * commit has it.
 */
export function newRows(
  deliveries: Delivery[],
  sequence: number,
  event: EventView | undefined,
): Change[] {
  const rows = Map.groupBy(deliveries, ({ channel }) => {
    const storedId = readStoredId(channel)
    return storedId === undefined ? '' : findChunk(storedId)
  })
  return [...rows].map(([chunk, own]) => {
    const [{ fleet, eventId, seq, id }] = own as [Delivery]
    const stored: StoredDeliveries = {
      fleet,
      eventId,
      deliveries: own.map((one) =>
        toStored(one, one.notification.event === event ? sequence : undefined),
      ),
    }
    const place = [timeKey(seq), hash(id).slice(0, 16)]
    const row =
      chunk === '' ? buildKey('deliveries', ...place) : buildKey('subscribed', chunk, ...place)
    return { kind: 'insert', row, ...readMade(stored) }
  })
}

/** `sequence`: of the commit whose moments have the event. */
export function toStored(
  { fleet: _f, eventId: _e, notification, ...own }: Delivery,
  sequence: number | undefined,
): StoredDelivery {
  const { event, ...rest } = notification
  const keyAt = own.state === 'pending' ? { keyAt: own.nextAt } : {}
  const where = sequence === undefined ? { event } : { sequence }
  return { ...own, ...keyAt, ...where, notification: rest as StoredDelivery['notification'] }
}

export function toDelivery(
  { fleet, eventId }: StoredDeliveries,
  { notification, ...stored }: StoredDelivery,
  event: EventView,
): Delivery {
  const { keyAt: _k, triedAt: _t, lease: _l, alone: _a, counted: _c, ...rest } = stored
  const { sequence: _s, event: _e, ...own } = rest
  return {
    ...own,
    fleet,
    eventId,
    notification: { ...notification, event } as Delivery['notification'],
  }
}

/** What rows contain. Nobody changes these values. */
const contents = new WeakMap<Content, StoredDeliveries>()

export function toStoredDeliveries(row: Content): StoredDeliveries {
  const known = contents.get(row) ?? (JSON.parse(row.body) as StoredDeliveries)
  contents.set(row, known)
  return known
}

/** The row with another delivery in place of the one with its id, and further ones. */
export function withDelivery(
  stored: StoredDeliveries,
  changed: StoredDelivery,
  further: StoredDelivery[] = [],
) {
  const deliveries = stored.deliveries.map((one) => (one.id === changed.id ? changed : one))
  const fresh = further.filter(({ id }) => deliveries.every((one) => one.id !== id))
  return readMade({ ...stored, deliveries: [...deliveries, ...fresh] })
}

/** The row, which becomes text only if it is written: edits that come together are one write. */
export function readMade(stored: StoredDeliveries): Content {
  const made = {
    get body() {
      return JSON.stringify(stored)
    },
    get keys() {
      return buildKeys(stored)
    },
  }
  contents.set(made, stored)
  return made
}

export function isLent({ lease, nextAt }: StoredDelivery, now: number): boolean {
  return lease !== undefined && nextAt > now
}

export function hasFailed({ state }: Pick<Delivery, 'state'>): boolean {
  return state === 'refused' || state === 'given_up'
}

export function historyIndex(storedId: string): string {
  return buildKey('history', storedId)
}

/** Where a list of failed deliveries, or of those to one stored channel, has this one. */
export function listKey({ plannedAt, seq, id }: Pick<Delivery, 'plannedAt' | 'seq' | 'id'>) {
  return buildKey(newestFirst(plannedAt), newestFirst(seq), hash(id).slice(0, 16))
}

function buildKeys(stored: StoredDeliveries): Key[] {
  const { fleet, eventId, deliveries } = stored
  const keys = deliveries.flatMap((one) => keysOfOne(stored, one))
  const waiting = deliveries.filter((one) => one.state === 'pending' && isSubscriber(one))
  const [first] = waiting
  if (first !== undefined) {
    const plannedAt = Math.min(...waiting.map((one) => one.plannedAt))
    const own = new Set(waiting.map(({ channel }) => readStoredId(channel)!))
    const all: PendingSummary = [subscribers, fleet, plannedAt, eventId, [...own]]
    const summary = JSON.stringify(all)
    keys.push({ index: pendingIndex, key: pendingKey(stored, first), summary })
  }
  // a ping or an alert has no event with which it is forgotten
  if (fleet === noFleet || eventId.startsWith(alertPrefix)) {
    const [{ plannedAt, seq }] = deliveries as [StoredDelivery]
    keys.push({ index: endedIndex, key: buildKey(timeKey(plannedAt), fleet, eventId, seq) })
  }
  return keys
}

function isSubscriber({ channel }: StoredDelivery): boolean {
  return readStoredId(channel) !== undefined
}

/**
 * Sorted by channel, fleet and time, so that a long queue does not hide the others. Deliveries to
 * stored channels have one key for their row.
 */
export function pendingKey(
  { fleet, eventId, deliveries }: StoredDeliveries,
  one: StoredDelivery,
): string {
  if (!isSubscriber(one)) {
    return buildKey(one.channel, fleet, timeKey(one.keyAt ?? 0), eventId, one.seq)
  }
  const waiting = deliveries.filter((each) => each.state === 'pending' && isSubscriber(each))
  const at = Math.min(...waiting.map(({ keyAt = 0 }) => keyAt))
  const [{ id, seq }] = deliveries as [StoredDelivery]
  return buildKey(subscribers, fleet, timeKey(at), eventId, seq, hash(id).slice(0, 16))
}

function keysOfOne(stored: StoredDeliveries, one: StoredDelivery): Key[] {
  const { fleet, eventId } = stored
  const { channel, state, plannedAt, toldBy, counted = [] } = one
  const keys: Key[] = counted.map(([position, counts]) => {
    const key = buildKey(timeKey(position), one.id)
    return { index: countsIndex, key, summary: JSON.stringify(counts), mayBeLost: true }
  })
  const storedId = readStoredId(channel)
  if (state === 'pending' && storedId === undefined) {
    const all: PendingSummary = [channel, fleet, plannedAt, eventId]
    const summary = JSON.stringify(toldBy === undefined ? all : [...all, [toldBy]])
    keys.push({ index: pendingIndex, key: pendingKey(stored, one), summary })
  }
  if (hasFailed(one)) {
    const key = `${findStart(channel)}${listKey(one)}`
    keys.push({ index: failedIndex, key, summary: fleet })
  }
  if (storedId !== undefined) {
    const summary = JSON.stringify([fleet, state] satisfies HistorySummary)
    keys.push({ index: historyIndex(storedId), key: listKey(one), summary })
  }
  return keys
}
