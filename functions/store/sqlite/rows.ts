// Converts between rows of the SQLite store and values.
import type { Delivery, DeliveryState } from '../../core/delivery/delivery.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { packEvent, unpackEvent } from '../../core/event/event-size.ts'
import type { EventView } from '../../core/event/view.ts'
import type { Row } from './database.ts'

/** Not checked: only the relay writes rows. */
export function parse<T>(body: unknown): T {
  return JSON.parse(String(body)) as T
}

export function eventBody(event: EventRecord | EventView): string {
  return JSON.stringify(packEvent(event))
}

/** Reads what `eventBody` wrote. */
export function toEvent<Event extends EventRecord | EventView>(body: unknown): Event {
  return unpackEvent(parse<Event>(body))
}

/** Without the event, which all deliveries of one commit share. */
export function deliveryBody({ urgentUntil, telling }: Delivery): string {
  const { event: _, ...rest } = telling
  return JSON.stringify({ urgentUntil, telling: rest })
}

type Body = Pick<Delivery, 'urgentUntil' | 'telling'>

/** `event` is the view that the row names. Rows of format 1 contain their event instead. */
export function toDelivery(row: Row, event: EventView | undefined): Delivery {
  const { urgentUntil, telling } = parse<Body>(row.body)
  return {
    urgentUntil,
    telling: event === undefined ? telling : ({ ...telling, event } as Delivery['telling']),
    id: String(row.id),
    fleet: String(row.fleet),
    eventId: String(row.event_id),
    channel: String(row.channel),
    seq: Number(row.seq),
    plannedAt: Number(row.owed_at),
    state: String(row.state) as DeliveryState,
    attempts: Number(row.attempts),
    nextAt: Number(row.next_at),
    note: String(row.note),
  }
}
