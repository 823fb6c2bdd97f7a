// How the Azure store finds by time what lies in many partitions. An entry is written before the row that
// it points to, and names a time that is not later than the row's own: a crash in between leaves an
// entry too many, never one too few. Who comes across one that points to nothing removes it.

import type { EventKey } from '../store.ts'
import { keyOf, newestFirst, shardOf, startOf, timeKey } from './keys.ts'
import { type Change, maxChanges, type Range, type Rows } from './rows.ts'
import type { Together } from './together.ts'

/** Partitions that each busy index is spread over: one takes 2 000 entities a second. */
export const shards = 4

/** Until then an entry that points to nothing may belong to a write that is under way. */
export const graceMs = 10 * 60_000

/** Where an entry stands. */
export interface Entry {
  partition: string
  row: string
}

export interface Target extends EventKey {
  /** Of a delivery. */
  id?: string
  channel?: string
  /** In place of an event. */
  beacon?: string
}

export interface Found extends Entry {
  target: Target
  /** By the clock of who wrote it, epoch ms. */
  writtenAt: number
}

export const partitions = {
  due: (key: EventKey) => keyOf('due', shardOf(key.eventId, shards)),
  owed: (channel: string) => keyOf('owed', shardOf(channel, shards)),
  heard: (beacon: string) => keyOf('heard', shardOf(beacon, shards)),
  failed: keyOf('failed'),
  ended: keyOf('ended'),
  open: (fleet: string) => keyOf('open', fleet),
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

  heardAt(beacon: string, at: number): Entry {
    return { partition: partitions.heard(beacon), row: `${timeKey(at)}|${this.#name()}` }
  }

  /**
   * Sorted by beacon, so that the events of one reporter are together. `''`: several beacons report
   * it.
   */
  openOf(fleet: string, onlyBeacon: string): Entry {
    return { partition: partitions.open(fleet), row: `${startOf(onlyBeacon)}${this.#name()}` }
  }

  /** Sorted by channel and fleet, so that a long queue hides no other. */
  plannedAt(channel: string, fleet: string, at: number): Entry {
    const row = `${startOf(channel, fleet)}${timeKey(at)}|${this.#name()}`
    return { partition: partitions.owed(channel), row }
  }

  listedAt(fleet: string | undefined, at: number): Entry {
    return { partition: partitions.listed(fleet), row: `${newestFirst(at)}|${this.#name()}` }
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
      inSteps(group).map((step) => () => {
        const puts = step.map((entry): Change => {
          const body = JSON.stringify({ target: target(entry), writtenAt: now })
          return { kind: 'put', row: entry.row, body }
        })
        return this.#rows.change(partition, puts)
      }),
    )
    await this.#together(works)
  }

  /** Removes entries; one that stays because of a fault points to nothing, and is found as such. */
  async drop(entries: Entry[]): Promise<void> {
    const works = entries.map(({ partition, row }) => async () => {
      try {
        await this.#rows.change(partition, [{ kind: 'remove', row }])
      } catch {
        // it is found again when its time comes
      }
    })
    await this.#together(works)
  }

  /**
   * Removes what points to nothing, but for what may be part of a write under way. Where `now` is a time
   * long gone, as for what is forgotten, it stays that much longer.
   */
  async tidy(stale: Found[], now: number): Promise<void> {
    await this.drop(stale.filter(({ writtenAt }) => now - writtenAt > graceMs))
  }

  /** Tidies the entries that `isNamed` says no row names. Returns how many there were. */
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

  /** Names differ, so that whoever removes an entry removes no other's. */
  #name(): string {
    return keyOf(this.#random())
  }
}

/** The time in an entry's name. */
export function timeOf({ row }: Entry): number {
  return Number(row.split('|').at(-2))
}

function inSteps<T>(items: T[]): T[][] {
  const steps: T[][] = []
  for (let i = 0; i < items.length; i += maxChanges) steps.push(items.slice(i, i + maxChanges))
  return steps
}
