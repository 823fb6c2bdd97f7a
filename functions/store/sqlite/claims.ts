// Finds and leases due deliveries, channel by channel. Fleets take turns on each channel.
import type { Claimed } from '../../core/delivery/delivery.ts'
import { afterSlots, freeAt, slotsAt } from '../../core/delivery/rate.ts'
import { roundRobin } from '../../core/delivery/round-robin.ts'
import type { ClaimRequest, Pacing } from '../store.ts'
import type { Deliveries } from './deliveries.ts'
import { sql } from './sql.ts'
import type { Statements } from './statements.ts'

/** A channel that messages wait for, and its fleets. The fleet that is due longest comes first. */
interface Waiting {
  channel: string
  nextAt: number
  spentUntil: number
  fleets: { fleet: string; nextAt: number }[]
}

/** The pending deliveries of a fleet to a channel. */
interface Queue {
  channel: string
  fleet: string
  spentUntil: number
  /** Read if needed. Null: none can be sent, or another process has sent all. */
  nextAt?: number | null
}

export class Claims {
  readonly #statements: Statements
  readonly #deliveries: Deliveries
  /** For each channel, the fleet that had the last turn. After a restart any fleet begins. */
  readonly #served = new Map<string, string>()
  readonly #isAlone: boolean
  /** All queues as they were at the last look. Undefined if they may have changed since. */
  #known: Queue[] | undefined

  constructor(statements: Statements, deliveries: Deliveries, isAlone: boolean) {
    this.#statements = statements
    this.#deliveries = deliveries
    this.#isAlone = isAlone
  }

  /** Call this once a delivery or a channel may have changed. */
  noteChange(): void {
    this.#known = undefined
  }

  /** Needs no transaction. True if another process may change what is due. */
  mayClaim(request: ClaimRequest): boolean {
    return (
      !this.#isAlone || this.#waitingChannels(request).some(({ nextAt }) => nextAt <= request.now)
    )
  }

  /** Call this within a transaction. */
  claim(request: ClaimRequest, lease: string): Claimed[][] {
    const requests: Claimed[][] = []
    for (const waiting of this.#waitingChannels(request)) {
      const limit = Math.min(request.roomOf(waiting.channel), request.limit - requests.length)
      if (waiting.nextAt > request.now || limit <= 0) break
      requests.push(...this.#claimOf(waiting, { ...request, limit }, lease))
    }
    return requests
  }

  /** Infinity if no delivery waits. */
  nextDueAt(pacing: Pacing): number {
    const times = this.#waitingChannels(pacing).map(({ channel, nextAt, spentUntil }) =>
      Math.max(nextAt, freeAt(pacing.rateOf(channel), spentUntil, pacing.now)),
    )
    return Math.min(...times)
  }

  /** A channel that accepts lists gets one request at a time. */
  #claimOf({ channel, spentUntil, fleets }: Waiting, request: ClaimRequest, lease: string) {
    const { now, limit } = request
    const rate = request.rateOf(channel)
    const slots = Math.min(limit, slotsAt(rate, spentUntil, now))
    const most = rate.together > 1 ? Math.min(slots, 1) * rate.together : slots
    const leaseUntil = now + request.leaseMs
    const due = (fleet: string) => this.#statements.all(sql.due, channel, fleet, now, most)
    const queues = fleets
      .filter(({ nextAt }) => nextAt <= now)
      .map(({ fleet }) => ({ fleet, waiting: due(fleet) }))
    const rows = roundRobin(queues, this.#served.get(channel), most)
    const first = rows.slice(0, 1)
    const together = first.some(({ alone }) => alone) ? first : rows.filter(({ alone }) => !alone)
    const claimed = (rate.together > 1 ? together : rows).map((row) => {
      const one = this.#deliveries.toDelivery(row)
      this.#statements.run(sql.lease, lease, leaseUntil, one.id)
      return { ...one, attempts: one.attempts + 1, nextAt: leaseUntil, lease, leaseUntil }
    })
    if (claimed.length === 0) return []
    this.noteChange()
    const requests = rate.together > 1 ? [claimed] : claimed.map((one) => [one])
    this.#served.set(channel, claimed.at(-1)!.fleet)
    const spent = afterSlots(rate, spentUntil, now, requests.length)
    if (rate.everyMs > 0) this.#statements.run(sql.spend, channel, spent)
    return requests
  }

  /** Channels with waiting messages and room for them. The one that is due longest comes first. */
  #waitingChannels({ roomOf }: Pacing): Waiting[] {
    const queues = this.#queues()
      .filter(({ channel }) => roomOf(channel) > 0)
      .flatMap((queue) => {
        if (queue.nextAt === undefined) queue.nextAt = this.#nextAt(queue)
        return queue.nextAt === null ? [] : [{ ...queue, nextAt: queue.nextAt }]
      })
    return [...Map.groupBy(queues, ({ channel }) => channel)]
      .map(([channel, own]) => {
        const fleets = own.toSorted((a, b) => a.nextAt - b.nextAt)
        const { nextAt, spentUntil } = fleets[0]!
        return { channel, nextAt, spentUntil, fleets }
      })
      .sort((a, b) => a.nextAt - b.nextAt)
  }

  #queues(): Queue[] {
    if (this.#known !== undefined) return this.#known
    const queues = this.#statements.all(sql.queues).map(({ channel, fleet, spent_until }) => ({
      channel: String(channel),
      fleet: String(fleet),
      spentUntil: Number(spent_until),
    }))
    if (this.#isAlone) this.#known = queues
    return queues
  }

  #nextAt({ channel, fleet }: Queue): number | null {
    const due = this.#statements.get(sql.queueDueAt, channel, fleet)
    return due === undefined ? null : Number(due.next_at)
  }
}
