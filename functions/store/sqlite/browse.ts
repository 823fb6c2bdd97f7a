// The searches of the SQLite store. An index contains all that a search compares, so that it reads
// only the events that it returns.

import { subscriptionOf } from '../../core/delivery/delivery.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { summaryOf } from '../../core/event/summary.ts'
import {
  type ActivityQuestion,
  type ChannelActivity,
  type EventSearch,
  type EventsFound,
  type FailedPage,
  maxCounted,
} from '../browse.ts'
import { browseSql } from './browse-sql.ts'
import type { Row } from './database.ts'
import { toEvent } from './rows.ts'
import { sql } from './sql.ts'
import type { Statements } from './statements.ts'

/** If more names begin with the text, a search walks through the newest events instead. */
const maxNames = 2_000
/** Events that a page of such a walk looks at. */
const maxWalked = 2_000
/** Follows every text that begins with the one before it. */
const last = '\u{10ffff}'

export class Browse {
  readonly #statements: Statements

  constructor(statements: Statements) {
    this.#statements = statements
  }

  open(fleets: readonly string[], limit: number): EventRecord[] {
    return this.#statements
      .all(browseSql.listOpen, JSON.stringify(fleets), limit)
      .map(({ body }) => toEvent<EventRecord>(body))
  }

  events(search: EventSearch): EventsFound {
    const { prefix = '', limit } = search
    const values = conditionsOf(search)
    if (values === undefined) return { events: [] }
    if (prefix === '') {
      const [text, ...first] = statementFor(search)
      return pageOf(this.#statements.each(text, ...first, ...values, limit + 1), limit)
    }
    const name = prefix.toLowerCase()
    const range = [name, name + last]
    const named = this.#statements.get(browseSql.countNames, ...range, maxNames + 1)
    if (Number(named?.count) <= maxNames) {
      const rows = this.#statements.each(browseSql.findNamed, ...values, ...range, limit + 1)
      return pageOf(rows, limit)
    }
    const bounds = [maxWalked, ...range, ...range, limit + 1]
    const found = pageOf(this.#statements.each(browseSql.findAmong, ...values, ...bounds), limit)
    if (found.next !== undefined) return found
    const end = this.#statements.get(browseSql.lastAmong, ...values, maxWalked - 1)
    return end === undefined ? found : { ...found, next: cursorOf(end) }
  }

  activity(
    channels: readonly string[],
    { fleets, since }: ActivityQuestion = {},
  ): ChannelActivity[] {
    const of = fleets === undefined ? null : JSON.stringify(fleets)
    const recent = (channel: string) => {
      const row = this.#statements.get(sql.plannedSince, channel, since!, of, of, maxCounted)
      return { planned: Number(row?.planned), failed: Number(row?.failed) }
    }
    return channels.map((channel) => {
      const done = this.#statements.get(browseSql.deliveredAt, channel)
      const pending = this.#statements.get(browseSql.pendingOf, channel, of, of, maxCounted)
      const failed = this.#statements.get(browseSql.failedOf, channel, of, of, maxCounted)
      return {
        channel,
        ...(done === undefined ? {} : { deliveredAt: Number(done.at) }),
        ...(typeof pending?.since === 'number' ? { pendingSince: pending.since } : {}),
        pending: Number(pending?.count),
        failed: Number(failed?.count),
        ...(since !== undefined &&
          subscriptionOf(channel) !== undefined && { recent: recent(channel) }),
      }
    })
  }

  /** The rows, each with its cursor. */
  failed({ channel, fleets, after, limit }: FailedPage): { rows: Row[]; next?: string } {
    const from = after === undefined ? [Number.MAX_SAFE_INTEGER, 0, ''] : placeIn(after)
    if (from === undefined) return { rows: [] }
    const of = fleets === undefined ? null : JSON.stringify(fleets)
    const [at, seq, id] = from
    const place = [at!, Number(seq), id!]
    const found = this.#statements.all(browseSql.listFailed, channel, ...place, of, of, limit + 1)
    const rows = found.slice(0, limit)
    const end = found.length > limit ? rows.at(-1) : undefined
    return { rows, ...(end && { next: cursor(end.owed_at, end.seq, end.id) }) }
  }
}

/** The statement whose index begins with the rarest condition, and the value of that one. */
function statementFor({ eventType, step, fleets }: EventSearch): [text: string, ...string[]] {
  if (eventType !== undefined) return [browseSql.findByType, eventType]
  if (step !== undefined) return [browseSql.findByStep, step]
  const [fleet, ...others] = fleets
  if (fleet !== undefined && others.length === 0) return [browseSql.findInFleet, fleet]
  return [browseSql.findEvents]
}

/** The values of all conditions that need no name. Undefined: `after` is no cursor of this store. */
function conditionsOf({ fleets, eventType, step, since, until, after }: EventSearch) {
  const end = [until ?? Number.MAX_SAFE_INTEGER, '', '']
  const from = after === undefined ? end : placeIn(after)
  if (from === undefined) return undefined
  const [type, at] = [eventType ?? null, step ?? null]
  return [JSON.stringify(fleets), type, type, at, at, since ?? 0, ...from]
}

/** Keeps the summaries only: an event may be long. */
function pageOf(rows: Iterable<Row>, limit: number): EventsFound {
  const events: EventsFound['events'] = []
  let next = ''
  for (const row of rows) {
    if (events.length === limit) return { events, next }
    events.push(summaryOf(toEvent<EventRecord>(row.body)))
    next = cursorOf(row)
  }
  return { events }
}

function cursorOf({ first_seen_at, fleet, event_id }: Row): string {
  return cursor(first_seen_at, fleet, event_id)
}

function cursor(...parts: unknown[]): string {
  return parts.map((part) => encodeURIComponent(String(part))).join('/')
}

function placeIn(cursor: string): (string | number)[] | undefined {
  const found = /^(\d{1,16})\/([^/]*)\/([^/]*)$/.exec(cursor)
  if (found === null) return undefined
  try {
    const [at, fleet, eventId] = found.slice(1).map(decodeURIComponent)
    return [Number(at), fleet!, eventId!]
  } catch {
    // a text that a person changed is no cursor
    return undefined
  }
}
