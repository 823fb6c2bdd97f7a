// Keeps a host that stays alive delivering: sweeps, sends what is due, and sleeps until the next
// due time. A wake-up only shortens the sleep, as the store knows everything that is pending.
import { messageOf } from '../../shared/errors.ts'
import { checkAbsences } from '../use-cases/check-absences.ts'
import { claimDue, nextDueAt } from '../use-cases/deliver.ts'
import { forgetOld } from '../use-cases/forget.ts'
import { createOwnWatch, type Machine } from '../use-cases/own-troubles.ts'
import type { Relay } from '../use-cases/relay.ts'
import { sweep } from '../use-cases/sweep.ts'
import { type Places, UnderWay, within } from './under-way.ts'

const usualSleepMs = 30_000
const forgetEveryMs = 3_600_000
const checkEveryMs = 5 * 60_000
/** If the timer fires later, the process was halted and may have missed reports. */
const maxLateMs = 20_000
const afterFailureMs = 1_000
/** Requests that end within this time share one look at what is due: it costs more than a request. */
const refillMs = { few: 2, many: 40 }
/** With more requests under way, there are many queues to look at. */
const maxFew = 64

export interface Timer {
  /** Calls `wake` of the pump after `ms`. Replaces the time that was set before. */
  set(ms: number): void
  clear(): void
}

interface PumpOptions {
  timer?: Timer
  /** Requests to channels at once, and how they are shared. */
  places?: Places
  /** Requests of one claim, so that the shares are exceeded by no more than this. */
  maxClaimed?: number
  /** The pump looks what is due at least this often. */
  maxSleepMs?: number
  machine?: Machine
}

/** There is a place for every subscription. */
const usualPlaces: Places = { all: 2_048, wide: 512 }
const usualClaimed = 256

export class Pump {
  readonly #relay: Relay
  readonly #timer: Timer
  readonly #places: Places
  readonly #maxClaimed: number
  readonly #maxSleepMs: number
  readonly #underWay: UnderWay
  readonly #checkItself: () => Promise<void>
  #refill: NodeJS.Timeout | undefined
  #forgetAt = 0
  #checkAt = 0
  #workedAt: number | undefined
  /** When the timer fires. Absent before the first round. */
  #wakesAt: number | undefined
  #isRunning = false
  #lastRound: Promise<void> = Promise.resolve()
  #again = false
  #stopped = false

  constructor(relay: Relay, options: PumpOptions = {}) {
    this.#relay = relay
    this.#timer = options.timer ?? inProcess(() => this.wake())
    this.#places = options.places ?? usualPlaces
    this.#maxClaimed = options.maxClaimed ?? usualClaimed
    this.#maxSleepMs = options.maxSleepMs ?? usualSleepMs
    this.#underWay = new UnderWay(relay, this.#places)
    this.#checkItself = createOwnWatch(relay, options.machine)
  }

  /** Looks at what is due now. The first call starts the pump. */
  wake(): void {
    if (this.#stopped) return
    if (this.#isRunning) this.#again = true
    else this.#lastRound = this.#runRound()
  }

  /** Begins no new attempts; waits for the round and the attempts under way, at most `limitMs`. */
  async stop(limitMs: number): Promise<void> {
    this.#stopped = true
    this.#timer.clear()
    clearTimeout(this.#refill)
    await this.settled(limitMs)
  }

  /** Waits for the round and the attempts under way, at most `limitMs`. */
  async settled(limitMs: number): Promise<void> {
    const ended = this.#lastRound.then(() => Promise.all(this.#underWay.sends))
    await within(limitMs, ended)
  }

  #wakeSoon(): void {
    this.#refill ??= setTimeout(
      () => {
        this.#refill = undefined
        this.wake()
      },
      this.#underWay.sends.size > maxFew ? refillMs.many : refillMs.few,
    )
  }

  async #runRound(): Promise<void> {
    this.#isRunning = true
    this.#timer.clear()
    let sleepMs = 0
    try {
      do {
        this.#again = false
        sleepMs = await this.#work()
      } while (this.#again && !this.#stopped)
    } catch (error) {
      this.#relay.log.error('pump_failed', { error: messageOf(error) })
      sleepMs = afterFailureMs
    }
    this.#isRunning = false
    this.#wakesAt = this.#relay.now() + sleepMs
    if (!this.#stopped) this.#timer.set(sleepMs)
  }

  /** Returns how many ms the pump can sleep. */
  async #work(): Promise<number> {
    this.#noteGap()
    const failed = await sweep(this.#relay)
    const claimed = await this.#claim()
    await this.#forget()
    await this.#check()
    if (this.#again) return 0
    // a look at all queues costs more than a request
    if (claimed > 0) this.#wakeSoon()
    if (claimed > 0 || this.#underWay.sends.size > maxFew) return afterFailureMs
    const nextAt = await nextDueAt(this.#relay, this.#underWay.countOf)
    const wait = nextAt === undefined ? this.#maxSleepMs : nextAt - this.#relay.now()
    const least =
      failed > 0
        ? afterFailureMs
        : this.#underWay.sends.size < this.#places.all
          ? 1
          : this.#maxSleepMs
    return Math.min(this.#maxSleepMs, Math.max(wait, least))
  }

  /** Begins requests for what is due. Returns how many. */
  async #claim(): Promise<number> {
    const limit = Math.min(this.#maxClaimed, this.#places.all - this.#underWay.sends.size)
    if (limit <= 0 || this.#stopped) return 0
    const requests = await claimDue(this.#relay, limit, this.#underWay.countOf)
    for (const group of requests) this.#underWay.begin(group, () => this.#wakeSoon())
    if (requests.length === limit) this.#again = true
    return requests.length
  }

  /** If the clock was set, or the machine slept, beacons need time to report again. */
  #noteGap(): void {
    const now = this.#relay.now()
    const lateMs = now - (this.#wakesAt ?? now)
    // if the clock was set back, these times are far away
    if (now < (this.#workedAt ?? now)) {
      this.#checkAt = 0
      this.#forgetAt = 0
    }
    this.#workedAt = now
    this.#wakesAt = undefined
    if (lateMs <= maxLateMs) return
    this.#relay.listeningSince = now
    this.#relay.log.warn('relay_halted', { seconds: Math.round(lateMs / 1_000) })
  }

  async #check(): Promise<void> {
    const now = this.#relay.now()
    if (now < this.#checkAt) return
    await checkAbsences(this.#relay)
    await this.#checkItself()
    this.#checkAt = now + checkEveryMs
  }

  /** Once an hour, and at every round while there is more to remove. */
  async #forget(): Promise<void> {
    const now = this.#relay.now()
    if (now < this.#forgetAt) return
    const more = await forgetOld(this.#relay)
    this.#forgetAt = more ? now : now + forgetEveryMs
  }
}

function inProcess(wake: () => void): Timer {
  let timer: NodeJS.Timeout | undefined
  return {
    set(ms) {
      timer = setTimeout(wake, ms)
    },
    clear() {
      clearTimeout(timer)
    },
  }
}
