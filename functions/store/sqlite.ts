// The store on `node:sqlite`: one file, one process. Durable before a commit returns
// (`synchronous=FULL`); leases left by a process that died are freed when the next one opens the file.
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { Settlement } from '../core/attempt.ts'
import type { Claimed, Delivery, EventView } from '../core/delivery.ts'
import type { Beacon, EventRecord, Observer, Sighting } from '../core/event.ts'
import { hash } from '../core/hash.ts'
import type { ChannelHealth, HealthRow } from '../core/outage.ts'
import type { Post, PostKey, PostState } from '../core/post.ts'
import { afterTurns, freeAt, turnsAt } from '../core/rate.ts'
import { maxOpenOfBeacon, maxOpenOfFleet } from '../core/share.ts'
import { inTurn } from '../core/turns.ts'
import { explainDisk } from './disk.ts'
import { deliveryBody, eventBody, parse, type Row, toDelivery, toEvent } from './rows.ts'
import { SharedWrites } from './shared-writes.ts'
import { sql } from './sql.ts'
import { openFile } from './sqlite-file.ts'
import type { ClaimRequest, Commit, EventKey, Pacing, Replay, Store } from './store.ts'

export interface SqliteOptions {
  /** Names leases: different at every call. */
  random: () => string
  /**
   * Says when writes go to the disk: those that come before share one transaction, and so one wait.
   * Without it each goes at once.
   */
  soon?: (flush: () => void) => void
  /**
   * Keeps every other process off the file, by a lock that ends with this one. Saves locking for each
   * statement.
   */
  alone?: boolean
}

/** A channel that messages wait for, and its fleets. The fleet that is due longest comes first. */
interface Waiting {
  channel: string
  nextAt: number
  spentUntil: number
  fleets: { fleet: string; nextAt: number }[]
}

export class SqliteStore implements Store {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  readonly #random: () => string
  readonly #writes: SharedWrites
  /** For each channel, the fleet that had the last turn. After a restart any fleet begins. */
  readonly #served = new Map<string, string>()

  /** Throws as `openFile` does. */
  constructor(path: string, { random, soon = (flush) => flush(), alone = false }: SqliteOptions) {
    this.#random = random
    this.#db = openFile(path, alone)
    this.#writes = new SharedWrites(this.#db, soon, (error) => explainDisk(error, path))
  }

  /** For a host that is alone on the file: what its predecessor had under way is due again. */
  freeLeases(now: number): void {
    this.#run(sql.freeLeases, now)
  }

  close(): void {
    this.#db.close()
  }

  async readEvent({ fleet, eventId }: EventKey): Promise<EventRecord | undefined> {
    const row = this.#get(sql.readEvent, fleet, eventId)
    return row === undefined ? undefined : toEvent(row.body)
  }

