// The searches of the Azure store. Each fleet has one partition of rows for lists: a summary of each
// event, the record of each open one, and a row for each name. The surprise: they are no part of the
// event's transaction. Those of a new event are written before it and later ones after it, so a
// crash may leave an older state in a list until the next change, but never a missing event. A change
// that no list shows is not written.

import type { EventRecord } from '../../core/event/event.ts'
import { packEvent, unpackEvent } from '../../core/event/event-size.ts'
import { type EventSummary, namesOf, summaryOf } from '../../core/event/summary.ts'
import type { EventSearch, EventsFound } from '../browse.ts'
import { endOf, justAfter, keyOf, newestFirst, startOf } from './keys.ts'
import type { Parts } from './parts.ts'
import { type Change, insertOrReplace, type Row } from './rows.ts'
import { stepsOfRows } from './steps.ts'

/** Another worker writes the same event. */
const maxWriteAttempts = 5
/** Rows of one answer of the storage. */
const maxRows = 1_000
/** A search by name reads the summary of each event that it shows. */
const maxNamed = 8
const end = '~'

interface Stored {
  sequence: number
  summary: EventSummary
}

/** The place of an event in a list. `event` is escaped as in a row's name, so it sorts like rows. */
interface Place {
  at: number
  fleet: string
  event: string
}

export class Browse {
  readonly #parts: Parts
  /** What `before` wrote last. */
  #written = ''

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Call this before a commit. After a crash, the rows of an event that does not exist are left. */
  async before(known: EventRecord | undefined, record: EventRecord): Promise<void> {
    if (record.alert !== undefined) return
    const old = new Set(known === undefined ? [] : namesOf(known))
    const names = namesOf(record).filter((name) => !old.has(name))
    const puts = names.map(
      (name): Change => ({ kind: 'put', row: nameRow(name, record), body: '' }),
    )
    const own = known === undefined ? changesOf(record) : []
    // an attempt that is repeated wrote the same rows before
    const text = JSON.stringify([record.fleet, own, puts])
    if (own.length + puts.length === 0 || text === this.#written) return
    const partition = partitionOf(record.fleet)
    const [first = [], ...others] = stepsOfRows([...own, ...puts])
    const isNew = (await this.#parts.rows.change(partition, first)) !== 'conflict'
    await this.#parts.together(others.map((step) => () => this.#parts.rows.change(partition, step)))
    if (!isNew) await this.#replace(record, puts)
    this.#written = text
  }

  /** Call this after a commit. */
  async after(known: EventRecord | undefined, record: EventRecord): Promise<void> {
    if (record.alert !== undefined || known === undefined) return
    if (shownOf(known) === shownOf(record)) return
    await this.#replace(record, [])
    const now = new Set(namesOf(record))
    const gone = namesOf(known).filter((name) => !now.has(name))
    await this.#remove(
      record.fleet,
      gone.map((name) => nameRow(name, record)),
    )
  }

  /** Removes all rows of an event. */
  async forget(record: EventRecord): Promise<void> {
    const names = namesOf(record).map((name) => nameRow(name, record))
    await this.#remove(record.fleet, names)
    await this.#remove(record.fleet, [openRow(record)])
    await this.#remove(record.fleet, [summaryRow(record)])
  }

  async open(fleets: readonly string[], limit: number): Promise<EventRecord[]> {
    const range = { from: startOf('open'), to: endOf('open'), limit: maxRows }
    const works = fleets.map((fleet) => () => this.#parts.rows.list(partitionOf(fleet), range))
    const found = (await this.#parts.together(works)).flat()
    const records = found.map(({ body }) => unpackEvent(JSON.parse(body) as EventRecord))
    return records.sort(byNeed).slice(0, limit)
  }

  async events(search: EventSearch): Promise<EventsFound> {
    const after = search.after === undefined ? undefined : placeIn(search.after)
    if (search.after !== undefined && after === undefined) return { events: [] }
    const { prefix = '' } = search
    return prefix === '' ? this.#latest(search, after) : this.#named(search, prefix, after)
  }

  /** `puts` are rows of the first step, which a summary that was there has kept from being written. */
  async #replace(record: EventRecord, puts: Change[]): Promise<void> {
    const { rows } = this.#parts
    const partition = partitionOf(record.fleet)
    const [row, open] = [summaryRow(record), openRow(record)]
    for (const step of stepsOfRows(puts)) await rows.change(partition, step)
    for (let attempt = 0; attempt < maxWriteAttempts; attempt++) {
      const known = await rows.read(partition, row)
      // a later commit was noted first
      if (known !== undefined && parse(known).sequence >= record.sequence) return
      const changes = changesOf(record, known)
      const isListed = record.ended !== undefined && (await rows.read(partition, open))
      if (isListed) changes.push({ kind: 'remove', row: open })
      if ((await rows.change(partition, changes)) !== 'conflict') return
      await this.#parts.stepAside()
    }
  }

  /** If a row of a step is missing, the others are removed one by one. */
  async #remove(fleet: string, found: string[]): Promise<void> {
    const { rows, together } = this.#parts
    const partition = partitionOf(fleet)
    const removals = found.map((row): Change => ({ kind: 'remove', row }))
    const works = stepsOfRows(removals).map((step) => async () => {
      if ((await rows.change(partition, step)) !== 'conflict' || step.length === 1) return
      for (const one of step) await rows.change(partition, [one])
    })
    await together(works)
  }

  /** One call for each fleet. Beyond the last row of a full answer, nothing is known of its fleet. */
  async #latest(search: EventSearch, after: Place | undefined): Promise<EventsFound> {
    const { fleets, limit, since = 0, eventType, step } = search
    const isFiltered = eventType !== undefined || step !== undefined
    const size = isFiltered ? maxRows : limit + 1
    const works = fleets.map((fleet) => async () => {
      const from = startIn(fleet, search, after)
      const range = { from, to: `${keyOf('all', newestFirst(since))}|${end}`, limit: size }
      return (await this.#parts.rows.list(partitionOf(fleet), range)).map(
        (row) => parse(row).summary,
      )
    })
    const lists = await this.#parts.together(works)
    const ends = lists.filter((list) => list.length === size).map((list) => list.at(-1)!)
    const horizon = ends.sort(byTime)[0]
    const known = lists.flat().filter((one) => horizon === undefined || byTime(one, horizon) <= 0)
    return pageOf(known.filter(matches(search)).sort(byTime), limit, horizon)
  }

