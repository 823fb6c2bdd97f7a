// The store on `node:sqlite`: one file, one process. Durable before a commit returns
// (`synchronous=FULL`); leases left by a process that died are freed when the next one opens the file.
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { FoghornError } from '../../shared/errors.ts'
import type { Claimed, Delivery, DeliveryState, Settlement } from '../core/delivery.ts'
import type { Beacon, EventRecord, Observer, Sighting } from '../core/event.ts'
import { schema, sql } from './sql.ts'
import type { ClaimRequest, Commit, EventKey, Replay, Store } from './store.ts'

/**
 * Keeps a second relay off the folder, by a lock of the operating system that ends with the process.
 * Throws FoghornError `data_in_use`. Returns what gives the lock up.
 */
export function lockFolder(folder: string): () => void {
  const lock = new DatabaseSync(join(folder, 'lock.sqlite'))
  try {
    lock.exec('PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if (!(error instanceof Error && error.message.includes('locked'))) throw error
    const remedy = 'stop it, or give this one a folder of its own with FOGHORN_DATA'
    throw new FoghornError('data_in_use', `another relay works in "${folder}"; ${remedy}`)
  }
  return () => lock.close()
}

export class SqliteStore implements Store {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  readonly #random: () => string
  readonly #soon: (flush: () => void) => void
  readonly #waiting: Waiting[] = []

  /**
   * `random` names leases: different at every call. `soon` says when writes go to the disk: those that
   * come before share one transaction, and so one wait. Without it each goes at once.
   */
  constructor(path: string, random: () => string, soon = (flush: () => void): void => flush()) {
    this.#random = random
    this.#soon = soon
    this.#db = new DatabaseSync(path)
    this.#db.exec('PRAGMA busy_timeout=5000; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL')
    this.#db.exec(schema)
  }

  /** For a host that is alone on the file: what its predecessor had under way is due again. */
  freeLeases(): void {
    this.#run(sql.freeLeases)
  }

  close(): void {
    this.#db.close()
  }

  async readEvent({ fleet, eventId }: EventKey): Promise<EventRecord | undefined> {
    const row = this.#get(sql.readEvent, fleet, eventId)
    return row === undefined ? undefined : parse<EventRecord>(row.body)
  }

  async commit({ record, basedOn, deliveries, supersede }: Commit) {
    return this.#write(() => {
      const { fleet, eventId, sequence, firstSeenAt } = record
      const rest = [record.dueAt ?? null, record.ended?.at ?? null, JSON.stringify(record)]
      const written =
        basedOn === 0
          ? this.#run(sql.insertEvent, fleet, eventId, sequence, firstSeenAt, ...rest)
          : this.#run(sql.updateEvent, sequence, ...rest, fleet, eventId, basedOn)
      if (written === 0) return 'conflict'
      this.#insert(deliveries)
      for (const id of supersede) this.#run(sql.supersede, id)
      return 'committed'
    })
  }

  async readObservers({ fleet, eventId }: EventKey): Promise<Observer[]> {
    return this.#all(sql.readObservers, fleet, eventId).map((row) => ({
      beacon: parse<Beacon>(row.beacon),
      sighting: parse<Sighting>(row.sighting),
    }))
  }

  async readBeacon(fleet: string, beacon: string): Promise<Beacon | undefined> {
    const row = this.#get(sql.readBeacon, fleet, beacon)
    return row === undefined ? undefined : parse<Beacon>(row.body)
  }

  async readSightings(fleet: string, beacon: string, eventIds: string[]): Promise<Sighting[]> {
    return eventIds.flatMap((eventId) => {
      const row = this.#get(sql.readSighting, fleet, eventId, beacon)
      return row === undefined ? [] : [parse<Sighting>(row.body)]
    })
  }

  async writeBeacon(beacon: Beacon, sightings: Sighting[]) {
    return this.#write(() => {
      const { fleet, bootId, counter, heardAt } = beacon
      const retired = JSON.stringify(beacon.retiredBootIds)
      const body = JSON.stringify(beacon)
      const values = [fleet, beacon.beacon, bootId, counter, heardAt, retired, body]
      if (this.#run(sql.writeBeacon, ...values) === 0) return 'stale'
      for (const sighting of sightings) {
        const text = JSON.stringify(sighting)
        this.#run(sql.writeSighting, fleet, sighting.eventId, sighting.beacon, text)
      }
      return 'written'
    })
  }

  async dueEvents(now: number, limit: number): Promise<EventKey[]> {
    return this.#all(sql.dueEvents, now, limit).map((row) => ({
      fleet: String(row.fleet),
      eventId: String(row.event_id),
    }))
  }

  async claim(request: ClaimRequest): Promise<Claimed[]> {
    const { now, leaseMs, limit, except, perChannel = limit } = request
    const lease = this.#random()
    const leaseUntil = now + leaseMs
    const due = [now, now, JSON.stringify(except), perChannel, limit]
    const rows = await this.#write(() => this.#all(sql.claim, lease, leaseUntil, ...due))
    const claimed = rows.map((row) => ({ ...toDelivery(row), lease, leaseUntil }))
    return claimed.sort((a, b) => a.nextAt - b.nextAt || a.seq - b.seq)
  }

  async settle(claimed: Claimed, settlement: Settlement, now: number, follow: Delivery[]) {
    return this.#write(() => {
      const { state, nextAt, note } = settlement
      const settled = this.#run(sql.settle, state, nextAt, note, claimed.id, claimed.lease, now)
      if (settled === 0) return 'lost'
      this.#insert(follow)
      return 'settled'
    })
  }

  async readDeliveries({ fleet, eventId }: EventKey): Promise<Delivery[]> {
    return this.#all(sql.readDeliveries, fleet, eventId).map(toDelivery)
  }

  async replay(which: Replay, now: number, limit: number): Promise<number> {
    if ('id' in which) return this.#write(() => this.#run(sql.replayOne, now, which.id))
    const { since, channel = null } = which
    return this.#write(() => this.#run(sql.replaySince, now, since, channel, channel, limit))
  }

  async forget(before: number, limit: number): Promise<number> {
    return this.#write(() => {
      const ended = this.#all(sql.endedBefore, before, limit)
      for (const { fleet, event_id } of ended) {
        const key = [String(fleet), String(event_id)]
        this.#run(sql.forgetDeliveries, ...key)
        this.#run(sql.forgetSightings, ...key)
        this.#run(sql.forgetEvent, ...key)
      }
      return ended.length + this.#run(sql.forgetBeacons, before, limit)
    })
  }

  async listEvents(page: { fleet?: string; before?: number; limit: number }) {
    const { fleet = null, before = Number.MAX_SAFE_INTEGER, limit } = page
    const matching = [fleet, fleet, before]
    const rows = this.#all(sql.listEvents, ...matching, ...matching, limit - 1)
    return rows.map((row) => parse<EventRecord>(row.body))
  }

  async nextDueAt(except: string[]): Promise<number | undefined> {
    const at = this.#get(sql.nextDueAt, JSON.stringify(except))?.at
    return typeof at === 'number' ? at : undefined
  }

  #insert(deliveries: Delivery[]): void {
    for (const d of deliveries) {
      const { id, fleet, eventId, channel, seq, state, attempts, nextAt, note } = d
      const { createdAt, urgentUntil, telling } = d
      const body = JSON.stringify({ createdAt, urgentUntil, telling })
      const whose = [id, fleet, eventId, channel, seq, createdAt]
      this.#run(sql.insertDelivery, ...whose, state, attempts, nextAt, note, body)
    }
  }

  /** Runs `work` in a transaction that it may share with others; what it throws undoes its own part. */
  #write<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = () => {
        this.#db.exec('SAVEPOINT one')
        try {
          const value = work()
          this.#db.exec('RELEASE one')
          return () => resolve(value)
        } catch (error) {
          this.#db.exec('ROLLBACK TO one; RELEASE one')
          return () => reject(error)
        }
      }
      this.#waiting.push({ run, reject })
      if (this.#waiting.length === 1) this.#soon(() => this.#flush())
    })
  }

  /** One wait for the disk for all that came meanwhile; nobody is answered before it is over. */
  #flush(): void {
    const batch = this.#waiting.splice(0)
    try {
      this.#db.exec('BEGIN IMMEDIATE')
      const answers = batch.map(({ run }) => run())
      this.#db.exec('COMMIT')
      for (const answer of answers) answer()
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      for (const { reject } of batch) reject(error)
    }
  }

  #run(text: string, ...values: SQLInputValue[]): number {
    return Number(this.#statement(text).run(...values).changes)
  }

  #get(text: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#statement(text).get(...values)
  }

  #all(text: string, ...values: SQLInputValue[]): Row[] {
    return this.#statement(text).all(...values)
  }

  #statement(text: string): StatementSync {
    const known = this.#statements.get(text)
    if (known !== undefined) return known
    const statement = this.#db.prepare(text)
    this.#statements.set(text, statement)
    return statement
  }
}

interface Waiting {
  /** Does its part, and returns what to answer once it is durable. */
  run: () => () => void
  reject: (error: unknown) => void
}

type Row = Record<string, unknown>

/** Rows are ours: what was written as a type is read as that type. */
function parse<T>(body: unknown): T {
  return JSON.parse(String(body)) as T
}

function toDelivery(row: Row): Delivery {
  return {
    ...parse<Pick<Delivery, 'createdAt' | 'urgentUntil' | 'telling'>>(row.body),
    id: String(row.id),
    fleet: String(row.fleet),
    eventId: String(row.event_id),
    channel: String(row.channel),
    seq: Number(row.seq),
    state: String(row.state) as DeliveryState,
    attempts: Number(row.attempts),
    nextAt: Number(row.next_at),
    note: String(row.note),
  }
}
