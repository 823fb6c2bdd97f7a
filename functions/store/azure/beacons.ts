// Beacons and what they saw, in a few partitions for each fleet. A beacon's row holds its sightings, so that
// one write changes both; beside it stands a copy for each sighting, under the event, so that all
// observers of an event are found without reading every beacon.
import { FoghornError } from '../../../shared/errors.ts'
import type { Beacon, Observer, Sighting } from '../../core/event/event.ts'
import type { BeaconPage, EventKey, ListedBeacon } from '../store.ts'
import { type Entry, type Found, partitions, shards, timeOf } from './index.ts'
import { endOf, keyOf, shardOf, startOf, timeKey } from './keys.ts'
import type { Parts } from './parts.ts'
import { type Change, insertOrReplace, maxChanges, type Range } from './rows.ts'
import { type Held, held, isSameEntry } from './stored.ts'

const maxWriteAttempts = 20
/** How many rows are in memory at a time while beacons are listed. A row may have 1 MB. */
const listPageSize = 25
/** Characters of one transaction: 4 MiB, also where each takes three bytes. */
const maxStepLength = 1_000_000
/** A beacon's row has room for so much; what was gone first makes way. */
const maxSightings = 400
const maxSightingsLength = 400_000
/** What was gone so long belongs to an event that is over: none is announced longer ahead than 7 days. */
const goneMs = 8 * 86_400_000

interface StoredBeacon {
  beacon: Beacon
  sightings: Sighting[]
  /** Where it is found when it was silent for long. */
  heard: Entry
  /** Names this write, which is known by that where its answer was lost. */
  write: string
}

export class Beacons {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async read(fleet: string, beacon: string): Promise<StoredBeacon | undefined> {
    return (await this.#held(fleet, beacon))?.stored
  }

