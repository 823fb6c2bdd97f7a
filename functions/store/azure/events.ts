// Events and their deliveries: one partition for each event. Every write reads the partition,
// decides, adds index entries, and then changes the rows unless another writer was faster.
import { FoghornError } from '../../../shared/errors.ts'
import type { Settlement } from '../../core/delivery/attempt.ts'
import type { Claimed, Delivery } from '../../core/delivery/delivery.ts'
import type { EventRecord } from '../../core/event/event.ts'
import type { Commit, EventKey, EventPage, Replay } from '../store.ts'
import { commitWrites, replayWrites, settleWrites, type Writes } from './commit.ts'
import { type Found, partitions, timeOf } from './index.ts'
import { newestFirst, timeKey } from './keys.ts'
import type { Parts } from './parts.ts'
import type { Change, Row } from './rows.ts'
import {
  entriesOf,
  eventPartition,
  type HeldEvent,
  isSameEntry,
  ranges,
  readHeldEvent,
  toDelivery,
  toHeldEvent,
} from './stored.ts'

const maxWriteAttempts = 20
/** Pages that a search for due events reads, because it skips stale entries. */
const maxPages = 5
const pageSize = 100
const end = '~'

export class Events {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async read(key: EventKey): Promise<EventRecord | undefined> {
    return (await this.#event(key))?.stored.record
  }

  async deliveries(key: EventKey): Promise<Delivery[]> {
    const rows = await this.#parts.rows.list(eventPartition(key), ranges.whole)
    const { deliveries, views } = toHeldEvent(rows)
    return deliveries.map(({ stored }) => toDelivery(stored, views.get(stored.view)))
  }

  async commit(commit: Commit): Promise<'committed' | 'conflict'> {
    const quiet = commit.deliveries.length + commit.supersede.length === 0
    const found = quiet
      ? await this.#withoutDeliveries(commit.record)
      : await this.#withDeliveries(commit.record)
    const writes = commitWrites(found, commit, this.#parts.index)
    const written = writes !== 'conflict' && (await this.#write(commit.record, writes, commit.now))
    if (written) return 'committed'
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
  ): Promise<'settled' | 'lost'> {
    const { index, stepAside } = this.#parts
    for (let attempt = 0; attempt < maxWriteAttempts; attempt++) {
      const found = await this.#withDeliveries(claimed)
      const writes = settleWrites(found, claimed, settlement, now, follow, index)
      if (writes === 'lost') return 'lost'
      if (attempt === 0) await rest()
      if (await this.#write(claimed, writes, now)) return 'settled'
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
    for (;;) {
      const entries = await index.list(partition, { from, to: end, limit: pageSize })
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
      if (entries.length < pageSize) return records
      from = `${entries.at(-1)!.row}${end}`
    }
  }

  async replay(which: Replay, now: number, limit: number): Promise<number> {
    const { index, together } = this.#parts
    const from = 'id' in which ? '' : timeKey(which.since)
    const isNamed = ({ target }: Found) =>
      'id' in which ? target.id === which.id : (which.channel ?? target.channel) === target.channel
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
        const found = await this.#withDeliveries(entry.target)
        const own = found.deliveries.find(({ stored }) => stored.delivery.id === id)
        const isIts = isSameEntry(own?.stored.entry, entry)
        const writes = isIts ? replayWrites(found, id, now, index) : undefined
        return writes !== undefined && (await this.#write(entry.target, writes, now))
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
      from = `${entries.at(-1)!.row}${end}`
    }
    return due
  }

  async #write(key: EventKey, { changes, add, drop }: Writes, now: number): Promise<boolean> {
    const { rows, index } = this.#parts
    const targets = new Map(add.map(({ entry, target }) => [entry, target]))
    const entries = [...targets.keys()]
    await index.add(entries, (entry) => targets.get(entry)!, now)
    if ((await rows.change(eventPartition(key), changes)) === 'conflict') {
      const found = await rows.list(eventPartition(key), ranges.withoutViews)
      const named = entriesOf(toHeldEvent(found))
      // rows of moments were not read: a reader of the log tidies their entries
      const own = entries.filter(({ partition }) => partition !== partitions.unlogged)
      const unnamed = own.filter((entry) => !named.some((one) => isSameEntry(one, entry)))
      await index.drop(unnamed)
      // if the answer to a write is lost, the client writes again and conflicts with its own rows
      // another worker may have dropped the entries since
      const isWritten = unnamed.length < own.length || isThere(found, changes[0]!)
      if (!isWritten) return false
    }
    await index.drop(drop)
    return true
  }

  #event(key: EventKey) {
    return readHeldEvent(this.#parts.rows, key)
  }

  async #withoutDeliveries(key: EventKey): Promise<HeldEvent> {
    return { event: await this.#event(key), deliveries: [], views: new Map() }
  }

  async #withDeliveries(key: EventKey): Promise<HeldEvent> {
    return toHeldEvent(await this.#parts.rows.list(eventPartition(key), ranges.withoutViews))
  }
}

/** Whether the row is as the change makes it. */
function isThere(found: Row[], change: Change): boolean {
  const body = 'body' in change ? change.body : undefined
  return found.find(({ row }) => row === change.row)?.body === body
}
