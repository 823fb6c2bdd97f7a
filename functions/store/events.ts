// Events, each in a partition of its own: its row, a row for each commit with moments, and its
// deliveries. So one write stores what a decision says, with all messages that follow from it.

import { inSlices } from '../../shared/slices.ts'
import { type Count, eventCount } from '../core/counts.ts'
import type { Commit } from '../core/delivery/commit.ts'
import { tellsOfEvent } from '../core/delivery/delivery.ts'
import type { LoggedMoment } from '../core/delivery/moment-log.ts'
import { type EventRecord, isOpen } from '../core/event/event.ts'
import { byNeed, isUndecided, rankNeed } from '../core/event/is-over.ts'
import { findOnlyBeacon } from '../core/event/sight.ts'
import { firstNames, summarizeEvent } from '../core/event/summary.ts'
import type { EventView } from '../core/event/view.ts'
import { maxOpenOfFleet, type OpenCounts } from '../core/limits.ts'
import { dayMs } from '../core/units.ts'
import { countsIndex, endedIndex, newRows } from './delivery-rows.ts'
import { buildKey, eventPartition, findStart, newestFirst, timeKey } from './keys.ts'
import { dueIn, type Parts, readMany } from './parts.ts'
import {
  type Change,
  type Found,
  insertOrReplace,
  isNamed,
  type Key,
  type Row,
  summaryIn,
} from './rows.ts'
import { having } from './shapes.ts'
import type { EventKey, EventPage } from './store.ts'

/** Entries of one page while due events are searched, and pages of one search. */
const pageSize = 200
const maxPages = 10
const end = '~'
/** Entries whose keys begin with no time, as they are damaged. */
const maxOdd = 20
/** VMs by whose names an event is found. */
const maxNames = 200
/** Events that were first seen in one millisecond. */
const maxSameTime = 10_000
/** Entries that took longer may be behind what readers of the log have read: they get a later time. */
const slowEntriesMs = 3_000
/** A row comes after its entries, in a call of its own, which has a limit (azure/table.ts). */
const maxCommitMs = 30_000

export const eventRow = 'event'
const dueIndex = 'due'
const logIndex = 'log'
/** The index of events of all fleets, also of those that left the configuration. */
const allEvents = 'all-events'
/** How far back, and how many of one index, are looked through for entries that no row names. */
const tidiedMs = dayMs
const maxTidied = 1_000

interface StoredEvent {
  record: EventRecord
  /** The last position of the log that the event used. */
  position?: number | undefined
}

interface StoredMoments {
  fleet: string
  eventId: string
  event: EventView
}

/** What an entry of the log says of one moment. */
type LoggedAs = [id: string, moment: LoggedMoment['notification']['moment'], at: number]
const isLogged = having({ 0: 'string', 1: 'string', 2: 'number' })

export class Events {
  readonly #parts: Parts
  /** The row of each record that was read, so that its commit need not read it again. */
  readonly #known = new WeakMap<EventRecord, Row>()
  /** Positions of two processes differ in their last three digits. */
  readonly #tag: number

  constructor(parts: Parts) {
    this.#parts = parts
    this.#tag = Math.floor(parts.random() * 1_000)
  }

  async read(key: EventKey): Promise<EventRecord | undefined> {
    const row = await this.#parts.rows.read(eventPartition(key), eventRow)
    return row && this.#recordIn(row)
  }

  async commit(
    { record, basedOn, deliveries, moments, now }: Commit,
    before: EventRecord | undefined,
  ): Promise<'committed' | 'conflict'> {
    const { rows, elapsed } = this.#parts
    const called = elapsed()
    const partition = eventPartition(record)
    const known = before && this.#known.get(before)
    const was = known ?? (basedOn === 0 ? undefined : await rows.read(partition, eventRow))
    const stored = was && toStored(was)
    if ((stored?.record.sequence ?? 0) !== basedOn) return 'conflict'
    const event = moments[0]?.notification.event ?? viewIn(deliveries)
    const counts = countRecord(stored?.record, record)
    const needsMomentRow = event !== undefined || counts.length > 0
    const next: StoredEvent = { record, position: stored?.position }
    const momentKeysAt = (time: number): Key[] => {
      next.position = stored?.position
      const keys = moments.map(({ id, notification: { moment, at } }): Key => {
        next.position = this.nextPosition(time, next.position)
        const summary = JSON.stringify([id, moment, at] satisfies LoggedAs)
        return { index: logIndex, key: timeKey(next.position), summary }
      })
      return counts.length === 0 ? keys : [...keys, this.countsKey(counts, time, partition)]
    }
    const moment = momentRow(record.sequence)
    const momentBody = JSON.stringify({ fleet: record.fleet, eventId: record.eventId, event })
    let from = elapsed()
    const changesNow = (): Change[] => {
      from = elapsed()
      const keys = momentKeysAt(now + Math.floor(from - called))
      return [
        insertOrReplace(was, eventRow, eventBody(next), buildKeys(record, was?.keys)),
        ...(needsMomentRow
          ? [{ kind: 'insert' as const, row: moment, body: momentBody, keys }]
          : []),
        ...newRows(deliveries, record.sequence, event),
      ]
    }
    const later = (oldMs = slowEntriesMs) => (elapsed() - from > oldMs ? changesNow() : undefined)
    const written = await rows.change(partition, changesNow(), later)
    if (written === 'conflict') {
      await this.#parts.stepAside()
      return 'conflict'
    }
    this.#known.set(record, written[0]!)
    return 'committed'
  }

