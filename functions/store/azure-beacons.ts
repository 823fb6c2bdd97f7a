// Beacons and what they saw, in a few partitions for each fleet. A beacon's row holds its sightings, so that
// one write changes both; beside it stands a copy for each sighting, under the event, so that all
// observers of an event are found without reading every beacon.
import { FoghornError } from '../../shared/errors.ts'
import type { Beacon, Observer, Sighting } from '../core/event.ts'
import { type Index, inSteps, partitions, shards, timeOf, toFound } from './azure-index.ts'
import { endOf, keyOf, shardOf, startOf, timeKey } from './azure-keys.ts'
import type { Change, Rows } from './azure-rows.ts'
import { type Held, held } from './azure-stored.ts'
import type { EventKey } from './store.ts'
import type { Together } from './together.ts'

const maxWriteAttempts = 20
/** A beacon's row has room for so much; what was gone first makes way. */
const maxSightings = 400
const maxSightingsLength = 400_000
/** What was gone so long belongs to an event that is over: none is announced longer ahead than 7 days. */
const goneMs = 8 * 86_400_000

interface StoredBeacon {
  beacon: Beacon
  sightings: Sighting[]
}

export interface BeaconParts {
  rows: Rows
  index: Index
  together: Together
  /** Waits a short while before another attempt. */
  stepAside: () => Promise<void>
}

export class Beacons {
  readonly #parts: BeaconParts

  constructor(parts: BeaconParts) {
    this.#parts = parts
  }

  async read(fleet: string, beacon: string): Promise<StoredBeacon | undefined> {
    return (await this.#held(fleet, beacon))?.stored
  }

  async write(beacon: Beacon, sightings: Sighting[]): Promise<'written' | 'stale'> {
    const { rows, index, stepAside } = this.#parts
    const partition = partitionOf(beacon.fleet, beacon.beacon)
    for (let attempt = 0; attempt < maxWriteAttempts; attempt++) {
      const before = await this.#held(beacon.fleet, beacon.beacon)
      if (before !== undefined && !follows(before.stored.beacon, beacon)) return 'stale'
      const stored = {
        beacon,
        sightings: merged(before?.stored.sightings ?? [], sightings, beacon),
      }
      const changes = changesOf(before, stored)
      const heard = index.heardAt(beacon.beacon, beacon.heardAt)
      if (before === undefined) {
        const target = { fleet: beacon.fleet, eventId: '', beacon: beacon.beacon }
        await index.add([heard], () => target, beacon.heardAt)
      }
      // the beacon's own row is in the last step: what went before it are copies
      const steps = inSteps(changes)
      for (const copies of steps.slice(0, -1)) await rows.change(partition, copies)
      if ((await rows.change(partition, steps.at(-1)!)) === 'changed') return 'written'
      if (before === undefined) await index.drop([heard])
      await stepAside()
    }
    const what = `beacon "${beacon.beacon}" of fleet "${beacon.fleet}" has too many writers at once`
    throw new FoghornError('storage_busy', `${what}; it is written with its next report`)
  }

  async observers(key: EventKey): Promise<Observer[]> {
    const { rows, together } = this.#parts
    const range = { from: startOf('seen', key.eventId), to: endOf('seen', key.eventId) }
    const works = partitionsOf(key.fleet).map((partition) => () => rows.list(partition, range))
    const found = (await together(works)).flat().map(({ body }) => JSON.parse(body) as Observer)
    return found.sort((a, b) => (a.beacon.beacon < b.beacon.beacon ? -1 : 1))
  }

  /** What everybody saw of an event that is forgotten. */
  async forgetSightings(key: EventKey): Promise<void> {
    const { rows, together } = this.#parts
    const range = { from: startOf('seen', key.eventId), to: endOf('seen', key.eventId) }
    const works = partitionsOf(key.fleet).map((partition) => async () => {
      const found = await rows.list(partition, range)
      await this.#remove(
        partition,
        found.map(({ row }) => row),
      )
    })
    await together(works)
  }

