// Beacons and their sightings as rows of SQLite. A report costs two rows and, as a rule, no entry of an
// index. The surprise: `due_at` may be too early. It moves only when the beacon is looked at, so that a
// report need not move it.

import type { Beacon, Observer, Sighting } from '../../core/event/observer.ts'
import { beaconCount } from '../../core/metrics/tally.ts'
import type { ListedBeacon } from '../listed-beacon.ts'
import type { BeaconKey, BeaconPage, EventKey } from '../store.ts'
import { Kept, type KeptLimits } from './kept.ts'
import { parse } from './rows.ts'
import { sql } from './sql.ts'
import type { Statements } from './statements.ts'
import { changeCount } from './tally.ts'

const dayMs = 86_400_000
/** How many due rows one look reads, and how many looks one call makes. */
const maxMoved = 500
const maxLooks = 20
/** Events whose observers are known. */
const maxCrowds = 1_024

interface BeaconRow {
  beacon: Beacon
  /** At or before `silentAt`. */
  dueAt: number | null
}

export class Beacons {
  readonly #statements: Statements
  readonly #rows: Kept<BeaconRow>
  readonly #sightings: Kept<Sighting>
  /** The ids of all beacons that saw an event, sorted. */
  readonly #crowds: Kept<string[]>
  readonly #isAlone: boolean
  /** No beacon is due before this time. Known only if this process is alone on the file. */
  #noneDueBefore = Number.NEGATIVE_INFINITY

  constructor(statements: Statements, limits: KeptLimits) {
    const { rows, characters } = limits
    this.#statements = statements
    this.#isAlone = rows > 0
    this.#rows = new Kept(limits)
    this.#sightings = new Kept({ rows: rows * 2, characters })
    this.#crowds = new Kept({ rows: Math.min(rows, maxCrowds), characters })
  }

  /** Call this after a transaction was undone: the kept rows may contain its changes. */
  forgetKept(): void {
    this.#rows.clear()
    this.#sightings.clear()
    this.#crowds.clear()
    this.#noneDueBefore = Number.NEGATIVE_INFINITY
  }

  read(fleet: string, beacon: string): Beacon | undefined {
    return this.#row(fleet, beacon)?.beacon
  }

