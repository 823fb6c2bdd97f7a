// Counts the open events of a fleet by entries of the index. Each event has one entry, under the
// beacon that alone reports it. A crash may leave a stale entry, so a full share is checked again.

import type { EventRecord } from '../../core/event/event.ts'
import { maxOpenOfBeacon, maxOpenOfFleet, type OpenCounts } from '../../core/event/open-limits.ts'
import { setNewest } from '../../core/newest.ts'
import { endOf, startOf } from './keys.ts'
import type { Parts } from './parts.ts'
import type { Range } from './rows.ts'
import { isSameEntry, readHeldEvent } from './stored.ts'
import { type Found, partitions } from './time-index.ts'

/** A fleet's count is used this long, because many reports may bring new events at once. */
const countMs = 5_000
/**
 * If a beacon has this many or more, its exact number is read each time: it may send its reports to
 * many processes, and each counts only its own. An honest VM has fewer that no other beacon sees.
 */
const fewOfBeacon = 10
/** A full share is checked for stale entries at most this often. */
const lookMs = 60_000
/** Fleets and beacons whose last count or check is kept. */
const maxKept = 1_000

interface Counted {
  at: number
  all: number
  /** By the start of the entries' rows, which names the beacon. */
  byBeacon: Map<string, number>
}

export class OpenEvents {
  readonly #parts: Parts
  readonly #fleets = new Map<string, Counted>()
  readonly #looks = new Map<string, number>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async count(fleet: string, beacon: string, now: number): Promise<OpenCounts> {
    const { all, byBeacon } = await this.#ofFleet(fleet, now)
    const from = startOf(beacon)
    const ofBeacon = byBeacon.get(from) ?? 0
    if (ofBeacon < fewOfBeacon) return { ofBeacon, ofFleet: all }
    const own = { from, to: endOf(beacon), limit: maxOpenOfBeacon }
    return { ofBeacon: await this.#countIn(fleet, own, now), ofFleet: all }
  }

  /** Adds an event that this worker has written to the count at once, if it is new. */
  note({ fleet, sequence, ended, alert, onlyBeacon = '' }: EventRecord): void {
    const known = this.#fleets.get(fleet)
    if (known === undefined || sequence !== 1 || ended !== undefined || alert !== undefined) return
    known.all += 1
    addOne(known.byBeacon, startOf(onlyBeacon))
  }

  async #ofFleet(fleet: string, now: number): Promise<Counted> {
    const known = this.#fleets.get(fleet)
    if (known !== undefined && Math.abs(now - known.at) < countMs) return known
    const range = { from: '', to: '~', limit: maxOpenOfFleet }
    const found = await this.#parts.index.list(partitions.open(fleet), range)
    const counted: Counted = { at: now, all: found.length, byBeacon: new Map() }
    for (const { row } of found) addOne(counted.byBeacon, row.slice(0, row.lastIndexOf('|') + 1))
    counted.all -= await this.#staleIn(fleet, found, range, now)
    setNewest(this.#fleets, fleet, counted, maxKept)
    return counted
  }

  async #countIn(fleet: string, range: Range & { limit: number }, now: number): Promise<number> {
    const found = await this.#parts.index.list(partitions.open(fleet), range)
    return found.length - (await this.#staleIn(fleet, found, range, now))
  }

  /** Looks for stale entries if the share is full, and not too often. Returns how many there were. */
  async #staleIn(fleet: string, found: Found[], { from, limit }: Limited, now: number) {
    const name = JSON.stringify([fleet, from])
    const looked = this.#looks.get(name) ?? Number.NEGATIVE_INFINITY
    if (found.length < limit || Math.abs(now - looked) < lookMs) return 0
    setNewest(this.#looks, name, now, maxKept)
    return tidyOpen(this.#parts, found, now)
  }
}

type Limited = Pick<Range, 'from'> & { limit: number }

function addOne(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

/** Removes the entries of events that are no longer open. Returns how many there were. */
export function tidyOpen({ rows, index }: Parts, found: Found[], now: number): Promise<number> {
  const isNamed = async (entry: Found) =>
    isSameEntry((await readHeldEvent(rows, entry.target))?.stored.open, entry)
  return index.tidyUnnamed(found, isNamed, now)
}