  /** Those not heard since, at most `limit`, the longest silent first. Returns how many went. */
  async forget(before: number, limit: number): Promise<number> {
    const { rows, index, together } = this.#parts
    const range = { from: '', to: timeKey(before), limit }
    const works = partitions.all('heard').map((partition) => async () => {
      return (await rows.list(partition, range)).map((row) => toFound(partition, row))
    })
    const found = (await together(works)).flat().sort((a, b) => timeOf(a) - timeOf(b))
    const outcomes = await together(
      found.slice(0, limit).map((entry) => async () => {
        const { fleet, beacon = '' } = entry.target
        const known = await this.#held(fleet, beacon)
        if (known === undefined) {
          await index.tidy([entry], before)
          return 0
        }
        const { heardAt } = known.stored.beacon
        if (heardAt >= before) {
          await index.add([index.heardAt(beacon, heardAt)], () => entry.target, before)
          await index.drop([entry])
          return 0
        }
        const partition = partitionOf(fleet, beacon)
        const removal = { kind: 'remove' as const, row: known.row, etag: known.etag }
        if ((await rows.change(partition, [removal])) === 'conflict') return 0
        const copies = known.stored.sightings.map(({ eventId }) => keyOf('seen', eventId, beacon))
        await this.#remove(partition, copies)
        await index.drop([entry])
        return 1
      }),
    )
    return outcomes.filter((one) => one === 1).length
  }

  /** One by one: a row that is gone already must not keep the others. */
  async #remove(partition: string, found: string[]): Promise<void> {
    const { rows, together } = this.#parts
    await together(found.map((row) => () => rows.change(partition, [{ kind: 'remove', row }])))
  }

  async #held(fleet: string, beacon: string): Promise<Held<StoredBeacon> | undefined> {
    const row = await this.#parts.rows.read(partitionOf(fleet, beacon), keyOf('beacon', beacon))
    return row && held<StoredBeacon>(row)
  }
}

function partitionOf(fleet: string, beacon: string): string {
  return keyOf('beacons', fleet, shardOf(beacon, shards))
}

function partitionsOf(fleet: string): string[] {
  return Array.from({ length: shards }, (_, shard) => keyOf('beacons', fleet, shard))
}

/** Whether this one was sent after the other. */
function follows(known: Beacon, { bootId, counter }: Beacon): boolean {
  if (known.bootId === bootId) return known.counter < counter
  return !known.retiredBootIds.includes(bootId)
}

function changesOf(before: Held<StoredBeacon> | undefined, stored: StoredBeacon): Change[] {
  const { beacon, sightings } = stored
  const row = keyOf('beacon', beacon.beacon)
  const body = JSON.stringify(stored)
  const own: Change =
    before === undefined
      ? { kind: 'insert', row, body }
      : { kind: 'replace', row, body, etag: before.etag }
  const copies = sightings.map((sighting): Change => {
    const copy = JSON.stringify({ beacon, sighting } satisfies Observer)
    return { kind: 'put', row: keyOf('seen', sighting.eventId, beacon.beacon), body: copy }
  })
  return [...copies, own]
}

/** The newer sighting of each event, without what was gone long ago. */
function merged(known: Sighting[], changed: Sighting[], { heardAt, sees }: Beacon): Sighting[] {
  const all = new Map([...known, ...changed].map((one) => [one.eventId, one]))
  const goneAt = ({ eventId, gone }: Sighting) =>
    gone === undefined || sees.includes(eventId) ? Number.POSITIVE_INFINITY : gone.lastSeenAt
  const recent = [...all.values()]
    .filter((one) => goneAt(one) > heardAt - goneMs)
    .sort((a, b) => goneAt(b) - goneAt(a))
  let length = 0
  return recent.slice(0, maxSightings).filter((one) => {
    length += JSON.stringify(one).length
    return goneAt(one) === Number.POSITIVE_INFINITY || length <= maxSightingsLength
  })
}
