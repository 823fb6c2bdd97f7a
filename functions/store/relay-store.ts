// The store: one for all adapters of rows.
import { FoghornError } from '../../shared/errors.ts'
import type { Settlement } from '../core/delivery/attempt.ts'
import type { Claimed, Delivery } from '../core/delivery/delivery.ts'
import type { EventRecord } from '../core/event/event.ts'
import { Beacons } from './beacons.ts'
import { Channels } from './channels.ts'
import { Claims } from './claims.ts'
import { StoredCounts } from './counts.ts'
import { Deliveries } from './deliveries.ts'
import { Edits, type Gather, type Wait } from './edits.ts'
import { Events } from './events.ts'
import { Forgetting } from './forget.ts'
import { buildKey } from './keys.ts'
import { together as atOnce, type Parts, type Together } from './parts.ts'
import { insertOrReplace, type Rows } from './rows.ts'
import { Searches } from './searches.ts'
import { SmallRows } from './small-rows.ts'
import type { Commit, Pacing, Store } from './store.ts'

/** Increase this if an older relay would not understand the changed rows. */
const formatVersion = 5
const relayPartition = buildKey('relay')
const formatRow = buildKey('format')
/** After a conflict, writers wait a random time up to this. */
const stepAsideMs = 60

interface StoreOptions {
  rows: Rows
  /** Returns a new name for a lease at each call. */
  newId: () => string
  /** Returns a number in [0, 1). */
  random: () => number
  /** Absent: a writer that was not the first tries again at once. */
  wait?: (ms: number) => Promise<void>
  /** Ms of a clock that never jumps. */
  elapsed?: () => number
  together?: Together
  /** Lets what came in meanwhile go first: between the parts of a long list. */
  pause?: () => Promise<void>
  /** How results of one row of deliveries wait for each other: see edits.ts. */
  gather?: Gather
  /** How an edit waits for another one: see edits.ts. */
  waitForEdit?: Wait
}

export class RelayStore implements Store {
  readonly #rows: Rows
  readonly #together: Together
  readonly #events: Events
  readonly #deliveries: Deliveries
  readonly #channels: Channels
  readonly #claims: Claims
  readonly #beacons: Beacons
  readonly #smallRows: SmallRows
  readonly #searches: Searches
  readonly #counts: StoredCounts
  readonly #forgetting: Forgetting

  readonly readEvent: Store['readEvent'] = (key) => this.#events.read(key)
  readonly commit: Store['commit'] = (commit: Commit, before?: EventRecord) =>
    this.#events.commit(commit, before)
  readonly listEvents: Store['listEvents'] = (page) => this.#events.list(page)
  readonly dueEvents: Store['dueEvents'] = (now, limit) => this.#events.due(now, limit)
  readonly countOpen: Store['countOpen'] = (fleet, beacon) => this.#events.countOpen(fleet, beacon)
  readonly readMoments: Store['readMoments'] = (after, limit, now) =>
    this.#events.moments(after, limit, now)
  readonly lastPosition: Store['lastPosition'] = (now) => this.#events.lastPosition(now)
  readonly listOpen: Store['listOpen'] = (fleets, limit, keep) =>
    this.#events.listOpen(fleets, limit, keep)

  readonly readBeacon: Store['readBeacon'] = (fleet, beacon) => this.#beacons.read(fleet, beacon)
  readonly listBeacons: Store['listBeacons'] = (fleet, page) => this.#beacons.list(fleet, page)
  readonly writeBeacon: Store['writeBeacon'] = (beacon, known) => this.#beacons.write(beacon, known)
  readonly replaceBeacon: Store['replaceBeacon'] = (before, after) =>
    this.#beacons.replace(before, after)
  readonly countBeacons: Store['countBeacons'] = (fleet) => this.#beacons.count(fleet)
  readonly dueBeacons: Store['dueBeacons'] = (now, limit) => this.#beacons.due(now, limit)
  readonly findBeacons: Store['findBeacons'] = (search) => this.#beacons.find(search)

  readonly readDeliveries: Store['readDeliveries'] = (key, storedId) =>
    this.#deliveries.read(key, storedId)
  readonly addDeliveries: Store['addDeliveries'] = (added) => this.#deliveries.add(added)
  readonly listDeliveries: Store['listDeliveries'] = (channel, page) =>
    this.#deliveries.list(channel, page)
  readonly listFailed: Store['listFailed'] = (page) => this.#deliveries.failed(page)
  readonly replay: Store['replay'] = (which, now, limit) =>
    this.#deliveries.replay(which, now, limit)
  readonly claim: Store['claim'] = (request) => this.#claims.claim(request)

