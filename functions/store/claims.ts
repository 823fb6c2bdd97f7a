// Finds and claims due deliveries, channel by channel and fleet by fleet. A lease is a change of the
// delivery's row: the first worker that changes it gets the delivery.
import { FoghornError } from '../../shared/errors.ts'
import { type Claimed, subscriptionChannel } from '../core/delivery/delivery.ts'
import { afterSlots, freeAt, slotsAt, unlimited } from '../core/delivery/rate.ts'
import { type Queue, roundRobin } from '../core/delivery/round-robin.ts'
import type { Deliveries, HeldDelivery, HeldPartition } from './deliveries.ts'
import {
  madeOf,
  type PendingSummary,
  pendingIndex,
  pendingKey,
  rangeAround,
  type StoredDeliveries,
  type StoredDelivery,
  subscribers,
  toStoredDeliveries,
} from './delivery-rows.ts'
import type { Content, Made } from './edits.ts'
import { endOf, justAfter, keyOf } from './keys.ts'
import type { Parts } from './parts.ts'
import { type Found, insertOrReplace, type Row } from './rows.ts'
import type { Claim, ClaimRequest, Pacing } from './store.ts'

/** Entries of one page. */
const pageSize = 200
/** Pages of one search, to see each channel and fleet. A long queue needs two pages. */
const maxPages = 512
/** Pages of one queue, because the deliveries that are due longest may have to wait for others. */
const maxQueuePages = 25
/** Events that are read at once. */
const eventsAtOnce = 8
/** Another pass follows if other workers were faster. */
const maxPasses = 12
/** Deliveries of a queue that a claim looks at once it has one: the next claim goes on. */
const maxSeen = 400
const maxPauseAttempts = 20
/** Another worker's request may end long before its lease: look again after this time. */
const lookAgainMs = 2_000
/** Subscriptions are many, so a claim reads no more channels than it needs. */
const channelsAtOnce = 32
const channelsPartition = keyOf('channels')

/** A channel that may have pending deliveries. */
interface Waiting {
  channel: string
  spentUntil: number
  /** The row of `spentUntil`. */
  spent: Row | undefined
  fleets: FleetQueue[]
}

/** Pending deliveries of one fleet for one channel. */
interface FleetQueue {
  channel: string
  fleet: string
  /** By time. If they fill a page, there may be more. */
  entries: Found[]
}

interface Spent {
  channel: string
  spentUntil: number
  /** The fleet that had the last turn. */
  fleet?: string | undefined
}

/** A pending delivery. No earlier one of its event and channel is pending. */
interface Pending extends HeldDelivery {
  partition: HeldPartition
  /** When it can be sent. */
  at: number
}

/** One that this worker has under way: it can be sent again when its lease ends. */
interface UnderWay {
  at: number
  one?: undefined
}

/** Deliveries of one channel to claim: one group for each request, and one slot of its rate. */
interface Choice {
  waiting: Waiting
  groups: Pending[][]
}

/** What a claim takes of one queue. */
interface Wanted {
  most: number
  roomOf: (channel: string) => number
  /** Whether there is room for it, which it takes. */
  takes: (one: Pending) => boolean
}

type Partitions = Map<string, HeldPartition>

export class Claims {
  readonly #parts: Parts
  readonly #deliveries: Deliveries
  /** For each channel without a rate: the fleet that had this worker's last turn. */
  readonly #served = new Map<string, string>()

  constructor(parts: Parts, deliveries: Deliveries) {
    this.#parts = parts
    this.#deliveries = deliveries
  }

