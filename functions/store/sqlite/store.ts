// The store on SQLite: a file of one process, or the storage of one Durable Object.
import type { Settlement } from '../../core/delivery/attempt.ts'
import type { Claimed, Delivery } from '../../core/delivery/delivery.ts'
import type { LoggedMoment } from '../../core/delivery/moment-log.ts'
import type { EventRecord } from '../../core/event/event.ts'
import type { Beacon, Observer, Sighting } from '../../core/event/observer.ts'
import { maxOpenOfBeacon, maxOpenOfFleet } from '../../core/event/open-limits.ts'
import type {
  ActivityQuestion,
  BeaconKey,
  BeaconPage,
  BeaconSearch,
  BeaconsFound,
  ChannelActivity,
  ClaimRequest,
  Commit,
  DeliveryList,
  DeliveryPage,
  EventKey,
  EventPage,
  EventSearch,
  EventsFound,
  FailedFound,
  FailedPage,
  Memo,
  MemoKey,
  MemoKind,
  Pacing,
  Replay,
  Store,
  TallyRequest,
} from '../store.ts'
import { Beacons } from './beacons.ts'
import { Browse } from './browse.ts'
import { BrowseBeacons } from './browse-beacons.ts'
import { Claims } from './claims.ts'
import type { Database } from './database.ts'
import { Deliveries } from './deliveries.ts'
import { Events } from './events.ts'
import { Memos } from './memos.ts'
import { Moments } from './moments.ts'
import { toEvent } from './rows.ts'
import { SharedWrites } from './shared-writes.ts'
import { sql } from './sql.ts'
import { Statements } from './statements.ts'
import { countBeacons, readTally } from './tally.ts'

interface SqliteOptions {
  /** Returns a new name for a lease at each call. */
  random: () => string
  /** Chooses when the waiting writes go to disk, in one transaction. Default: each at once. */
  soon?: (flush: () => void) => void
  /** Rows of each kind that are kept in memory, if the host is alone on the file. */
  keptRows?: number
}

/** Beacons; twice as many sightings, and a quarter as many events. */
const usualKeptRows = 16_384
/** Of rows of each kind, as JSON. Together they take at most about 100 MB. */
const keptCharacters = 16_000_000

export class SqliteStore implements Store {
  readonly #db: Database
  readonly #statements: Statements
  readonly #writes: SharedWrites
  readonly #events: Events
  readonly #beacons: Beacons
  readonly #deliveries: Deliveries
  readonly #moments: Moments
  readonly #browse: Browse
  readonly #browseBeacons: BrowseBeacons
  readonly #memos: Memos
  readonly #claims: Claims
  readonly #random: () => string

