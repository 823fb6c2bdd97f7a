// Rows of the SQLite stores as the values that were written.
import type { Delivery, DeliveryState } from '../core/delivery.ts'

export type Row = Record<string, unknown>

/** Rows are ours: what was written as a type is read as that type. */
export function parse<T>(body: unknown): T {
  return JSON.parse(String(body)) as T
}

export function toDelivery(row: Row): Delivery {
  return {
    ...parse<Pick<Delivery, 'urgentUntil' | 'telling'>>(row.body),
    id: String(row.id),
    fleet: String(row.fleet),
    eventId: String(row.event_id),
    channel: String(row.channel),
    seq: Number(row.seq),
    owedAt: Number(row.owed_at),
    state: String(row.state) as DeliveryState,
    attempts: Number(row.attempts),
    nextAt: Number(row.next_at),
    note: String(row.note),
  }
}
