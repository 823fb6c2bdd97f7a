// Finds and claims due deliveries, channel by channel and fleet by fleet. A lease is a change of the
// delivery's row: the first worker that changes it gets the delivery.

import type { Claimed } from '../core/delivery/delivery.ts'
import type { ChannelHealth } from '../core/delivery/health.ts'
import { afterSlots, freeAt, holdsUp, slotsAt, unlimited } from '../core/delivery/rate.ts'
import { type Queue, roundRobin } from '../core/delivery/round-robin.ts'
import { type Channels, toState } from './channels.ts'
import type { Deliveries, HeldPartition } from './deliveries.ts'
import {
  isLent,
  pendingIndex,
  pendingKey,
  readMade,
  type StoredDeliveries,
  type StoredDelivery,
  subscribers,
  toStoredDeliveries,
} from './delivery-rows.ts'
import type { Content, Made } from './edits.ts'
import { justAfter } from './keys.ts'
import { type Parts, unlessDamaged } from './parts.ts'
import {
  byDue,
  type FleetQueue,
  firstEntryAt,
  hasRoom,
  type Partitions,
  type Pending,
  pageSize,
  Queues,
  type Waiting,
} from './queues.ts'
import type { Found } from './rows.ts'
import type { Claim, ClaimRequest, Pacing } from './store.ts'

/** Another pass follows if other workers were faster. */
const maxPasses = 12
/** Deliveries of a queue that a claim looks at once it has one: the next claim goes on. */
const maxSeen = 400
/** Stored channels are many, so a claim reads no more channels than it needs. */
const channelsAtOnce = 32

/** Deliveries of one channel to claim: one group for each request, and one slot of its rate. */
interface Choice {
  waiting: Waiting
  groups: Pending[][]
  /** Until this time, the rate of the channel holds these deliveries up, and they are only judged. */
  heldUntil?: number
}

/** The choice's slots are taken. */
interface Booked extends Choice {
  /** When the rate of the channel allows the next request. */
  freeAt: number
}

/** What a claim takes of one queue. */
interface Wanted {
  most: number
  countRoom: (channel: string) => number
  /** Whether there is room for it, which it takes. */
  takes: (one: Pending) => boolean
}

export class Claims {
  readonly #parts: Parts
  readonly #deliveries: Deliveries
  readonly #channels: Channels
  readonly #queues: Queues
  /** For each channel without a rate: the fleet that had this worker's last turn. */
  readonly #served = new Map<string, string>()
  /** Queues in which a VM with few messages had the last turn: if others have many, one of theirs is next. */
  readonly #fewServed = new Set<string>()

  constructor(parts: Parts, deliveries: Deliveries, channels: Channels) {
    this.#parts = parts
    this.#deliveries = deliveries
    this.#channels = channels
    this.#queues = new Queues(parts, deliveries, channels)
  }

  async claim(request: ClaimRequest): Promise<Claim> {
    const lease = this.#parts.newId()
    const claimed: Claimed[][] = []
    let isAll = true
    let isLast = false
    const taken = new Map<string, number>()
    const countRoom = (channel: string) => {
      const own = taken.get(channel) ?? 0
      const { together } = request.rateOf(channel)
      return together > 1 && own > 0 ? 0 : request.roomOf(channel) - own
    }
    for (let pass = 0; pass < maxPasses && claimed.length < request.limit && !isLast; pass++) {
      const limit = request.limit - claimed.length
      const own = { ...request, limit, roomOf: countRoom }
      const { waiting, healthOf } = await this.#queues.look(own)
      const choices = await this.#choose(waiting, own)
      isAll &&= this.#areAll(waiting, choices, own)
      const booked = await this.#book(choices, request)
      const { requests, isContested } = await this.#lease(booked, request, lease, healthOf)
      for (const [one] of requests) taken.set(one!.channel, (taken.get(one!.channel) ?? 0) + 1)
      claimed.push(...requests)
      isLast = booked.length === choices.length && !isContested
    }
    return { requests: claimed, isAll: isAll && isLast }
  }

  /** When the next delivery can be claimed. Infinity if none waits. */
  async nextDueAt(pacing: Pacing): Promise<number> {
    const { now, rateOf } = pacing
    const partitions: Partitions = new Map()
    let first = Number.POSITIVE_INFINITY
    for (const waiting of (await this.#queues.look(pacing)).waiting) {
      const { channel, spentUntil } = waiting
      const free = channel === subscribers ? now : freeAt(rateOf(channel), spentUntil, now)
      // for so short a time, its rows need not be read: nothing can be sent
      const isShort = free > now && !holdsUp(free, now)
      const next = isShort
        ? firstEntryAt(waiting)
        : await this.#nextIn(waiting, partitions, pacing, first)
      // what is due long before its turn is judged
      first = Math.min(first, holdsUp(free, Math.max(next, now)) ? next : Math.max(next, free))
    }
    return first
  }

  /** When the next delivery of the channel is due. `before`: later ones do not matter. */
  async #nextIn(
    { fleets }: Waiting,
    partitions: Partitions,
    { now, roomOf }: Pacing,
    before: number,
  ): Promise<number> {
    let next = Number.POSITIVE_INFINITY
    const isLate = (at: number) => at >= Math.min(next, before)
    const isFree = (entry: Found) => hasRoom(entry, roomOf)
    for (const queue of fleets) {
      const sendable = this.#queues.sendableIn(queue, partitions, now, isFree, isLate)
      for await (const { at, one } of sendable) {
        // each stored channel has room of its own
        if (one === undefined || roomOf(one.channel) > 0) next = Math.min(next, at)
      }
    }
    return next
  }

