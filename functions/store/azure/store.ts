// The store on Azure Tables, for any number of workers. An event and its deliveries share a
// partition, so a commit is one transaction. time-index.ts says how rows are found by time.
import { FoghornError } from '../../../shared/errors.ts'
import type { Settlement } from '../../core/delivery/attempt.ts'
import type { Claimed, Delivery } from '../../core/delivery/delivery.ts'
import type { EventRecord } from '../../core/event/event.ts'
import type { Attention } from '../attention.ts'
import type { ClaimRequest, Commit, EventKey, Pacing, PlannedStore, Store } from '../store.ts'
import { Activity } from './activity.ts'
import { AzureAttention } from './attention.ts'
import { Beacons } from './beacons.ts'
import { Browse } from './browse.ts'
import { Claims } from './claims.ts'
import { Events } from './events.ts'
import { Forgetting } from './forget.ts'
import { Memos } from './memos.ts'
import { Moments } from './moments.ts'
import { NewEvents } from './new-events.ts'
import { OpenEvents } from './open-counts.ts'
import type { Parts } from './parts.ts'
import { claimPlanned } from './planned-claims.ts'
import type { Rows } from './rows.ts'
import { SubscriptionDeliveries } from './subscriptions.ts'
import { Taker } from './take.ts'
import { Tallies } from './tally.ts'
import { Index } from './time-index.ts'
import { together as atOnce, type Together } from './together.ts'

/** Increase this if an older relay would not understand the changed rows. */
const formatVersion = 1
const relayPartition = 'relay'
/** After a conflict, writers wait a random time up to this. */
const stepAsideMs = 60

interface AzureOptions {
  rows: Rows
  /** Returns a new name for a lease, a write or an entry at each call. */
  newId: () => string
  /** In [0, 1). */
  random: () => number
  wait: (ms: number) => Promise<void>
  together?: Together
}

export class AzureStore implements Store, PlannedStore {
  readonly #rows: Rows
  readonly #together: Together
  readonly #events: Events
  readonly #parts: Parts
  readonly #taker: Taker
  readonly #fresh = new NewEvents()
  readonly #claims: Claims
  readonly #beacons: Beacons
  readonly #forgetting: Forgetting
  readonly #memos: Memos
  readonly #moments: Moments
  readonly #open: OpenEvents
  readonly #browse: Browse
  readonly #activity: Activity
  readonly #toSubscriptions: SubscriptionDeliveries
  readonly #tallies: Tallies
  readonly attention: Attention

  readonly readEvent: Store['readEvent'] = (key) => this.#events.read(key)
  readonly countOpen: Store['countOpen'] = (fleet, beacon, now) =>
    this.#open.count(fleet, beacon, now)
  readonly countBeacons: Store['countBeacons'] = (fleet) => this.#beacons.count(fleet)
  readonly readObservers: Store['readObservers'] = (key) => this.#beacons.observers(key)
  readonly listBeacons: Store['listBeacons'] = (fleet, page) =>
    this.#beacons.lists.list(fleet, page)
  readonly writeBeacon: Store['writeBeacon'] = (beacon, sightings, known) =>
    this.#beacons.write(beacon, sightings, known)
  readonly readSightings: Store['readSightings'] = (fleet, beacon, eventIds, known) =>
    this.#beacons.sightings(fleet, beacon, eventIds, known)
  readonly replaceBeacon: Store['replaceBeacon'] = (before, after) =>
    this.#beacons.replace(before, after)
  readonly dueBeacons: Store['dueBeacons'] = (now, limit) => this.#beacons.due(now, limit)
  readonly readBeacon: Store['readBeacon'] = (fleet, beacon) =>
    this.#beacons.readBeacon(fleet, beacon)
  readonly dueEvents: Store['dueEvents'] = (now, limit) => this.#events.due(now, limit)
  readonly claim: Store['claim'] = (request) => this.#claims.claim(request)
  readonly readMoments: Store['readMoments'] = (after, limit, now) =>
    this.#moments.after(after, limit, now)
  readonly lastPosition: Store['lastPosition'] = (now) => this.#moments.lastPosition(now)
  readonly readMemo: Store['readMemo'] = (key) => this.#memos.read(key)
  readonly listMemos: Store['listMemos'] = (kind) => this.#memos.list(kind)
  readonly writeMemo: Store['writeMemo'] = (key, fields, basedOn) =>
    this.#memos.write(key, fields, basedOn)
  readonly removeMemo: Store['removeMemo'] = (key) => this.#memos.remove(key)
  readonly readDeliveries: Store['readDeliveries'] = (key, subscription) =>
    this.#events.deliveries(key, subscription)
  readonly addDeliveries: Store['addDeliveries'] = (deliveries) =>
    this.#toSubscriptions.add(deliveries)
  readonly listDeliveries: Store['listDeliveries'] = (channel, page) =>
    this.#toSubscriptions.list(channel, page)
  readonly listEvents: Store['listEvents'] = (page) => this.#events.list(page)
  readonly tally: Store['tally'] = (request) => this.#tallies.read(request)
  readonly listOpen: Store['listOpen'] = (fleets, limit) => this.#browse.open(fleets, limit)
  readonly findEvents: Store['findEvents'] = (search) => this.#browse.events(search)
  readonly findBeacons: Store['findBeacons'] = (search) => this.#beacons.lists.find(search)
  readonly channelActivity: Store['channelActivity'] = (channels, question) =>
    this.#activity.of(channels, question)
  readonly listFailed: Store['listFailed'] = (page) => this.#activity.failed(page)
  readonly replay: Store['replay'] = (which, now, limit) => this.#events.replay(which, now, limit)

