// Deliveries as rows of SQLite. All deliveries of one commit share one view of their event, because
// it is large.
import type { Delivery } from '../../core/delivery/delivery.ts'
import type { EventView } from '../../core/event/view.ts'
import { hash } from '../../core/hash.ts'
import type { EventKey } from '../store.ts'
import { deliveryBody, eventBody, type Row, toDelivery, toEvent } from './rows.ts'
import { sql } from './sql.ts'
import type { Statements } from './statements.ts'

export class Deliveries {
  readonly #statements: Statements

  constructor(statements: Statements) {
    this.#statements = statements
  }

  ofEvent({ fleet, eventId }: EventKey): Delivery[] {
    const found = this.#statements.all(sql.readViews, fleet, eventId)
    const views = new Map(found.map(({ view, body }) => [view, toEvent<EventView>(body)]))
    const rows = this.#statements.all(sql.readDeliveries, fleet, eventId)
    return rows.map((row) => toDelivery(row, views.get(row.view)))
  }

  insert(deliveries: Delivery[]): void {
    const views = new Map<EventView, string>()
    for (const d of deliveries) {
      const { id, fleet, eventId, channel, seq, state, attempts, nextAt, note, plannedAt } = d
      const { event } = d.telling
      const view = views.get(event) ?? this.#insertView(fleet, eventId, event)
      views.set(event, view)
      const whose = [id, fleet, eventId, channel, seq, plannedAt]
      const rest = [state, attempts, nextAt, note, deliveryBody(d), view]
      this.#statements.run(sql.insertDelivery, ...whose, ...rest)
    }
  }

  /** For a row that was read alone: reads its view, too. */
  toDelivery(row: Row): Delivery {
    const { fleet, event_id, view } = row
    if (view === null) return toDelivery(row, undefined)
    const key = [String(fleet), String(event_id), String(view)]
    const found = this.#statements.get(sql.readView, ...key)
    return toDelivery(row, found && toEvent(found.body))
  }

  #insertView(fleet: string, eventId: string, event: EventView): string {
    const body = eventBody(event)
    const view = `${event.sequence}-${hash(body)}`
    this.#statements.run(sql.insertView, fleet, eventId, view, body)
    return view
  }
}