  readonly listHealth: Store['listHealth'] = () => this.#channels.listHealth()
  readonly readHealth: Store['readHealth'] = (channel) => this.#channels.readHealth(channel)
  readonly changeHealth: Store['changeHealth'] = (channel, decide) =>
    this.#channels.changeHealth(channel, decide)
  readonly giveBack: Store['giveBack'] = (channel, bookedMs) =>
    this.#channels.giveBack(channel, bookedMs)
  readonly removeChannel: Store['removeChannel'] = (channel) => this.#channels.remove(channel)

  readonly readSmallRow: Store['readSmallRow'] = (key) => this.#smallRows.read(key)
  readonly listSmallRows: Store['listSmallRows'] = (kind) => this.#smallRows.list(kind)
  readonly writeSmallRow: Store['writeSmallRow'] = (key, fields, basedOn) =>
    this.#smallRows.write(key, fields, basedOn)
  readonly removeSmallRow: Store['removeSmallRow'] = (key) => this.#smallRows.remove(key)

  readonly findEvents: Store['findEvents'] = (search) => this.#searches.events(search)
  readonly channelActivity: Store['channelActivity'] = (channels, question) =>
    this.#searches.activity(channels, question)
  readonly readCounts: Store['readCounts'] = (request) => this.#counts.read(request)

  constructor(options: StoreOptions) {
    const { rows, newId, random, wait, together = atOnce } = options
    const { elapsed = () => performance.now(), pause = async () => {} } = options
    const stepAside = async () => wait?.(Math.ceil(random() * stepAsideMs))
    const edits = new Edits(rows, stepAside, options.waitForEdit, options.gather)
    const parts: Parts = { rows, edits, together, newId, elapsed, random, pause, stepAside }
    this.#rows = rows
    this.#together = together
    this.#events = new Events(parts)
    this.#deliveries = new Deliveries(parts, this.#events)
    this.#channels = new Channels(parts)
    this.#claims = new Claims(parts, this.#deliveries, this.#channels)
    this.#beacons = new Beacons(parts)
    this.#smallRows = new SmallRows(rows)
    this.#searches = new Searches(parts, this.#events)
    this.#counts = new StoredCounts(parts, this.#events, this.#beacons)
    this.#forgetting = new Forgetting(parts)
  }

  /**
   * Call this first. Throws FoghornError `data_version` if another version of the relay wrote the
   * rows.
   */
  async open(): Promise<void> {
    const body = JSON.stringify({ version: formatVersion })
    const read = () => this.#rows.read(relayPartition, formatRow)
    let found = (await read())?.body
    if (found === undefined) {
      await this.#rows.change(relayPartition, [insertOrReplace(undefined, formatRow, body)])
      found = (await read())?.body
    }
    if (found === body) return
    const what = `the table has format ${found}, but this relay needs ${body}`
    throw new FoghornError('data_version', `${what}; deploy the version that wrote it`)
  }

  /**
   * Only for a process that is alone: deliveries that its predecessor claimed are due again.
   */
  freeLeases(now: number): Promise<void> {
    return this.#claims.freeLeases(now)
  }

  async settle(claimed: Claimed, settlement: Settlement, now: number, follow: Delivery[]) {
    const { spentUntil, state } = settlement
    if (spentUntil !== undefined) await this.#channels.pause(claimed.channel, spentUntil)
    const outcome = await this.#deliveries.settle(claimed, settlement, now, follow)
    if (outcome === 'settled' && state === 'delivered') {
      await this.#searches.noteDelivered(claimed.channel, now)
    }
    return outcome
  }

  readonly tidy: Store['tidy'] = (fleets, now) => this.#events.tidy(fleets, now)

  async forget(before: number, limit: number, unheardSince = before) {
    const events = await this.#forgetting.ended(before, limit)
    return events + (await this.#beacons.forget(unheardSince, limit, this.#events))
  }

  async nextDueAt(pacing: Pacing): Promise<number | undefined> {
    const times = await this.#together([
      () => this.#events.nextDueAt(),
      () => this.#claims.nextDueAt(pacing),
    ])
    const next = Math.min(...times)
    return next === Number.POSITIVE_INFINITY ? undefined : next
  }
}
