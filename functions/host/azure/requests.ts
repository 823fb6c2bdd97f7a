// The loop on Azure Functions, where no process stays alive: each request sends the messages that it
// caused before it is answered, and leaves a queued wake-up for what is due later.
import { AsyncLocalStorage } from 'node:async_hooks'
import { messageOf } from '../../../shared/errors.ts'
import { beaconsIn } from '../../core/counts.ts'
import { attemptMs, deliveryLeaseMs } from '../../core/delivery/attempt.ts'
import { alignedHeartbeats } from '../../core/event/heartbeat.ts'
import { countAll } from '../../use-cases/count.ts'
import type { Planned, Relay } from '../../use-cases/relay.ts'
import { Loop } from '../loop.ts'
import { UnderWay } from '../under-way.ts'

/** How long a request waits for the messages that it caused. Sending goes on after that. */
export const requestWaitMs = 3_000
/**
 * How long a press of a button waits for its messages. The service wants an answer within 3 s, and the app may
 * need 2 of them.
 */
export const pressWaitMs = 500
/** How long a wake-up or the timer waits: long enough for one attempt. */
export const roundWaitMs = attemptMs + 1_000
/** The timer runs this often, so a later due time needs no wake-up. */
export const timerMs = 60_000
/** Requests at once; so that endpoints which hang leave places to configured channels. */
const places = { all: 64, claimed: 16, toStored: 32 }

interface Request {
  committed: boolean
  hasMessages: boolean
  answered: boolean
}

export class Requests {
  readonly #relay: Relay
  readonly #schedule: (delayMs: number) => Promise<void>
  readonly #loop: Loop
  readonly #requests = new AsyncLocalStorage<Request>()
  /** When the loop wants its next tick, and when the next queued wake-up comes, epoch ms. */
  #wantedAt = Number.POSITIVE_INFINITY
  #queuedFor = 0
  #stopped = false

  /** `schedule` queues a wake-up that comes after `delayMs`. */
  constructor(relay: Relay, schedule: (delayMs: number) => Promise<void>) {
    this.#relay = relay
    this.#schedule = schedule
    const set = (ms: number) => {
      this.#wantedAt = relay.now() + ms
    }
    const options = { places, maxSleepMs: timerMs }
    this.#loop = new Loop(relay, new UnderWay(relay, places), { set }, options)
  }

  /** `Relay.wake`. */
  hint(messages: number, about?: Planned): void {
    const request = this.#requests.getStore()
    if (request !== undefined) {
      request.committed = true
      request.hasMessages ||= messages > 0
    }
    this.#loop.hint(messages, about)
    if (request?.answered) void this.#follow(request, requestWaitMs)
  }

  /** Answers a request once its messages are sent and its wake-up is queued, or after `waitMs`. */
  async during<T>(work: () => Promise<T>, waitMs = requestWaitMs): Promise<T> {
    const request: Request = { committed: false, hasMessages: false, answered: false }
    const result = await this.#requests.run(request, work)
    request.answered = true
    if (this.#loop.isLate()) void this.run()
    if (request.committed) await this.#follow(request, waitMs)
    return result
  }

  /** Concludes and sends all that is due. */
  async run(): Promise<void> {
    void this.#loop.tick()
    await this.#follow({ hasMessages: true }, roundWaitMs)
  }

  /** Begins no new attempts. Another process sends what this one commits from now on. */
  stop(limitMs: number): Promise<void> {
    this.#stopped = true
    return this.#loop.stop(limitMs)
  }

  async #follow({ hasMessages }: Pick<Request, 'hasMessages'>, waitMs: number): Promise<void> {
    // without messages of its own, a report's directive does not wait for others' messages
    const isLate = hasMessages && (await this.#loop.settled(waitMs)) === 'late'
    const now = this.#relay.now()
    // if this process ends now, another one sends what is under way
    const leaseUntil = isLate ? now + deliveryLeaseMs : Number.POSITIVE_INFINITY
    const at = this.#stopped ? now : Math.min(this.#wantedAt, leaseUntil)
    const isQueued = this.#queuedFor > now && this.#queuedFor <= at
    if (at >= now + timerMs || isQueued) return
    const delayMs = Math.max(0, at - now)
    this.#queuedFor = at
    try {
      await this.#schedule(delayMs)
      this.#relay.log.debug('wake_up_set', { delayMs })
    } catch (error) {
      this.#queuedFor = 0
      this.#relay.log.error('wake_up_failed', { error: messageOf(error) })
    }
  }
}

/**
 * Keeps the relay's heartbeats right for the number of its beacons. The timer counts for metrics anyway.
 * Other instances read the row that it wrote: at their start, and then once in a while.
 */
export class FleetSize {
  readonly #relay: Relay
  #readAt = 0

  constructor(relay: Relay) {
    this.#relay = relay
  }

  /** Counts if the last count is older than `maxAgeMs`. Throws if the store fails. */
  async follow(maxAgeMs: number): Promise<void> {
    const relay = this.#relay
    this.#readAt = relay.now()
    const beacons = beaconsIn(await countAll(relay, maxAgeMs))
    relay.host.heartbeats = alignedHeartbeats(relay.config.publicUrl, beacons)
  }

  /** Reads the last count once a minute at most. No request waits for it. */
  refresh(): void {
    const relay = this.#relay
    if (relay.now() - this.#readAt < timerMs) return
    this.follow(Number.POSITIVE_INFINITY).catch((error) => {
      relay.log.warn('fleet_size_unread', { error: messageOf(error) })
    })
  }
}
