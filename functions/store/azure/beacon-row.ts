// The row of a beacon, with its sightings, and the copies of them that are named by event. Decides
// what a write changes, and reads, replaces and removes rows.
import type { Beacon, Observer, Sighting } from '../../core/event/observer.ts'
import { type CountedAs, recount } from './beacon-counts.ts'
import { keyOf, shardOf } from './keys.ts'
import type { Parts } from './parts.ts'
import { type Change, insertOrReplace } from './rows.ts'
import { type Held, held } from './stored.ts'
import { type Entry, shards } from './time-index.ts'

/** Limits of a beacon's row. Beyond them, the sightings that were gone first are dropped. */
const maxSightings = 400
const maxSightingsLength = 400_000
/** An event that is gone this long is over: Azure announces events at most 7 days ahead. */
const goneMs = 8 * 86_400_000

export interface StoredBeacon {
  beacon: Beacon
  sightings: Sighting[]
  /** The index entry that finds silent beacons. */
  heard: Entry
  /** Its place in the counts. Absent shortly before the row is removed. */
  counted?: CountedAs | undefined
  /** Identifies this write: if its answer is lost, the next attempt recognizes it. */
  write: string
}

export function partitionOf(fleet: string, beacon: string): string {
  return keyOf('beacons', fleet, shardOf(beacon, shards))
}

export async function readHeldBeacon(
  { rows }: Pick<Parts, 'rows'>,
  fleet: string,
  beacon: string,
): Promise<Held<StoredBeacon> | undefined> {
  const row = await rows.read(partitionOf(fleet, beacon), keyOf('beacon', beacon))
  return row && held<StoredBeacon>(row)
}

/** Replaces one row, and its place in the counts. `as`: undefined if it is removed. */
export async function replaceRow(
  parts: Parts,
  { row, etag, stored: { counted } }: Held<StoredBeacon>,
  stored: StoredBeacon,
  as: Beacon | undefined,
): Promise<boolean> {
  const { fleet, beacon } = stored.beacon
  const partition = partitionOf(fleet, beacon)
  const moved = await recount(parts, partition, beacon, counted, as)
  const body = JSON.stringify(moved === undefined ? stored : { ...stored, counted: moved.as })
  const replacement = { kind: 'replace' as const, row, body, etag }
  const changes = [replacement, ...(moved === undefined ? [] : [moved.change])]
  return (await parts.rows.change(partition, changes)) !== 'conflict'
}

/** One call for each row: if a row is missing, the others are still removed. */
export async function removeRows(
  { rows, together }: Parts,
  partition: string,
  found: string[],
): Promise<void> {
  await together(found.map((row) => () => rows.change(partition, [{ kind: 'remove', row }])))
}

/** Whether the second was sent after the known one. */
export function follows(known: Beacon, { bootId, counter }: Beacon): boolean {
  if (known.bootId === bootId) return known.counter < counter
  return !known.retiredBootIds.includes(bootId)
}

export function changesOf(
  before: Held<StoredBeacon> | undefined,
  stored: StoredBeacon,
  counts: Change | undefined,
): Change[] {
  const { beacon, sightings } = stored
  const row = keyOf('beacon', beacon.beacon)
  const body = JSON.stringify(stored)
  const copies = sightings.map((sighting): Change => {
    const copy = JSON.stringify({ beacon, sighting } satisfies Observer)
    return { kind: 'put', row: keyOf('seen', sighting.eventId, beacon.beacon), body: copy }
  })
  return [insertOrReplace(before, row, body), ...(counts === undefined ? [] : [counts]), ...copies]
}

/** The newer sighting of each event, without events that were gone long ago. */
export function merged(known: Sighting[], changed: Sighting[], beacon: Beacon): Sighting[] {
  const { heardAt, sees } = beacon
  const all = new Map([...known, ...changed].map((one) => [one.eventId, one]))
  const goneAt = ({ eventId, gone }: Sighting) =>
    gone === undefined || sees.includes(eventId) ? Number.POSITIVE_INFINITY : gone.lastSeenAt
  const recent = [...all.values()]
    .filter((one) => goneAt(one) > heardAt - goneMs)
    .sort((a, b) => goneAt(b) - goneAt(a))
  let length = JSON.stringify(beacon).length
  return recent.slice(0, maxSightings).filter((one) => {
    length += JSON.stringify(one).length
    return goneAt(one) === Number.POSITIVE_INFINITY || length <= maxSightingsLength
  })
}