  async list(fleet: string, { after, limit }: BeaconPage): Promise<ListedBeacon[]> {
    const from = after === undefined ? startOf('beacon') : `${keyOf('beacon', after)} `
    const found: (ListedBeacon & { row: string })[] = []
    // one after another: rows may be large, but little of each is listed
    for (const partition of partitionsOf(fleet)) {
      found.push(...(await this.#listIn(partition, from, limit)))
    }
    const inOrder = found.sort((a, b) => (a.row < b.row ? -1 : 1)).slice(0, limit)
    return inOrder.map(({ row: _, ...listed }) => listed)
  }

  async #listIn(partition: string, from: string, limit: number) {
    const listed: (ListedBeacon & { row: string })[] = []
    for (let next = from; listed.length < limit; next = `${listed.at(-1)!.row} `) {
      const size = Math.min(listPageSize, limit - listed.length)
      const range = { from: next, to: endOf('beacon'), limit: size }
      const page = await this.#parts.rows.list(partition, range)
      listed.push(...page.map(({ row, body }) => ({ row, ...toListed(body) })))
      if (page.length < size) break
    }
    return listed
  }

  async write(beacon: Beacon, sightings: Sighting[]): Promise<'written' | 'stale'> {
    const { rows, index, newId, stepAside } = this.#parts
    const { fleet, heardAt } = beacon
    const partition = partitionOf(fleet, beacon.beacon)
    const write = newId()
    let added: Entry | undefined
    for (let attempt = 0; attempt < maxWriteAttempts; attempt++) {
      const before = await this.#held(fleet, beacon.beacon)
      if (before !== undefined && added !== undefined) {
        if (!isSameEntry(before.stored.heard, added)) await index.drop([added])
        added = undefined
      }
      const isOurs = before?.stored.write === write
      if (before !== undefined && !isOurs && !follows(before.stored.beacon, beacon)) return 'stale'
      if (before === undefined && added === undefined) {
        added = index.heardAt(beacon.beacon, heardAt)
        const target = { fleet, eventId: '', beacon: beacon.beacon }
        await index.add([added], () => target, heardAt)
      }
      const all = merged(before?.stored.sightings ?? [], sightings, beacon)
      const heard = before?.stored.heard ?? added!
      const changes = changesOf(before, { beacon, sightings: all, heard, write })
      // the beacon's own row is in the first step: who comes too late writes no copy either
      const [first = [], ...copies] = stepsOf(changes)
      if (isOurs || (await rows.change(partition, first)) === 'changed') {
        for (const step of copies) await rows.change(partition, step)
        return 'written'
      }
      await stepAside()
    }
    const what = `beacon "${beacon.beacon}" of fleet "${beacon.fleet}" has too many writers at once`
    throw new FoghornError('storage_busy', `${what}; it is written with its next report`)
  }

  async observers(key: EventKey): Promise<Observer[]> {
    const { rows, together } = this.#parts
    const range = copiesOf(key)
    const works = partitionsOf(key.fleet).map((partition) => () => rows.list(partition, range))
    const found = (await together(works)).flat().map(({ body }) => JSON.parse(body) as Observer)
    return found.sort((a, b) => (a.beacon.beacon < b.beacon.beacon ? -1 : 1))
  }

  /** What everybody saw of an event that is forgotten. */
  async forgetSightings(key: EventKey): Promise<void> {
    const { rows, together } = this.#parts
    const range = copiesOf(key)
    const works = partitionsOf(key.fleet).map((partition) => async () => {
      const found = (await rows.list(partition, range)).map(({ row }) => row)
      await this.#remove(partition, found)
    })
    await together(works)
  }

  /**
   * Removes at most `limit` beacons that were not heard since and see no open event, the longest
   * silent first. Returns how many it removed.
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
        const known = await this.#held(fleet, beacon)
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
        // its own row after its copies: what was begun is found again until it is done
        const partition = partitionOf(fleet, beacon)
        const copies = known.stored.sightings.map(({ eventId }) => keyOf('seen', eventId, beacon))
        await this.#remove(partition, copies)
        const removal = { kind: 'remove' as const, row: known.row, etag: known.etag }
        if ((await rows.change(partition, [removal])) === 'conflict') return false
        await index.drop([entry])
        return true
      }),
    )
    return outcomes.filter((gone) => gone).length
  }

  /** To the time when the beacon was heard last. */
  async #move({ row, etag, stored }: Held<StoredBeacon>, entry: Found): Promise<void> {
    const { rows, index } = this.#parts
    const { fleet, beacon, heardAt } = stored.beacon
    const heard = index.heardAt(beacon, heardAt)
    await index.add([heard], () => entry.target, heardAt)
    const body = JSON.stringify({ ...stored, heard } satisfies StoredBeacon)
    await rows.change(partitionOf(fleet, beacon), [{ kind: 'replace', row, body, etag }])
    const named = (await this.#held(fleet, beacon))?.stored.heard
    await index.drop([heard, entry].filter((one) => !isSameEntry(named, one)))
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

function toListed(body: string): ListedBeacon {
  const { beacon: own } = JSON.parse(body) as StoredBeacon
  const { beacon, vm, resourceGroup, scaleSet, heardAt, paceMs, sees } = own
  return { beacon, vm, resourceGroup, scaleSet, heardAt, paceMs, seesEvents: sees.length }
}

function partitionOf(fleet: string, beacon: string): string {
  return keyOf('beacons', fleet, shardOf(beacon, shards))
}

function partitionsOf(fleet: string): string[] {
  return Array.from({ length: shards }, (_, shard) => keyOf('beacons', fleet, shard))
}

/** The copies of all sightings of an event, in each partition. */
function copiesOf({ eventId }: EventKey): Range {
  return { from: startOf('seen', eventId), to: endOf('seen', eventId) }
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
  const copies = sightings.map((sighting): Change => {
    const copy = JSON.stringify({ beacon, sighting } satisfies Observer)
    return { kind: 'put', row: keyOf('seen', sighting.eventId, beacon.beacon), body: copy }
  })
  return [insertOrReplace(before, row, body), ...copies]
}

/** As many changes in each as a transaction takes. */
function stepsOf(changes: Change[]): Change[][] {
  const steps: Change[][] = []
  let length = Number.POSITIVE_INFINITY
  for (const change of changes) {
    const own = 'body' in change ? change.body.length : 0
    const last = steps.at(-1)
    if (last === undefined || last.length === maxChanges || length + own > maxStepLength) {
      steps.push([change])
      length = own
    } else {
      last.push(change)
      length += own
    }
  }
  return steps
}

/** The newer sighting of each event, without what was gone long ago. */
function merged(known: Sighting[], changed: Sighting[], beacon: Beacon): Sighting[] {
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