  constructor({ rows, newId, random, wait, together = atOnce }: AzureOptions) {
    const index = new Index(rows, newId, together)
    const stepAside = () => wait(Math.ceil(random() * stepAsideMs))
    this.#rows = rows
    this.#together = together
    this.attention = new AzureAttention(rows)
    const parts = { rows, index, together, newId, stepAside }
    this.#browse = new Browse(parts)
    this.#activity = new Activity(parts)
    this.#events = new Events(parts, this.#browse, this.#fresh)
    this.#taker = new Taker(parts)
    this.#claims = new Claims(parts, this.#taker)
    this.#parts = parts
    this.#beacons = new Beacons(parts)
    this.#forgetting = new Forgetting(parts, this.#browse)
    this.#memos = new Memos(rows)
    this.#moments = new Moments(parts)
    this.#open = new OpenEvents(parts)
    this.#toSubscriptions = new SubscriptionDeliveries(parts)
    this.#tallies = new Tallies(parts)
  }

  /**
   * Call this first. Throws FoghornError `data_version` if another version of the relay wrote the
   * table.
   */
  async open(): Promise<void> {
    const body = JSON.stringify({ version: formatVersion })
    const read = () => this.#rows.read(relayPartition, 'format')
    const insert = { kind: 'insert' as const, row: 'format', body }
    let found = (await read())?.body
    if (found === undefined) {
      await this.#rows.change(relayPartition, [insert])
      found = (await read())?.body
    }
    if (found === body) return
    const what = `the table has format ${found}, but this relay needs ${body}`
    throw new FoghornError('data_version', `${what}; deploy the version that wrote it`)
  }

  async commit(commit: Commit, before?: EventRecord) {
    const outcome = await this.#events.commit(commit, before)
    if (outcome === 'committed') this.#open.note(commit.record)
    return outcome
  }

  async settle(claimed: Claimed, settlement: Settlement, now: number, follow: Delivery[]) {
    const { spentUntil, state } = settlement
    const rest = async () => {
      if (spentUntil !== undefined) await this.#claims.pause(claimed.channel, spentUntil)
    }
    const held = this.#taker.heldBy(claimed)
    const outcome = await this.#events.settle(claimed, settlement, now, follow, rest, held)
    if (outcome === 'settled' && state === 'delivered')
      await this.#activity.note(claimed.channel, now)
    return outcome
  }

  /** As `claim`, but only deliveries of events that this worker has just committed. */
  claimOf(events: EventKey[], request: ClaimRequest) {
    return claimPlanned(this.#parts, this.#taker, this.#fresh, events, request)
  }

  async forget(before: number, limit: number, unheardSince = before) {
    const sightings = (key: EventKey) => this.#beacons.forgetSightings(key)
    const events = await this.#forgetting.events(before, limit, sightings)
    const isOpen = async (key: EventKey) => {
      const record = await this.readEvent(key)
      return record !== undefined && record.ended === undefined
    }
    const beacons = await this.#beacons.forget(unheardSince, limit, isOpen)
    const moments = await this.#moments.forget(before, limit)
    return events + beacons + moments + (await this.#toSubscriptions.forget(before, limit))
  }

  async nextDueAt(pacing: Pacing) {
    const times = await this.#together([
      () => this.#events.nextDueAt(pacing.now),
      () => this.#claims.nextDueAt(pacing),
    ])
    const next = Math.min(...times)
    return next === Number.POSITIVE_INFINITY ? undefined : next
  }
}