  async claim(request: ClaimRequest): Promise<Claim> {
    const lease = this.#parts.newId()
    const claimed: Claimed[][] = []
    let isAll = true
    const taken = new Map<string, number>()
    const roomOf = (channel: string) => {
      const own = taken.get(channel) ?? 0
      const { together } = request.rateOf(channel)
      return together > 1 && own > 0 ? 0 : request.roomOf(channel) - own
    }
    for (let pass = 0; pass < maxPasses && claimed.length < request.limit; pass++) {
      const limit = request.limit - claimed.length
      const own = { ...request, limit, roomOf }
      const waiting = await this.#look(own)
      const choices = await this.#choose(waiting, own)
      isAll = this.#areAll(waiting, choices, own)
      const booked = await this.#book(choices, request)
      const { requests, isContested } = await this.#lease(booked, request, lease)
      for (const [one] of requests) taken.set(one!.channel, (taken.get(one!.channel) ?? 0) + 1)
      claimed.push(...requests)
      if (booked.length === choices.length && !isContested) break
    }
    return { requests: claimed, isAll }
  }

  /** When the next delivery can be claimed. Infinity if none waits. */
  async nextDueAt(pacing: Pacing): Promise<number> {
    const { now, rateOf } = pacing
    const partitions: Partitions = new Map()
    let first = Number.POSITIVE_INFINITY
    for (const { channel, spentUntil, fleets } of await this.#look(pacing)) {
      const free = channel === subscribers ? now : freeAt(rateOf(channel), spentUntil, now)
      for (const queue of fleets) {
        let next = Number.POSITIVE_INFINITY
        const isLate = (at: number) => at >= Math.min(next, first)
        const isFree = (entry: Found) => hasRoom(entry, pacing.roomOf)
        for await (const { at, one } of this.#sendableIn(queue, partitions, now, isFree, isLate)) {
          // each subscription has room of its own
          if (one === undefined || pacing.roomOf(one.channel) > 0) next = Math.min(next, at)
        }
        first = Math.min(first, Math.max(next, free))
      }
    }
    return first
  }

  /** Pauses a channel, unless it already pauses longer. */
  async pause(channel: string, spentUntil: number): Promise<void> {
    for (let attempt = 0; attempt < maxPauseAttempts; attempt++) {
      const row = await this.#parts.rows.read(channelsPartition, keyOf(channel))
      const spent = row && toSpent(row)
      if (spent !== undefined && spent.spentUntil >= spentUntil) return
      const change = insertOrReplace(
        row,
        keyOf(channel),
        JSON.stringify({ ...spent, channel, spentUntil }),
      )
      if ((await this.#parts.rows.change(channelsPartition, [change])) !== 'conflict') return
      await this.#parts.stepAside()
    }
    const what = `too many workers write channel "${channel}" at once`
    throw new FoghornError('storage_busy', `${what}; the delivery is retried`)
  }

  /** Makes all leases end. Only for a worker that is alone. */
  async freeLeases(now: number): Promise<void> {
    const { rows, edits } = this.#parts
    for (let from = '', isLast = false; !isLast; ) {
      const found = await rows.find(pendingIndex, from, '~', pageSize)
      isLast = found.length < pageSize
      if (!isLast) from = justAfter(found.at(-1)!.key)
      for (const { partition, row: name } of found) {
        await edits.edit({ partition, row: name }, (row): Made<void> => {
          const stored = row && toStoredDeliveries(row)
          if (!stored?.deliveries.some(({ lease }) => lease !== undefined))
            return { result: undefined }
          const deliveries = stored.deliveries.map(({ lease, ...one }) =>
            lease === undefined ? one : { ...one, nextAt: now },
          )
          return { result: undefined, next: madeOf({ ...stored, deliveries }) }
        })
      }
    }
  }

  /** The channels with room, and their entries. */
  async #look({ roomOf }: Pick<Pacing, 'roomOf'>): Promise<Waiting[]> {
    const { rows, together } = this.#parts
    const [spent, entries] = (await together<Row[] | Found[]>([
      () => rows.list(channelsPartition, '', '~'),
      () => this.#scan(),
    ])) as [Row[], Found[]]
    const spents = new Map(spent.map((row) => [toSpent(row).channel, row]))
    const queues = Map.groupBy(entries, ({ key }) => queueOf(key))
    const channels = Map.groupBy(queues.values(), ([first]) => first!.key.split('|')[0]!)
    return [...channels.values()].flatMap((own): Waiting[] => {
      const fleets = own.map((some): FleetQueue => {
        const [channel, fleet] = JSON.parse(some[0]!.summary) as PendingSummary
        return { channel, fleet, entries: some }
      })
      const { channel } = fleets[0]!
      if (channel !== subscribers && roomOf(channel) <= 0) return []
      const row = spents.get(channel)
      return [{ channel, spent: row, spentUntil: row ? toSpent(row).spentUntil : 0, fleets }]
    })
  }

  /** For each channel and fleet: all entries, or one full page of them. */
  async #scan(): Promise<Found[]> {
    const found: Found[] = []
    let from = ''
    for (let pages = 0; pages < maxPages; pages++) {
      const page = await this.#parts.rows.find(pendingIndex, from, '~', pageSize)
      const last = page.at(-1)
      if (last === undefined || page.length < pageSize) return [...found, ...page]
      const queue = queueOf(last.key)
      // if the last queue begins within this page, read it again from its start
      const isCut = queueOf(page[0]!.key) !== queue
      found.push(...page.filter(({ key }) => !isCut || queueOf(key) !== queue))
      from = isCut ? `${queue}|` : `${queue}|~`
    }
    return found
  }

