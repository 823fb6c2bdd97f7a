// The store on Azure Tables, for any number of workers. An event and its deliveries share a partition, so
// that a commit is one transaction; what has to be found by time is named in an index first. The rows that
// each promise rests on are in azure-events, azure-claims, azure-beacons and azure-forget.
import { FoghornError } from '../../shared/errors.ts'
import type { Attention } from '../attention.ts'
import type { Settlement } from '../core/attempt.ts'
import type { Claimed, Delivery } from '../core/delivery.ts'
import type { Beacon, Sighting } from '../core/event.ts'
import type { ChannelHealth } from '../core/outage.ts'
import type { PostKey, PostState } from '../core/post.ts'
import { AzureAttention } from './azure-attention.ts'
import { Beacons } from './azure-beacons.ts'
import { Claims } from './azure-claims.ts'
import { Events } from './azure-events.ts'
import { Forgetting } from './azure-forget.ts'
import { Index } from './azure-index.ts'
import { Marks } from './azure-marks.ts'
import { OpenEvents } from './azure-open.ts'
import { Posts } from './azure-posts.ts'
import type { Rows } from './azure-rows.ts'
import type { ClaimRequest, Commit, EventKey, Pacing, Replay, Store } from './store.ts'
import { together as atOnce, type Together } from './together.ts'

/** Grows with every change of the rows that a relay of before would not understand. */
const formatVersion = 1
const relayPartition = 'relay'
/** Writers that met are spread over this time. */
const stepAsideMs = 60

export interface AzureOptions {
  rows: Rows
  /** Names leases and entries: different at every call. */
  newId: () => string
  /** In [0, 1). */
  random: () => number
  wait: (ms: number) => Promise<void>
  together?: Together
}

export class AzureStore implements Store {
  readonly #rows: Rows
  readonly #together: Together
  readonly #events: Events
  readonly #claims: Claims
  readonly #beacons: Beacons
  readonly #forgetting: Forgetting
  readonly #posts: Posts
  readonly #marks: Marks
  readonly #open: OpenEvents
  readonly attention: Attention

  constructor({ rows, newId, random, wait, together = atOnce }: AzureOptions) {
    const index = new Index(rows, newId, together)
    const stepAside = () => wait(Math.ceil(random() * stepAsideMs))
    this.#rows = rows
    this.#together = together
    this.attention = new AzureAttention(rows)
    this.#events = new Events({ rows, index, together, stepAside })
    this.#claims = new Claims(rows, index, newId, together)
    this.#beacons = new Beacons({ rows, index, newId, together, stepAside })
    this.#forgetting = new Forgetting({ rows, index, together })
    this.#posts = new Posts(rows)
    this.#marks = new Marks(rows)
    this.#open = new OpenEvents(rows, index, together)
  }

  /** To be called once, first. Throws FoghornError `data_version` where another version of the relay wrote the table. */
  async open(): Promise<void> {
    const body = JSON.stringify({ version: formatVersion })
    const read = () => this.#rows.read(relayPartition, 'format')
    const insert = { kind: 'insert' as const, row: 'format', body }
    if ((await read()) === undefined) await this.#rows.change(relayPartition, [insert])
    const found = (await read())?.body
    if (found === body) return
    const remedy = 'deploy the relay that wrote it, or name another table'
    const what = `the table has format ${found}, and this relay writes ${body}`
    throw new FoghornError('data_version', `${what}; ${remedy}`)
  }

  /**
   * Notes that the relay is listening, and says since when it has been without a gap of more than
   * `gapMs`: who was not heard before that may well have spoken. For a timer to call, well within that time.
   */
  async listeningSince(now: number, gapMs: number): Promise<number> {
    const row = 'listening'
    const known = await this.#rows.read(relayPartition, row)
    const last = known && (JSON.parse(known.body) as { at: number; since: number })
    const since = last !== undefined && now - last.at <= gapMs ? last.since : now
    const body = JSON.stringify({ at: now, since })
    await this.#rows.change(relayPartition, [{ kind: 'put', row, body }])
    return since
  }

  readEvent(key: EventKey) {
    return this.#events.read(key)
  }

  async commit(commit: Commit) {
    const outcome = await this.#events.commit(commit)
    if (outcome === 'committed') this.#open.note(commit.record)
    return outcome
  }

  countOpen(fleet: string, beacon: string, now: number) {
    return this.#open.count(fleet, beacon, now)
  }

  readObservers(key: EventKey) {
    return this.#beacons.observers(key)
  }

  async readBeacon(fleet: string, beacon: string) {
    return (await this.#beacons.read(fleet, beacon))?.beacon
  }

  listBeacons(fleet: string, page: { after?: string; limit: number }) {
    return this.#beacons.list(fleet, page)
  }

  async readSightings(fleet: string, beacon: string, eventIds: string[]) {
    if (eventIds.length === 0) return []
    const known = await this.#beacons.read(fleet, beacon)
    return (known?.sightings ?? []).filter(({ eventId }) => eventIds.includes(eventId))
  }

  writeBeacon(beacon: Beacon, sightings: Sighting[]) {
    return this.#beacons.write(beacon, sightings)
  }

  dueEvents(now: number, limit: number) {
    return this.#events.due(now, limit)
  }

  claim(request: ClaimRequest) {
    return this.#claims.claim(request)
  }

  settle(claimed: Claimed, settlement: Settlement, now: number, follow: Delivery[]) {
    const { spentUntil } = settlement
    const rest = async () => {
      if (spentUntil !== undefined) await this.#claims.pause(claimed.channel, spentUntil)
    }
    return this.#events.settle(claimed, settlement, now, follow, rest)
  }

  readPost(key: PostKey) {
    return this.#posts.read(key)
  }

  writePost(key: PostKey, state: PostState, basedOn: number) {
    return this.#posts.write(key, state, basedOn)
  }

  readMarks() {
    return this.#marks.all()
  }

  writeMark(channel: string, health: ChannelHealth, basedOn: number) {
    return this.#marks.write(channel, health, basedOn)
  }

  readDeliveries(key: EventKey) {
    return this.#events.deliveries(key)
  }

  listEvents(page: { fleet?: string; before?: number; limit: number }) {
    return this.#events.list(page)
  }

  replay(which: Replay, now: number, limit: number) {
    return this.#events.replay(which, now, limit)
  }

  async forget(before: number, limit: number, unheardSince = before) {
    const sightings = (key: EventKey) => this.#beacons.forgetSightings(key)
    const events = await this.#forgetting.events(before, limit, sightings)
    const isOpen = async (key: EventKey) => {
      const record = await this.readEvent(key)
      return record !== undefined && record.ended === undefined
    }
    return events + (await this.#beacons.forget(unheardSince, limit, isOpen))
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
