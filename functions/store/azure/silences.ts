// Finds beacons whose `silentAt` has come. A report does not move its beacon's entry in the index,
// which would double the cost of a heartbeat. So an entry may be earlier than the beacon's
// `silentAt`, never later. Entries that come too early are moved when they are due, many at once.
import type { Beacon } from '../../core/event/observer.ts'
import type { BeaconKey } from '../store.ts'
import { justAfter, timeKey } from './keys.ts'
import type { Parts } from './parts.ts'
import { type Change, maxChanges } from './rows.ts'
import { type Found, partitions } from './time-index.ts'

/** Entries of one page, and pages of one search: enough for 100,000 idle VMs and a search a minute. */
const pageSize = 100
const maxPages = 40
/** A younger entry may belong to a write under way, whose row is not stored yet. */
const underWayMs = 60_000

type Read = (key: BeaconKey) => Promise<Beacon | undefined>

export class Silences {
  readonly #parts: Parts
  readonly #read: Read

  constructor(parts: Parts, read: Read) {
    this.#parts = parts
    this.#read = read
  }

  /** Call this before the row is written. It writes only if no entry is early enough. */
  async expect(before: Beacon | undefined, after: Beacon, now: number): Promise<void> {
    const { fleet, beacon, silentAt } = after
    if (silentAt === undefined) return
    if (before?.silentAt !== undefined && before.silentAt <= silentAt) return
    const { index } = this.#parts
    await index.add([index.silentAt(fleet, beacon, silentAt)], () => targetOf(after), now)
  }

  async due(now: number, limit: number): Promise<BeaconKey[]> {
    const { index, together } = this.#parts
    const due: { key: BeaconKey; at: number }[] = []
    let from = ''
    for (let page = 0; page < maxPages && due.length < limit; page++) {
      const range = { from, to: timeKey(now + 1), limit: pageSize }
      const entries = await index.list(partitions.silent, range)
      const beacons = await together(entries.map((entry) => () => this.#read(keyOf(entry))))
      const found = entries.map((entry, i) => ({ entry, at: beacons[i]?.silentAt }))
      for (const { entry, at } of found) {
        const isNew = !due.some(({ key }) => isSame(key, keyOf(entry)))
        if (at !== undefined && at <= now && isNew) due.push({ key: keyOf(entry), at })
      }
      const stale = found.flatMap(({ entry, at }) => (at === undefined ? [entry] : []))
      await index.tidy(stale, now)
      await this.#move(found, now)
      if (entries.length < pageSize) break
      from = justAfter(entries.at(-1)!.row)
    }
    const inOrder = due.sort((a, b) => a.at - b.at).map(({ key }) => key)
    return inOrder.slice(0, limit)
  }

  /** Moves entries that came too early. If another worker moves some of them, the rest waits. */
  async #move(found: { entry: Found; at: number | undefined }[], now: number): Promise<void> {
    const { rows, index } = this.#parts
    const moves = found.flatMap(({ entry, at = 0 }) => {
      if (at <= now || now - entry.writtenAt < underWayMs) return []
      const { fleet, beacon } = keyOf(entry)
      const body = JSON.stringify({ target: entry.target, writtenAt: now })
      const put: Change = { kind: 'put', row: index.silentAt(fleet, beacon, at).row, body }
      return [{ put, removal: { kind: 'remove' as const, row: entry.row } satisfies Change }]
    })
    const atOnce = maxChanges / 2
    for (let i = 0; i < moves.length; i += atOnce) {
      const some = moves.slice(i, i + atOnce)
      // a transaction changes each row once
      const puts = new Map(some.map(({ put }) => [put.row, put]))
      const removals = some.map(({ removal }) => removal)
      await rows.change(partitions.silent, [...puts.values(), ...removals])
    }
  }
}

function targetOf({ fleet, beacon }: BeaconKey): Found['target'] {
  return { fleet, eventId: '', beacon }
}

function keyOf({ target: { fleet, beacon = '' } }: Found): BeaconKey {
  return { fleet, beacon }
}

function isSame(one: BeaconKey, other: BeaconKey): boolean {
  return one.fleet === other.fleet && one.beacon === other.beacon
}
