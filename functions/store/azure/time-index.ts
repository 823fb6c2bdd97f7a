// Finds rows of many partitions by time. An entry is written before its row, with a time that is
// not later than the row's: a crash may leave a stale entry, which no row names, but never a row
// without an entry. Reads that meet a stale entry remove it.

import type { EventKey } from '../store.ts'
import { keyOf, newestFirst, shardOf, startOf, timeKey } from './keys.ts'
import type { Change, Range, Rows } from './rows.ts'
import { stepsOfRows } from './steps.ts'
import type { Together } from './together.ts'

/** Partitions of each busy index: one partition accepts 2,000 entities a second. */
export const shards = 4

/** A stale entry that is younger may belong to a write under way. */
export const graceMs = 10 * 60_000

export interface Entry {
  partition: string
  row: string
}

export interface Target extends EventKey {
  /** For a delivery or a moment. */
  id?: string
  channel?: string
  /** For a delivery. */
  plannedAt?: number
  /** Instead of an event. */
  beacon?: string
}

export interface Found extends Entry {
  target: Target
  /** Epoch ms, by the writer's clock. */
  writtenAt: number
}

export const partitions = {
  due: (key: EventKey) => keyOf('due', shardOf(key.eventId, shards)),
  /** Stored tables call this index `owed`. */
  pending: (channel: string) => keyOf('owed', shardOf(channel, shards)),
  heard: (beacon: string) => keyOf('heard', shardOf(beacon, shards)),
  /** One partition: the timer lists it each minute, and few beacons are due at a time. */
  silent: keyOf('silent'),
  failed: keyOf('failed'),
  /** Moments that no reader has appended to the log yet. */
  unlogged: keyOf('unlogged'),
  ended: keyOf('ended'),
  open: (fleet: string) => keyOf('open', fleet),
  /** Deliveries to all subscriptions, the oldest first, or to one, the latest first. */
  history: (subscription?: string) =>
    subscription === undefined ? keyOf('history') : keyOf('history', subscription),
  listed: (fleet?: string) => (fleet === undefined ? keyOf('listed') : keyOf('listed', fleet)),
  /** All shards of one index. */
  all: (index: 'due' | 'owed' | 'heard') =>
    Array.from({ length: shards }, (_, shard) => keyOf(index, shard)),
}

export class Index {
  readonly #rows: Rows
  readonly #random: () => string
  readonly #together: Together

  constructor(rows: Rows, random: () => string, together: Together) {
    this.#rows = rows
    this.#random = random
    this.#together = together
  }

  dueAt(key: EventKey, at: number): Entry {
    return { partition: partitions.due(key), row: `${timeKey(at)}|${this.#name()}` }
  }

  endedAt(at: number): Entry {
    return { partition: partitions.ended, row: `${timeKey(at)}|${this.#name()}` }
  }

  failedAt(at: number): Entry {
    return { partition: partitions.failed, row: `${timeKey(at)}|${this.#name()}` }
  }

  /** Moments of one time are sorted by `place`. */
  unloggedAt(at: number, place: number): Entry {
    const row = `${timeKey(at)}|${timeKey(place)}|${this.#name()}`
    return { partition: partitions.unlogged, row }
  }

  heardAt(beacon: string, at: number): Entry {
    return { partition: partitions.heard(beacon), row: `${timeKey(at)}|${this.#name()}` }
  }

  /** The name depends on nothing else, so two entries of one beacon become one when they move. */
  silentAt(fleet: string, beacon: string, at: number): Entry {
    return { partition: partitions.silent, row: `${timeKey(at)}|${keyOf(fleet, beacon)}` }
  }

  /** Sorted by the beacon that alone reports the event. `''`: several beacons report it. */
  openOf(fleet: string, onlyBeacon: string): Entry {
    return { partition: partitions.open(fleet), row: `${startOf(onlyBeacon)}${this.#name()}` }
  }

  /** Sorted by channel and fleet, so that a long queue does not hide the others. */
  plannedAt(channel: string, fleet: string, at: number): Entry {
    const row = `${startOf(channel, fleet)}${timeKey(at)}|${this.#name()}`
    return { partition: partitions.pending(channel), row }
  }

  listedAt(fleet: string | undefined, at: number): Entry {
    return { partition: partitions.listed(fleet), row: `${newestFirst(at)}|${this.#name()}` }
  }

  /** Both entries of a delivery to a subscription. Those of one time are sorted by `seq`. */
  historyAt(subscription: string, plannedAt: number, seq: number): Entry[] {
    const oldest = `${timeKey(plannedAt)}|${timeKey(seq)}|${this.#name()}`
    return withTwin({ partition: partitions.history(), row: oldest }, subscription)
  }

  /** The entries of a range, in order. */
  async list(partition: string, range: Range): Promise<Found[]> {
    const rows = await this.#rows.list(partition, range)
    return rows.map(({ row, body }) => {
      const { target, writtenAt } = JSON.parse(body) as Pick<Found, 'target' | 'writtenAt'>
      return { partition, row, target, writtenAt }
    })
  }

  /** Durable once it returns. */
  async add(entries: Entry[], target: (entry: Entry) => Target, now: number): Promise<void> {
    const changes = Map.groupBy(entries, ({ partition }) => partition)
    const works = [...changes].flatMap(([partition, group]) =>
      stepsOfRows(group).map((step) => () => {
        const puts = step.map((entry): Change => {
          const body = JSON.stringify({ target: target(entry), writtenAt: now })
          return { kind: 'put', row: entry.row, body }
        })
        return this.#rows.change(partition, puts)
      }),
    )
    await this.#together(works)
  }

  /**
   * Removes entries, and returns whether they are all gone. Throws no error: a later read finds and
   * removes the stale entry.
   */
  async drop(entries: Entry[]): Promise<boolean> {
    const works = entries.map(({ partition, row }) => async () => {
      try {
        await this.#rows.change(partition, [{ kind: 'remove', row }])
        return true
      } catch {
        // stale entries do no harm
        return false
      }
    })
    return !(await this.#together(works)).includes(false)
  }

  /**
   * Removes stale entries, except those that may belong to a write under way. `now` may lie in the
   * past: then younger entries stay.
   */
  async tidy(stale: Found[], now: number): Promise<void> {
    await this.drop(stale.filter(({ writtenAt }) => now - writtenAt > graceMs))
  }

  /** Tidies the entries that no row names. Returns how many there were. */
  async tidyUnnamed(
    entries: Found[],
    isNamed: (entry: Found) => Promise<boolean>,
    now: number,
  ): Promise<number> {
    const works = entries.map((entry) => async () => ((await isNamed(entry)) ? [] : [entry]))
    const stale = (await this.#together(works)).flat()
    await this.tidy(stale, now)
    return stale.length
  }

  /** Each name is new, so removing an entry never removes another writer's. */
  #name(): string {
    return keyOf(this.#random())
  }
}

/** A delivery's entry in the history of all subscriptions, and the one in that of its own. */
export function withTwin(oldest: Entry, subscription: string): Entry[] {
  const [at, seq, name] = oldest.row.split('|')
  const row = `${newestFirst(Number(at))}|${newestFirst(Number(seq))}|${name}`
  return [oldest, { partition: partitions.history(subscription), row }]
}

/** The time in an entry's name. */
export function timeOf({ row }: Entry): number {
  return Number(row.split('|').at(-2))
}