  async #named(search: EventSearch, prefix: string, after: Place | undefined) {
    const { fleets, limit, since = 0, until = Number.MAX_SAFE_INTEGER } = search
    const name = keyOf('vm', prefix.toLowerCase())
    const range = { from: name, to: `${name}${end}`, limit: maxRows }
    const works = fleets.map((fleet) => async () => {
      const rows = await this.#parts.rows.list(partitionOf(fleet), range)
      return rows.map(({ row }) => ({ fleet, ...timeAndEvent(row) }))
    })
    const lists = await this.#parts.together(works)
    const found = lists.flat()
    const partial = lists.some(({ length }) => length === maxRows) && { partial: true as const }
    const places = [...new Map(found.map((one) => [`${one.fleet}|${one.event}`, one])).values()]
      .filter(({ at }) => at >= since && at < until)
      .sort(byPlace)
    const rest = after === undefined ? places : places.filter((one) => byPlace(one, after) > 0)
    const shown = rest.slice(0, Math.min(limit, maxNamed))
    const reads = shown.map(({ fleet, at, event }) => async () => {
      const row = `${keyOf('all', newestFirst(at))}|${event}`
      return this.#parts.rows.read(partitionOf(fleet), row)
    })
    const read = await this.#parts.together(reads)
    const events = read.flatMap((row) => (row === undefined ? [] : [parse(row).summary]))
    const last = shown.at(-1)
    const next = rest.length > shown.length && last ? { next: cursorOf(last) } : {}
    return { events: events.filter(matches(search)), ...next, ...partial }
  }
}

