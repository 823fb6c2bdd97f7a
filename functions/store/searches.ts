// Searches of events for the console, from entries alone: an entry has a summary of its event.
import { readStoredId } from '../core/delivery/delivery.ts'
import { type EventSummary, summarizeEvent } from '../core/event/summary.ts'
import { setNewest } from '../core/newest.ts'
import {
  type ActivityQuestion,
  type ChannelActivity,
  type EventSearch,
  type EventsFound,
  maxCounted,
} from './browse.ts'
import {
  failedIndex,
  type HistorySummary,
  hasFailed,
  historyIndex,
  isOfHistory,
  isPending,
  type PendingSummary,
  pendingIndex,
} from './delivery-rows.ts'
import type { Events } from './events.ts'
import { buildKey, findEnd, findStart, justAfter, newestFirst, timeIn } from './keys.ts'
import type { Parts } from './parts.ts'
import { type Found, summaryIn } from './rows.ts'
import { having } from './shapes.ts'

/** Entries of one answer. */
const maxEntries = 1_000
/** A search by name reads the row of each event that it shows. */
const maxNamed = 100
/** When a channel last accepted a message is stored at most this often. */
const notedMs = 60_000
/** Channels whose last note is kept. */
const maxKept = 2_000
const deliveredPartition = buildKey('delivered')
const end = '~'

/** Where a page ends. `event` is escaped as in a key, so it sorts like keys. */
interface Cursor {
  at: number
  fleet: string
  event: string
}

export class Searches {
  readonly #parts: Parts
  readonly #events: Events
  readonly #noted = new Map<string, number>()

  constructor(parts: Parts, events: Events) {
    this.#parts = parts
    this.#events = events
  }

  async events(search: EventSearch): Promise<EventsFound> {
    const after = search.after === undefined ? undefined : readCursor(search.after)
    if (search.after !== undefined && after === undefined) return { events: [] }
    const { prefix = '' } = search
    return prefix === '' ? this.#latest(search, after) : this.#named(search, prefix, after)
  }

  /** One call for each fleet. Beyond the last entry of a full answer, nothing is known of its fleet. */
  async #latest(search: EventSearch, after: Cursor | undefined): Promise<EventsFound> {
    const { fleets, limit, since = 0, eventType, steps } = search
    const isFiltered = eventType !== undefined || steps !== undefined
    const size = isFiltered ? maxEntries : limit + 1
    const to = `${newestFirst(since)}|${end}`
    const works = fleets.map((fleet) => async () => {
      const from = startIn(fleet, search, after)
      const found = await this.#parts.rows.find(buildKey('events', fleet), from, to, size)
      return found.map((entry) => ({ entry, cursor: findCursor(fleet, entry) }))
    })
    const lists = await this.#parts.together(works)
    const ends = lists.filter((list) => list.length === size).map((list) => list.at(-1)!.cursor)
    const horizon = ends.sort(byCursor)[0]
    const found = lists
      .flat()
      .filter(({ cursor }) => horizon === undefined || byCursor(cursor, horizon) <= 0)
      .sort((a, b) => byCursor(a.cursor, b.cursor))
      .flatMap(({ entry, cursor }) => {
        const event = summaryIn<EventSummary>(entry, this.#parts.rows, isSummary)
        return event === undefined || !matches(search)(event) ? [] : [{ event, cursor }]
      })
    const shown = found.slice(0, limit)
    const last = found.length > limit ? shown.at(-1)?.cursor : horizon
    const events = shown.map(({ event }) => event)
    return last === undefined ? { events } : { events, next: writeCursor(last) }
  }

