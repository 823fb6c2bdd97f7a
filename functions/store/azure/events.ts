// Events and their deliveries: one partition for each event. Every write reads the partition,
// decides, adds index entries, and then changes the rows unless another writer was faster.
import { FoghornError } from '../../../shared/errors.ts'
import type { Settlement } from '../../core/delivery/attempt.ts'
import {
  type Claimed,
  type Delivery,
  subscriptionChannel,
  subscriptionOf,
} from '../../core/delivery/delivery.ts'
import type { EventRecord } from '../../core/event/event.ts'
import type { Commit, EventKey, EventPage, Replay } from '../store.ts'
import type { Browse } from './browse.ts'
import { commitWrites, replayWrites, settleWrites } from './commit.ts'
import { justAfter, newestFirst, timeKey } from './keys.ts'
import type { NewEvents } from './new-events.ts'
import type { Parts } from './parts.ts'
import {
  deliveryPartition,
  eventPartition,
  type Held,
  type HeldEvent,
  isSameEntry,
  ranges,
  readHeldEvent,
  type StoredEvent,
  toDelivery,
  toHeldEvent,
} from './stored.ts'
import { type Found, partitions, timeOf } from './time-index.ts'
import { write } from './write.ts'

const maxWriteAttempts = 20
/** Pages that a search for due events reads, because it skips stale entries. */
const maxPages = 5
const pageSize = 100
const end = '~'

export class Events {
  readonly #parts: Parts
  readonly #browse: Browse
  readonly #fresh: NewEvents
  /** The row of each event that was read, so that its commit need not read it again. */
  readonly #known = new WeakMap<EventRecord, Held<StoredEvent>>()

  constructor(parts: Parts, browse: Browse, fresh: NewEvents) {
    this.#parts = parts
    this.#browse = browse
    this.#fresh = fresh
  }

  async read(key: EventKey): Promise<EventRecord | undefined> {
    const event = await this.#event(key)
    if (event !== undefined) this.#known.set(event.stored.record, event)
    return event?.stored.record
  }

  async deliveries(key: EventKey, subscription?: string): Promise<Delivery[]> {
    const channel = subscription === undefined ? undefined : subscriptionChannel(subscription)
    const partition = deliveryPartition({ ...key, channel })
    const rows = await this.#parts.rows.list(partition, ranges.whole)
    const { deliveries, views } = toHeldEvent(rows)
    return deliveries.map(({ stored }) => toDelivery(stored, views.get(stored.view)))
  }

