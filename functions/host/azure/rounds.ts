// Keeps the relay sending although no process stays alive: each request sends the messages that it
// caused, and a wake-up or the timer sends the rest. Each of them then queues a wake-up for the
// next due time, unless the timer runs earlier. A lost wake-up costs time, never a delivery.
import { AsyncLocalStorage } from 'node:async_hooks'
import { messageOf } from '../../../shared/errors.ts'
import { attemptMs, deliveryLeaseMs } from '../../core/delivery/attempt.ts'
import type { Claimed } from '../../core/delivery/delivery.ts'
import { claimDue, nextDueAt } from '../../use-cases/deliver.ts'
import { type Planned, type Relay, rateOf } from '../../use-cases/relay.ts'
import { sweep } from '../../use-cases/sweep.ts'
import { UnderWay, within } from '../under-way.ts'

/** How long a request waits for the messages that it caused. Sending goes on after that. */
export const requestWaitMs = 3_000
/**
 * The same for a press in Slack: Slack wants an answer within 3 s, and the app may need 2 of them.
 */
export const pressWaitMs = 500
/** How long a wake-up or the timer waits: long enough for one attempt. */
export const roundWaitMs = attemptMs + 1_000
/** The timer runs this often, so a later due time needs no wake-up. */
export const timerMs = 60_000
/** An event that fails stays due, so wait at least this long before the next wake-up. */
const afterFailureMs = 10_000
const maxUnderWay = 64
/** So that endpoints which hang leave places to configured channels. */
const maxToSubscriptions = 32
/** One claim counts requests once, so it exceeds the share above by at most this many. */
const maxClaimed = 16

interface Request {
  committed: boolean
  hasMessages: boolean
  /** When the events that it changed are due next, epoch ms. */
  dueAt: number
  /** Later commits of this request run without it, so `hint` sends their messages. */
  answered: boolean
}

/** Queues a wake-up that comes after `delayMs`. */
type Schedule = (delayMs: number) => Promise<void>

export class Rounds {
  readonly #relay: Relay
  readonly #schedule: Schedule
  readonly #requests = new AsyncLocalStorage<Request>()
  readonly #underWay: UnderWay
  #hinted = false
  /** A look may find more once something of this worker is sent. */
  #more = false
  /** Something of this worker is still pending, so only a look tells when it is due. */
  #isUnsure = false
  #onHint: () => void = () => {}
  #sending: Promise<void> | undefined
  /** When the next wake-up comes, epoch ms. */
  #setFor = 0
  #stopped = false

  constructor(relay: Relay, schedule: Schedule) {
    this.#relay = relay
    this.#schedule = schedule
    this.#underWay = new UnderWay(relay, { toSubscriptions: maxToSubscriptions })
  }

  /** `Relay.wake`: something was committed. */
  hint(messages: number, about?: Planned): void {
    const request = this.#requests.getStore()
    if (about === undefined) this.#isUnsure = true
    if (request !== undefined) {
      request.committed = true
      request.hasMessages ||= messages > 0
      request.dueAt = Math.min(request.dueAt, about?.dueAt ?? Number.POSITIVE_INFINITY)
    }
    if (messages > 0) this.#look()
    if (request?.answered) void this.#follow(request, requestWaitMs)
  }

  /** Answers a request once its messages are sent, or after `waitMs`. */
  async during<T>(work: () => Promise<T>, waitMs = requestWaitMs): Promise<T> {
    const dueAt = Number.POSITIVE_INFINITY
    const request: Request = { committed: false, hasMessages: false, answered: false, dueAt }
    const result = await this.#requests.run(request, work)
    request.answered = true
    if (request.committed) await this.#follow(request, waitMs)
    return result
  }

