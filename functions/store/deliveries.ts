// Deliveries after they are planned: read, settled, listed and replayed.
import { alertPrefix } from '../../shared/document.ts'
import { type Count, deliveryCounts, firstMessageCounts } from '../core/counts.ts'
import type { Settlement } from '../core/delivery/attempt.ts'
import {
  type Claimed,
  type Delivery,
  hearsByItself,
  readStoredId,
  storedChannel,
} from '../core/delivery/delivery.ts'
import type { EventRecord } from '../core/event/event.ts'
import type { EventView } from '../core/event/view.ts'
import {
  failedIndex,
  findRange,
  hasFailed,
  historyIndex,
  isLent,
  listKey,
  newRows,
  pendingKey,
  type StoredDeliveries,
  type StoredDelivery,
  toDelivery,
  toStored,
  toStoredDeliveries,
  withDelivery,
} from './delivery-rows.ts'
import type { Content, HeldRow, Made } from './edits.ts'
import { type Events, eventRow, momentRow, parseRecord, viewOfMoment } from './events.ts'
import {
  buildKey,
  eventPartition,
  findEnd,
  findStart,
  justAfter,
  newestFirst,
  timeIn,
} from './keys.ts'
import { type Parts, unlessDamaged } from './parts.ts'
import { type Found, isNamed } from './rows.ts'
import type {
  DeliveryList,
  DeliveryPage,
  EventKey,
  FailedFound,
  FailedPage,
  Replay,
} from './store.ts'

/** Entries of one page of a list, and pages of one list, because it skips those of other fleets. */
const pageSize = 200
const maxPages = 10
/** The form of a cursor. No other text reaches a query. */
const cursorPattern = /^[\w|.=!-]{1,300}$/
const end = '~'

/** One delivery, and its row. */
export interface HeldDelivery {
  heldRow: HeldRow
  stored: StoredDeliveries
  one: StoredDelivery
}

/** What one partition has of an event. */
export interface HeldPartition {
  record: EventRecord | undefined
  /** In order. */
  deliveries: HeldDelivery[]
  viewOf(one: StoredDelivery): EventView | undefined
}

export class Deliveries {
  readonly #parts: Parts
  readonly #events: Events
  /** The row of each delivery that this worker claimed, and the key of that row then. */
  readonly #heldRows = new WeakMap<Claimed, { heldRow: HeldRow; key: string }>()
  /** Deliveries that this worker has under way, by their keys, and until when. */
  readonly underWay = new Map<string, number>()

  constructor(parts: Parts, events: Events) {
    this.#parts = parts
    this.#events = events
  }

  async read(key: EventKey, storedId?: string): Promise<Delivery[]> {
    const channel = storedId === undefined ? undefined : storedChannel(storedId)
    const loaded = await this.load(eventPartition(key), findRange(channel ?? ''))
    const isWanted = ({ one }: HeldDelivery) => channel === undefined || one.channel === channel
    return this.toDeliveries(loaded.deliveries.filter(isWanted), loaded)
  }

  /** The event with its deliveries to configured channels, or deliveries to stored channels alone. */
  async load(partition: string, range: readonly [string, string]): Promise<HeldPartition> {
    const rows = await this.#parts.rows.list(partition, ...range)
    const views = new Map<string, EventView | undefined>()
    const deliveries: HeldDelivery[] = []
    let record: EventRecord | undefined
    // what is damaged is not in the list, and keeps nothing else from being sent
    for (const row of rows) {
      if (row.row === eventRow) record = parseRecord(row)
      else if (row.row.startsWith('moment|')) views.set(row.row, viewOfMoment(row))
      else {
        const heldRow = { partition, row: row.row, held: row }
        const stored = toStoredDeliveries(row)
        deliveries.push(...stored.deliveries.map((one) => ({ heldRow, stored, one })))
      }
    }
    deliveries.sort((a, b) => a.one.seq - b.one.seq)
    return {
      record,
      deliveries,
      viewOf: ({ sequence }) =>
        sequence === undefined ? undefined : views.get(momentRow(sequence)),
    }
  }