  async commit({ record, basedOn, deliveries, supersede, now }: Commit) {
    return this.#write(() => {
      const { fleet, eventId, sequence, firstSeenAt } = record
      const rest = [record.dueAt ?? null, record.ended?.at ?? null, eventBody(record)]
      const written =
        basedOn === 0
          ? this.#run(sql.insertEvent, fleet, eventId, sequence, firstSeenAt, ...rest)
          : this.#run(sql.updateEvent, sequence, ...rest, fleet, eventId, basedOn)
      if (written === 0) return 'conflict'
      const { onlyBeacon = '', alert } = record
      if (record.ended !== undefined) this.#run(sql.noteEnded, fleet, eventId)
      else if (alert === undefined) this.#run(sql.noteOpen, fleet, eventId, onlyBeacon)
      for (const one of deliveries) {
        this.#run(sql.hurry, now, fleet, eventId, one.channel, now)
      }
      this.#insert(deliveries)
      for (const { id, note } of supersede) this.#run(sql.supersede, note, id, now)
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

  async listBeacons(fleet: string, { after = '', limit }: { after?: string; limit: number }) {
    return this.#all(sql.listBeacons, fleet, after, limit).map((row) => ({
      beacon: String(row.beacon),
      vm: String(row.vm),
      resourceGroup: String(row.resource_group),
      scaleSet: String(row.scale_set),
      heardAt: Number(row.heard_at),
      paceMs: Number(row.pace_ms),
      seesEvents: Number(row.sees_events),
    }))
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

  async claim(request: ClaimRequest): Promise<Claimed[][]> {
    const lease = this.#random()
    return this.#write(() => {
      const requests: Claimed[][] = []
      for (const waiting of this.#waitingChannels(request)) {
        const limit = Math.min(request.roomOf(waiting.channel), request.limit - requests.length)
        if (waiting.nextAt > request.now || limit <= 0) break
        requests.push(...this.#claimOf(waiting, { ...request, limit }, lease))
      }
      return requests
    })
  }

  /** A channel that takes several in one request takes one request at a time. */
  #claimOf({ channel, spentUntil, fleets }: Waiting, request: ClaimRequest, lease: string) {
    const { now, limit } = request
    const rate = request.rateOf(channel)
    const turns = Math.min(limit, turnsAt(rate, spentUntil, now))
    const most = rate.together > 1 ? Math.min(turns, 1) * rate.together : turns
    const leaseUntil = now + request.leaseMs
    const queues = fleets
      .filter(({ nextAt }) => nextAt <= now)
      .map(({ fleet }) => ({ fleet, waiting: this.#all(sql.due, channel, fleet, now, most) }))
    const due = inTurn(queues, this.#served.get(channel), most)
    const first = due.slice(0, 1)
    const together = first.some(({ alone }) => alone) ? first : due.filter(({ alone }) => !alone)
    const claimed = (rate.together > 1 ? together : due).map((row) => {
      const one = toDelivery(row, this.#viewOf(row))
      this.#run(sql.lease, lease, leaseUntil, one.id)
      return { ...one, attempts: one.attempts + 1, nextAt: leaseUntil, lease, leaseUntil }
    })
    const requests = rate.together > 1 ? [claimed] : claimed.map((one) => [one])
    if (claimed.length === 0) return []
    this.#served.set(channel, claimed.at(-1)!.fleet)
    const spent = afterTurns(rate, spentUntil, now, requests.length)
    if (rate.everyMs > 0) this.#run(sql.spend, channel, spent)
    return requests
  }

  async settle(claimed: Claimed, settlement: Settlement, now: number, follow: Delivery[]) {
    return this.#write(() => {
      const { state, nextAt, note, spentUntil, unsent, alone } = settlement
      const values = [state, nextAt, note, unsent ? 1 : 0, alone ? 1 : 0]
      if (this.#run(sql.settle, ...values, claimed.id, claimed.lease, now) === 0) return 'lost'
      if (spentUntil !== undefined) this.#run(sql.pause, claimed.channel, spentUntil)
      const { fleet, eventId, channel, seq } = claimed
      if (state !== 'pending') this.#run(sql.follow, now, fleet, eventId, channel, seq, now)
      this.#insert(follow)
      return 'settled'
    })
  }

  async readPost(key: PostKey): Promise<Post | undefined> {
    const row = this.#get(sql.readPost, ...postKey(key))
    return row && { version: Number(row.version), state: parse<PostState>(row.state) }
  }

  async writePost(key: PostKey, state: PostState, basedOn: number) {
    return this.#write(() => {
      const values = [basedOn + 1, JSON.stringify(state), ...postKey(key)]
      const written =
        basedOn === 0
          ? this.#run(sql.insertPost, ...values)
          : this.#run(sql.updatePost, ...values, basedOn)
      return written === 0 ? 'conflict' : 'written'
    })
  }

  async readMarks(): Promise<HealthRow[]> {
    return this.#all(sql.readMarks).map((row) => parse<HealthRow>(row.mark))
  }

  async writeMark(channel: string, health: ChannelHealth, basedOn: number) {
    return this.#write(() => {
      const version = basedOn + 1
      const mark: HealthRow = { version, channel, health }
      const values = [version, JSON.stringify(mark), channel]
      const written =
        basedOn === 0
          ? this.#run(sql.insertMark, ...values)
          : this.#run(sql.updateMark, ...values, basedOn)
      return written === 0 ? 'conflict' : 'written'
    })
  }

  async readDeliveries({ fleet, eventId }: EventKey): Promise<Delivery[]> {
    const found = this.#all(sql.readViews, fleet, eventId)
    const views = new Map(found.map(({ view, body }) => [view, toEvent<EventView>(body)]))
    const rows = this.#all(sql.readDeliveries, fleet, eventId)
    return rows.map((row) => toDelivery(row, views.get(row.view)))
  }

  async replay(which: Replay, now: number, limit: number): Promise<number> {
    if ('id' in which) return this.#write(() => this.#run(sql.replayOne, now, now, which.id))
    const { since, channel = null } = which
    return this.#write(() => this.#run(sql.replaySince, now, now, since, channel, channel, limit))
  }

  async forget(before: number, limit: number, unheardSince = before): Promise<number> {
    return this.#write(() => {
      const ended = this.#all(sql.endedBefore, before, limit)
      for (const { fleet, event_id } of ended) {
        const key = [String(fleet), String(event_id)]
        this.#run(sql.forgetDeliveries, ...key)
        this.#run(sql.forgetViews, ...key)
        this.#run(sql.forgetPosts, ...key)
        this.#run(sql.forgetSightings, ...key)
        this.#run(sql.forgetEvent, ...key)
      }
      return ended.length + this.#run(sql.forgetBeacons, unheardSince, limit)
    })
  }

  async listEvents(page: { fleet?: string; before?: number; limit: number }) {
    const { fleet = null, before = Number.MAX_SAFE_INTEGER, limit } = page
    const matching = [fleet, fleet, before]
    const rows = this.#all(sql.listEvents, ...matching, ...matching, limit - 1)
    return rows.map((row) => toEvent<EventRecord>(row.body))
  }

  async countOpen(fleet: string, beacon: string) {
    const values = [fleet, maxOpenOfFleet, fleet, beacon, maxOpenOfBeacon]
    const row = this.#get(sql.countOpen, ...values)
    return { ofFleet: Number(row?.of_fleet), ofBeacon: Number(row?.of_beacon) }
  }

  async nextDueAt(pacing: Pacing): Promise<number | undefined> {
    const event = this.#get(sql.nextDueEvent)?.at
    const deliveries = this.#waitingChannels(pacing).map(({ channel, nextAt, spentUntil }) =>
      Math.max(nextAt, freeAt(pacing.rateOf(channel), spentUntil, pacing.now)),
    )
    const next = Math.min(...deliveries, typeof event === 'number' ? event : Infinity)
    return next === Infinity ? undefined : next
  }

  /**
   * Channels that have waiting messages and room for them. The one that is due longest comes first.
   */
  #waitingChannels({ roomOf }: Pacing): Waiting[] {
    const rows = this.#all(sql.queues).filter(
      ({ next_at, channel }) => next_at !== null && roomOf(String(channel)) > 0,
    )
    const channels = Map.groupBy(rows, ({ channel }) => String(channel))
    return [...channels]
      .map(([channel, own]) => {
        const fleets = own
          .map(({ fleet, next_at }) => ({ fleet: String(fleet), nextAt: Number(next_at) }))
          .sort((a, b) => a.nextAt - b.nextAt)
        const spentUntil = Number(own[0]!.spent_until)
        return { channel, nextAt: fleets[0]!.nextAt, spentUntil, fleets }
      })
      .sort((a, b) => a.nextAt - b.nextAt)
  }

  #insert(deliveries: Delivery[]): void {
    const views = new Map<EventView, string>()
    for (const d of deliveries) {
      const { id, fleet, eventId, channel, seq, state, attempts, nextAt, note, owedAt } = d
      const { event } = d.telling
      const view = views.get(event) ?? this.#insertView(fleet, eventId, event)
      views.set(event, view)
      const whose = [id, fleet, eventId, channel, seq, owedAt]
      const rest = [state, attempts, nextAt, note, deliveryBody(d), view]
      this.#run(sql.insertDelivery, ...whose, ...rest)
    }
  }

  /** The name depends on the commit's sequence and on the content. */
  #insertView(fleet: string, eventId: string, event: EventView): string {
    const body = eventBody(event)
    const view = `${event.sequence}-${hash(body)}`
    this.#run(sql.insertView, fleet, eventId, view, body)
    return view
  }

  #viewOf({ fleet, event_id, view }: Row): EventView | undefined {
    if (view === null) return undefined
    const row = this.#get(sql.readView, String(fleet), String(event_id), String(view))
    return row && toEvent(row.body)
  }

  #write<T>(work: () => T): Promise<T> {
    return this.#writes.write(work)
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

function postKey({ fleet, eventId, epoch, channel }: PostKey): SQLInputValue[] {
  return [fleet, eventId, epoch, channel]
}