  /** Which deliveries go into which request. The channel that is due longest comes first. */
  async #choose(waiting: Waiting[], request: ClaimRequest): Promise<Choice[]> {
    const due = waiting.filter((one) => {
      const rate = one.channel === subscribers ? unlimited : request.rateOf(one.channel)
      const slots = slotsAt(rate, one.spentUntil, request.now)
      return slots > 0 && firstEntryAt(one) <= request.now
    })
    due.sort((a, b) => firstEntryAt(a) - firstEntryAt(b))
    const partitions: Partitions = new Map()
    const ready: (Choice & { first: Pending })[] = []
    for (let i = 0; i < due.length; i += channelsAtOnce) {
      // the channels from here on have nothing that is due before this
      const from = firstEntryAt(due[i]!)
      const earlier = ready.flatMap(({ groups }) => groups.filter(([one]) => one!.at <= from))
      if (earlier.length >= request.limit) break
      const some = due.slice(i, i + channelsAtOnce)
      // the messages of one event are often due in several channels
      const entries = some.flatMap(({ fleets }) =>
        fleets.flatMap((queue) => queue.entries.slice(0, eventsAtOnce)),
      )
      const free = entries.filter(({ key }) => this.#isDueAndFree(key, request.now))
      await this.#load(
        free.filter((one) => hasRoom(one, request.roomOf)),
        partitions,
      )
      for (const one of some) ready.push(...(await this.#chooseIn(one, partitions, request)))
    }
    let left = request.limit
    return ready
      .sort((a, b) => byDue(a.first, b.first))
      .flatMap(({ waiting, groups }): Choice[] => {
        const own = groups.slice(0, left)
        left -= own.length
        return own.length === 0 ? [] : [{ waiting, groups: own }]
      })
  }

  /** False: something is due, and waits for the rate of its channel, or for another worker. */
  #areAll(waiting: Waiting[], choices: Choice[], { now }: ClaimRequest): boolean {
    const chosen = choices.flatMap(({ groups }) => groups.flat())
    const keys = new Set(chosen.map(({ stored, one }) => pendingKey(stored, one)))
    // subscriptions have no rate: they wait for what this worker has under way
    const rated = waiting.filter(({ channel }) => channel !== subscribers)
    const entries = rated.flatMap(({ fleets }) => fleets.flatMap((queue) => queue.entries))
    return entries.every(({ key }) => keys.has(key) || !this.#isDueAndFree(key, now))
  }

  /** Empty if nothing of the channel can be sent now. */
  async #chooseIn(
    waiting: Waiting,
    partitions: Partitions,
    request: ClaimRequest,
  ): Promise<(Choice & { first: Pending })[]> {
    const { channel, spent, spentUntil, fleets } = waiting
    const { now, limit } = request
    const isOfSubscribers = channel === subscribers
    const rate = isOfSubscribers ? unlimited : request.rateOf(channel)
    const room = isOfSubscribers ? limit : request.roomOf(channel)
    const slots = Math.min(limit, room, slotsAt(rate, spentUntil, now))
    const most = rate.together > 1 ? rate.together : slots
    const taken = new Map<string, number>()
    /** Each subscription has room of its own. */
    const roomOf = (one: string) => request.roomOf(one) - (taken.get(one) ?? 0)
    const takes = ({ one }: Pending) => {
      if (!isOfSubscribers) return true
      if (roomOf(one.channel) <= 0) return false
      taken.set(one.channel, (taken.get(one.channel) ?? 0) + 1)
      return true
    }
    const queues: Queue<Pending>[] = []
    for (const queue of fleets) {
      const own = await this.#dueIn(queue, partitions, now, { most, roomOf, takes })
      if (own.length > 0) queues.push({ fleet: queue.fleet, waiting: own })
    }
    queues.sort((a, b) => byDue(a.waiting[0]!, b.waiting[0]!))
    const first = queues[0]?.waiting[0]
    if (first === undefined) return []
    const last = (spent && toSpent(spent).fleet) ?? this.#served.get(channel)
    const pending = roundRobin(queues, last, most)
    if (rate.together === 1) {
      return [{ waiting, first, groups: pending.map((one) => [one]) }]
    }
    const head = pending.slice(0, 1)
    const isAlone = head.some(({ one }) => one.alone)
    return [{ waiting, first, groups: [isAlone ? head : pending.filter(({ one }) => !one.alone)] }]
  }