  /** Adds their events to deliveries. A delivery whose event was forgotten is left out. */
  async toDeliveries(held: HeldDelivery[], partition?: HeldPartition): Promise<Delivery[]> {
    const known = held.map(({ one }) => one.event ?? partition?.viewOf(one))
    const views = await this.#viewsOf(held.filter((_, i) => known[i] === undefined))
    return held.flatMap(({ stored, one }, i) => {
      const event = known[i] ?? views.get(readMoment(stored, one))
      return event === undefined ? [] : [toDelivery(stored, one, event)]
    })
  }

  /** Reads the moments of these deliveries, each row once. */
  async #viewsOf(held: HeldDelivery[]): Promise<Map<string, EventView | undefined>> {
    const distinct = new Map(held.map((own) => [readMoment(own.stored, own.one), own]))
    const works = [...distinct].map(([name, { stored, one }]) => async () => {
      const { rows } = this.#parts
      const own = [eventPartition(stored), momentRow(one.sequence ?? 0)] as const
      const row = await unlessDamaged(() => rows.read(...own))
      return [name, row && viewOfMoment(row)] as const
    })
    return new Map(await this.#parts.together(works))
  }

  /** `isAlone`: it is in no list. The results of a list are written one after the other, so none waits. */
  noteClaimed(
    claimed: Claimed,
    { heldRow, stored, one }: HeldDelivery,
    { now, isAlone }: { now: number; isAlone: boolean },
  ): void {
    const key = pendingKey(stored, one)
    this.#heldRows.set(claimed, { heldRow, key })
    if (isAlone) heldRow.underWay = (heldRow.underWay ?? 0) + 1
    const isFree = (each: StoredDelivery) => each.state === 'pending' && !isLent(each, now)
    // a row of deliveries to stored channels has one key: another one of it may still be free
    const isRest = readStoredId(one.channel) !== undefined && stored.deliveries.some(isFree)
    if (!isRest) this.underWay.set(key, claimed.leaseUntil)
  }