  async #named(search: EventSearch, prefix: string, after: Cursor | undefined) {
    const { fleets, limit, since = 0, until = Number.MAX_SAFE_INTEGER } = search
    const name = buildKey(prefix.toLowerCase())
    const works = fleets.map((fleet) => async () => {
      const found = await this.#parts.rows.find(
        buildKey('names', fleet),
        ...([name, `${name}${end}`, maxEntries] as const),
      )
      return found.map((entry) => {
        const [, time = '', event = ''] = entry.key.split('|')
        return { entry, fleet, at: timeIn(time), event }
      })
    })
    const lists = await this.#parts.together(works)
    const partial = lists.some(({ length }) => length === maxEntries) && { partial: true as const }
    const cursors = [
      ...new Map(lists.flat().map((one) => [`${one.fleet}|${one.event}`, one])).values(),
    ]
      .filter(({ at }) => at >= since && at < until)
      .sort(byCursor)
    const rest = after === undefined ? cursors : cursors.filter((one) => byCursor(one, after) > 0)
    const shown = rest.slice(0, Math.min(limit, maxNamed))
    const read = await this.#events.readAll(shown.map(({ entry }) => entry))
    const events = read.map(summarizeEvent)
    const last = shown.at(-1)
    const next = rest.length > shown.length && last ? { next: writeCursor(last) } : {}
    return { events: events.filter(matches(search)), ...next, ...partial }
  }

  /** Call this when a channel accepted a message. */
  async noteDelivered(channel: string, at: number): Promise<void> {
    const last = this.#noted.get(channel)
    if (last !== undefined && Math.abs(at - last) < notedMs) return
    setNewest(this.#noted, channel, at, maxKept)
    const body = JSON.stringify({ at })
    await this.#parts.rows.change(deliveredPartition, [
      { kind: 'put', row: buildKey(channel), body },
    ])
  }

  /** What happened in these channels. Counting stops at `maxCounted`. */
  async activity(
    channels: readonly string[],
    { fleets, since }: ActivityQuestion = {},
  ): Promise<ChannelActivity[]> {
    const { rows, together } = this.#parts
    const isOwn = (fleet: string) => fleets?.includes(fleet) ?? true
    const delivered = new Map(
      (await rows.list(deliveredPartition, '', end)).map(({ row, body }) => {
        return [row, (JSON.parse(body) as { at: number } | null)?.at]
      }),
    )
    const works = channels.map((channel) => async (): Promise<ChannelActivity> => {
      const storedId = readStoredId(channel)
      const deliveredAt = delivered.get(buildKey(channel))
      const own =
        storedId === undefined
          ? await this.#ofChannel(channel, isOwn)
          : await this.#ofStored(storedId, isOwn, since)
      return { channel, ...(deliveredAt === undefined ? {} : { deliveredAt }), ...own }
    })
    return together(works)
  }

  async #ofChannel(channel: string, isOwn: (fleet: string) => boolean) {
    const { rows } = this.#parts
    const range = [findStart(channel), findEnd(channel), maxCounted] as const
    const planned = (await rows.find(pendingIndex, ...range))
      .flatMap((entry) => {
        const summary = summaryIn<PendingSummary>(entry, this.#parts.rows, isPending)
        return summary === undefined ? [] : [summary]
      })
      .filter(([, fleet]) => isOwn(fleet))
      .map(([, , plannedAt]) => plannedAt)
    const failed = (await rows.find(failedIndex, ...range)).filter((one) => isOwn(one.summary))
    return {
      ...(planned.length === 0 ? {} : { pendingSince: Math.min(...planned) }),
      pending: planned.length,
      failed: failed.length,
      // the newest comes first
      ...(failed.length > 0 && {
        failedAt: timeIn(failed[0]!.key.slice(findStart(channel).length).split('|')[0]!),
      }),
    }
  }

  /** Counts the newest deliveries of a stored channel. */
  async #ofStored(storedId: string, isOwn: (fleet: string) => boolean, since: number | undefined) {
    const found = await this.#parts.rows.find(historyIndex(storedId), '', end, maxCounted)
    const all = found
      .flatMap((entry) => {
        const summary = summaryIn<HistorySummary>(entry, this.#parts.rows, isOfHistory)
        if (summary === undefined) return []
        const [fleet, state] = summary
        return [{ fleet, state, plannedAt: timeIn(entry.key.split('|')[0]!) }]
      })
      .filter(({ fleet }) => isOwn(fleet))
    const pending = all.filter(({ state }) => state === 'pending').map((one) => one.plannedAt)
    const failed = all.filter(hasFailed)
    const isRecent = ({ plannedAt }: { plannedAt: number }) => plannedAt >= since!
    return {
      ...(pending.length === 0 ? {} : { pendingSince: Math.min(...pending) }),
      pending: pending.length,
      failed: failed.length,
      ...(failed.length > 0 && { failedAt: failed[0]!.plannedAt }),
      ...(since !== undefined && {
        recent: { planned: all.filter(isRecent).length, failed: failed.filter(isRecent).length },
      }),
    }
  }
}

const isSummary = having({
  ...{ fleet: 'string', eventId: 'string', eventType: 'string', step: 'string' },
  ...{ 'vms.*': 'string', vmCount: 'number', firstSeenAt: 'number' },
})

/** Where the list of a fleet begins. */
function startIn(fleet: string, { until }: EventSearch, after: Cursor | undefined): string {
  if (after === undefined) return until === undefined ? '' : newestFirst(until - 1)
  const time = newestFirst(after.at)
  if (fleet === after.fleet) return justAfter(`${time}|${after.event}`)
  return fleet < after.fleet ? `${time}|${end}` : `${time}|`
}

function matches({ eventType, steps }: EventSearch) {
  return (one: EventSummary) =>
    (eventType === undefined || one.eventType === eventType) && (steps?.includes(one.step) ?? true)
}

function byCursor(one: Cursor, other: Cursor): number {
  if (one.at !== other.at) return other.at - one.at
  if (one.fleet !== other.fleet) return one.fleet < other.fleet ? -1 : 1
  return one.event < other.event ? -1 : Number(one.event > other.event)
}

function findCursor(fleet: string, { key }: Found): Cursor {
  const [time = '', event = ''] = key.split('|')
  return { at: timeIn(time), fleet, event }
}

function writeCursor({ at, fleet, event }: Cursor): string {
  return [String(at), encodeURIComponent(fleet), encodeURIComponent(event)].join('/')
}

function readCursor(cursor: string): Cursor | undefined {
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
