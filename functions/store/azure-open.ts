// How many events of a fleet are open, by entries of the index: one for each, named after the beacon that
// alone reports it. A crash may leave an entry that points to nothing, so a full share is looked at again.
import type { EventRecord } from '../core/event.ts'
import { maxOpenOfBeacon, maxOpenOfFleet, type OpenCounts } from '../core/share.ts'
import { type Index, partitions, toFound } from './azure-index.ts'
import { endOf, startOf } from './azure-keys.ts'
import type { Range, Rows } from './azure-rows.ts'
import { eventPartition, eventRow, heldEvent, isSameEntry } from './azure-stored.ts'
import type { Together } from './together.ts'

/** A count of a fleet is good for so long: in a wave, reports with new events come faster than that. */
const countMs = 5_000
/** A full share is looked through once in this time. */
const lookMs = 60_000
/** Fleets and beacons whose last count or look is kept. */
const maxKept = 1_000

export class OpenEvents {
  readonly #rows: Rows
  readonly #index: Index
  readonly #together: Together
  readonly #fleets = new Map<string, { at: number; count: number }>()
  readonly #looks = new Map<string, number>()

  constructor(rows: Rows, index: Index, together: Together) {
    this.#rows = rows
    this.#index = index
    this.#together = together
  }

  async count(fleet: string, beacon: string, now: number): Promise<OpenCounts> {
    const own = { from: startOf(beacon), to: endOf(beacon), limit: maxOpenOfBeacon }
    const [ofBeacon = 0, ofFleet = 0] = await this.#together([
      () => this.#countIn(fleet, own, now),
      () => this.#ofFleet(fleet, now),
    ])
    return { ofBeacon, ofFleet }
  }

  /** This worker wrote an event that may be new: the count need not wait to know it. */
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
    const partition = partitions.open(fleet)
    const found = await this.#rows.list(partition, range)
    const name = JSON.stringify([fleet, range.from])
    const looked = this.#looks.get(name) ?? Number.NEGATIVE_INFINITY
    if (found.length < range.limit || Math.abs(now - looked) < lookMs) return found.length
    keep(this.#looks, name, now)
    const entries = found.map((row) => toFound(partition, row))
    const works = entries.map((entry) => async () => {
      const row = await this.#rows.read(eventPartition(entry.target), eventRow)
      return isSameEntry(row && heldEvent(row).stored.open, entry) ? [] : [entry]
    })
    const stale = (await this.#together(works)).flat()
    await this.#index.tidy(stale, now)
    return found.length - stale.length
  }
}

function keep<T>(map: Map<string, T>, name: string, value: T): void {
  map.delete(name)
  map.set(name, value)
  const oldest = map.keys().next().value
  if (map.size > maxKept && oldest !== undefined) map.delete(oldest)
}
