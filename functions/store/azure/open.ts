// Counts the open events of a fleet by entries of the index. Each event has one entry, under the
// beacon that alone reports it. A crash may leave a stale entry, so a full share is checked again.
import type { EventRecord } from '../../core/event/event.ts'
import { maxOpenOfBeacon, maxOpenOfFleet, type OpenCounts } from '../../core/event/share.ts'
import { type Found, partitions } from './index.ts'
import { endOf, startOf } from './keys.ts'
import type { Parts } from './parts.ts'
import type { Range } from './rows.ts'
import { isSameEntry, readHeldEvent } from './stored.ts'

/** A fleet's count is used this long, because many reports may bring new events at once. */
const countMs = 5_000
/** A full share is checked for stale entries at most this often. */
const lookMs = 60_000
/** Fleets and beacons whose last count or check is kept. */
const maxKept = 1_000

export class OpenEvents {
  readonly #parts: Parts
  readonly #fleets = new Map<string, { at: number; count: number }>()
  readonly #looks = new Map<string, number>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async count(fleet: string, beacon: string, now: number): Promise<OpenCounts> {
    const own = { from: startOf(beacon), to: endOf(beacon), limit: maxOpenOfBeacon }
    const [ofBeacon = 0, ofFleet = 0] = await this.#parts.together([
      () => this.#countIn(fleet, own, now),
      () => this.#ofFleet(fleet, now),
    ])
    return { ofBeacon, ofFleet }
  }

  /** Adds an event that this worker has written to the count at once, if it is new. */
  note({ fleet, sequence, ended }: EventRecord): void {
    const known = this.#fleets.get(fleet)
    if (known !== undefined && sequence === 1 && ended === undefined) known.count += 1
  }

  async #ofFleet(fleet: string, now: number): Promise<number> {
    const known = this.#fleets.get(fleet)
    if (known !== undefined && Math.abs(now - known.at) < countMs) return known.count
    const count = await this.#countIn(fleet, { from: '', to: '~', limit: maxOpenOfFleet }, now)
    keep(this.#fleets, fleet, { at: now, count })
    return count
  }

  async #countIn(fleet: string, range: Range & { limit: number }, now: number): Promise<number> {
    const found = await this.#parts.index.list(partitions.open(fleet), range)
    const name = JSON.stringify([fleet, range.from])
    const looked = this.#looks.get(name) ?? Number.NEGATIVE_INFINITY
    if (found.length < range.limit || Math.abs(now - looked) < lookMs) return found.length
    keep(this.#looks, name, now)
    return found.length - (await tidyOpen(this.#parts, found, now))
  }
}

/** Removes the entries of events that are no longer open. Returns how many there were. */
export function tidyOpen({ rows, index }: Parts, found: Found[], now: number): Promise<number> {
  const isNamed = async (entry: Found) =>
    isSameEntry((await readHeldEvent(rows, entry.target))?.stored.open, entry)
  return index.tidyUnnamed(found, isNamed, now)
}

function keep<T>(map: Map<string, T>, name: string, value: T): void {
  map.delete(name)
  map.set(name, value)
  const oldest = map.keys().next().value
  if (map.size > maxKept && oldest !== undefined) map.delete(oldest)
}