  /** The deliveries of a queue that can be sent now, at most `most`. The one due longest comes first. */
  async #dueIn(
    queue: FleetQueue,
    partitions: Partitions,
    now: number,
    { most, roomOf, takes }: Wanted,
  ): Promise<Pending[]> {
    const own: Pending[] = []
    let seen = 0
    const isFree = (entry: Found) => {
      seen += 1
      return hasRoom(entry, roomOf)
    }
    const isEnough = () => own.length >= most || (own.length > 0 && seen > maxSeen)
    const isLate = (at: number) => at > now || isEnough()
    for await (const one of this.#sendableIn(queue, partitions, now, isFree, isLate)) {
      seen += 1
      if (one.one !== undefined && one.at <= now && takes(one)) own.push(one)
    }
    return own.sort(byDue)
  }

  /** Books the slots of each channel before the leases. Leaves out channels that others booked. */
  async #book(choices: Choice[], { rateOf, now }: ClaimRequest): Promise<Choice[]> {
    const works = choices.map((choice) => async (): Promise<Choice[]> => {
      const { waiting, groups } = choice
      const { channel, spent, spentUntil } = waiting
      const rate = channel === subscribers ? unlimited : rateOf(channel)
      const fleet = groups.flat().at(-1)!.stored.fleet
      if (rate.everyMs === 0) {
        this.#served.set(channel, fleet)
        return [choice]
      }
      const after = afterSlots(rate, spentUntil, now, groups.length)
      const body = JSON.stringify({ channel, spentUntil: after, fleet } satisfies Spent)
      const change = insertOrReplace(spent, keyOf(channel), body)
      const outcome = await this.#parts.rows.change(channelsPartition, [change])
      return outcome === 'conflict' ? [] : [choice]
    })
    return (await this.#parts.together(works)).flat()
  }

  /** Deliveries of one row get their leases in one write. */
  async #lease(choices: Choice[], { now, leaseMs }: ClaimRequest, lease: string) {
    const leaseUntil = now + leaseMs
    const all = choices.flatMap(({ groups }) => groups.flat())
    const byRow = Map.groupBy(all, ({ place }) => place)
    const works = [...byRow].map(([place, pending]) => async () => {
      const ids = new Set(pending.map(({ one }) => one.id))
      const lent = await this.#parts.edits.edit(place, (row) =>
        lend(row, ids, lease, leaseUntil, now),
      )
      if (lent === undefined) return []
      const { partition } = pending[0]!
      const held = lent.leased.map((one) => ({ place, stored: lent.stored, one }))
      const deliveries = await this.#deliveries.toDeliveries(held, partition)
      const known = await this.#knownOf(partition)
      return deliveries.map((delivery): [string, Claimed] => {
        const claimed: Claimed = { ...delivery, lease, leaseUntil, ...(known && { known }) }
        this.#deliveries.noteClaimed(claimed, held.find(({ one }) => one.id === delivery.id)!)
        return [delivery.id, claimed]
      })
    })
    const claimed = new Map((await this.#parts.together(works)).flat())
    const requests = choices
      .flatMap(({ groups }) => groups)
      .map((group) => group.flatMap(({ one }) => claimed.get(one.id) ?? []))
      .filter((group) => group.length > 0)
    return { requests, isContested: claimed.size < all.length }
  }

  /** The event and all its deliveries, if the claim has read them. */
  async #knownOf(partition: HeldPartition): Promise<Claimed['known']> {
    if (partition.record === undefined) return undefined
    const siblings = await this.#deliveries.toDeliveries(partition.deliveries, partition)
    return { record: partition.record, siblings }
  }

  /**
   * The deliveries of a queue that need not wait for an earlier one of their event, by time. Ends
   * at an entry that is too late.
   */
  async *#sendableIn(
    queue: FleetQueue,
    partitions: Partitions,
    now: number,
    isFree: (entry: Found) => boolean,
    isLate: (at: number) => boolean,
  ): AsyncGenerator<Pending | UnderWay> {
    const shown = new Set<string>()
    for await (const entries of this.#entriesOf(queue)) {
      const due = entries.filter(({ key }) => !isLate(timeOf(key)))
      if (due.length === 0) return
      const looked = due.filter(isFree).map((entry) => {
        return { entry, until: this.#underWayUntil(entry.key, now) }
      })
      const free = looked.filter(({ until }) => until === undefined).map(({ entry }) => entry)
      await this.#load(free, partitions)
      for (const { entry, until } of looked) {
        if (isLate(timeOf(entry.key))) return
        if (until === undefined) yield* headsOf(entry, queue.channel, partitions, now, shown)
        else yield { at: until }
      }
    }
  }

  /** As many at once as may be read together. */
  async *#entriesOf({ channel, fleet, entries }: FleetQueue): AsyncGenerator<Found[]> {
    let page = entries
    for (let pages = 1; pages <= maxQueuePages; pages++) {
      for (let i = 0; i < page.length; i += eventsAtOnce) yield page.slice(i, i + eventsAtOnce)
      const last = page.at(-1)
      if (last === undefined || page.length < pageSize) return
      const from = justAfter(last.key)
      page = await this.#parts.rows.find(pendingIndex, from, endOf(channel, fleet), pageSize)
    }
  }

  #isDueAndFree(key: string, now: number): boolean {
    return timeOf(key) <= now && this.#underWayUntil(key, now) === undefined
  }

  #underWayUntil(key: string, now: number): number | undefined {
    const until = this.#deliveries.underWay.get(key)
    if (until === undefined || until > now) return until
    this.#deliveries.underWay.delete(key)
    return undefined
  }

  async #load(entries: Found[], partitions: Partitions): Promise<void> {
    const missing = new Map(entries.map((entry) => [groupOf(entry), entry]))
    const works = [...missing]
      .filter(([name]) => !partitions.has(name))
      .map(([name, { partition, row }]) => async () => {
        partitions.set(name, await this.#deliveries.load(partition, rangeAround(row)))
      })
    await this.#parts.together(works)
  }
}

