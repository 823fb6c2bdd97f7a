// How many beacons there are of each version and state. The transaction that writes a beacon also
// changes a row of counts beside it, and the beacon's row says as what it is counted. So the counts
// are exact, and a heartbeat, which changes none of them, costs nothing.
import type { Beacon } from '../../core/event/observer.ts'
import { beaconCount, type Count, other } from '../../core/metrics/tally.ts'
import { endOf, keyOf, shardOf, startOf } from './keys.ts'
import type { Parts } from './parts.ts'
import { type Change, insertOrReplace } from './rows.ts'
import { shards } from './time-index.ts'

const countRows = 'count'
/** Rows of counts in each partition: new beacons of a large fleet often come at once. */
const rowsOfPartition = 16
/** Versions in one row. Others are counted together. */
const maxVersions = 30

/** Version and state, as a beacon is counted. */
export type CountedAs = [version: string, state: string]

type Counts = Record<string, number>

interface Recount {
  /** Undefined: no longer counted. */
  as: CountedAs | undefined
  change: Change
}

/**
 * The change of the counts. Undefined if they stay as they are. `after` is undefined if the beacon is
 * removed.
 */
export async function recount(
  { rows }: Pick<Parts, 'rows'>,
  partition: string,
  beacon: string,
  before: CountedAs | undefined,
  after: Beacon | undefined,
): Promise<Recount | undefined> {
  const wanted = after && countedAs(after)
  const isSame = before?.[1] === wanted?.[1] && isVersion(before, wanted)
  if (isSame) return undefined
  const row = keyOf(countRows, shardOf(beacon, rowsOfPartition))
  const found = await rows.read(partition, row)
  const counts: Counts = found === undefined ? {} : JSON.parse(found.body)
  if (before !== undefined) change(counts, before, -1)
  const as = wanted && within(counts, wanted)
  if (as !== undefined) change(counts, as, 1)
  return { as, change: insertOrReplace(found, row, JSON.stringify(counts)) }
}

/** A version without a place was counted as `other`, and stays so. */
function isVersion(before: CountedAs | undefined, wanted: CountedAs | undefined): boolean {
  return before?.[0] === wanted?.[0] || (before?.[0] === other && wanted !== undefined)
}

function countedAs(beacon: Beacon): CountedAs {
  const { one, two } = beaconCount(beacon)
  return [one, two]
}

function change(counts: Counts, as: CountedAs, by: number): void {
  const key = JSON.stringify(as)
  counts[key] = (counts[key] ?? 0) + by
  if (counts[key] === 0) delete counts[key]
}

function within(counts: Counts, [version, state]: CountedAs): CountedAs {
  const versions = new Set(Object.keys(counts).map((key) => (JSON.parse(key) as CountedAs)[0]))
  const hasPlace = versions.has(version) || versions.size < maxVersions
  return [hasPlace ? version : other, state]
}

export async function readBeaconCounts(
  { rows, together }: Parts,
  fleets: readonly string[],
): Promise<Count[]> {
  const range = { from: startOf(countRows), to: endOf(countRows) }
  const works = fleets.flatMap((fleet) =>
    beaconPartitions(fleet).map((partition) => async () => {
      const found = await rows.list(partition, range)
      return found.flatMap(({ body }) => countsIn(fleet, JSON.parse(body)))
    }),
  )
  return (await together(works)).flat()
}

function countsIn(fleet: string, counts: Counts): Count[] {
  return Object.entries(counts).map(([key, n]) => {
    const [one, two] = JSON.parse(key) as CountedAs
    return { what: 'beacon', fleet, one, two, n }
  })
}

/** A fleet's beacons are in these partitions. */
export function beaconPartitions(fleet: string): string[] {
  return Array.from({ length: shards }, (_, shard) => keyOf('beacons', fleet, shard))
}