  list(fleet: string, { after = '', limit }: BeaconPage): ListedBeacon[] {
    return this.#statements.all(sql.listBeacons, fleet, after, limit).map((row) => ({
      ...withoutNulls(parse<ListedBeacon>(row.listed)),
      seesEvents: Number(row.sees_events),
    }))
  }

  sightings(fleet: string, beacon: string, eventIds: string[]): Sighting[] {
    return eventIds.flatMap((eventId) => this.#sighting(fleet, eventId, beacon) ?? [])
  }

  observers(key: EventKey): Observer[] {
    const { fleet, eventId } = key
    const name = nameOf(fleet, eventId)
    let crowd = this.#crowds.get(name)
    if (crowd === undefined) {
      const rows = this.#statements.all(sql.readCrowd, fleet, eventId)
      crowd = rows.map((row) => String(row.beacon)).sort()
      this.#crowds.set(name, crowd, lengthOf(crowd))
    }
    return crowd.flatMap((id) => {
      const row = this.#row(fleet, id)
      const sighting = row && this.#sighting(fleet, eventId, id)
      return row && sighting ? { beacon: row.beacon, sighting } : []
    })
  }

  /** Call this within a transaction, and so the other ones that write. */
  write(beacon: Beacon, sightings: Sighting[]): 'written' | 'stale' {
    const { fleet } = beacon
    const before = this.#row(fleet, beacon.beacon)
    if (before !== undefined && isStale(before.beacon, beacon)) return 'stale'
    this.#put(before, beacon)
    for (const sighting of sightings) {
      const { eventId, beacon: id } = sighting
      const body = JSON.stringify(sighting)
      this.#statements.run(sql.writeSighting, fleet, eventId, id, body)
      this.#sightings.set(nameOf(fleet, eventId, id), sighting, body.length)
      const crowd = this.#crowds.get(nameOf(fleet, eventId))
      if (crowd !== undefined) addSorted(crowd, id)
    }
    return 'written'
  }

  replace(before: Beacon, after: Beacon): 'written' | 'stale' {
    const row = this.#row(after.fleet, after.beacon)
    if (row === undefined) return 'stale'
    const isSame = row.beacon === before || JSON.stringify(row.beacon) === JSON.stringify(before)
    if (!isSame) return 'stale'
    this.#put(row, after)
    return 'written'
  }

  /** False: call `findDue` within a transaction. */
  noneDue(now: number): boolean {
    return this.#isAlone && now < this.#noneDueBefore
  }

  findDue(now: number, limit: number): BeaconKey[] {
    for (let look = 0; look < maxLooks; look++) {
      const early = this.#statements.all(sql.earlyBeacons, now, maxMoved)
      for (const row of early) this.#move(String(row.fleet), String(row.beacon), row.silent_at)
      if (early.length < maxMoved) break
    }
    const due = this.#statements.all(sql.dueBeacons, now, limit)
    const next = due.length > 0 ? now : this.#statements.get(sql.nextDueBeacon)?.at
    this.#noneDueBefore = typeof next === 'number' ? next : Number.POSITIVE_INFINITY
    return due.map((row) => ({ fleet: String(row.fleet), beacon: String(row.beacon) }))
  }

  /** Removes beacons that were not heard since a time. Returns how many. */
  forget(unheardSince: number, limit: number): number {
    const day = Math.floor(unheardSince / dayMs)
    const rows = this.#statements.all(sql.unheardBeacons, day, unheardSince, limit)
    for (const { body } of rows) {
      const { fleet, beacon, vm, ...rest } = parse<Beacon>(body)
      this.#statements.run(sql.forgetBeacon, fleet, beacon)
      this.#statements.run(sql.dropBeaconName, fleet, vm.toLowerCase(), beacon)
      changeCount(this.#statements, beaconCount({ fleet, beacon, vm, ...rest }), -1)
    }
    if (rows.length > 0) this.forgetKept()
    return rows.length
  }

  forgetSightings(fleet: string, eventId: string): void {
    this.#statements.run(sql.forgetSightings, fleet, eventId)
    this.#sightings.clear()
    this.#crowds.delete(nameOf(fleet, eventId))
  }

  #row(fleet: string, id: string): BeaconRow | undefined {
    const name = nameOf(fleet, id)
    const kept = this.#rows.get(name)
    if (kept !== undefined) return kept
    const found = this.#statements.get(sql.readBeacon, fleet, id)
    if (found === undefined) return undefined
    const dueAt = typeof found.due_at === 'number' ? found.due_at : null
    const row = { beacon: parse<Beacon>(found.body), dueAt }
    this.#rows.set(name, row, String(found.body).length)
    return row
  }

  #sighting(fleet: string, eventId: string, beacon: string): Sighting | undefined {
    const name = nameOf(fleet, eventId, beacon)
    const kept = this.#sightings.get(name)
    if (kept !== undefined) return kept
    const row = this.#statements.get(sql.readSighting, fleet, eventId, beacon)
    if (row === undefined) return undefined
    const sighting = parse<Sighting>(row.body)
    this.#sightings.set(name, sighting, String(row.body).length)
    return sighting
  }

  /** Writes only what changes: an entry of an index costs as much as the row. */
  #put(before: BeaconRow | undefined, beacon: Beacon): void {
    const { fleet, beacon: id, heardAt, silentAt = null } = beacon
    const body = JSON.stringify(beacon)
    const [day, mark] = [dayOf(beacon), markOf(beacon)]
    const isEarly = isAtOrBefore(before?.dueAt ?? null, silentAt)
    const dueAt = isEarly ? before!.dueAt : silentAt
    const isUsual =
      before?.dueAt === dueAt && dayOf(before.beacon) === day && markOf(before.beacon) === mark
    if (isUsual) this.#statements.run(sql.updateBeacon, heardAt, silentAt, body, fleet, id)
    else {
      const values = [fleet, id, heardAt, day, silentAt, dueAt, mark, body]
      this.#statements.run(sql.putBeacon, ...values)
    }
    if (dueAt !== null) this.#noneDueBefore = Math.min(this.#noneDueBefore, dueAt)
    this.#rename(before?.beacon, beacon)
    const [from, to] = [before && beaconCount(before.beacon), beaconCount(beacon)]
    if (from?.one !== to.one || from.two !== to.two) {
      if (from !== undefined) changeCount(this.#statements, from, -1)
      changeCount(this.#statements, to, 1)
    }
    this.#rows.set(nameOf(fleet, id), { beacon, dueAt }, body.length)
  }

  #rename(before: Beacon | undefined, { fleet, beacon, vm }: Beacon): void {
    const [from, to] = [before?.vm.toLowerCase(), vm.toLowerCase()]
    if (from === to) return
    if (from !== undefined) this.#statements.run(sql.dropBeaconName, fleet, from, beacon)
    this.#statements.run(sql.addBeaconName, fleet, to, beacon)
  }

  #move(fleet: string, id: string, silentAt: unknown): void {
    this.#statements.run(sql.moveBeacon, Number(silentAt), fleet, id)
    this.#rows.delete(nameOf(fleet, id))
  }
}

function isStale(known: Beacon, { bootId, counter }: Beacon): boolean {
  return known.bootId === bootId ? counter <= known.counter : known.retiredBootIds.includes(bootId)
}

/** Forgetting looks at days, so that a row changes its index once a day. */
function dayOf({ heardAt }: Beacon): number {
  return Math.floor(heardAt / dayMs)
}

/** Few beacons have a mark, so a search for one reads no others. */
function markOf({ left, silence }: Beacon): 'left' | 'silent' | null {
  if (left !== undefined) return 'left'
  return silence === undefined ? null : 'silent'
}

function isAtOrBefore(one: number | null, other: number | null): boolean {
  return one !== null && other !== null && one <= other
}

function nameOf(...parts: string[]): string {
  return parts.join('\n')
}

function lengthOf(ids: string[]): number {
  return ids.reduce((sum, id) => sum + id.length, 0)
}

function addSorted(sorted: string[], id: string): void {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! < id) low = middle + 1
    else high = middle
  }
  if (sorted[low] !== id) sorted.splice(low, 0, id)
}

function withoutNulls<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== null)) as T
}