  /** The event that was first seen last comes first. Fewer than `limit` are all. */
  async list({ fleets, before = Number.MAX_SAFE_INTEGER, limit }: EventPage) {
    const indexes = fleets?.map((fleet) => buildKey('events', fleet)) ?? [allEvents]
    const records: EventRecord[] = []
    for (let from = newestFirst(before - 1); ; ) {
      const { entries, next } = await this.#findPage(indexes, from, limit - records.length)
      records.push(...(await this.readAll(entries)))
      if (next === undefined || records.length >= limit) return records
      // entries that no whole row names made the page shorter
      from = next
      await this.#parts.pause()
    }
  }

  /** `next`: where the page after it begins, if there is one. */
  async #findPage(
    indexes: string[],
    from: string,
    limit: number,
  ): Promise<{ entries: Found[]; next?: string }> {
    const { rows, together } = this.#parts
    const findAll = async (start: string, to: string, most: number) => {
      const works = indexes.map((index) => () => rows.find(index, start, to, most))
      return (await together(works)).flat()
    }
    const found = (await findAll(from, end, limit)).sort((a, b) => (a.key < b.key ? -1 : 1))
    const time = found[limit - 1]?.key.split('|')[0]
    if (time === undefined) return { entries: found }
    // a page contains all events of the last one's millisecond
    const last = await findAll(`${time}|`, `${time}|~`, maxSameTime)
    return { entries: [...found.filter(({ key }) => key < time), ...last], next: `${time}|~` }
  }

  async due(now: number, limit: number): Promise<EventKey[]> {
    const { rows } = this.#parts
    const due: { key: EventKey; at: number }[] = []
    let from = ''
    for (let page = 0; page < maxPages && due.length < limit; page++) {
      const found = await rows.find(dueIndex, from, timeKey(now + 1), pageSize)
      const read = (row: Row) => {
        const { fleet, eventId, dueAt = 0 } = parseRecord(row)
        return { key: { fleet, eventId }, at: dueAt }
      }
      due.push(...(await dueIn(this.#parts, found, now, read, (row) => this.#moveDue(row))))
      if (found.length < pageSize) break
      from = `${found.at(-1)!.key}|~`
    }
    return due
      .sort((a, b) => a.at - b.at)
      .slice(0, limit)
      .map(({ key }) => key)
  }

  /** A time not later than the first event is due; Infinity if none is. */
  async nextDueAt(): Promise<number> {
    const times = await this.#firstTimes()
    const odd = times.filter(({ at }) => !Number.isFinite(at)).map(({ entry }) => entry)
    if (odd.length > 0) await this.#parts.rows.tidy(odd, 0)
    const timed = odd.length > 0 ? await this.#firstTimes() : times
    return timed.find(({ at }) => Number.isFinite(at))?.at ?? Number.POSITIVE_INFINITY
  }

  async #firstTimes(): Promise<{ entry: Found; at: number }[]> {
    const found = await this.#parts.rows.find(dueIndex, '', end, maxOdd)
    return found.map((entry) => ({ entry, at: Number(entry.key.split('|')[0]) }))
  }

  /** The partitions of a fleet's open events. */
  async openPartitions(fleet: string): Promise<Set<string>> {
    const found = await this.#parts.rows.find(buildKey('open', fleet), '', end, maxOpenOfFleet)
    return new Set(found.map(({ partition }) => partition))
  }

  async countOpen(fleet: string, beacon: string): Promise<OpenCounts> {
    const all = await this.#parts.rows.find(buildKey('open', fleet), '', end, maxOpenOfFleet)
    const own = all.filter(({ key }) => key.startsWith(findStart(beacon)))
    return { ofFleet: all.length, ofBeacon: own.length }
  }

  /** The open events of these fleets, each with its row: undecided first, then by NotBefore. */
  async listOpen(
    fleets: readonly string[],
    limit: number,
    keep: (record: EventRecord) => boolean = () => true,
  ): Promise<EventRecord[]> {
    const found = await this.openEntries(fleets)
    const shown = found.sort((a, b) => byNeed(a.need, b.need)).slice(0, limit)
    const isKept = (record: EventRecord) => isOpen(record) && keep(record)
    return this.readAll(
      shown.map(({ entry }) => entry),
      isKept,
    )
  }

  /** Removes entries of open and of recent events that no row names, as a write that failed leaves them. */
  async tidy(fleets: readonly string[], now: number): Promise<void> {
    const { rows, together, pause } = this.#parts
    const recent = [newestFirst(now), newestFirst(now - tidiedMs)] as const
    const works = [
      ...fleets.map((fleet) => () => rows.find(buildKey('open', fleet), '', end, maxOpenOfFleet)),
      ...[allEvents, ...fleets.map((fleet) => buildKey('events', fleet))].map(
        (index) => () => rows.find(index, ...recent, maxTidied),
      ),
    ]
    const found = (await together(works)).flat()
    // one row has several of these entries
    const byRow = Map.groupBy(found, ({ partition, row }) => `${partition} ${row}`)
    const unnamed = await inSlices([...byRow.values()], pause, async (slice) => {
      const read = await readMany(
        this.#parts,
        slice.map(([first]) => first!),
      )
      return slice.flatMap((own, i) => own.filter((entry) => !isNamed(entry, read[i])))
    })
    await rows.tidy(unnamed, now)
  }

  async openEntries(fleets: readonly string[]): Promise<{ entry: Found; need: Need }[]> {
    const { rows, together } = this.#parts
    const works = fleets.map((fleet) => async () => {
      const found = await rows.find(buildKey('open', fleet), '', end, maxOpenOfFleet)
      return found.flatMap((entry) => {
        const need = summaryIn<Need>(entry, this.#parts.rows, isNeed)
        return need === undefined ? [] : [{ entry, need }]
      })
    })
    return (await together(works)).flat()
  }

  /** Fewer than `limit` are all. */
  async moments(after: number, limit: number, now: number): Promise<LoggedMoment[]> {
    const moments: LoggedMoment[] = []
    for (let from = after; ; ) {
      const { known, next } = await this.#momentsFrom(from, limit - moments.length, now)
      moments.push(...known)
      if (next === undefined || moments.length >= limit) return moments
      // damaged ones made the page shorter
      from = next
      await this.#parts.pause()
    }
  }

  /** `next`: the position after which more may follow. */
  async #momentsFrom(
    after: number,
    limit: number,
    now: number,
  ): Promise<{ known: LoggedMoment[]; next?: number }> {
    const { rows } = this.#parts
    const until = rows.lagMs === 0 ? end : timeKey((now - rows.lagMs) * 1_000)
    const found = await rows.find(logIndex, timeKey(after + 1), until, limit)
    // the moments of one commit share a row
    const buildName = ({ partition, row }: Found) => `${partition} ${row}`
    const distinct = [...new Map(found.map((entry) => [buildName(entry), entry])).values()]
    const read = await inSlices(distinct, this.#parts.pause, async (slice) =>
      (await readMany(this.#parts, slice)).map((row) => {
        return row && { row, event: viewOfMoment(row) }
      }),
    )
    const byName = new Map(distinct.map((one, i) => [buildName(one), read[i]]))
    // on Azure, entries come before their row; a reader that went past them would miss it
    const isUnderWay = (entry: Found) =>
      rows.lagMs > 0 &&
      byName.get(buildName(entry)) === undefined &&
      Number(entry.key) > (now - maxCommitMs) * 1_000
    const first = found.findIndex(isUnderWay)
    const sure = first === -1 ? found : found.slice(0, first)
    const known = sure.flatMap((entry): LoggedMoment[] => {
      const { row, event } = byName.get(buildName(entry)) ?? {}
      const logged = summaryIn<LoggedAs>(entry, this.#parts.rows, isLogged)
      if (!isNamed(entry, row) || logged === undefined || event === undefined) return []
      const [id, moment, at] = logged
      const notification = { moment, at, event }
      return [{ position: Number(entry.key), id, notification }]
    })
    const isFull = first === -1 && found.length === limit
    return isFull ? { known, next: Number(found.at(-1)!.key) } : { known }
  }

  /** A position: what is committed from now on is behind it. */
  lastPosition(now: number): number {
    return this.nextPosition(now, undefined)
  }

  /** An entry that counts these, whenever somebody counts. */
  countsKey(counts: Count[], now: number, name: string): Key {
    const key = `${timeKey(this.nextPosition(now, undefined))}|${name}`
    return { index: countsIndex, key, summary: JSON.stringify(counts) }
  }

  /** The events that still have these entries. */
  async readAll(
    entries: Found[],
    keep: (record: EventRecord) => boolean = () => true,
  ): Promise<EventRecord[]> {
    return inSlices(entries, this.#parts.pause, async (slice) => {
      const read = await readMany(this.#parts, slice)
      return slice.flatMap((entry, i) => {
        const row = read[i]
        const record = isNamed(entry, row) ? this.#recordIn(row) : undefined
        return record === undefined || !keep(record) ? [] : [record]
      })
    })
  }

  #recordIn(row: Row): EventRecord {
    const { record } = toStored(row)
    this.#known.set(record, row)
    return record
  }

  /** The next position is behind the one that the event used before. */
  nextPosition(now: number, before: number | undefined): number {
    return this.#parts.rows.positions.next(now, this.#tag, before)
  }

  async #moveDue(row: Row): Promise<void> {
    const { record } = toStored(row)
    const others = row.keys.filter(({ index }) => index !== dueIndex)
    const keys = buildKeys(record, others)
    // a conflict means that the event is being written now
    await this.#parts.rows.change(row.partition, [
      { kind: 'replace', was: row, body: row.body, keys },
    ])
  }
}

