// The rows of an event's partition: the event, its deliveries, and views of the event at the time
// when deliveries were planned. A view is large, so all channels share it. Deliveries of an event
// to one subscription have a partition of their own, as there may be many subscriptions.
import { type Delivery, subscriptionOf } from '../../core/delivery/delivery.ts'
import type { MomentEntry } from '../../core/delivery/moment-log.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { packEvent, unpackEvent } from '../../core/event/event-size.ts'
import type { EventView } from '../../core/event/view.ts'
import type { EventKey } from '../store.ts'
import { digestOf, endOf, keyOf, startOf } from './keys.ts'
import type { Row, Rows } from './rows.ts'
import type { Entry } from './time-index.ts'

export interface StoredEvent {
  record: EventRecord
  due?: Entry | undefined
  ended?: Entry | undefined
  /** Only while the event is open. */
  open?: Entry | undefined
  listed: Entry[]
}

type WithoutEvent<T> = T extends unknown ? Omit<T, 'event'> : never

export interface StoredDelivery {
  delivery: Omit<Delivery, 'telling'> & { telling: WithoutEvent<Delivery['telling']> }
  /** The row of the view. */
  view: string
  /** The position among the deliveries of one commit. */
  place: number
  lease?: string | undefined
  alone?: boolean
  /** The index entry while the delivery is pending, refused or given up. */
  entry?: Entry | undefined
  /** Only of deliveries to subscriptions. */
  history?: Entry[]
}

/** A row with its parsed body. */
export interface Held<T> {
  row: string
  etag: string
  stored: T
}

export interface HeldEvent {
  event: Held<StoredEvent> | undefined
  /** In order. */
  deliveries: Held<StoredDelivery>[]
  /** By row. Empty if the views were not read. */
  views: Map<string, EventView>
}

export const eventRow = 'event'
const deliveryRows = 'say'
const momentRows = 'unlogged'
const viewRows = 'view'

/**
 * Rows sort by their names. Names of all rows of an event must be from `event` to `view`, or they are
 * neither read nor forgotten.
 */
export const ranges = {
  withoutViews: { from: eventRow, to: endOf(deliveryRows) },
  whole: { from: eventRow, to: endOf(viewRows) },
}

export function eventPartition({ fleet, eventId }: EventKey): string {
  return keyOf('event', fleet, eventId)
}

/** The partition of a delivery: of its event, or of its event and subscription. */
export function deliveryPartition(of: EventKey & { channel?: string | undefined }): string {
  const subscription = of.channel === undefined ? undefined : subscriptionOf(of.channel)
  if (subscription === undefined) return eventPartition(of)
  return keyOf('subscription', subscription, of.fleet, of.eventId)
}

export function deliveryRow(id: string): string {
  return keyOf(deliveryRows, id)
}

/** Until a reader of the log appends it there. */
export function momentRow(id: string): string {
  return keyOf(momentRows, digestOf(id))
}

/** `entry`: the row of the index entry that leads here. */
export function entryBody({ id, telling }: MomentEntry, entry: string): string {
  return JSON.stringify({ id, entry, telling: { ...telling, event: packEvent(telling.event) } })
}

/** Whether one commit wrote the row and this entry. A failed commit of the same moment leaves an entry. */
export function isEntryOf(body: string, entry: string): boolean {
  return (JSON.parse(body) as { entry?: string }).entry === entry
}

/** Reads what `entryBody` wrote. */
export function toEntry(body: string): MomentEntry {
  const { id, telling } = JSON.parse(body) as MomentEntry
  return { id, telling: { ...telling, event: unpackEvent(telling.event) } }
}

/** The digest of the content names the row, so writing it again changes nothing. */
export function viewOf(delivery: Delivery): { row: string; body: string } {
  const body = JSON.stringify(packEvent(delivery.telling.event))
  const isShared = subscriptionOf(delivery.channel) === undefined
  return { row: isShared ? keyOf(viewRows, digestOf(body)) : ownViewRow(delivery.id), body }
}

/** A delivery to a subscription shares no view, so both are removed together. */
export function ownViewRow(id: string): string {
  return keyOf(viewRows, digestOf(id))
}

export function toStored(delivery: Delivery, view: string, place: number): StoredDelivery {
  const { telling, ...own } = delivery
  const { event: _, ...rest } = telling
  return { delivery: { ...own, telling: rest as WithoutEvent<Delivery['telling']> }, view, place }
}

export function toDelivery({ delivery }: StoredDelivery, event: EventView | undefined): Delivery {
  if (event === undefined) throw new Error(`delivery "${delivery.id}" lacks its view of the event`)
  return { ...delivery, telling: { ...delivery.telling, event } as Delivery['telling'] }
}

export function held<T>({ row, etag, body }: Row): Held<T> {
  return { row, etag, stored: JSON.parse(body) as T }
}

export function heldEvent(row: Row): Held<StoredEvent> {
  const { stored, ...rest } = held<StoredEvent>(row)
  return { ...rest, stored: { ...stored, record: unpackEvent(stored.record) } }
}

/** The event without its deliveries. */
export async function readHeldEvent(rows: Rows, key: EventKey) {
  const row = await rows.read(eventPartition(key), eventRow)
  return row && heldEvent(row)
}

/** `heldEvent` reads this format. */
export function eventBody(stored: StoredEvent): string {
  return JSON.stringify({ ...stored, record: packEvent(stored.record) })
}

export function toView({ body }: Row): EventView {
  return unpackEvent(JSON.parse(body) as EventView)
}

export function toHeldEvent(rows: Row[]): HeldEvent {
  const event = rows.find(({ row }) => row === eventRow)
  const say = startOf(deliveryRows)
  const view = startOf(viewRows)
  const views = rows.filter(({ row }) => row.startsWith(view))
  const deliveries = rows.filter(({ row }) => row.startsWith(say)).map(held<StoredDelivery>)
  return {
    event: event && heldEvent(event),
    deliveries: deliveries.sort(
      ({ stored: a }, { stored: b }) => a.delivery.seq - b.delivery.seq || a.place - b.place,
    ),
    views: new Map(views.map((one) => [one.row, toView(one)])),
  }
}

/** No earlier message of the same event and channel is pending. */
export function isInOrder({ stored }: Held<StoredDelivery>, { deliveries }: HeldEvent): boolean {
  const { channel, seq } = stored.delivery
  return !deliveries.some(({ stored: { delivery: other } }) => {
    return other.channel === channel && other.seq < seq && other.state === 'pending'
  })
}

export function isPending({ stored }: Held<StoredDelivery>): boolean {
  return stored.delivery.state === 'pending'
}

/** An owner can replay it. */
export function hasFailed({ stored }: Held<StoredDelivery>): boolean {
  return stored.delivery.state === 'refused' || stored.delivery.state === 'given_up'
}

/** All index entries of an event and its deliveries. */
export function entriesOf({ event, deliveries }: HeldEvent): Entry[] {
  const { due, ended, open, listed = [] } = event?.stored ?? {}
  const own = deliveries.flatMap(({ stored }) => [stored.entry, ...(stored.history ?? [])])
  return [due, ended, open, ...listed, ...own].filter((entry) => entry !== undefined)
}

export function isSameEntry(one: Entry | undefined, other: Entry): boolean {
  return one !== undefined && one.partition === other.partition && one.row === other.row
}
