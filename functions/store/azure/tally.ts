// Counts for metrics, in one row that is at most a minute old. An event that is over for good is
// added to the row once; the others are read each time. The counts of beacons are in rows of their
// own, see beacon-counts.ts.
import { giveUpMs } from '../../core/delivery/attempt.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { maxOpenOfFleet } from '../../core/event/open-limits.ts'
import {
  type Count,
  deliveryCounts,
  eventCount,
  firstMessageCounts,
  type Oldest,
  type Tally,
  total,
  undecidedIn,
} from '../../core/metrics/tally.ts'
import { type TallyRequest, tallyMs } from '../store.ts'
import { readBeaconCounts } from './beacon-counts.ts'
import { justAfter, keyOf, timeKey } from './keys.ts'
import type { Parts } from './parts.ts'
import { insertOrReplace } from './rows.ts'
import {
  eventPartition,
  type Held,
  held,
  isPending,
  ranges,
  type StoredDelivery,
  toHeldEvent,
} from './stored.ts'
import { type Found, graceMs, partitions, timeOf } from './time-index.ts'

const partition = keyOf('tally')
const row = 'tally'
/** Ended events that one call reads. If there are more, several calls catch up. */
const maxEnded = 2_000
/** For this long after its end, an event without pending messages may be seen again. */
const settledMs = 3_600_000
/** For this long after its end, an event may have pending messages. */
const overMs = giveUpMs + settledMs
/** While calls catch up, count again only after this time. */
const leastMs = 10_000

interface Stored extends Tally {
  /** When it was counted. `at` is earlier while calls catch up. */
  countedAt: number
  /** Part of `counts`: events that are over for good. */
  over: Count[]
  /** The entry of the last of them, in the index of ended events. */
  lastOver: string
}

interface Event {
  record: EventRecord
  deliveries: Held<StoredDelivery>[]
}

export class Tallies {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async read({ now, fleets, maxAgeMs = tallyMs }: TallyRequest): Promise<Tally> {
    const found = await this.#parts.rows.read(partition, row)
    const known = found && held<Stored>(found).stored
    if (known !== undefined && isFresh(known, now, maxAgeMs)) return shown(known)
    const stored = await this.#count(known, now, fleets)
    const body = JSON.stringify(stored)
    // after a conflict, the row has the counts of another worker
    await this.#parts.rows.change(partition, [insertOrReplace(found, row, body)])
    return shown(stored)
  }

  async #count(known: Stored | undefined, now: number, fleets: readonly string[]): Promise<Stored> {
    const { index } = this.#parts
    const after = known?.lastOver ?? ''
    const range = { from: justAfter(after), to: timeKey(now + 1), limit: maxEnded }
    // beacons and open events first: what ends meanwhile is among the ended events
    const beacons = await readBeaconCounts(this.#parts, fleets)
    const open = await this.#openIn(fleets)
    const ended = await index.list(partitions.ended, range)
    const events = await this.#readAll([...open, ...ended], after)
    const { entries, lastOver } = overIn(ended, events, now)
    // a crash may have left two entries of one event
    const over = new Set(entries.flatMap(({ target }) => events.get(eventPartition(target)) ?? []))
    const current = [...events.values()].filter((one) => !over.has(one))
    const overCounts = total([...(known?.over ?? []), ...[...over].flatMap(countsOf)])
    const isCut = ended.length === maxEnded
    return {
      at: isCut ? Math.min(now, timeOf(ended.at(-1)!)) : now,
      countedAt: now,
      counts: total([...overCounts, ...current.flatMap(countsOf), ...beacons]),
      undecided: undecidedIn(current.map(({ record }) => record)),
      oldest: oldestIn(current),
      over: overCounts,
      lastOver: lastOver ?? after,
    }
  }

  async #openIn(fleets: readonly string[]): Promise<Found[]> {
    const { index, together } = this.#parts
    const range = { from: '', to: '~', limit: maxOpenOfFleet }
    const works = fleets.map((fleet) => () => index.list(partitions.open(fleet), range))
    return (await together(works)).flat()
  }

  /** Each event once, by its partition. Leaves out alerts, and what was over before. */
  async #readAll(entries: Found[], after: string): Promise<Map<string, Event>> {
    const { rows, together } = this.#parts
    const names = [...new Set(entries.map(({ target }) => eventPartition(target)))]
    const works = names.map((name) => async (): Promise<[string, Event][]> => {
      const { event, deliveries } = toHeldEvent(await rows.list(name, ranges.withoutViews))
      if (event === undefined || event.stored.record.alert !== undefined) return []
      const { record, ended } = event.stored
      const wasOver = ended !== undefined && ended.row <= after
      return wasOver ? [] : [[name, { record: withoutLists(record), deliveries }]]
    })
    return new Map((await together(works)).flat())
  }
}

/** What is not counted, and may be long. */
function withoutLists(record: EventRecord): EventRecord {
  return { ...record, facts: { ...record.facts, resources: [] }, history: [] }
}

function isFresh({ at, countedAt }: Stored, now: number, maxAgeMs: number): boolean {
  const age = now - countedAt
  return age >= 0 && (now - at < maxAgeMs || age < Math.min(leastMs, maxAgeMs))
}

function shown({ at, counts, undecided, oldest }: Stored): Tally {
  return { at, counts, undecided, oldest }
}

/** The first entries whose events are over for good, up to one that is not. */
function overIn(ended: Found[], events: Map<string, Event>, now: number) {
  const entries: Found[] = []
  let lastOver: string | undefined
  for (const entry of ended) {
    const event = events.get(eventPartition(entry.target))
    const isNamed = event?.record.ended?.at === timeOf(entry)
    // a young entry that no row names may belong to a write under way
    if (isNamed ? !isOver(event, now) : now - entry.writtenAt <= graceMs) break
    if (isNamed) entries.push(entry)
    lastOver = entry.row
  }
  return { entries, lastOver }
}

function isOver({ record, deliveries }: Event, now: number): boolean {
  const since = now - (record.ended?.at ?? now)
  return since > overMs || (since > settledMs && !deliveries.some(isPending))
}

function countsOf({ record, deliveries }: Event): Count[] {
  const all = deliveries.map(({ stored }) => stored.delivery)
  const delivered = all.filter(
    ({ state, telling }) => state === 'delivered' && telling.moment !== 'alert',
  )
  const times = delivered.map(({ nextAt }) => nextAt)
  return [eventCount(record), ...deliveryCounts(all), ...firstMessageCounts(record, times)]
}

function oldestIn(events: Event[]): Oldest[] {
  const pending = events
    .flatMap(({ deliveries }) => deliveries.filter(isPending))
    .map(({ stored: { delivery } }) => delivery)
    .sort((a, b) => a.plannedAt - b.plannedAt)
  const first = Map.groupBy(pending, ({ fleet, channel }) => JSON.stringify([fleet, channel]))
  return [...first.values()].map(([one]) => {
    const { fleet, channel, plannedAt } = one!
    return { fleet, channel, plannedAt }
  })
}
