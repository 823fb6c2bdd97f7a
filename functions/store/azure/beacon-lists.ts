// Finds beacons by the name of their VM, and lists those of a fleet page by page.
import type { Beacon } from '../../core/event/observer.ts'
import { shownState } from '../../core/event/silence.ts'
import type { BeaconSearch, BeaconsFound } from '../browse.ts'
import { type ListedBeacon, listedFields } from '../listed-beacon.ts'
import type { BeaconPage } from '../store.ts'
import { beaconPartitions } from './beacon-counts.ts'
import type { BeaconNames } from './beacon-names.ts'
import { readHeldBeacon, type StoredBeacon } from './beacon-row.ts'
import { endOf, justAfter, keyOf, startOf } from './keys.ts'
import type { Parts } from './parts.ts'

/** Rows in memory at a time while beacons are listed. A row may have 1 MB. */
const listPageSize = 25

export class BeaconLists {
  readonly #parts: Parts
  readonly #names: BeaconNames

  constructor(parts: Parts, names: BeaconNames) {
    this.#parts = parts
    this.#names = names
  }

  /** By the name of the VM, or page by page. By name, each beacon costs one read. */
  async find(search: BeaconSearch): Promise<BeaconsFound> {
    const { fleet, prefix = '', state, now, after } = search
    const isWanted = (one: ListedBeacon) => state === undefined || shownState(one, now) === state
    if (prefix === '') {
      // one row more shows whether there is a next page
      const limit = Math.min(search.limit, listPageSize - 1)
      const page = { limit: limit + 1, ...(after === undefined ? {} : { after }) }
      const found = await this.list(fleet, page)
      const shown = found.slice(0, limit)
      const next = found.length > limit ? { next: shown.at(-1)!.beacon } : {}
      return { beacons: shown.filter(isWanted), ...next }
    }
    const { ids, next } = await this.#names.find(fleet, prefix, after, search.limit)
    const reads = ids.map((beacon) => async () => {
      const row = await readHeldBeacon(this.#parts, fleet, beacon)
      return row === undefined ? [] : [listedOf(row.stored.beacon)]
    })
    const beacons = (await this.#parts.together(reads)).flat().filter(isWanted)
    return { beacons, ...(next === undefined ? {} : { next }) }
  }

  async list(fleet: string, { after, limit }: BeaconPage): Promise<ListedBeacon[]> {
    const from = after === undefined ? startOf('beacon') : justAfter(keyOf('beacon', after))
    const found: (ListedBeacon & { row: string })[] = []
    // one partition after another, to save memory: rows are large, and little of each is listed
    for (const partition of beaconPartitions(fleet)) {
      found.push(...(await this.#listIn(partition, from, limit)))
    }
    const inOrder = found.sort((a, b) => (a.row < b.row ? -1 : 1)).slice(0, limit)
    return inOrder.map(({ row: _, ...listed }) => listed)
  }

  async #listIn(partition: string, from: string, limit: number) {
    const listed: (ListedBeacon & { row: string })[] = []
    for (let next = from; listed.length < limit; next = justAfter(listed.at(-1)!.row)) {
      const size = Math.min(listPageSize, limit - listed.length)
      const range = { from: next, to: endOf('beacon'), limit: size }
      const page = await this.#parts.rows.list(partition, range)
      listed.push(...page.map(({ row, body }) => ({ row, ...toListed(body) })))
      if (page.length < size) break
    }
    return listed
  }
}

function toListed(body: string): ListedBeacon {
  return listedOf((JSON.parse(body) as StoredBeacon).beacon)
}

function listedOf(own: Beacon): ListedBeacon {
  const shown = listedFields.flatMap((field) =>
    own[field] === undefined ? [] : [[field, own[field]]],
  )
  return { ...Object.fromEntries(shown), seesEvents: own.sees.length } as ListedBeacon
}
