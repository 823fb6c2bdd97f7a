// Beacons and their sightings, in a few partitions for each fleet. A beacon's row contains its
// sightings, so one write changes both. Each sighting also has a copy in a row named by the event,
// so an event's observers are found without reading every beacon.
import { FoghornError } from '../../../shared/errors.ts'
import type { Beacon, Observer, Sighting } from '../../core/event/observer.ts'
import { shownState } from '../../core/event/silence.ts'
import type { BeaconSearch, BeaconsFound } from '../browse.ts'
import { type ListedBeacon, listedFields } from '../listed-beacon.ts'
import type { BeaconKey, BeaconPage, EventKey } from '../store.ts'
import { beaconPartitions, type CountedAs, recount } from './beacon-counts.ts'
import { BeaconNames } from './beacon-names.ts'
import { type Entry, type Found, partitions, shards, timeOf } from './index.ts'
import { endOf, keyOf, shardOf, startOf, timeKey } from './keys.ts'
import type { Parts } from './parts.ts'
import { type Change, insertOrReplace, maxChanges, type Range } from './rows.ts'
import { Silences } from './silences.ts'
import { type Held, held, isSameEntry } from './stored.ts'

const maxWriteAttempts = 20
/** Rows in memory at a time while beacons are listed. A row may have 1 MB. */
const listPageSize = 25
/** Characters of one transaction: stays below 4 MiB even if each character takes three bytes. */
const maxStepLength = 1_000_000
/** Limits of a beacon's row. Beyond them, the sightings that were gone first are dropped. */
const maxSightings = 400
const maxSightingsLength = 400_000
/** An event that is gone this long is over: Azure announces events at most 7 days ahead. */
const goneMs = 8 * 86_400_000

interface StoredBeacon {
  beacon: Beacon
  sightings: Sighting[]
  /** The index entry that finds silent beacons. */
  heard: Entry
  /** Its place in the counts. Absent in rows of older relays, until their next write. */
  counted?: CountedAs | undefined
  /** Identifies this write: if its answer is lost, the next attempt recognizes it. */
  write: string
}

export class Beacons {
  readonly #parts: Parts
  readonly #silences: Silences
  readonly #names: BeaconNames

