// Beacons and their sightings, in a few partitions for each fleet. A beacon's row contains its
// sightings, so one write changes both. Each sighting also has a copy in a row named by the event,
// so an event's observers are found without reading every beacon.
import { FoghornError } from '../../../shared/errors.ts'
import type { Beacon, Observer, Sighting } from '../../core/event/observer.ts'
import type { BeaconKey, EventKey } from '../store.ts'
import { beaconPartitions, readBeaconCounts, recount } from './beacon-counts.ts'
import { BeaconForgetting } from './beacon-forget.ts'
import { BeaconLists } from './beacon-lists.ts'
import { BeaconNames } from './beacon-names.ts'
import {
  changesOf,
  follows,
  merged,
  partitionOf,
  readHeldBeacon,
  removeRows,
  replaceRow,
  type StoredBeacon,
} from './beacon-row.ts'
import { endOf, startOf } from './keys.ts'
import type { Parts } from './parts.ts'
import { type Change, maxChanges, type Range } from './rows.ts'
import { Silences } from './silences.ts'
import { stepsOf } from './steps.ts'
import { type Held, isSameEntry } from './stored.ts'
import type { Entry } from './time-index.ts'

const maxWriteAttempts = 20

export class Beacons {
  readonly #parts: Parts
  readonly #silences: Silences
  readonly #names: BeaconNames
  readonly #forgetting: BeaconForgetting
  readonly lists: BeaconLists
  /** The row of each beacon that was read, so that its write need not read it again. */
  readonly #known = new WeakMap<Beacon, Held<StoredBeacon>>()

  constructor(parts: Parts) {
    this.#parts = parts
    this.#names = new BeaconNames(parts)
    this.#forgetting = new BeaconForgetting(parts, this.#names)
    this.lists = new BeaconLists(parts, this.#names)
    this.#silences = new Silences(parts, async ({ fleet, beacon }) =>
      this.readBeacon(fleet, beacon),
    )
  }

  async readBeacon(fleet: string, beacon: string): Promise<Beacon | undefined> {
    const row = await readHeldBeacon(this.#parts, fleet, beacon)
    if (row !== undefined) this.#known.set(row.stored.beacon, row)
    return row?.stored.beacon
  }

  async sightings(
    fleet: string,
    beacon: string,
    eventIds: string[],
    known: Beacon | undefined,
  ): Promise<Sighting[]> {
    if (eventIds.length === 0) return []
    const row = this.#knownRow(known) ?? (await readHeldBeacon(this.#parts, fleet, beacon))
    return (row?.stored.sightings ?? []).filter(({ eventId }) => eventIds.includes(eventId))
  }

  async count(fleet: string): Promise<number> {
    const counts = await readBeaconCounts(this.#parts, [fleet])
    return counts.reduce((sum, { n }) => sum + n, 0)
  }

  due(now: number, limit: number): Promise<BeaconKey[]> {
    return this.#silences.due(now, limit)
  }

  async replace(before: Beacon, after: Beacon): Promise<'written' | 'stale'> {
    const { fleet, beacon } = after
    for (let attempt = 0; attempt < maxWriteAttempts; attempt++) {
      const known = await readHeldBeacon(this.#parts, fleet, beacon)
      const stored = known && JSON.stringify(known.stored.beacon)
      // if the answer to a write is lost, the client writes again and conflicts with its own row
      if (attempt > 0 && stored === JSON.stringify(after)) return 'written'
      if (known === undefined || stored !== JSON.stringify(before)) return 'stale'
      await this.#silences.expect(before, after, after.silentAt ?? before.heardAt)
      const next = { ...known.stored, beacon: after }
      if (await replaceRow(this.#parts, known, next, after)) return 'written'
      await this.#parts.stepAside()
    }
    throw busy(after)
  }

  /** `known`: the beacon as it was read. If its row has changed since, the row is read again. */
  async write(beacon: Beacon, sightings: Sighting[], known?: Beacon): Promise<'written' | 'stale'> {
    const { rows, index, newId, stepAside } = this.#parts
    const { fleet, heardAt } = beacon
    const partition = partitionOf(fleet, beacon.beacon)
    const write = newId()
    let added: Entry | undefined
    for (let attempt = 0; attempt < maxWriteAttempts; attempt++) {
      const held = attempt === 0 ? this.#knownRow(known) : undefined
      const before = held ?? (await readHeldBeacon(this.#parts, fleet, beacon.beacon))
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
      await this.#silences.expect(before?.stored.beacon, beacon, heardAt)
      const all = merged(before?.stored.sightings ?? [], sightings, beacon)
      const heard = before?.stored.heard ?? added!
      const { counted } = before?.stored ?? {}
      const moved = isOurs
        ? undefined
        : await recount(this.#parts, partition, beacon.beacon, counted, beacon)
      const as = moved === undefined ? counted : moved.as
      const stored = { beacon, sightings: all, heard, write, ...(as && { counted: as }) }
      const changes = changesOf(before, stored, moved?.change)
      await this.#names.keep(before?.stored.beacon, beacon)
      // the first step contains the beacon's own row, so a late writer writes no copies either
      const [first = [], ...copies] = stepsOf(changes, lengthOf, maxChanges)
      if (isOurs || (await rows.change(partition, first)) !== 'conflict') {
        for (const step of copies) await rows.change(partition, step)
        return 'written'
      }
      await stepAside()
    }
    throw busy(beacon)
  }

  async observers(key: EventKey): Promise<Observer[]> {
    const { rows, together } = this.#parts
    const range = copiesOf(key)
    const works = beaconPartitions(key.fleet).map((partition) => () => rows.list(partition, range))
    const found = (await together(works)).flat().map(({ body }) => JSON.parse(body) as Observer)
    return found.sort((a, b) => (a.beacon.beacon < b.beacon.beacon ? -1 : 1))
  }

  /** Removes the copies of all sightings of an event. */
  async forgetSightings(key: EventKey): Promise<void> {
    const { rows, together } = this.#parts
    const range = copiesOf(key)
    const works = beaconPartitions(key.fleet).map((partition) => async () => {
      const found = (await rows.list(partition, range)).map(({ row }) => row)
      await removeRows(this.#parts, partition, found)
    })
    await together(works)
  }

  /** As `Store.forget` removes beacons. Returns how many it removed. */
  forget(
    before: number,
    limit: number,
    isOpen: (key: EventKey) => Promise<boolean>,
  ): Promise<number> {
    return this.#forgetting.forget(before, limit, isOpen)
  }

  #knownRow(known: Beacon | undefined): Held<StoredBeacon> | undefined {
    return known && this.#known.get(known)
  }
}

/** The rows of an event's sightings within one partition. */
function copiesOf({ eventId }: EventKey): Range {
  return { from: startOf('seen', eventId), to: endOf('seen', eventId) }
}

function busy({ fleet, beacon }: Beacon): FoghornError {
  const what = `too many workers write beacon "${beacon}" of fleet "${fleet}" at once`
  return new FoghornError('storage_busy', `${what}; its next report writes it`)
}

function lengthOf(change: Change): number {
  return 'body' in change ? change.body.length : 0
}