/** Gives each delivery that is free a lease. */
function lend(
  row: Content | undefined,
  ids: Set<string>,
  lease: string,
  leaseUntil: number,
  now: number,
): Made<{ stored: StoredDeliveries; leased: StoredDelivery[] } | undefined> {
  const stored = row && toStoredDeliveries(row)
  if (stored === undefined) return { result: undefined }
  const leased: StoredDelivery[] = []
  const deliveries = stored.deliveries.map((one) => {
    if (!ids.has(one.id) || one.state !== 'pending' || isLent(one, now)) return one
    const lent = { ...one, lease, attempts: one.attempts + 1, nextAt: leaseUntil }
    leased.push(lent)
    return lent
  })
  if (leased.length === 0) return { result: undefined }
  const lent = { ...stored, deliveries }
  return { result: { stored: lent, leased }, next: madeOf(lent) }
}

function isLent({ lease, nextAt }: StoredDelivery, now: number): boolean {
  return lease !== undefined && nextAt > now
}

/**
 * The first pending delivery of an event to a channel, and when it can be sent. If a later one was
 * planned since its last attempt, it does not wait for its own time: people need one of them now.
 */
function headOf({ deliveries }: HeldPartition, channel: string, now: number) {
  const pending = deliveries.filter(({ one }) => one.channel === channel && one.state === 'pending')
  const [head] = pending
  if (head === undefined) return undefined
  if (isLent(head.one, now)) return { ...head, at: Math.min(head.one.nextAt, now + lookAgainMs) }
  const { triedAt = Number.NEGATIVE_INFINITY, nextAt } = head.one
  const newer = pending.filter(({ one }) => one.plannedAt > triedAt).map(({ one }) => one.nextAt)
  return { ...head, at: Math.min(nextAt, ...newer) }
}

