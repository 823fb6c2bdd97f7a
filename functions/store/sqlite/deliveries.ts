// Deliveries as rows of SQLite. All deliveries of one commit share one view of their event, because
// it is large.
import {
  type Answered,
  type Delivery,
  subscriptionChannel,
  subscriptionOf,
} from '../../core/delivery/delivery.ts'
import type { EventView } from '../../core/event/view.ts'
import { hash } from '../../core/hash.ts'
import type { DeliveryList, DeliveryPage, EventKey } from '../store.ts'
import type { Row } from './database.ts'
import { deliveryBody, eventBody, parse, toDelivery, toEvent } from './rows.ts'
import { sql } from './sql.ts'
import type { Statements } from './statements.ts'

/** Deliveries of one moment to many subscriptions are claimed soon after each other. */
const maxCachedViews = 256

export class Deliveries {
  readonly #statements: Statements
  /** The name of a view contains a hash of it, so a view never changes. */
  readonly #views = new Map<string, EventView>()

  constructor(statements: Statements) {
    this.#statements = statements
  }

  /** Those to configured channels. */
  ofEvent({ fleet, eventId }: EventKey): Delivery[] {
    const found = this.#statements.all(sql.readViews, fleet, eventId)
    const views = new Map(found.map(({ view, body }) => [view, toEvent<EventView>(body)]))
    const rows = this.#statements.all(sql.readDeliveries, fleet, eventId, fleet, eventId)
    return rows.map((row) => toDelivery(row, views.get(row.view)))
  }

  toSubscription({ fleet, eventId }: EventKey, subscription: string): Delivery[] {
    const channel = subscriptionChannel(subscription)
    const rows = this.#statements.all(sql.readDeliveriesTo, fleet, eventId, channel)
    return rows.map((row) => this.toDelivery(row))
  }

  list(channel: string, { before, limit }: DeliveryPage): DeliveryList {
    const from = before === undefined ? [Number.MAX_SAFE_INTEGER, 0, ''] : placeIn(before)
    const rows = this.#statements.all(sql.listDeliveries, channel, ...from, limit + 1)
    const page = rows.slice(0, limit)
    const last = rows.length > limit ? page.at(-1) : undefined
    return {
      deliveries: page.map((row) => this.toDelivery(row)),
      ...(last && { next: `${last.owed_at}/${last.seq}/${last.id}` }),
    }
  }

  /** Stores what the system behind a subscription answered. */
  noteAnswer(id: string, answered: Answered): void {
    this.#statements.run(sql.writeAnswer, id, JSON.stringify(answered))
  }

  /** Removes ended deliveries to subscriptions. Returns how many. */
  forget(before: number, limit: number): number {
    const ended = this.#statements.all(sql.endedToSubscriptions, before, limit)
    for (const { id, fleet, event_id } of ended) {
      this.#statements.run(sql.forgetDelivery, String(id))
      this.#statements.run(sql.forgetAnswer, String(id))
      this.#statements.run(sql.forgetViews, String(fleet), String(event_id))
    }
    return ended.length
  }

  /** Removes some ended deliveries of an event, and the views that only they had. */
  forgetEnded({ fleet, eventId }: EventKey, ids: string[]): void {
    for (const id of ids) this.#statements.run(sql.forgetEnded, id)
    if (ids.length > 0) this.#statements.run(sql.forgetViews, fleet, eventId)
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

  /** For a row that was read alone: reads its view and its answer, too. */
  toDelivery(row: Row): Delivery {
    const { id, fleet, event_id, view, channel, attempts } = row
    if (view === null) return toDelivery(row, undefined)
    const event = this.#view(String(fleet), String(event_id), String(view))
    const delivery = toDelivery(row, event)
    if (attempts === 0 || subscriptionOf(String(channel)) === undefined) return delivery
    const answer = this.#statements.get(sql.readAnswer, String(id))
    return answer === undefined ? delivery : { ...delivery, answered: parse(answer.body) }
  }

  #view(fleet: string, eventId: string, view: string): EventView | undefined {
    const name = JSON.stringify([fleet, eventId, view])
    const known = this.#views.get(name)
    if (known !== undefined) return known
    const found = this.#statements.get(sql.readView, fleet, eventId, view)
    if (found === undefined) return undefined
    const event = toEvent<EventView>(found.body)
    const [oldest] = this.#views.keys()
    if (this.#views.size >= maxCachedViews) this.#views.delete(oldest!)
    this.#views.set(name, event)
    return event
  }

  #insertView(fleet: string, eventId: string, event: EventView): string {
    const body = eventBody(event)
    const view = `${event.sequence}-${hash(body)}`
    this.#statements.run(sql.insertView, fleet, eventId, view, body)
    return view
  }
}

/** A text that is no place leads to an empty page. */
function placeIn(before: string): (string | number)[] {
  const [plannedAt, seq, ...id] = before.split('/')
  return [Number(plannedAt), Number(seq), id.join('/')]
}