  async settle(
    claimed: Claimed,
    settlement: Settlement,
    now: number,
    follow: Delivery[],
  ): Promise<'settled' | 'lost'> {
    const known = this.#heldRows.get(claimed)
    const heldRow = known?.heldRow ?? (await this.#find(claimed))?.heldRow
    if (heldRow === undefined) return 'lost'
    const { deliveries: siblings } =
      follow.length === 0 ? noDeliveries : await this.load(heldRow.partition, findRange(''))
    const sequences = new Set(siblings.map(({ one }) => one.sequence))
    const further = follow
      .filter(({ id }) => siblings.every(({ one }) => one.id !== id))
      .map((one) => {
        const { sequence } = one.notification.event
        return toStored(one, sequences.has(sequence) ? sequence : undefined)
      })
    const isShared = readStoredId(claimed.channel) !== undefined
    const make = (row: Content | undefined): Made<'settled' | 'lost'> => {
      const stored = row && toStoredDeliveries(row)
      const one = stored?.deliveries.find(({ id }) => id === claimed.id)
      const isMine = one?.state === 'pending' && one.lease === claimed.lease && one.nextAt > now
      if (stored === undefined || one === undefined || !isMine) return { result: 'lost' }
      const others = stored.deliveries.filter((each) => each.id !== one.id)
      // a row of deliveries to stored channels has one key
      const isBusy =
        isShared && others.some((each) => each.state === 'pending' && isLent(each, now))
      if (known !== undefined && (!isBusy || settlement.state === 'pending')) {
        this.underWay.delete(known.key)
      }
      const ended = settled(one, settlement, now)
      const counts = this.#countsOf(stored, ended, claimed, now)
      const counted = counts.length === 0 ? ended : this.#counted(ended, counts, now)
      return { result: 'settled', next: withDelivery(stored, counted, further) }
    }
    // the last one of the row ends the wait of the others
    heldRow.underWay = Math.max(0, (heldRow.underWay ?? 0) - 1)
    return this.#parts.edits.edit(heldRow, make, { hurry: heldRow.underWay === 0 })
  }

  async add(deliveries: Delivery[]): Promise<'added' | 'known'> {
    const partition = eventPartition(deliveries[0]!)
    const written = await this.#parts.rows.change(partition, newRows(deliveries, 0, undefined))
    return written === 'conflict' ? 'known' : 'added'
  }

  /** Deliveries to one stored channel. The one that was planned last comes first. */
  async list(channel: string, { before, limit }: DeliveryPage): Promise<DeliveryList> {
    const storedId = readStoredId(channel)
    if (storedId === undefined || !isCursor(before)) return { deliveries: [] }
    return this.#pageOf(historyIndex(storedId), ['', end], before, limit, () => true)
  }

  /** Deliveries of a channel that were refused or given up. The one planned last comes first. */
  async failed({ channel, fleets, after, limit }: FailedPage): Promise<FailedFound> {
    if (!isCursor(after)) return { deliveries: [] }
    const range = [findStart(channel), findEnd(channel)] as const
    const isWanted = ({ summary }: Found) => fleets?.includes(summary) ?? true
    return this.#pageOf(failedIndex, range, after, limit, isWanted)
  }

  async #pageOf(
    index: string,
    [first, to]: readonly [string, string],
    after: string | undefined,
    limit: number,
    isWanted: (entry: Found) => boolean,
  ): Promise<DeliveryList> {
    const { rows, together } = this.#parts
    const shown: { entry: Found; held: HeldDelivery }[] = []
    let from = after === undefined ? first : justAfter(after)
    for (let page = 0; page < maxPages && shown.length <= limit; page++) {
      const size = Math.min(pageSize, limit + 1)
      const found = await rows.find(index, from, to, size)
      const read = await together(found.filter(isWanted).map((one) => () => this.#heldAt(one)))
      shown.push(...read.flat())
      if (found.length < size) break
      from = justAfter(found.at(-1)!.key)
    }
    const page = shown.slice(0, limit)
    const deliveries = await this.toDeliveries(page.map(({ held }) => held))
    const last = shown.length > limit ? page.at(-1)?.entry.key : undefined
    return { deliveries, ...(last !== undefined && { next: last }) }
  }

  /** Empty if no row names the entry. */
  async #heldAt(entry: Found): Promise<{ entry: Found; held: HeldDelivery }[]> {
    const { partition, row: name, key } = entry
    const row = await unlessDamaged(() => this.#parts.rows.read(partition, name))
    if (!isNamed(entry, row)) return []
    const stored = toStoredDeliveries(row)
    const one = stored.deliveries.find((each) => key.endsWith(listKey(each)))
    const heldRow = { partition, row: name, held: row }
    return one === undefined ? [] : [{ entry, held: { heldRow, stored, one } }]
  }

  async replay(which: Replay, now: number, limit: number): Promise<number> {
    const found =
      'id' in which ? await this.#failedOne(which.id) : await this.#failedSince(which, limit)
    const { fleets } = which
    const own = found.filter(({ stored }) => fleets?.includes(stored.fleet) ?? true)
    const works = own.map(
      ({ heldRow, one: { id } }) =>
        () =>
          this.#parts.edits.edit(heldRow, (row): Made<number> => {
            const stored = row && toStoredDeliveries(row)
            const one = stored?.deliveries.find((each) => each.id === id)
            if (stored === undefined || one === undefined || !hasFailed(one)) return { result: 0 }
            const counts = countDelivery(stored, one).map((each) => ({ ...each, n: -each.n }))
            const again: StoredDelivery = {
              ...this.#counted(one, counts, now),
              ...{ state: 'pending', nextAt: now, keyAt: now, plannedAt: now },
            }
            return { result: 1, next: withDelivery(stored, again) }
          }),
    )
    const replayed = await this.#parts.together(works)
    return replayed.reduce((sum, n) => sum + n, 0)
  }

  async #failedOne(id: string): Promise<HeldDelivery[]> {
    const key = keyIn(id)
    const held = key && (await this.#find({ ...key, id }))
    return held === undefined ? [] : [held]
  }

