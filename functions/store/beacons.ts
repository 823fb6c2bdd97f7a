// Beacons, one partition for each fleet.
import { FoghornError } from '../../shared/errors.ts'
import { inSlices } from '../../shared/slices.ts'
import { beaconCount, type Count, total, withFewVersions } from '../core/counts.ts'
import { type Beacon, type ListedBeacon, listedFields } from '../core/event/beacon.ts'
import { shownState } from '../core/event/beacon-state.ts'
import type { Events } from './events.ts'
import { buildKey, eventPartition, findEnd, findStart, justAfter, timeKey } from './keys.ts'
import { dueIn, type Parts, readMany, unlessDamaged } from './parts.ts'
import {
  type Change,
  type Found,
  insertOrReplace,
  isNamed,
  type Key,
  type Row,
  summaryIn,
} from './rows.ts'
import { having } from './shapes.ts'
import type { BeaconKey, BeaconPage, BeaconSearch, BeaconsFound, EventKey } from './store.ts'

const maxWriteAttempts = 20
/** Rows in memory at a time while beacons are listed: a row may have 400 kB. */
const listPageSize = 25
/** Entries of one page, and pages of one search. */
const pageSize = 200
const maxPages = 40
const silentIndex = 'silent'
const heardIndex = 'heard'

/** Version and state of a beacon, as metrics count it. */
type CountedAs = [version: string, state: string]
const isCounted = having({ 0: 'string', 1: 'string' })
/** An entry that is damaged counts as this. */
const unknown: CountedAs = ['', 'heard']