  /** Makes all leases end. Only for a worker that is alone. */
  async freeLeases(now: number): Promise<void> {
    const { rows, edits } = this.#parts
    for (let from = '', isLast = false; !isLast; ) {
      const found = await rows.find(pendingIndex, from, '~', pageSize)
      isLast = found.length < pageSize
      if (!isLast) from = justAfter(found.at(-1)!.key)
      for (const { partition, row: name } of found) {
        const heldRow = { partition, row: name }
        const end = (row: Content | undefined): Made<void> => {
          const stored = row && toStoredDeliveries(row)
          if (!stored?.deliveries.some(({ lease }) => lease !== undefined))
            return { result: undefined }
          const deliveries = stored.deliveries.map(({ lease, ...one }) =>
            lease === undefined ? one : { ...one, nextAt: now },
          )
          return { result: undefined, next: readMade({ ...stored, deliveries }) }
        }
        await unlessDamaged(() => edits.edit(heldRow, end))
      }
    }
  }

  /** Which deliveries go into which request. The channel that is due longest comes first. */
  async #choose(waiting: Waiting[], request: ClaimRequest): Promise<Choice[]> {
    const due = waiting.filter((one) => {
      const { slots, heldUntil } = countSlots(one, request)
      return (slots > 0 || heldUntil !== undefined) && firstEntryAt(one) <= request.now
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
      await this.#queues.loadFirst(some, partitions, request)
      for (const one of some) ready.push(...(await this.#chooseIn(one, partitions, request)))
    }
    let left = request.limit
    return ready
      .sort((a, b) => byDue(a.first, b.first))
      .flatMap(({ first: _, ...choice }): Choice[] => {
        const groups = choice.groups.slice(0, left)
        left -= groups.length
        return groups.length === 0 ? [] : [{ ...choice, groups }]
      })
  }

  /** False: something is due, and waits for the rate of its channel, or for another worker. */
  #areAll(waiting: Waiting[], choices: Choice[], { now, roomOf }: ClaimRequest): boolean {
    const chosen = choices.flatMap(({ groups }) => groups.flat())
    const keys = new Set(chosen.map(({ stored, one }) => pendingKey(stored, one)))
    const entries = waiting.flatMap(({ fleets }) => fleets.flatMap((queue) => queue.entries))
    return entries.every((one) => {
      const isOthers = !keys.has(one.key) && this.#queues.isDueAndFree(one.key, now)
      // what has no room waits for what this worker has under way
      return !isOthers || !hasRoom(one, roomOf)
    })
  }

  /** Empty if nothing of the channel can be sent now. */
  async #chooseIn(
    waiting: Waiting,
    partitions: Partitions,
    request: ClaimRequest,
  ): Promise<(Choice & { first: Pending })[]> {
    const { channel, row, fleets } = waiting
    const { now, limit } = request
    const isOfSubscribers = channel === subscribers
    const { rate, slots: free, heldUntil } = countSlots(waiting, request)
    const held = heldUntil === undefined ? {} : { heldUntil }
    const room = isOfSubscribers ? limit : request.roomOf(channel)
    const slots = Math.min(limit, room, heldUntil === undefined ? free : limit)
    const most = rate.together > 1 ? rate.together : slots
    const taken = new Map<string, number>()
    /** Each stored channel has room of its own. */
    const countRoom = (one: string) => request.roomOf(one) - (taken.get(one) ?? 0)
    const takes = ({ one }: Pending) => {
      if (!isOfSubscribers) return true
      if (countRoom(one.channel) <= 0) return false
      taken.set(one.channel, (taken.get(one.channel) ?? 0) + 1)
      return true
    }
    const queues: Queue<Pending>[] = []
    for (const queue of fleets) {
      const own = await this.#dueIn(queue, partitions, now, { most, countRoom: countRoom, takes })
      if (own.length > 0) queues.push({ fleet: queue.fleet, waiting: own })
    }
    queues.sort((a, b) => byDue(a.waiting[0]!, b.waiting[0]!))
    const first = queues[0]?.waiting[0]
    if (first === undefined) return []
    const last = (row && toState(row).fleet) ?? this.#served.get(channel)
    const pending = roundRobin(queues, last, most)
    if (rate.together === 1) {
      return [{ ...held, waiting, first, groups: pending.map((one) => [one]) }]
    }
    const head = pending.slice(0, 1)
    const isAlone = head.some(({ one }) => one.alone)
    return [
      {
        ...held,
        waiting,
        first,
        groups: [isAlone ? head : pending.filter(({ one }) => !one.alone)],
      },
    ]
  }