  /** The oldest first, without those to stored channels unless one is named. */
  async #failedSince(
    { since, channel, fleets }: Extract<Replay, { since: number }>,
    limit: number,
  ): Promise<HeldDelivery[]> {
    const { rows, together } = this.#parts
    const [from, to] =
      channel === undefined
        ? ['', end]
        : [findStart(channel), `${findStart(channel)}${newestFirst(since)}|~`]
    const found = await rows.find(failedIndex, from, to, maxFailed)
    const wanted = found
      .map((entry) => ({ entry, plannedAt: timeIn(entry.key.split('|')[1] ?? '') }))
      .filter(({ entry, plannedAt }) => {
        const isOfAll = channel !== undefined || !entry.key.startsWith(ofStoredChannels)
        return isOfAll && plannedAt >= since && (fleets?.includes(entry.summary) ?? true)
      })
      .sort((a, b) => a.plannedAt - b.plannedAt)
      .slice(0, limit)
    const held = await together(
      wanted.map(
        ({ entry }) =>
          () =>
            this.#heldAt(entry),
      ),
    )
    return held.flat().map((one) => one.held)
  }

  async #find(
    of: Pick<Delivery, 'fleet' | 'eventId' | 'channel' | 'id'>,
  ): Promise<HeldDelivery | undefined> {
    const { deliveries } = await this.load(eventPartition(of), findRange(of.channel))
    return deliveries.find(({ one }) => one.id === of.id)
  }

  #counted(one: StoredDelivery, counts: Count[], now: number): StoredDelivery {
    if (counts.length === 0) return one
    const position = this.#events.nextPosition(now, undefined)
    return { ...one, counted: [...(one.counted ?? []), [position, counts]] }
  }

  /** What a settled delivery adds to the counts. */
  #countsOf(stored: StoredDeliveries, one: StoredDelivery, claimed: Claimed, now: number): Count[] {
    const counts = countDelivery(stored, one)
    const { event, moment } = claimed.notification
    const begins =
      moment === 'scheduled' || (moment === 'started' && event.started?.kind !== undefined)
    const isFirst = begins && event.epoch === 1 && isRead(one) && !stored.deliveries.some(isRead)
    return isFirst ? [...counts, ...firstMessageCounts(event, [now])] : counts
  }
}

/** Whether people read the message, or a program that routes name. */
function isRead({ channel, state }: StoredDelivery): boolean {
  return state === 'delivered' && !hearsByItself(channel)
}

/** Names the row of moments that has the event of a delivery. */
function readMoment({ fleet, eventId }: StoredDeliveries, { sequence }: StoredDelivery): string {
  return JSON.stringify([fleet, eventId, sequence])
}

const noDeliveries = { deliveries: [] as HeldDelivery[] }

/** How keys of deliveries to stored channels begin. */
const ofStoredChannels = buildKey(storedChannel(''))

/** Failed deliveries that one replay looks at. */
const maxFailed = 10_000

function settled(one: StoredDelivery, settlement: Settlement, now: number): StoredDelivery {
  const { state, nextAt, note, unsent, alone, answered } = settlement
  const { lease: _, keyAt: _k, ...rest } = one
  return {
    ...rest,
    ...{ state, nextAt, note, attempts: one.attempts - (unsent ? 1 : 0) },
    ...(state === 'pending' && { keyAt: nextAt, triedAt: now }),
    ...(alone && { alone }),
    ...(answered && { answered }),
  }
}

/** Pending deliveries are counted by their keys, and alerts are no messages about events. */
function countDelivery(
  { fleet, eventId }: StoredDeliveries,
  { channel, state }: StoredDelivery,
): Count[] {
  if (state === 'pending' || eventId.startsWith(alertPrefix)) return []
  return deliveryCounts([{ fleet, channel, state }])
}

function isCursor(text: string | undefined): boolean {
  return text === undefined || cursorPattern.test(text)
}

/** The event and channel in a delivery's id, or undefined if the text is no such id. */
function keyIn(id: string): Pick<Delivery, 'fleet' | 'eventId' | 'channel'> | undefined {
  try {
    const [fleet, eventId, , , channel] = id.split('/').map(decodeURIComponent)
    return fleet && eventId && channel ? { fleet, eventId, channel } : undefined
  } catch {
    // a text that a person wrote
    return undefined
  }
}
