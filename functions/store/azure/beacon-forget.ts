// Forgets beacons that were not heard for long, the longest silent first.
import type { EventKey } from '../store.ts'
import type { BeaconNames } from './beacon-names.ts'
import {
  partitionOf,
  readHeldBeacon,
  removeRows,
  replaceRow,
  type StoredBeacon,
} from './beacon-row.ts'
import { keyOf, timeKey } from './keys.ts'
import type { Parts } from './parts.ts'
import { type Held, isSameEntry } from './stored.ts'
import { type Found, partitions, timeOf } from './time-index.ts'

export class BeaconForgetting {
  readonly #parts: Parts
  readonly #names: BeaconNames

  constructor(parts: Parts, names: BeaconNames) {
    this.#parts = parts
    this.#names = names
  }

  /**
   * Removes beacons that were last heard before a time and see no open event, at most `limit`, the
   * longest silent first. Returns how many it removed.
   */
  async forget(
    before: number,
    limit: number,
    isOpen: (key: EventKey) => Promise<boolean>,
  ): Promise<number> {
    const { rows, index, together } = this.#parts
    const range = { from: '', to: timeKey(before), limit }
    const works = partitions.all('heard').map((partition) => () => index.list(partition, range))
    const found = (await together(works)).flat().sort((a, b) => timeOf(a) - timeOf(b))
    const outcomes = await together(
      found.slice(0, limit).map((entry) => async () => {
        const { fleet, beacon = '' } = entry.target
        const known = await readHeldBeacon(this.#parts, fleet, beacon)
        if (known === undefined || !isSameEntry(known.stored.heard, entry)) {
          await index.tidy([entry], before)
          return false
        }
        if (known.stored.beacon.heardAt >= before) {
          await this.#move(known, entry)
          return false
        }
        for (const eventId of known.stored.beacon.sees) {
          if (await isOpen({ fleet, eventId })) return false
        }
        // its own row last: after a crash, the next call finds the beacon again
        const partition = partitionOf(fleet, beacon)
        const copies = known.stored.sightings.map(({ eventId }) => keyOf('seen', eventId, beacon))
        await removeRows(this.#parts, partition, copies)
        const etag = await this.#uncount(known)
        if (etag === undefined) return false
        const removal = { kind: 'remove' as const, row: known.row, etag }
        if ((await rows.change(partition, [removal])) === 'conflict') return false
        await index.drop([entry])
        await this.#names.forget(known.stored.beacon)
        return true
      }),
    )
    return outcomes.filter((gone) => gone).length
  }

  /**
   * Takes a beacon out of the counts before it is removed: a removal with a condition must be alone.
   * Returns the version of its row, or undefined if another write came first.
   */
  async #uncount(known: Held<StoredBeacon>): Promise<string | undefined> {
    const { counted, ...stored } = known.stored
    if (counted === undefined) return known.etag
    if (!(await replaceRow(this.#parts, known, stored, undefined))) return undefined
    const { fleet, beacon } = stored.beacon
    const now = await readHeldBeacon(this.#parts, fleet, beacon)
    const isOurs = now?.stored.counted === undefined && now?.stored.write === stored.write
    return isOurs ? now?.etag : undefined
  }

  /** Moves the index entry to the time when the beacon was heard last. */
  async #move({ row, etag, stored }: Held<StoredBeacon>, entry: Found): Promise<void> {
    const { rows, index } = this.#parts
    const { fleet, beacon, heardAt } = stored.beacon
    const heard = index.heardAt(beacon, heardAt)
    await index.add([heard], () => entry.target, heardAt)
    const body = JSON.stringify({ ...stored, heard } satisfies StoredBeacon)
    await rows.change(partitionOf(fleet, beacon), [{ kind: 'replace', row, body, etag }])
    const named = (await readHeldBeacon(this.#parts, fleet, beacon))?.stored.heard
    await index.drop([heard, entry].filter((one) => !isSameEntry(named, one)))
  }
}
