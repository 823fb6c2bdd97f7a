// The beacons of a fleet: all of them page by page, and which of those that the configuration expects never
// reported.
import type { Fleet } from '../core/rules/config.ts'
import type { ListedBeacon } from '../store/store.ts'
import type { Relay } from './relay.ts'

/** How many never reported, and the names of their VMs, if the configuration has them. */
export interface Missing {
  expected: number
  missing: number
  names: string[]
}

/** Undefined if the configuration expects nothing. */
export function missingIn(
  { expectedBeacons: expected }: Fleet,
  beacons: ListedBeacon[],
): Missing | undefined {
  if (expected === undefined) return undefined
  if (typeof expected === 'number') {
    const present = beacons.filter(({ left }) => left === undefined).length
    return { expected, missing: Math.max(0, expected - present), names: [] }
  }
  const known = new Set(beacons.map(({ vm }) => vm.toLowerCase()))
  const all = new Map(expected.map((name) => [name.toLowerCase(), name]))
  const names = [...all].flatMap(([lower, name]) => (known.has(lower) ? [] : [name]))
  return { expected: all.size, missing: names.length, names }
}

const pageSize = 1_000
/** A larger fleet is listed in part. */
const maxPages = 10

export async function listFleet(
  { store }: Pick<Relay, 'store'>,
  fleet: string,
): Promise<ListedBeacon[]> {
  const beacons: ListedBeacon[] = []
  for (let page = 0; page < maxPages; page++) {
    const after = beacons.at(-1)?.beacon
    const range = { limit: pageSize, ...(after === undefined ? {} : { after }) }
    const found = await store.listBeacons(fleet, range)
    beacons.push(...found)
    if (found.length < pageSize) break
  }
  return beacons
}
