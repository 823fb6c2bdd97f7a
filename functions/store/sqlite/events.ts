// Events as rows of SQLite, with what lists and metrics need of them: names, counts, and which are open.
// The surprise: a row is read before it is replaced, usually from memory, so that only what changes is
// written.
import type { EventRecord } from '../../core/event/event.ts'
import { namesOf, stepOf } from '../../core/event/summary.ts'
import { eventCount } from '../../core/metrics/tally.ts'
import type { EventKey } from '../store.ts'
import { Kept, type KeptLimits } from './kept.ts'
import { eventBody, toEvent } from './rows.ts'
import { sql } from './sql.ts'
import type { Statements } from './statements.ts'
import { changeCount } from './tally.ts'

export class Events {
  readonly #statements: Statements
  readonly #kept: Kept<EventRecord>
  readonly #isAlone: boolean
  /** No event is due before this time. Known only if this process is alone on the file. */
  #noneDueBefore = Number.NEGATIVE_INFINITY

  constructor(statements: Statements, limits: KeptLimits) {
    this.#statements = statements
    this.#isAlone = limits.rows > 0
    this.#kept = new Kept(limits)
  }

  /** Call this after a transaction was undone: the kept rows may contain its changes. */
  forgetKept(): void {
    this.#kept.clear()
    this.#noneDueBefore = Number.NEGATIVE_INFINITY
  }

  read({ fleet, eventId }: EventKey): EventRecord | undefined {
    const name = nameOf(fleet, eventId)
    const kept = this.#kept.get(name)
    if (kept !== undefined) return kept
    const row = this.#statements.get(sql.readEvent, fleet, eventId)
    if (row === undefined) return undefined
    const record = toEvent<EventRecord>(row.body)
    this.#kept.set(name, record, String(row.body).length)
    return record
  }

  /** Call this within a transaction, and so the other ones that write. */
  write(record: EventRecord, basedOn: number): 'written' | 'conflict' {
    const before = this.read(record)
    if ((before?.sequence ?? 0) !== basedOn) return 'conflict'
    this.#put(before, record)
    if (record.dueAt !== undefined) {
      this.#noneDueBefore = Math.min(this.#noneDueBefore, record.dueAt)
    }
    this.#noteOpen(before, record)
    // lists and metrics show no alerts
    if (record.alert !== undefined) return 'written'
    this.#rename(before, record)
    const [from, to] = [before && eventCount(before), eventCount(record)]
    if (from?.one !== to.one || from.two !== to.two) {
      if (from !== undefined) changeCount(this.#statements, from, -1)
      changeCount(this.#statements, to, 1)
    }
    return 'written'
  }

  due(now: number, limit: number): EventKey[] {
    if (this.#isAlone && now < this.#noneDueBefore) return []
    const due = this.#statements.all(sql.dueEvents, now, limit)
    return due.map((row) => ({ fleet: String(row.fleet), eventId: String(row.event_id) }))
  }

  /** Infinity if none is. */
  nextDueAt(): number {
    const at = this.#statements.get(sql.nextDueEvent)?.at
    this.#noneDueBefore = typeof at === 'number' ? at : Number.POSITIVE_INFINITY
    return this.#noneDueBefore
  }

  forget(key: EventKey): void {
    const { fleet, eventId } = key
    const record = this.read(key)
    if (record === undefined) return
    this.#statements.run(sql.forgetEvent, fleet, eventId)
    this.#statements.run(sql.forgetFirstMessage, fleet, eventId)
    for (const name of namesOf(record)) {
      this.#statements.run(sql.dropEventName, name, record.firstSeenAt, fleet, eventId)
    }
    this.#kept.delete(nameOf(fleet, eventId))
  }

  #put(before: EventRecord | undefined, record: EventRecord): void {
    const { fleet, eventId, sequence, firstSeenAt, dueAt = null, ended } = record
    const [type, step, body] = [record.facts.eventType, stepOf(record), eventBody(record)]
    const isUsual =
      before?.dueAt === record.dueAt &&
      before?.ended?.at === ended?.at &&
      before?.facts.eventType === type &&
      stepOf(before) === step
    if (before === undefined) {
      const values = [fleet, eventId, sequence, firstSeenAt, dueAt, ended?.at ?? null]
      this.#statements.run(sql.insertEvent, ...values, type, step, body)
    } else if (isUsual) this.#statements.run(sql.updateEvent, sequence, body, fleet, eventId)
    else {
      const values = [sequence, dueAt, ended?.at ?? null, type, step, body]
      this.#statements.run(sql.stepEvent, ...values, fleet, eventId)
    }
    this.#kept.set(nameOf(fleet, eventId), record, body.length)
  }

  #noteOpen(before: EventRecord | undefined, record: EventRecord): void {
    const { fleet, eventId, onlyBeacon = '', alert, ended } = record
    if (alert !== undefined) return
    if (ended !== undefined) {
      if (before?.ended === undefined) this.#statements.run(sql.noteEnded, fleet, eventId)
    } else if (
      before === undefined ||
      before.ended !== undefined ||
      (before.onlyBeacon ?? '') !== onlyBeacon
    ) {
      this.#statements.run(sql.noteOpen, fleet, eventId, onlyBeacon)
    }
  }

  #rename(before: EventRecord | undefined, record: EventRecord): void {
    if (before?.facts.resources === record.facts.resources) return
    const { fleet, eventId, firstSeenAt } = record
    const [from, to] = [before === undefined ? [] : namesOf(before), namesOf(record)]
    for (const name of from.filter((one) => !to.includes(one))) {
      this.#statements.run(sql.dropEventName, name, firstSeenAt, fleet, eventId)
    }
    for (const name of to.filter((one) => !from.includes(one))) {
      this.#statements.run(sql.addEventName, name, firstSeenAt, fleet, eventId)
    }
  }
}

function nameOf(fleet: string, eventId: string): string {
  return `${fleet}\n${eventId}`
}