/** What lists show of an event. Beacons that come and go change other fields. */
function shownOf(record: EventRecord): string {
  const { sequence: _s, history: _h, ...rest } = record
  if (rest.ended !== undefined) return JSON.stringify(rest)
  const { watchers: _w, heard: _e, onlyBeacon: _o, dueAt: _d, ...shown } = rest
  return JSON.stringify(shown)
}

/** The summary of an event and, if it is open, its record. */
function changesOf(record: EventRecord, known?: Row): Change[] {
  const stored: Stored = { sequence: record.sequence, summary: summaryOf(record) }
  const summary = insertOrReplace(known, summaryRow(record), JSON.stringify(stored))
  if (record.ended !== undefined) return [summary]
  const body = JSON.stringify({ ...packEvent(record), history: [] })
  return [summary, { kind: 'put', row: openRow(record), body }]
}

function partitionOf(fleet: string): string {
  return keyOf('browse', fleet)
}

function summaryRow({ firstSeenAt, eventId }: EventRecord): string {
  return keyOf('all', newestFirst(firstSeenAt), eventId)
}

function openRow({ eventId }: EventRecord): string {
  return keyOf('open', eventId)
}

function nameRow(name: string, { firstSeenAt, eventId }: EventRecord): string {
  return keyOf('vm', name, newestFirst(firstSeenAt), eventId)
}

function parse({ body }: Row): Stored {
  return JSON.parse(body) as Stored
}

/** Where the list of a fleet begins. */
function startIn(fleet: string, { until }: EventSearch, after: Place | undefined): string {
  const begin = until === undefined ? startOf('all') : startOf('all', newestFirst(until - 1))
  if (after === undefined) return begin
  const time = keyOf('all', newestFirst(after.at))
  if (fleet === after.fleet) return justAfter(`${time}|${after.event}`)
  return fleet < after.fleet ? `${time}|${end}` : `${time}|`
}

function matches({ eventType, step }: EventSearch) {
  return (one: EventSummary) =>
    (eventType === undefined || one.eventType === eventType) &&
    (step === undefined || one.step === step)
}

function pageOf(found: EventSummary[], limit: number, horizon: EventSummary | undefined) {
  const events = found.slice(0, limit)
  const last = found.length > limit ? events.at(-1) : horizon
  if (last === undefined) return { events }
  return { events, next: cursorOf(placeOf(last)) }
}

/** Undecided events first, and those whose NotBefore is next. */
function byNeed(one: EventRecord, other: EventRecord): number {
  const isDecided = ({ startedAt, verdict }: EventRecord) => Number(Boolean(startedAt ?? verdict))
  const due = ({ facts }: EventRecord) => facts.notBeforeAt ?? 0
  return isDecided(one) - isDecided(other) || due(one) - due(other)
}

function byPlace(one: Place, other: Place): number {
  if (one.at !== other.at) return other.at - one.at
  if (one.fleet !== other.fleet) return one.fleet < other.fleet ? -1 : 1
  return one.event < other.event ? -1 : Number(one.event > other.event)
}

function byTime(one: EventSummary, other: EventSummary): number {
  return byPlace(placeOf(one), placeOf(other))
}

function placeOf({ firstSeenAt: at, fleet, eventId }: EventSummary): Place {
  return { at, fleet, event: keyOf(eventId) }
}

const newest = 10 ** 15 - 1

/** Reads a name's row. */
function timeAndEvent(row: string): { at: number; event: string } {
  const [, , time = '', event = ''] = row.split('|')
  return { at: newest - Number(time), event }
}

function cursorOf({ at, fleet, event }: Place): string {
  return [String(at), encodeURIComponent(fleet), encodeURIComponent(event)].join('/')
}

function placeIn(cursor: string): Place | undefined {
  const found = /^(\d{1,16})\/([^/]*)\/([^/]*)$/.exec(cursor)
  if (found === null) return undefined
  try {
    const [at, fleet, event] = found.slice(1).map(decodeURIComponent)
    return { at: Number(at), fleet: fleet!, event: event! }
  } catch {
    // a text that a person changed is no cursor
    return undefined
  }
}
