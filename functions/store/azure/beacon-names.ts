// Finds beacons by the names of their VMs: a row for each beacon, written when a name is new.
import type { Beacon } from '../../core/event/observer.ts'
import { justAfter, keyOf } from './keys.ts'
import type { Parts } from './parts.ts'

/** Each beacon that is found is read with one call. */
const maxFound = 8
const end = '~'

type Named = Pick<Beacon, 'fleet' | 'beacon' | 'vm'>

export class BeaconNames {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Call this before the beacon is written. */
  async keep(before: Named | undefined, after: Named): Promise<void> {
    if (before !== undefined && rowOf(before) === rowOf(after)) return
    const put = { kind: 'put' as const, row: rowOf(after), body: JSON.stringify(after.beacon) }
    await this.#parts.rows.change(partitionOf(after.fleet), [put])
    if (before !== undefined) await this.forget(before)
  }

  async forget(beacon: Named): Promise<void> {
    await this.#parts.rows.change(partitionOf(beacon.fleet), [
      { kind: 'remove', row: rowOf(beacon) },
    ])
  }

  async find(fleet: string, prefix: string, after: string | undefined, limit: number) {
    const name = keyOf(prefix.toLowerCase())
    const isOfSearch = after === undefined || after.startsWith(name)
    if (!isOfSearch) return { ids: [] }
    const size = Math.min(limit, maxFound)
    const range = {
      from: after === undefined ? name : justAfter(after),
      to: name + end,
      limit: size + 1,
    }
    const rows = await this.#parts.rows.list(partitionOf(fleet), range)
    const shown = rows.slice(0, size)
    const ids = shown.map(({ body }) => JSON.parse(body) as string)
    return rows.length > size ? { ids, next: shown.at(-1)!.row } : { ids }
  }
}

function partitionOf(fleet: string): string {
  return keyOf('beacon-names', fleet)
}

function rowOf({ vm, beacon }: Named): string {
  return keyOf(vm.toLowerCase(), beacon)
}