/** Whether an open event is decided, its NotBefore, and whether people are asked about it. */
type Need = [isDecided: 0 | 1, notBeforeAt: number, isUndecided: 0 | 1]
const isNeed = having({ 0: 'number', 1: 'number', 2: 'number' })

function toStored({ body }: Pick<Row, 'body'>): StoredEvent {
  const { record, position } = JSON.parse(body) as StoredEvent
  return { record, position }
}

export function parseRecord(row: Pick<Row, 'body'>): EventRecord {
  return toStored(row).record
}

function eventBody({ record, position }: StoredEvent): string {
  return JSON.stringify({ position, record })
}

/** The row of what one commit says. */
export function momentRow(sequence: number): string {
  return buildKey('moment', timeKey(sequence))
}

/** The event as it was then. The moments of an alert have none. */
export function viewOfMoment({ body }: Pick<Row, 'body'>): EventView | undefined {
  return (JSON.parse(body) as Partial<StoredMoments>).event
}

function viewIn(deliveries: Commit['deliveries']): EventView | undefined {
  return deliveries.find(({ notification }) => tellsOfEvent(notification))?.notification.event
}

function countRecord(before: EventRecord | undefined, record: EventRecord): Count[] {
  if (record.trace) return []
  const [was, is] = [before && !before.trace ? eventCount(before) : undefined, eventCount(record)]
  if (was !== undefined && was.name === is.name && was.state === is.state) return []
  return was === undefined ? [is] : [{ ...was, n: -1 }, is]
}

