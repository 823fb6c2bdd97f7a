// What stands in the rows of an event's partition: the event, its deliveries, and what was to tell when they
// were planned. That is the largest part, and the same for all channels, so it stands once.
import type { Delivery, EventView } from '../../core/delivery/delivery.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { packEvent, unpackEvent } from '../../core/event/event-size.ts'
import type { EventKey } from '../store.ts'
import type { Entry } from './index.ts'
import { digestOf, endOf, keyOf, startOf } from './keys.ts'
import type { Row, Rows } from './rows.ts'

export interface StoredEvent {
  record: EventRecord
  due?: Entry | undefined
  ended?: Entry | undefined
  /** Only while the event is open. */
  open?: Entry | undefined
  listed: Entry[]
}

type Told<T> = T extends unknown ? Omit<T, 'event'> : never

export interface StoredDelivery {
  delivery: Omit<Delivery, 'telling'> & { telling: Told<Delivery['telling']> }
  /** Row of what is told. */
  view: string
  /** Among those of one commit. */
  place: number
  lease?: string | undefined
  alone?: boolean
  /** Where it is found while it is pending, refused or given up. */
  entry?: Entry | undefined
}

/** A row with what it says. */
export interface Held<T> {
  row: string
  etag: string
  stored: T
}

export interface HeldEvent {
  event: Held<StoredEvent> | undefined
  /** In order. */
  deliveries: Held<StoredDelivery>[]
  /** By row; only where they were asked for. */
  views: Map<string, EventView>
}

export const eventRow = 'event'
const deliveryRows = 'say'
const viewRows = 'view'

export const ranges = {
  /** The event and its deliveries. */
  decided: { from: eventRow, to: endOf(deliveryRows) },
  /** With what is told. */
  whole: { from: eventRow, to: endOf(viewRows) },
}

export function eventPartition({ fleet, eventId }: EventKey): string {
  return keyOf('event', fleet, eventId)
}

export function deliveryRow(id: string): string {
  return keyOf(deliveryRows, id)
}

/** The row of a view is named by its content: writing it again changes nothing. */
export function viewOf(delivery: Delivery): { row: string; body: string } {
  const body = JSON.stringify(packEvent(delivery.telling.event))
  return { row: keyOf(viewRows, digestOf(body)), body }
}

export function toStored(delivery: Delivery, view: string, place: number): StoredDelivery {
  const { telling, ...rest } = delivery
  const { event: _, ...told } = telling
  return { delivery: { ...rest, telling: told as Told<Delivery['telling']> }, view, place }
}

export function toDelivery({ delivery }: StoredDelivery, event: EventView | undefined): Delivery {
  if (event === undefined) throw new Error(`delivery "${delivery.id}" has lost what it tells`)
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

/** The format that `heldEvent` reads. */
export function eventBody(stored: StoredEvent): string {
  return JSON.stringify({ ...stored, record: packEvent(stored.record) })
}

/** Reads the row of a view. */
export function toView({ body }: Row): EventView {
  return unpackEvent(JSON.parse(body) as EventView)
}

/** The rows of an event's partition. */
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

/** No earlier message of the same event and channel is still owed. */
export function isInOrder({ stored }: Held<StoredDelivery>, { deliveries }: HeldEvent): boolean {
  const { channel, seq } = stored.delivery
  return !deliveries.some(({ stored: { delivery: other } }) => {
    return other.channel === channel && other.seq < seq && other.state === 'pending'
  })
}

export function isOwed({ stored }: Held<StoredDelivery>): boolean {
  return stored.delivery.state === 'pending'
}

/** To be told again when an admin says so. */
export function hasFailed({ stored }: Held<StoredDelivery>): boolean {
  return stored.delivery.state === 'refused' || stored.delivery.state === 'given_up'
}

/** All that an event and its deliveries are found by. */
export function entriesOf({ event, deliveries }: HeldEvent): Entry[] {
  const { due, ended, open, listed = [] } = event?.stored ?? {}
  const owed = deliveries.map(({ stored }) => stored.entry)
  return [due, ended, open, ...listed, ...owed].filter((entry) => entry !== undefined)
}

export function isSameEntry(one: Entry | undefined, other: Entry): boolean {
  return one !== undefined && one.partition === other.partition && one.row === other.row
}