function toSpent({ body }: Row): Spent {
  return JSON.parse(body) as Spent
}

/** What is read together for an entry: deliveries that wait for each other. */
function groupOf({ partition, row }: Found): string {
  return `${partition} ${rangeAround(row)[0]}`
}

/** False: no subscription of the row has room, so nobody needs to read it. */
function hasRoom({ summary }: Found, roomOf: Pacing['roomOf']): boolean {
  const [, , , , subscriptions] = JSON.parse(summary) as PendingSummary
  const isFree = (one: string) => roomOf(subscriptionChannel(one)) > 0
  return subscriptions?.some(isFree) ?? true
}

/** The next delivery of the entry's event to each of the entry's channels, each only once. */
function headsOf(
  entry: Found,
  channel: string,
  partitions: Partitions,
  now: number,
  shown: Set<string>,
): Pending[] {
  const partition = partitions.get(groupOf(entry))!
  return channelsOf(entry, channel, partition).flatMap((own) => {
    const head = headOf(partition, own, now)
    if (head === undefined || shown.has(head.one.id)) return []
    shown.add(head.one.id)
    return [{ ...head, partition }]
  })
}

/** The channels of an entry's deliveries: one, or subscriptions whose deliveries share a row. */
function channelsOf(entry: Found, channel: string, { deliveries }: HeldPartition): string[] {
  if (channel !== subscribers) return [channel]
  const own = deliveries.filter(
    ({ place, one }) => place.row === entry.row && one.state === 'pending',
  )
  return own.map(({ one }) => one.channel)
}

/** The channel and fleet of an entry. */
function queueOf(key: string): string {
  return key.split('|', 2).join('|')
}

function timeOf(key: string): number {
  return Number(key.split('|')[2])
}

/** No delivery of the channel is due earlier. */
function firstEntryAt({ fleets }: Waiting): number {
  return Math.min(...fleets.map(({ entries }) => timeOf(entries[0]!.key)))
}

/** The one that is due longest comes first. */
function byDue(a: Pending, b: Pending): number {
  return a.at - b.at || a.one.seq - b.one.seq
}
