// The book of what is shipped: every step of every event, also of those that people never hear of.
import { type Delivery, isSink, momentId } from '../../functions/core/delivery/delivery.ts'
import type { MomentEntry } from '../../functions/core/delivery/moment-log.ts'
import type { EventRecord } from '../../functions/core/event/event.ts'
import type { Docket } from './docket.ts'
import { isMachine } from './machine.ts'

export class ShipBook {
  readonly #docket: Docket
  readonly #channels: string[]
  /** By the key of the event. */
  readonly #moments = new Map<string, Set<string>>()

  constructor(docket: Docket) {
    this.#docket = docket
    this.#channels = Object.keys(docket.parts.plan.config.channels).filter(isSink)
  }

  committed(key: string, moments: MomentEntry[]): void {
    const known = this.#moments.get(key) ?? new Set()
    for (const { id } of moments) known.add(id)
    this.#moments.set(key, known)
  }

  sent(channel: string, count: number): void {
    if (isSink(channel) && count > 1) this.#docket.met.add('several steps are shipped at once')
  }

  checkEnd(record: EventRecord, rows: Delivery[]): void {
    const key = `${record.fleet}/${record.eventId}`
    for (const channel of this.#channels) {
      const own = rows.filter((row) => row.channel === channel)
      const planned = own.map(({ notification }) => idOf(notification))
      for (const id of this.#moments.get(key) ?? []) {
        if (!planned.includes(id)) this.#docket.broke('shipping', `${id} is not for ${channel}`)
      }
      const isHidden = own.length > 0 && rows.every((row) => isMachine(row.channel))
      if (isHidden) this.#docket.met.add('what people never hear of is shipped')
      for (const { id, state, note } of own) {
        // after a day, it is given up
        if (state !== 'delivered' && state !== 'given_up')
          this.#docket.broke('shipping', `${id} is ${state}: ${note}`)
      }
    }
  }
}

function idOf({ moment, event }: Delivery['notification']): string | undefined {
  return moment === 'alert' ? undefined : momentId(event, moment)
}