  async commit(commit: Commit, before?: EventRecord): Promise<'committed' | 'conflict'> {
    const partition = eventPartition(commit.record)
    const found = await this.#foundFor(commit, before)
    const writes = commitWrites(found, commit, this.#parts.index)
    const known = found.event?.stored.record
    if (writes !== 'conflict') {
      const lists = () => this.#browse.before(known, commit.record)
      const etags = await write(this.#parts, partition, writes, commit.now, lists)
      if (etags !== false) {
        if (commit.basedOn === 0) this.#fresh.keep(partition, writes.changes, etags, commit.now)
        await this.#browse.after(known, commit.record)
        return 'committed'
      }
    }
    await this.#parts.stepAside()
    return 'conflict'
  }

  async settle(
    claimed: Claimed,
    settlement: Settlement,
    now: number,
    follow: Delivery[],
    /** Pauses the channel. Called only if the lease is valid. */
    rest: () => Promise<void>,
    /** The event as it was claimed. If it has changed since, it is read again. */
    claimedFrom?: HeldEvent,
  ): Promise<'settled' | 'lost'> {
    const { index, stepAside } = this.#parts
    const partition = deliveryPartition(claimed)
    for (let attempt = 0; attempt < maxWriteAttempts; attempt++) {
      const held = attempt === 0 ? claimedFrom : undefined
      const found = held ?? (await this.#withDeliveries(partition))
      const writes = settleWrites(found, claimed, settlement, now, follow, index)
      if (writes === 'lost') return 'lost'
      if (attempt === 0) await rest()
      if ((await write(this.#parts, partition, writes, now)) !== false) return 'settled'
      await stepAside()
    }
    const what = `too many workers write event "${claimed.eventId}" at once`
    throw new FoghornError('storage_busy', `${what}; the delivery is retried`)
  }

  async due(now: number, limit: number): Promise<EventKey[]> {
    const works = partitions.all('due').map((partition) => async () => {
      return this.#dueIn(partition, now, { to: timeKey(now + 1), limit })
    })
    const due = (await this.#parts.together(works)).flat().sort((a, b) => a.at - b.at)
    return due.slice(0, limit).map(({ fleet, eventId }) => ({ fleet, eventId }))
  }

  /** Infinity if no event waits. */
  async nextDueAt(now: number): Promise<number> {
    const works = partitions.all('due').map((partition) => async () => {
      const [first] = await this.#dueIn(partition, now, { to: end, limit: 1 })
      return first?.at ?? Number.POSITIVE_INFINITY
    })
    return Math.min(...(await this.#parts.together(works)))
  }

  async list(page: EventPage): Promise<EventRecord[]> {
    const { index, together } = this.#parts
    const partition = partitions.listed(page.fleet)
    const before = page.before ?? Number.MAX_SAFE_INTEGER
    const records: EventRecord[] = []
    let from = newestFirst(before - 1)
    // the one after the page may share its last millisecond
    const size = Math.min(pageSize, page.limit + 1)
    for (;;) {
      const entries = await index.list(partition, { from, to: end, limit: size })
      const works = entries.map((entry) => () => this.#event(entry.target))
      const events = await together(works)
      for (const [i, event] of events.entries()) {
        const isIts = event?.stored.listed.some((own) => isSameEntry(own, entries[i]!))
        if (!event || !isIts) continue
        const last = records.at(-1)
        const next = event.stored.record
        if (records.length >= page.limit && last?.firstSeenAt !== next.firstSeenAt) return records
        records.push(next)
      }
      if (entries.length < size) return records
      from = justAfter(entries.at(-1)!.row)
    }
  }

  async replay(which: Replay, now: number, limit: number): Promise<number> {
    const { index, together } = this.#parts
    const from = 'id' in which ? '' : timeKey(which.since)
    const isNamed = ({ target: { id, channel = '' } }: Found) => {
      if ('id' in which) return id === which.id
      if (which.channel !== undefined) return channel === which.channel
      return subscriptionOf(channel) === undefined
    }
    const isWanted = (found: Found) =>
      isNamed(found) && (which.fleets?.includes(found.target.fleet) ?? true)
    const wanted = (await index.list(partitions.failed, { from, to: end })).filter(isWanted)
    let replayed = 0
    // stale entries do not count towards the limit
    for (let i = 0; i < wanted.length && replayed < limit; ) {
      const some = wanted.slice(i, i + Math.min(pageSize, limit - replayed))
      i += some.length
      const works = some.map((entry) => async () => {
        const { id = '' } = entry.target
        const partition = deliveryPartition(entry.target)
        const found = await this.#withDeliveries(partition)
        const own = found.deliveries.find(({ stored }) => stored.delivery.id === id)
        const isIts = isSameEntry(own?.stored.entry, entry)
        const writes = isIts ? replayWrites(found, id, now, index) : undefined
        return writes !== undefined && (await write(this.#parts, partition, writes, now)) !== false
      })
      replayed += (await together(works)).filter((done) => done).length
    }
    return replayed
  }

  /** The first events that are due before `to`. Skips and tidies stale entries. */
  async #dueIn(partition: string, now: number, { to, limit }: { to: string; limit: number }) {
    const { index, together } = this.#parts
    const due: (EventKey & { at: number })[] = []
    let from = ''
    for (let page = 0; page < maxPages && due.length < limit; page++) {
      // a caller that wants one event must get past many stale entries
      const size = page === 0 ? limit : Math.max(limit, pageSize)
      const entries = await index.list(partition, { from, to, limit: size })
      const stale: Found[] = []
      const works = entries.map((entry) => () => this.#event(entry.target))
      const events = await together(works)
      for (const [i, event] of events.entries()) {
        const entry = entries[i]!
        if (isSameEntry(event?.stored.due, entry)) due.push({ ...entry.target, at: timeOf(entry) })
        else stale.push(entry)
      }
      await index.tidy(stale, now)
      if (entries.length < size) break
      from = justAfter(entries.at(-1)!.row)
    }
    return due
  }

  /** What a commit may change. */
  async #foundFor(commit: Commit, before: EventRecord | undefined): Promise<HeldEvent> {
    const { record, basedOn, deliveries, supersede, forget = [] } = commit
    const partition = eventPartition(record)
    const nothing = { event: undefined, deliveries: [], views: new Map() }
    // the insertion fails if another worker was faster
    if (basedOn === 0 && this.#fresh.begins(partition)) return nothing
    // an event that is not stored has no deliveries
    const isQuiet = basedOn === 0 || deliveries.length + supersede.length + forget.length === 0
    if (!isQuiet) return this.#withDeliveries(partition)
    const known = before && this.#known.get(before)
    return { ...nothing, event: known ?? (await this.#event(record)) }
  }

  #event(key: EventKey) {
    return readHeldEvent(this.#parts.rows, key)
  }

  async #withDeliveries(partition: string): Promise<HeldEvent> {
    return toHeldEvent(await this.#parts.rows.list(partition, ranges.withoutViews))
  }
}