export class Beacons {
  readonly #parts: Parts
  /** The row of each beacon that was read, so that its write need not read it again. */
  readonly #known = new WeakMap<Beacon, Row>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async read(fleet: string, beacon: string): Promise<Beacon | undefined> {
    const row = await this.#row(fleet, beacon)
    if (row === undefined) return undefined
    const stored = toBeacon(row)
    this.#known.set(stored, row)
    return stored
  }

  /** `known`: the beacon as it was read. If its row has changed since, the row is read again. */
  async write(beacon: Beacon, known?: Beacon): Promise<'written' | 'stale'> {
    const { rows, stepAside } = this.#parts
    const { fleet } = beacon
    for (let attempt = 0; attempt < maxWriteAttempts; attempt++) {
      const held = attempt === 0 ? known && this.#known.get(known) : undefined
      const was = held ?? (await this.#row(fleet, beacon.beacon))
      const stored = was && toBeacon(was)
      if (stored !== undefined && !follows(stored, beacon)) return 'stale'
      const keys = buildKeys(beacon, was?.keys)
      const own = insertOrReplace(was, buildRow(beacon.beacon), JSON.stringify(beacon), keys)
      if ((await rows.change(choosePartition(fleet), [own])) !== 'conflict') return 'written'
      await stepAside()
    }
    throw busy(beacon)
  }

  async replace(before: Beacon, after: Beacon): Promise<'written' | 'stale'> {
    const { fleet, beacon } = after
    for (let attempt = 0; attempt < maxWriteAttempts; attempt++) {
      const was = await this.#row(fleet, beacon)
      const stored = was && toBeacon(was)
      if (JSON.stringify(stored) !== JSON.stringify(before)) return 'stale'
      const keys = buildKeys(after, was?.keys)
      const own: Change = { kind: 'replace', was: was!, body: JSON.stringify(after), keys }
      if ((await this.#parts.rows.change(choosePartition(fleet), [own])) !== 'conflict') {
        return 'written'
      }
      await this.#parts.stepAside()
    }
    throw busy(after)
  }

  async count(fleet: string): Promise<number> {
    let count = 0
    for await (const page of this.#entriesOf(fleet)) count += page.length
    return count
  }

  async counts(fleets: readonly string[]): Promise<Count[]> {
    const counts: Count[] = []
    for (const fleet of fleets) {
      const own: Count[] = []
      for await (const page of this.#entriesOf(fleet)) {
        const found = page.map((entry): Count => {
          const [name, state] = summaryIn<CountedAs>(entry, this.#parts.rows, isCounted) ?? unknown
          return { what: 'beacon', fleet, name, state, n: 1 }
        })
        own.push(...total(found))
      }
      counts.push(...withFewVersions(own))
    }
    return counts
  }

  async due(now: number, limit: number): Promise<BeaconKey[]> {
    const { rows } = this.#parts
    const due: { key: BeaconKey; at: number }[] = []
    let from = ''
    for (let page = 0; page < maxPages && due.length < limit; page++) {
      const found = await rows.find(silentIndex, from, timeKey(now + 1), pageSize)
      const read = (row: Row) => {
        const { fleet, beacon, silentAt: at } = toBeacon(row)
        return { key: { fleet, beacon }, at }
      }
      const move = (row: Row) => this.#moveKeys(row, silentIndex)
      due.push(...(await dueIn(this.#parts, found, now, read, move)))
      if (found.length < pageSize) break
      from = justAfter(found.at(-1)!.key)
    }
    const inOrder = due.sort((a, b) => a.at - b.at).map(({ key }) => key)
    return inOrder.slice(0, limit)
  }

  /** Lists beacons, sorted by id. */
  async list(fleet: string, { after, limit }: BeaconPage): Promise<ListedBeacon[]> {
    const listed: ListedBeacon[] = []
    let from = after === undefined ? findStart('beacon') : justAfter(buildRow(after))
    while (listed.length < limit) {
      const size = Math.min(listPageSize, limit - listed.length)
      const page = await this.#parts.rows.list(
        choosePartition(fleet),
        from,
        findEnd('beacon'),
        size,
      )
      listed.push(...page.map((row) => toListed(toBeacon(row))))
      if (page.length < size) break
      from = justAfter(page.at(-1)!.row)
      await this.#parts.pause()
    }
    return listed
  }

  /** Finds beacons by the beginning of the VM's name, sorted by that name. */
  async find({
    fleet,
    prefix = '',
    state,
    now,
    after,
    limit,
  }: BeaconSearch): Promise<BeaconsFound> {
    const { rows } = this.#parts
    const name = buildKey(prefix.toLowerCase())
    if (after !== undefined && !after.startsWith(name)) return { beacons: [] }
    const found: { beacon: ListedBeacon; key: string }[] = []
    let from = after === undefined ? name : justAfter(after)
    let isLast = false
    for (let page = 0; page < maxPages && found.length <= limit && !isLast; page++) {
      const size = state === undefined ? Math.min(pageSize, limit + 1) : pageSize
      const entries = await rows.find(listNames(fleet), from, `${name}~`, size)
      isLast = entries.length < size
      from = justAfter(entries.at(-1)?.key ?? from)
      const wanted = entries.filter((entry) => mayBe(state, entry))
      const isShown = (one: ListedBeacon) => state === undefined || shownState(one, now) === state
      for (let i = 0; i < wanted.length && found.length <= limit; i += limit + 1) {
        const read = await this.#listedAt(wanted.slice(i, i + limit + 1))
        found.push(...read.filter(({ beacon }) => isShown(beacon)))
        await this.#parts.pause()
      }
    }
    const shown = found.slice(0, limit)
    const next = found.length > limit ? shown.at(-1)!.key : isLast ? undefined : findLast(from)
    return { beacons: shown.map(({ beacon }) => beacon), ...(next !== undefined && { next }) }
  }

  /** Reads the beacons of these entries. Leaves out entries that no row names. */
  async #listedAt(entries: Found[]): Promise<{ beacon: ListedBeacon; key: string }[]> {
    const read = await readMany(this.#parts, entries)
    return entries.flatMap((entry, i) => {
      const row = read[i]
      return isNamed(entry, row) ? [{ beacon: toListed(toBeacon(row)), key: entry.key }] : []
    })
  }

  /**
   * Removes beacons that were last heard before a time and see no open event, at most `limit`, the
   * longest silent first. Returns how many it removed.
   */
  async forget(
    before: number,
    limit: number,
    events: Pick<Events, 'openPartitions'>,
  ): Promise<number> {
    const { rows, together, pause } = this.#parts
    const found = await rows.find(heardIndex, '', timeKey(before), limit)
    const open = new Map<string, Promise<Set<string>>>()
    const isOpen = async (key: EventKey) => {
      const ofFleet = open.get(key.fleet) ?? events.openPartitions(key.fleet)
      open.set(key.fleet, ofFleet)
      return (await ofFleet).has(eventPartition(key))
    }
    const gone = await inSlices(found, pause, async (slice) =>
      together(slice.map((entry) => () => this.#forgetOne(entry, before, isOpen))),
    )
    return gone.filter((isGone) => isGone).length
  }

  async #forgetOne(
    entry: Found,
    before: number,
    isOpen: (key: EventKey) => Promise<boolean>,
  ): Promise<boolean> {
    const { rows } = this.#parts
    const row = await unlessDamaged(() => rows.read(entry.partition, entry.row))
    if (!isNamed(entry, row)) {
      await rows.tidy([entry], before)
      return false
    }
    const beacon = toBeacon(row)
    if (beacon.heardAt >= before) {
      await this.#moveKeys(row, heardIndex)
      return false
    }
    for (const eventId of beacon.sees) {
      if (await isOpen({ fleet: beacon.fleet, eventId })) return false
    }
    return (await rows.change(row.partition, [{ kind: 'remove', was: row }])) !== 'conflict'
  }

  /** Corrects the time in a key. After a conflict, the other write or the next look corrects it. */
  async #moveKeys(row: Row, index: string): Promise<void> {
    const others = row.keys.filter((one) => one.index !== index)
    const keys = buildKeys(toBeacon(row), others)
    await this.#parts.rows.change(row.partition, [
      { kind: 'replace', was: row, body: row.body, keys },
    ])
  }

  async *#entriesOf(fleet: string): AsyncGenerator<Found[]> {
    let from = ''
    for (;;) {
      const page = await this.#parts.rows.find(listNames(fleet), from, '~', 1_000)
      yield page
      if (page.length < 1_000) return
      from = justAfter(page.at(-1)!.key)
    }
  }

  /** A row that is damaged counts as missing, and is written anew. */
  #row(fleet: string, beacon: string): Promise<Row | undefined> {
    const { rows } = this.#parts
    return unlessDamaged(() => rows.read(choosePartition(fleet), buildRow(beacon)))
  }
}

/**
 * Whether a beacon may have this state. An entry has the state when the beacon was counted. If the beacon
 * was heard then, it may have another state now.
 */
function mayBe(state: BeaconSearch['state'], entry: Found): boolean {
  const [, counted] = summaryIn<CountedAs>(entry, undefined, isCounted) ?? unknown
  return state === undefined || state === counted || state === 'heard'
}

function choosePartition(fleet: string): string {
  return buildKey('beacons', fleet)
}

function listNames(fleet: string): string {
  return buildKey('vms', fleet)
}

function buildRow(beacon: string): string {
  return buildKey('beacon', beacon)
}

/** The key that a search reached. */
function findLast(from: string): string {
  return from.replace(/\|~$/, '')
}

function toBeacon({ body }: Row): Beacon {
  return JSON.parse(body)
}

/** `before`: those of the row until now. A time may be too early, so it moves only if it must. */
function buildKeys(beacon: Beacon, before: readonly Key[] = []): Key[] {
  const { fleet, beacon: id, vm, heardAt, silentAt } = beacon
  const notLater = (index: string, at: number): Key => {
    const key = buildKey(timeKey(at), fleet, id)
    const old = before.find((one) => one.index === index)
    return old !== undefined && old.key <= key ? old : { index, key }
  }
  const { name, state } = beaconCount(beacon)
  const summary = JSON.stringify([name, state] satisfies CountedAs)
  const keys = [
    { index: listNames(fleet), key: buildKey(vm.toLowerCase(), id), summary },
    notLater(heardIndex, heardAt),
  ]
  return silentAt === undefined ? keys : [...keys, notLater(silentIndex, silentAt)]
}

/** Whether the second was sent after the known one. */
function follows(known: Beacon, { bootId, counter }: Beacon): boolean {
  if (known.bootId === bootId) return known.counter < counter
  return !known.retiredBootIds.includes(bootId)
}

function toListed(beacon: Beacon): ListedBeacon {
  const listed = listedFields.flatMap((field) =>
    beacon[field] === undefined ? [] : [[field, beacon[field]]],
  )
  return { ...(Object.fromEntries(listed) as ListedBeacon), seesEvents: beacon.sees.length }
}

function busy({ fleet, beacon }: Beacon): FoghornError {
  const what = `too many workers write beacon "${beacon}" of fleet "${fleet}" at once`
  return new FoghornError('storage_busy', `${what}; its next report writes it`)
}
