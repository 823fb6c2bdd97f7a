// Finds and claims due deliveries, channel by channel. The index says where to look.
import { FoghornError } from '../../../shared/errors.ts'
import type { Claimed } from '../../core/delivery/delivery.ts'
import { freeAt, slotsAt } from '../../core/delivery/rate.ts'
import { type Queue, roundRobin } from '../../core/delivery/round-robin.ts'
import type { ClaimRequest, Pacing } from '../store.ts'
import { keyOf } from './keys.ts'
import type { Parts } from './parts.ts'
import {
  channelsPartition,
  type FleetQueue,
  type Pending,
  PendingDeliveries,
  toSpent,
  type Waiting,
} from './pending.ts'
import type { HeldEvent } from './stored.ts'
import type { Ready, Taker } from './take.ts'
import { type Found, timeOf } from './time-index.ts'

/** Another pass follows if other workers were faster. */
const maxPasses = 12
const maxSpendAttempts = 20
/** Subscriptions are many, so a claim reads no more channels than it needs. */
const channelsAtOnce = 32

export class Claims {
  readonly #parts: Parts
  readonly #pending: PendingDeliveries
  readonly #taker: Taker

  constructor(parts: Parts, taker: Taker) {
    this.#parts = parts
    this.#taker = taker
    this.#pending = new PendingDeliveries(parts)
  }

  async claim(request: ClaimRequest): Promise<Claimed[][]> {
    const lease = this.#parts.newId()
    const claimed: Claimed[][] = []
    const taken = new Map<string, number>()
    const room = (channel: string) => {
      const own = taken.get(channel) ?? 0
      const { together } = request.rateOf(channel)
      return together > 1 && own > 0 ? 0 : request.roomOf(channel) - own
    }
    for (let pass = 0; pass < maxPasses && claimed.length < request.limit; pass++) {
      const left = request.limit - claimed.length
      const channels = await this.#readyChannels({ ...request, roomOf: room }, left)
      let free = left
      const works = channels.flatMap((one) => {
        const limit = Math.min(room(one.waiting.channel), free)
        if (limit <= 0) return []
        const choice = this.#taker.choose(one, { ...request, limit })
        free -= choice.slots
        return choice.slots === 0 ? [] : [() => this.#taker.take(choice, request, lease)]
      })
      const outcomes = await this.#parts.together(works)
      for (const { requests } of outcomes) {
        claimed.push(...requests)
        for (const [one] of requests) taken.set(one!.channel, (taken.get(one!.channel) ?? 0) + 1)
      }
      if (outcomes.every(({ contested }) => !contested)) break
    }
    return claimed
  }

  /** Infinity if no delivery waits. */
  async nextDueAt(pacing: Pacing): Promise<number> {
    const { waiting, events } = await this.#pending.look(pacing)
    let first = Number.POSITIVE_INFINITY
    const works = waiting.sort(byEntry).flatMap(({ channel, spentUntil, fleets }) =>
      fleets.map((queue) => async () => {
        const stale: Found[] = []
        let next = Number.POSITIVE_INFINITY
        const isLate = (entry: number) => entry >= Math.min(next, first)
        for await (const { nextAt } of this.#pending.sendableIn(queue, events, stale, isLate)) {
          next = Math.min(next, nextAt)
        }
        await this.#parts.index.tidy(stale, pacing.now)
        const free = freeAt(pacing.rateOf(channel), spentUntil, pacing.now)
        first = Math.min(first, Math.max(next, free))
      }),
    )
    await this.#parts.together(works)
    return first
  }

  /** Pauses a channel, unless it already pauses longer. */
  async pause(channel: string, spentUntil: number): Promise<void> {
    for (let attempt = 0; attempt < maxSpendAttempts; attempt++) {
      const row = await this.#parts.rows.read(channelsPartition, keyOf(channel))
      const spent = row && toSpent(row)
      if (spent !== undefined && spent.stored.spentUntil >= spentUntil) return
      if (await this.#taker.spend(channel, spent, spentUntil, spent?.stored.fleet)) return
    }
    const what = `too many workers write channel "${channel}" at once`
    throw new FoghornError('storage_busy', `${what}; the delivery is retried`)
  }

  /** The channel that is due longest comes first. */
  async #readyChannels(request: ClaimRequest, limit: number): Promise<Ready[]> {
    const { waiting, events } = await this.#pending.look(request)
    const due = waiting.filter((one) => {
      const slots = slotsAt(request.rateOf(one.channel), one.spentUntil, request.now)
      return slots > 0 && firstEntry(one) <= request.now
    })
    due.sort(byEntry)
    const ready: (Ready & { first: Pending })[] = []
    for (let i = 0; i < due.length; i += channelsAtOnce) {
      // the channels from here on have nothing that is due before this
      const from = firstEntry(due[i]!)
      if (requestsUntil(from, ready, request) >= limit) break
      const works = due
        .slice(i, i + channelsAtOnce)
        .map((one) => () => this.#readyChannel(one, events, request, limit))
      ready.push(...(await this.#parts.together(works)).flat())
    }
    return ready.sort((a, b) => byDue(a.first, b.first))
  }

  /** An empty list if nothing of the channel can be sent now. */
  async #readyChannel(
    waiting: Waiting,
    events: Map<string, HeldEvent>,
    request: ClaimRequest,
    limit: number,
  ): Promise<(Ready & { first: Pending })[]> {
    const { channel, spent, fleets } = waiting
    const { together } = request.rateOf(channel)
    const most = together > 1 ? together : Math.min(limit, request.roomOf(channel))
    const queues: Queue<Pending>[] = []
    for (const queue of fleets) {
      const own = await this.#dueIn(queue, events, request.now, most)
      if (own.length > 0) queues.push({ fleet: queue.fleet, waiting: own })
    }
    queues.sort((a, b) => byDue(a.waiting[0]!, b.waiting[0]!))
    const last = spent?.stored.fleet ?? this.#taker.served.get(channel)
    const first = queues[0]?.waiting[0]
    return first === undefined ? [] : [{ waiting, pending: roundRobin(queues, last, most), first }]
  }

  async #dueIn(queue: FleetQueue, events: Map<string, HeldEvent>, now: number, most: number) {
    const stale: Found[] = []
    const due: Pending[] = []
    const isLate = (entry: number) => entry > now || due.length >= most
    for await (const each of this.#pending.sendableIn(queue, events, stale, isLate)) {
      if (each.nextAt <= now) due.push(each)
    }
    await this.#parts.index.tidy(stale, now)
    return due.sort(byDue)
  }
}

/** No delivery of the channel is due earlier. */
function firstEntry({ fleets }: Waiting): number {
  return Math.min(...fleets.map(({ entries }) => timeOf(entries[0]!)))
}

function byEntry(a: Waiting, b: Waiting): number {
  return firstEntry(a) - firstEntry(b)
}

/** How many requests these channels would make of deliveries that are due by then. */
function requestsUntil(at: number, ready: Ready[], request: ClaimRequest): number {
  const counts = ready.map(({ waiting, pending }) => {
    const rate = request.rateOf(waiting.channel)
    const due = pending.filter(({ nextAt }) => nextAt <= at).length
    const slots = slotsAt(rate, waiting.spentUntil, request.now)
    return Math.min(due, rate.together > 1 ? 1 : slots)
  })
  return counts.reduce((sum, count) => sum + count, 0)
}

/** The one that is due longest comes first. */
function byDue(a: Pending, b: Pending): number {
  return a.nextAt - b.nextAt || a.held.stored.delivery.seq - b.held.stored.delivery.seq
}
