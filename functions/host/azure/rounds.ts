// Keeps the relay sending where no process stays: a request sends what it brought before its invocation ends, a
// wake-up or the timer sends the rest. After each, a message in the queue is set for the next due time,
// unless the timer comes first anyway. Losing such a message costs time, never a delivery.
import { AsyncLocalStorage } from 'node:async_hooks'
import { messageOf } from '../../../shared/errors.ts'
import { attemptMs } from '../../core/delivery/attempt.ts'
import { claimDue, nextDueAt } from '../../use-cases/deliver.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { sweep } from '../../use-cases/sweep.ts'
import { UnderWay } from '../under-way.ts'

/** How long a request waits for what it brought; what is under way then goes on. */
export const requestWaitMs = 3_000
/** How long a press in Slack may wait for that: Slack is answered within 3 s, of which the app may need 2. */
export const pressWaitMs = 500
/** How long a wake-up or the timer waits: for one attempt of everything. */
export const turnWaitMs = attemptMs + 1_000
/** The timer's own pace: what is due later needs no message. */
export const timerMs = 60_000
/** What fails at every look, and so stays due, brings no wake-up sooner than this. */
const afterFailureMs = 10_000
const maxUnderWay = 64

/** What a request has done so far. */
interface Request {
  committed: boolean
  owes: boolean
  /** What is committed from then on, nobody waits for. */
  answered: boolean
}

/** Sets a wake-up after so many ms. */
type Schedule = (delayMs: number) => Promise<void>

export class Rounds {
  readonly #relay: Relay
  readonly #schedule: Schedule
  readonly #requests = new AsyncLocalStorage<Request>()
  readonly #underWay: UnderWay
  #hinted = false
  #onHint: () => void = () => {}
  #sending: Promise<void> | undefined
  /** When the soonest message that is set comes back. */
  #setFor = 0
  #stopped = false

  constructor(relay: Relay, schedule: Schedule) {
    this.#relay = relay
    this.#schedule = schedule
    this.#underWay = new UnderWay(relay)
  }

  /** `Relay.wake`: something was committed. */
  hint(owed: number): void {
    const request = this.#requests.getStore()
    if (request !== undefined) {
      request.committed = true
      request.owes ||= owed > 0
    }
    if (owed > 0) this.#look()
    if (request?.answered) void this.#follow(request, requestWaitMs)
  }

  /** Answers a request, once what it brought was sent or `waitMs` are over. */
  async during<T>(work: () => Promise<T>, waitMs = requestWaitMs): Promise<T> {
    const request = { committed: false, owes: false, answered: false }
    const result = await this.#requests.run(request, work)
    request.answered = true
    if (request.committed) await this.#follow(request, waitMs)
    return result
  }

  /** Concludes and sends all that is due. Throws where the store fails, so that the message comes again. */
  async turn(): Promise<void> {
    const failed = await sweep(this.#relay)
    this.#look()
    await this.#waitFor(this.#send(), turnWaitMs)
    await this.#setWakeUp(failed > 0 ? afterFailureMs : 0)
  }

  /** A first turn, for what whoever was here before left behind. What goes wrong is logged. */
  async begin(): Promise<void> {
    try {
      await this.turn()
    } catch (error) {
      this.#relay.log.error('round_failed', { error: messageOf(error) })
    }
  }

  /** No new attempts; waits for those under way, at most `limitMs`. */
  async stop(limitMs: number): Promise<void> {
    this.#stopped = true
    this.#onHint()
    const ended = async () => {
      // what is being claimed just now is under way only after that
      await Promise.allSettled([this.#sending])
      await Promise.allSettled(this.#underWay.sends)
    }
    await this.#waitFor(ended(), limitMs)
  }

  /** What goes wrong here is not the request's fault, which is durable already. */
  async #follow({ owes }: Request, waitMs: number): Promise<void> {
    const failed = (error: unknown) =>
      this.#relay.log.error('round_failed', { error: messageOf(error) })
    // a directive does not wait for what others are being told
    if (owes) await this.#waitFor(this.#send(), waitMs).catch(failed)
    // what could not be sent above needs it all the more
    await this.#setWakeUp().catch(failed)
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
    try {
      while (!this.#stopped) {
        this.#hinted = false
        const room = maxUnderWay - this.#underWay.sends.size
        const requests = room > 0 ? await claimDue(this.#relay, room, this.#underWay.countOf) : []
        for (const group of requests) this.#underWay.begin(group)
        // a channel that hangs holds up nothing that comes meanwhile
        const idle = this.#underWay.sends.size > 0 && !this.#hinted
        if (idle) await Promise.race([...this.#underWay.sends, this.#nextHint()])
        if (this.#underWay.sends.size === 0 && !this.#hinted) return
      }
    } finally {
      // at once: who hints from now on begins anew
      this.#sending = undefined
    }
  }

  #nextHint(): Promise<void> {
    return new Promise((resolve) => {
      this.#onHint = resolve
    })
  }

  async #setWakeUp(leastMs = 0): Promise<void> {
    const nextAt = await nextDueAt(this.#relay, this.#underWay.countOf)
    const now = this.#relay.now()
    if (nextAt === undefined || nextAt > now + timerMs) return
    const delayMs = Math.max(leastMs, nextAt - now)
    if (this.#setFor > now && this.#setFor <= now + delayMs) return
    await this.#schedule(delayMs)
    this.#relay.log.debug('wake_up_set', { delayMs })
    this.#setFor = now + delayMs
  }

  async #waitFor(what: Promise<unknown>, limitMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const limit = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), limitMs)
    })
    const outcome = await Promise.race([what, limit]).finally(() => clearTimeout(timer))
    if (outcome !== 'late') return
    // it goes on, and may fail when nobody waits for it any more
    what.catch((error) => this.#relay.log.error('round_failed', { error: messageOf(error) }))
  }
}