  constructor(
    db: Database,
    { random, soon = (flush) => flush(), keptRows = usualKeptRows }: SqliteOptions,
  ) {
    this.#random = random
    this.#db = db
    this.#statements = new Statements(db)
    const rows = db.isAlone ? keptRows : 0
    this.#events = new Events(this.#statements, { rows: rows / 4, characters: keptCharacters })
    this.#beacons = new Beacons(this.#statements, { rows, characters: keptCharacters })
    this.#writes = new SharedWrites(db, soon, () => {
      this.#events.forgetKept()
      this.#beacons.forgetKept()
      this.#claims.noteChange()
    })
    this.#deliveries = new Deliveries(this.#statements)
    this.#moments = new Moments(this.#statements)
    this.#browse = new Browse(this.#statements)
    this.#browseBeacons = new BrowseBeacons(this.#statements)
    this.#memos = new Memos(this.#statements, db.isAlone)
    this.#claims = new Claims(this.#statements, this.#deliveries, db.isAlone)
  }

  /**
   * Only for a host that is alone on the file: deliveries that its predecessor claimed are due
   * again.
   */
  freeLeases(now: number): void {
    this.#statements.run(sql.freeLeases, now)
    this.#claims.noteChange()
  }

  close(): void {
    this.#db.close()
  }

  async readEvent(key: EventKey): Promise<EventRecord | undefined> {
    return this.#events.read(key)
  }

  async commit({ record, basedOn, deliveries, supersede, forget = [], moments, now }: Commit) {
    return this.#writes.write(() => {
      if (this.#events.write(record, basedOn) === 'conflict') return 'conflict'
      const { fleet, eventId } = record
      for (const one of deliveries) {
        this.#statements.run(sql.hurry, now, fleet, eventId, one.channel, now)
      }
      this.#insert(deliveries)
      for (const { id, note } of supersede) this.#statements.run(sql.supersede, note, id, now)
      if (supersede.length > 0) this.#claims.noteChange()
      this.#deliveries.forgetEnded({ fleet, eventId }, forget)
      this.#moments.insert(moments)
      return 'committed'
    })
  }

  async readObservers(key: EventKey): Promise<Observer[]> {
    return this.#beacons.observers(key)
  }

  async readBeacon(fleet: string, beacon: string): Promise<Beacon | undefined> {
    return this.#beacons.read(fleet, beacon)
  }

  async listBeacons(fleet: string, page: BeaconPage) {
    return this.#beacons.list(fleet, page)
  }

  async readSightings(fleet: string, beacon: string, eventIds: string[]): Promise<Sighting[]> {
    return this.#beacons.sightings(fleet, beacon, eventIds)
  }

  async writeBeacon(beacon: Beacon, sightings: Sighting[]) {
    return this.#writes.write(() => this.#beacons.write(beacon, sightings))
  }

  async replaceBeacon(before: Beacon, after: Beacon) {
    return this.#writes.write(() => this.#beacons.replace(before, after))
  }

  async dueBeacons(now: number, limit: number): Promise<BeaconKey[]> {
    if (this.#beacons.noneDue(now)) return []
    return this.#writes.write(() => this.#beacons.findDue(now, limit))
  }

  async dueEvents(now: number, limit: number): Promise<EventKey[]> {
    return this.#events.due(now, limit)
  }

  async claim(request: ClaimRequest): Promise<Claimed[][]> {
    if (!this.#claims.mayClaim(request)) return []
    const lease = this.#random()
    // commit at once: a message waits to be sent
    return this.#writes.writeNow(() => this.#claims.claim(request, lease))
  }

  async settle(claimed: Claimed, settlement: Settlement, now: number, follow: Delivery[]) {
    return this.#writes.write(() => {
      const { state, nextAt, note, spentUntil, unsent, alone, answered } = settlement
      const values = [state, nextAt, note, unsent ? 1 : 0, alone ? 1 : 0]
      if (this.#statements.run(sql.settle, ...values, claimed.id, claimed.lease, now) === 0)
        return 'lost'
      this.#claims.noteChange()
      if (answered !== undefined) this.#deliveries.noteAnswer(claimed.id, answered)
      if (spentUntil !== undefined) this.#statements.run(sql.pause, claimed.channel, spentUntil)
      const { fleet, eventId, channel, seq } = claimed
      if (state !== 'pending')
        this.#statements.run(sql.follow, now, fleet, eventId, channel, seq, now)
      this.#insert(follow)
      return 'settled'
    })
  }

  async readMoments(after: number, limit: number): Promise<LoggedMoment[]> {
    const read = this.#moments.after(after, limit)
    // a stream sends these moments at once, so they must be durable first
    await this.#db.durable()
    return read
  }

  async lastPosition(): Promise<number> {
    const last = this.#moments.lastPosition()
    await this.#db.durable()
    return last
  }

  async readMemo(key: MemoKey): Promise<Memo | undefined> {
    return this.#memos.read(key)
  }

  async listMemos(kind: MemoKind): Promise<Memo[]> {
    return this.#memos.list(kind)
  }

  async writeMemo(key: MemoKey, fields: object, basedOn: number) {
    return this.#writes.write(() => this.#memos.write(key, fields, basedOn))
  }

  async removeMemo(key: MemoKey): Promise<void> {
    await this.#writes.write(() => this.#memos.remove(key))
  }

  async readDeliveries(key: EventKey, subscription?: string): Promise<Delivery[]> {
    if (subscription === undefined) return this.#deliveries.ofEvent(key)
    return this.#deliveries.toSubscription(key, subscription)
  }

  async addDeliveries(deliveries: Delivery[]): Promise<void> {
    await this.#writes.write(() => this.#insert(deliveries))
  }

  async listDeliveries(channel: string, page: DeliveryPage): Promise<DeliveryList> {
    return this.#deliveries.list(channel, page)
  }

  async replay(which: Replay, now: number, limit: number): Promise<number> {
    const of = which.fleets === undefined ? null : JSON.stringify(which.fleets)
    if ('id' in which) {
      const values = [now, now, which.id, of, of]
      return this.#replay(sql.replayOne, values)
    }
    const { since, channel = null } = which
    const values = [now, now, since, channel, channel, of, of, limit]
    return this.#replay(sql.replaySince, values)
  }

  async forget(before: number, limit: number, unheardSince = before): Promise<number> {
    return this.#writes.write(() => {
      this.#claims.noteChange()
      const ended = this.#statements.all(sql.endedBefore, before, limit)
      for (const { fleet, event_id } of ended) {
        const key = [String(fleet), String(event_id)] as const
        this.#statements.run(sql.forgetDeliveries, ...key)
        this.#statements.run(sql.forgetViews, ...key)
        this.#memos.forget(...key)
        this.#beacons.forgetSightings(...key)
        this.#events.forget({ fleet: String(fleet), eventId: String(event_id) })
      }
      const beacons = this.#beacons.forget(unheardSince, limit)
      const moments = this.#moments.forget(before, limit)
      return ended.length + beacons + moments + this.#deliveries.forget(before, limit)
    })
  }

  async listEvents(page: EventPage) {
    const { fleet = null, before = Number.MAX_SAFE_INTEGER, limit } = page
    const matching = [fleet, fleet, before]
    const rows = this.#statements.all(sql.listEvents, ...matching, ...matching, limit - 1)
    return rows.map((row) => toEvent<EventRecord>(row.body))
  }

  async listOpen(fleets: readonly string[], limit: number) {
    return this.#browse.open(fleets, limit)
  }

  async findEvents(search: EventSearch): Promise<EventsFound> {
    return this.#browse.events(search)
  }

  async findBeacons(search: BeaconSearch): Promise<BeaconsFound> {
    return this.#browseBeacons.find(search)
  }

  async channelActivity(
    channels: readonly string[],
    question?: ActivityQuestion,
  ): Promise<ChannelActivity[]> {
    return this.#browse.activity(channels, question)
  }

  async listFailed(page: FailedPage): Promise<FailedFound> {
    const { rows, ...next } = this.#browse.failed(page)
    return { deliveries: rows.map((row) => this.#deliveries.toDelivery(row)), ...next }
  }

  async countOpen(fleet: string, beacon: string) {
    const values = [fleet, maxOpenOfFleet, fleet, beacon, maxOpenOfBeacon]
    const row = this.#statements.get(sql.countOpen, ...values)
    return { ofFleet: Number(row?.of_fleet), ofBeacon: Number(row?.of_beacon) }
  }

  async countBeacons(fleet: string) {
    return countBeacons(this.#statements, fleet)
  }

  async tally({ now }: TallyRequest) {
    return readTally(this.#statements, now)
  }

  async nextDueAt(pacing: Pacing): Promise<number | undefined> {
    const next = Math.min(this.#claims.nextDueAt(pacing), this.#events.nextDueAt())
    return next === Infinity ? undefined : next
  }

  #insert(deliveries: Delivery[]): void {
    if (deliveries.length > 0) this.#claims.noteChange()
    this.#deliveries.insert(deliveries)
  }

  #replay(text: string, values: (string | number | null)[]): Promise<number> {
    return this.#writes.write(() => {
      this.#claims.noteChange()
      return this.#statements.run(text, ...values)
    })
  }
}
