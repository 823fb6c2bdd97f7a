// The log of moments as rows of SQLite. An entry has its own copy of the event: the log may be kept
// longer than the event's views.

import type { Telling } from '../../core/delivery/delivery.ts'
import type { LoggedMoment, MomentEntry } from '../../core/delivery/moment-log.ts'
import { packEvent, unpackEvent } from '../../core/event/event-size.ts'
import { parse } from './rows.ts'
import { sql } from './sql.ts'
import type { Statements } from './statements.ts'

export class Moments {
  readonly #statements: Statements

  constructor(statements: Statements) {
    this.#statements = statements
  }

  /** Call this within the transaction of the commit. */
  insert(moments: MomentEntry[]): void {
    for (const { id, telling } of moments) {
      const body = JSON.stringify({ ...telling, event: packEvent(telling.event) })
      this.#statements.run(sql.insertMoment, id, telling.at, body)
    }
  }

  after(position: number, limit: number): LoggedMoment[] {
    return this.#statements.all(sql.readMoments, position, limit).map((row) => {
      const telling = parse<Telling>(row.body)
      const event = unpackEvent(telling.event)
      return { position: Number(row.position), id: String(row.id), telling: { ...telling, event } }
    })
  }

  lastPosition(): number {
    return Number(this.#statements.get(sql.lastPosition)?.seq ?? 0)
  }

  forget(before: number, limit: number): number {
    return this.#statements.run(sql.forgetMoments, limit, before)
  }
}