  /**
   * Concludes and sends all that is due. Throws if the store fails: then the queue sends the
   * wake-up again.
   */
  async run(): Promise<void> {
    const failed = await sweep(this.#relay)
    this.#look()
    await this.#waitFor(this.#send(), roundWaitMs)
    this.#isUnsure = false
    await this.#wakeForNext(failed > 0 ? afterFailureMs : 0)
  }

  /** A first round, for work that an earlier instance left. Logs errors. */
  async begin(): Promise<void> {
    try {
      await this.run()
    } catch (error) {
      this.#relay.log.error('round_failed', { error: messageOf(error) })
    }
  }

  /** Begins no new attempts and waits for those under way, at most `limitMs`. */
  async stop(limitMs: number): Promise<void> {
    this.#stopped = true
    this.#onHint()
    const ended = async () => {
      // a claim that is running now adds sends, so wait for it first
      await Promise.allSettled([this.#sending])
      await Promise.allSettled(this.#underWay.sends)
    }
    await this.#waitFor(ended(), limitMs)
  }

  /** Logs errors: the request is already durable, so it must not fail. */
  async #follow(request: Request, waitMs: number): Promise<void> {
    const failed = (error: unknown) =>
      this.#relay.log.error('round_failed', { error: messageOf(error) })
    let isLate = false
    // without messages of its own, a report's directive does not wait for others' messages
    if (request.hasMessages) {
      isLate = (await this.#waitFor(this.#send(), waitMs).catch(failed)) === 'late'
    }
    // also if sending failed above
    await this.#wakeAfter(request, isLate).catch(failed)
  }

  /** Other events and messages have their wake-ups already, or wait for the timer. */
  async #wakeAfter({ dueAt }: Request, isLate: boolean): Promise<void> {
    if (this.#isUnsure) {
      this.#isUnsure = false
      return this.#wakeForNext()
    }
    // if this worker ends now, another one sends what is under way
    const leaseUntil = this.#relay.now() + deliveryLeaseMs
    await this.#wakeAt(isLate ? Math.min(dueAt, leaseUntil) : dueAt)
  }

  #look(): void {
    this.#hinted = true
    this.#onHint()
  }

  /** One loop for all requests of this instance. */
  #send(): Promise<void> {
    this.#sending ??= this.#sendDue()
    return this.#sending
  }

  async #sendDue(): Promise<void> {
    this.#hinted = true
    try {
      while (!this.#stopped) {
        // a look costs calls of the storage, so only if there may be something to find
        if (this.#hinted || this.#more) await this.#claim()
        if (this.#hinted || (this.#more && this.#underWay.sends.size === 0)) continue
        if (this.#underWay.sends.size === 0) return
        // a hint ends the wait, so a channel that hangs does not delay new messages
        await Promise.race([...this.#underWay.sends, this.#nextHint()])
      }
      this.#isUnsure = true
    } catch (error) {
      this.#isUnsure = true
      throw error
    } finally {
      // no await in between: from now on a hint must begin a new loop
      this.#sending = undefined
    }
  }

  /** Begins to send what there is room for. Ends when a claim finds less than that. */
  async #claim(): Promise<void> {
    this.#hinted = false
    this.#more = false
    for (let left = maxUnderWay; left > 0; left -= maxClaimed) {
      const limit = Math.min(maxClaimed, maxUnderWay - this.#underWay.sends.size)
      if (limit <= 0) break
      const requests = await claimDue(this.#relay, limit, this.#underWay.countOf)
      for (const group of requests) {
        this.#more ||= group.some(hasNext)
        this.#underWay.begin(group, (finish) => {
          if (finish === 'open') this.#isUnsure = true
        })
      }
      if (requests.length < limit) {
        this.#more ||= requests.some(([one]) => this.#isFull(one!.channel))
        return
      }
    }
    this.#more = true
  }

  #isFull(channel: string): boolean {
    return this.#underWay.countOf(channel) >= rateOf(this.#relay, channel).atOnce
  }

  #nextHint(): Promise<void> {
    return new Promise((resolve) => {
      this.#onHint = resolve
    })
  }

  async #wakeForNext(leastMs = 0): Promise<void> {
    await this.#wakeAt(await nextDueAt(this.#relay, this.#underWay.countOf), leastMs)
  }

  async #wakeAt(nextAt = Number.POSITIVE_INFINITY, leastMs = 0): Promise<void> {
    const now = this.#relay.now()
    if (nextAt > now + timerMs) return
    const delayMs = Math.max(leastMs, nextAt - now)
    if (this.#setFor > now && this.#setFor <= now + delayMs) return
    await this.#schedule(delayMs)
    this.#relay.log.debug('wake_up_set', { delayMs })
    this.#setFor = now + delayMs
  }

  async #waitFor(what: Promise<unknown>, limitMs: number): Promise<'ended' | 'late'> {
    const outcome = await within(limitMs, what)
    if (outcome === 'ended') return outcome
    // it goes on, and must not become an unhandled rejection
    what.catch((error) => this.#relay.log.error('round_failed', { error: messageOf(error) }))
    return outcome
  }
}

/** Whether another message of the event waits behind it. Subscriptions often have one. */
function hasNext({ channel, id, known }: Claimed): boolean {
  if (known === undefined) return true
  return known.siblings.some(
    (one) => one.channel === channel && one.id !== id && one.state === 'pending',
  )
}