  /**
   * The deliveries of a queue that can be sent now, at most `most`. The one due longest comes first, but VMs that told
   * of many have every second turn alone.
   */
  async #dueIn(
    queue: FleetQueue,
    partitions: Partitions,
    now: number,
    { most, countRoom: roomOf, takes }: Wanted,
  ): Promise<Pending[]> {
    const own: Pending[] = []
    let seen = 0
    const isFree = (entry: Found) => {
      seen += 1
      return hasRoom(entry, roomOf)
    }
    const isEnough = () => own.length >= most || (own.length > 0 && seen > maxSeen)
    const isLate = (at: number) => at > now || isEnough()
    const name = `${queue.channel}|${queue.fleet}`
    const crowdFirst = this.#fewServed.has(name)
    const sendable = this.#queues.sendableIn(queue, partitions, now, isFree, isLate, crowdFirst)
    for await (const one of sendable) {
      seen += 1
      if (one.one !== undefined && one.at <= now && takes(one)) own.push(one)
    }
    own.sort(
      (a, b) =>
        Number(a.isOfCrowd !== crowdFirst) - Number(b.isOfCrowd !== crowdFirst) || byDue(a, b),
    )
    return own
  }

  /** Books the slots of each channel before the leases. Leaves out channels that others booked. */
  async #book(choices: Choice[], { rateOf, now }: ClaimRequest): Promise<Booked[]> {
    const works = choices.map((choice) => async (): Promise<Booked[]> => {
      this.#noteTurns(choice)
      const { waiting, groups, heldUntil } = choice
      if (heldUntil !== undefined) return [{ ...choice, freeAt: heldUntil }]
      const { channel, row, spentUntil } = waiting
      const rate = channel === subscribers ? unlimited : rateOf(channel)
      const fleet = groups.flat().at(-1)!.stored.fleet
      if (rate.everyMs === 0) {
        this.#served.set(channel, fleet)
        return [{ ...choice, freeAt: now }]
      }
      const after = afterSlots(rate, spentUntil, now, groups.length)
      const before = row ? toState(row) : { channel }
      const outcome = await this.#channels.replace(row, { ...before, spentUntil: after, fleet })
      return outcome === 'conflict' ? [] : [{ ...choice, freeAt: freeAt(rate, after, now) }]
    })
    return (await this.#parts.together(works)).flat()
  }

  /** In each queue, the first message that is taken has the turn. */
  #noteTurns({ waiting: { channel }, groups }: Choice): void {
    const first = Map.groupBy(groups.flat(), ({ stored }) => stored.fleet)
    for (const [fleet, [one]] of first) {
      const name = `${channel}|${fleet}`
      if (one!.isOfCrowd) this.#fewServed.delete(name)
      else this.#fewServed.add(name)
    }
  }

  /** Deliveries of one row get their leases in one write. */
  async #lease(
    choices: Booked[],
    { now, leaseMs }: ClaimRequest,
    lease: string,
    healthOf: (channel: string) => ChannelHealth | undefined,
  ) {
    const leaseUntil = now + leaseMs
    const all = choices.flatMap(({ groups }) => groups.flat())
    const single = choices.flatMap(({ groups }) => groups.filter(({ length }) => length === 1))
    const alone = new Set(single.flat().map(({ one }) => one.id))
    const choiceOf = new Map(choices.map((choice) => [choice.waiting.channel, choice]))
    const byRow = Map.groupBy(all, ({ heldRow }) => heldRow)
    const works = [...byRow].map(([heldRow, pending]) => async () => {
      const ids = new Set(pending.map(({ one }) => one.id))
      const lent = await unlessDamaged(() =>
        this.#parts.edits.edit(heldRow, (row) => lend(row, ids, lease, leaseUntil, now)),
      )
      if (lent === undefined) return []
      const { partition } = pending[0]!
      const held = lent.leased.map((one) => ({ heldRow, stored: lent.stored, one }))
      const deliveries = await this.#deliveries.toDeliveries(held, partition)
      const known = await this.#knownOf(partition)
      return deliveries.map((delivery): [string, Claimed] => {
        const { channel } = delivery
        const { freeAt = now, heldUntil } = choiceOf.get(channel) ?? {}
        const own = { ...delivery, lease, leaseUntil, freeAt, health: healthOf(channel) }
        const isHeldUp = heldUntil !== undefined
        const claimed: Claimed = { ...own, ...(isHeldUp && { isHeldUp }), ...(known && { known }) }
        const taken = held.find(({ one }) => one.id === delivery.id)!
        this.#deliveries.noteClaimed(claimed, taken, { now, isAlone: alone.has(claimed.id) })
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
}

/** `slots`: how many requests the rate of the channel allows now. `heldUntil`: until then, none. */
function countSlots({ channel, spentUntil }: Waiting, { rateOf, now }: Pacing) {
  const rate = channel === subscribers ? unlimited : rateOf(channel)
  const free = freeAt(rate, spentUntil, now)
  const heldUntil = holdsUp(free, now) ? free : undefined
  return { rate, slots: slotsAt(rate, spentUntil, now), heldUntil }
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
  return { result: { stored: lent, leased }, next: readMade(lent) }
}