/** `before`: those of the row until now. A due time may be too early, so it moves only if it must. */
function buildKeys(record: EventRecord, before: readonly Key[] = []): Key[] {
  const { fleet, eventId, dueAt, ended, firstSeenAt } = record
  const keys: Key[] = []
  if (dueAt !== undefined) {
    const key = buildKey(timeKey(dueAt), fleet, eventId)
    const old = before.find(({ index }) => index === dueIndex)
    keys.push(old !== undefined && old.key <= key ? old : { index: dueIndex, key })
  }
  if (ended !== undefined) {
    keys.push({ index: endedIndex, key: buildKey(timeKey(ended.at), fleet, eventId) })
  }
  if (ended === undefined) {
    const need: Need = [...rankNeed(record), isUndecided(record) ? 1 : 0]
    const summary = JSON.stringify(need)
    keys.push({
      index: buildKey('open', fleet),
      key: buildKey(findOnlyBeacon(record) ?? '', eventId),
      summary,
    })
  }
  if (record.trace) return keys
  const seen = newestFirst(firstSeenAt)
  const summary = JSON.stringify(summarizeEvent(record))
  keys.push({ index: buildKey('events', fleet), key: buildKey(seen, eventId), summary })
  keys.push({ index: allEvents, key: buildKey(seen, fleet, eventId) })
  const named = buildKey('names', fleet)
  for (const name of firstNames(record).slice(0, maxNames)) {
    keys.push({ index: named, key: buildKey(name, seen, eventId) })
  }
  return keys
}