  constructor(parts: Parts) {
    this.#parts = parts
    this.#names = new BeaconNames(parts)
    this.#silences = new Silences(parts, async ({ fleet, beacon }) =>
      this.readBeacon(fleet, beacon),
    )
  }

  async readBeacon(fleet: string, beacon: string): Promise<Beacon | undefined> {
    return (await this.read(fleet, beacon))?.beacon
  }

  due(now: number, limit: number): Promise<BeaconKey[]> {
    return this.#silences.due(now, limit)
  }

  async replace(before: Beacon, after: Beacon): Promise<'written' | 'stale'> {
    const { fleet, beacon } = after
    for (let attempt = 0; attempt < maxWriteAttempts; attempt++) {
      const known = await this.#held(fleet, beacon)
      const stored = known && JSON.stringify(known.stored.beacon)
      // if the answer to a write is lost, the client writes again and conflicts with its own row
      if (attempt > 0 && stored === JSON.stringify(after)) return 'written'
      if (known === undefined || stored !== JSON.stringify(before)) return 'stale'
      await this.#silences.expect(before, after, after.silentAt ?? before.heardAt)
      if (await this.#replaceRow(known, { ...known.stored, beacon: after }, after)) return 'written'
      await this.#parts.stepAside()
    }
    throw busy(after)
  }

  /** Replaces one row, and its place in the counts. `as`: undefined if it is removed. */
  async #replaceRow(
    { row, etag, stored: { counted } }: Held<StoredBeacon>,
    stored: StoredBeacon,
    as: Beacon | undefined,
  ): Promise<boolean> {
    const { fleet, beacon } = stored.beacon
    const partition = partitionOf(fleet, beacon)
    const moved = await recount(this.#parts, partition, beacon, counted, as)
    const body = JSON.stringify(moved === undefined ? stored : { ...stored, counted: moved.as })
    const replacement = { kind: 'replace' as const, row, body, etag }
    const changes = [replacement, ...(moved === undefined ? [] : [moved.change])]
    return (await this.#parts.rows.change(partition, changes)) === 'changed'
  }

  async read(fleet: string, beacon: string): Promise<StoredBeacon | undefined> {
    return (await this.#held(fleet, beacon))?.stored
  }

  /** By the name of the VM, or page by page. Each beacon that is found by its name is one call. */
  async find(search: BeaconSearch): Promise<BeaconsFound> {
    const { fleet, prefix = '', state, now, after } = search
    const isWanted = (one: ListedBeacon) => state === undefined || shownState(one, now) === state
    if (prefix === '') {
      const limit = Math.min(search.limit, listPageSize - 1)
      const page = { limit: limit + 1, ...(after === undefined ? {} : { after }) }
      const found = await this.list(fleet, page)
      const shown = found.slice(0, limit)
      const next = found.length > limit ? { next: shown.at(-1)!.beacon } : {}
      return { beacons: shown.filter(isWanted), ...next }
    }
    const { ids, next } = await this.#names.find(fleet, prefix, after, search.limit)
    const reads = ids.map((beacon) => async () => {
      const row = await this.#held(fleet, beacon)
      return row === undefined ? [] : [listedOf(row.stored.beacon)]
    })
    const beacons = (await this.#parts.together(reads)).flat().filter(isWanted)
    return { beacons, ...(next === undefined ? {} : { next }) }
  }

  async list(fleet: string, { after, limit }: BeaconPage): Promise<ListedBeacon[]> {
    const from = after === undefined ? startOf('beacon') : `${keyOf('beacon', after)} `
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
      const [first = [], ...copies] = stepsOf(changes)
      if (isOurs || (await rows.change(partition, first)) === 'changed') {
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
      await this.#remove(partition, found)
    })
    await together(works)
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
        // its own row last: after a crash, the next call finds the beacon again
        const partition = partitionOf(fleet, beacon)
        const copies = known.stored.sightings.map(({ eventId }) => keyOf('seen', eventId, beacon))
        await this.#remove(partition, copies)
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
    if (!(await this.#replaceRow(known, stored, undefined))) return undefined
    const { fleet, beacon } = stored.beacon
    const now = await this.#held(fleet, beacon)
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
    const named = (await this.#held(fleet, beacon))?.stored.heard
    await index.drop([heard, entry].filter((one) => !isSameEntry(named, one)))
  }

  /** One call for each row: if a row is missing, the others are still removed. */
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
  return listedOf((JSON.parse(body) as StoredBeacon).beacon)
}

function listedOf(own: Beacon): ListedBeacon {
  const shown = listedFields.flatMap((field) =>
    own[field] === undefined ? [] : [[field, own[field]]],
  )
  return { ...Object.fromEntries(shown), seesEvents: own.sees.length } as ListedBeacon
}

function partitionOf(fleet: string, beacon: string): string {
  return keyOf('beacons', fleet, shardOf(beacon, shards))
}

/** The rows of an event's sightings within one partition. */
function copiesOf({ eventId }: EventKey): Range {
  return { from: startOf('seen', eventId), to: endOf('seen', eventId) }
}

/** Whether the second was sent after the known one. */
function follows(known: Beacon, { bootId, counter }: Beacon): boolean {
  if (known.bootId === bootId) return known.counter < counter
  return !known.retiredBootIds.includes(bootId)
}

function changesOf(
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

function busy({ fleet, beacon }: Beacon): FoghornError {
  const what = `too many workers write beacon "${beacon}" of fleet "${fleet}" at once`
  return new FoghornError('storage_busy', `${what}; its next report writes it`)
}

/** Splits changes into steps that each fit into one transaction. */
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

/** The newer sighting of each event, without events that were gone long ago. */
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
