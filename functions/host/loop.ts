// The loop that keeps every host delivering: it concludes the events that are due, claims and sends the
// deliveries that are due, and says when it must run again. A call is only a hint: the store knows
// everything that is pending. A round never waits for a request to a channel.
import { messageOf } from '../../shared/errors.ts'
import { within } from '../../shared/within.ts'
import type { Claimed } from '../core/delivery/delivery.ts'
import { claimDue, nextDueAt } from '../use-cases/deliver.ts'
import type { Finish } from '../use-cases/finish-attempt.ts'
import type { Job } from '../use-cases/job.ts'
import { jobs } from '../use-cases/jobs.ts'
import { findRate, type Planned, type Relay } from '../use-cases/relay.ts'
import { rerouteOpen } from '../use-cases/reroute.ts'
import { sweep } from '../use-cases/sweep.ts'
import type { UnderWay } from './under-way.ts'

/** An event or a job that fails stays due, so wait at least this long before the next round. */
const failedEventMs = 10_000
/** After this time, a round that failed is repeated. */
const failedRoundMs = 1_000
/** A round that takes longer than this waits for something that does not come. */
const longestRoundMs = 60_000
/** Timers of clouds come some seconds late. Less than `maxLateMs`. */
const graceMs = 15_000
/** If a tick comes later, the process was halted and may have missed reports. */
const maxLateMs = 20_000
/** With more requests under way, those that end within `refillMs` share one look at what is due. */
const maxFew = 64
const refillMs = 20

const never = Number.POSITIVE_INFINITY

export interface Host {
  /** Asks for a `tick` after `ms`. Replaces an earlier call. If it is lost, that costs time. */
  set(ms: number): void
  /** Calls `work` in this process, after `ms`. Default: a timer. */
  later?(ms: number, work: () => void): void
}

export interface LoopOptions {
  /** Requests to channels at once, and of one claim, so that shares are exceeded by no more than that. */
  places: { all: number; claimed: number }
  /** A tick comes at least this often. */
  maxSleepMs: number
  /** Whether the loop also runs the jobs, and notices that it slept. */
  keepsHouse?: boolean
}

export class Loop {
  readonly #relay: Relay
  readonly #underWay: UnderWay
  readonly #host: Host
  readonly #options: LoopOptions
  /** When time alone may change an event, as far as this process knows. */
  #dueAt = 0
  /** After an event failed: the earliest next round. */
  #restsUntil = 0
  /** There may be something to claim. */
  #isHinted = false
  /** Only the store knows what is due next. */
  #isUnsure = false
  /** How often the loop has just found nothing to do, although something is due. */
  #futile = 0
  /** Whether this round found something to do. Undefined: it has not looked at what is to be sent. */
  #hasFound: boolean | undefined
  /** More may be claimed once something of this process has ended. */
  #more = false
  #running: Promise<void> | undefined
  #again = false
  #wakesAt: number | undefined
  #tickedAt = 0
  #roundAt: number | undefined
  #isRefilling = false
  /** When each job runs next. Absent: now. */
  readonly #jobsAt = new Map<Job, number>()
  #isRouted = false
  #stopped = false

  constructor(relay: Relay, underWay: UnderWay, host: Host, options: LoopOptions) {
    this.#relay = relay
    this.#underWay = underWay
    this.#host = host
    this.#options = options
  }

  /** `Relay.wake`. A commit without messages only moves the next tick. */
  hint(messages: number, about?: Planned): void {
    const { dueAt = never } = about ?? {}
    this.#dueAt = Math.min(this.#dueAt, dueAt)
    if (about === undefined) this.#isUnsure = true
    if (messages > 0 || about === undefined) {
      this.#isHinted = true
      void this.#run()
    } else if (dueAt < (this.#wakesAt ?? never)) this.#sleep()
  }

  /** Looks at everything that is due. The first call starts the loop. */
  tick(): Promise<void> {
    this.#noteGap()
    this.#dueAt = 0
    this.#isHinted = true
    return this.#run()
  }

  /** Whether the host's timer is overdue, and may be dead. Then a request does its work. */
  isLate(): boolean {
    const sinceMs = this.#relay.now() - this.#tickedAt
    return this.#tickedAt > 0 && sinceMs > this.#options.maxSleepMs + graceMs
  }

  /** Sentences for `/healthz`. */
  troubles(): string[] {
    const sinceMs = this.#relay.now() - (this.#roundAt ?? this.#relay.now())
    if (sinceMs <= this.#options.maxSleepMs + longestRoundMs) return []
    return ['the loop that sends stands still, so no message goes out; restart the relay']
  }

  /** Waits until nothing is under way, at most `limitMs`. */
  async settled(limitMs: number): Promise<'settled' | 'late'> {
    const idle = async () => {
      while (this.#running !== undefined || this.#underWay.sends.size > 0) {
        await Promise.all([this.#running, ...this.#underWay.sends])
      }
      return 'settled' as const
    }
    return within(limitMs, idle())
  }

  /** Begins no new attempts, and waits for those under way, at most `limitMs`. */
  async stop(limitMs: number): Promise<void> {
    this.#stopped = true
    await this.settled(limitMs)
  }

  #run(): Promise<void> {
    this.#again = true
    this.#running ??= this.#underWay.start(async () => {
      await this.#work()
      this.#running = undefined
      // a hint of the last moments, as while the store was asked for the next due time
      if (this.#again && !this.#stopped) void this.#run()
    })
    return this.#running
  }

  async #work(): Promise<void> {
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false
        this.#roundAt = this.#relay.now()
        this.#hasFound = undefined
        await this.#conclude()
        if (this.#isHinted) await this.#claim()
        if (this.#options.keepsHouse) await this.#keepHouse()
      }
      if (this.#isUnsure) await this.#lookAhead()
    } catch (error) {
      this.#relay.log.error('loop_failed', { error: messageOf(error) })
      this.#isUnsure = true
      this.#dueAt = this.#relay.now() + failedRoundMs
    }
    this.#sleep()
  }

  async #conclude(): Promise<void> {
    const now = this.#relay.now()
    if (now < Math.max(this.#dueAt, this.#restsUntil)) return
    this.#dueAt = never
    if (!this.#isRouted) await rerouteOpen(this.#relay)
    this.#isRouted = true
    const { failed, due } = await sweep(this.#relay)
    if (due > 0) this.#hasFound = true
    if (failed > 0) this.#restsUntil = this.#relay.now() + failedEventMs
    this.#isUnsure = true
  }

  /** Begins requests for what is due, as many as there are places. */
  async #claim(): Promise<void> {
    this.#isHinted = false
    this.#hasFound ??= false
    // what is new may have to wait for what is under way
    this.#more = this.#underWay.sends.size > 0
    const { all, claimed } = this.#options.places
    while (!this.#stopped) {
      const limit = Math.min(claimed, all - this.#underWay.sends.size)
      if (limit <= 0) break
      const { requests, isAll } = await claimDue(this.#relay, limit, this.#underWay.countOf)
      this.#hasFound ||= requests.length > 0
      for (const group of requests) {
        this.#more ||= group.some(hasNext)
        this.#underWay.begin(group, (finish) => this.#ended(finish))
      }
      this.#more ||= requests.some(([one]) => this.#isFull(one!.channel))
      if (requests.length === limit) continue
      if (!isAll) this.#isUnsure = true
      return
    }
    this.#more = true
  }

  #isFull(channel: string): boolean {
    return this.#underWay.countOf(channel) >= findRate(this.#relay, channel).atOnce
  }

  #ended(finish: Finish): void {
    if (this.#stopped) return
    if (finish === 'open') this.#isUnsure = true
    if (this.#more) this.#isHinted = true
    if (!this.#isHinted && !this.#isUnsure) return
    if (this.#underWay.sends.size <= maxFew) void this.#run()
    else if (!this.#isRefilling) {
      this.#isRefilling = true
      const later = this.#host.later ?? setTimer
      later(refillMs, () => {
        this.#isRefilling = false
        void this.#run()
      })
    }
  }

  /** A look at all queues costs more than a request, so it waits while many are under way. */
  async #lookAhead(): Promise<void> {
    if (this.#underWay.sends.size > maxFew) return
    this.#isUnsure = false
    const nextAt = (await nextDueAt(this.#relay, this.#underWay.countOf)) ?? never
    const now = this.#relay.now()
    // an index may name what no row has: without a pause, the loop would look without end
    this.#futile = nextAt <= now && this.#hasFound === false ? this.#futile + 1 : 0
    this.#dueAt = Math.min(this.#dueAt, this.#futile > 1 ? now + failedRoundMs : nextAt)
  }

  #sleep(): void {
    if (this.#stopped) return
    const now = this.#relay.now()
    const unsureMs = this.#isUnsure ? failedRoundMs : never
    const dueMs = Math.max(1, this.#dueAt - now, this.#restsUntil - now)
    const ms = Math.min(this.#options.maxSleepMs, unsureMs, dueMs)
    this.#wakesAt = now + ms
    this.#host.set(ms)
  }

  /** If the clock was set, or the machine slept, beacons need time to report again. */
  #noteGap(): void {
    const now = this.#relay.now()
    const lateMs = now - (this.#wakesAt ?? now)
    // if the clock was set back, these times are far away
    if (now < this.#tickedAt) {
      this.#jobsAt.clear()
      this.#restsUntil = 0
      delete this.#relay.outside.lookAt
      this.#relay.listeningSince = Math.min(this.#relay.listeningSince, now)
    }
    this.#tickedAt = now
    this.#wakesAt = undefined
    if (lateMs <= maxLateMs || !this.#options.keepsHouse) return
    this.#relay.listeningSince = now
    this.#relay.log.warn('relay_halted', { seconds: Math.round(lateMs / 1_000) })
  }

  async #keepHouse(): Promise<void> {
    const now = this.#relay.now()
    for (const job of jobs) {
      if (now < (this.#jobsAt.get(job) ?? now)) continue
      try {
        const outcome = await job.run(this.#relay)
        this.#jobsAt.set(job, outcome === 'more' ? now : now + job.everyMs.free)
      } catch (error) {
        // the others go on
        this.#relay.log.error('job_failed', { error: messageOf(error) })
        this.#jobsAt.set(job, now + failedEventMs)
      }
    }
  }
}

/** Whether another message of the event waits behind it. Stored channels often have one. */
function hasNext({ channel, id, known }: Claimed): boolean {
  if (known === undefined) return true
  return known.siblings.some(
    (one) => one.channel === channel && one.id !== id && one.state === 'pending',
  )
}

function setTimer(ms: number, work: () => void): void {
  setTimeout(work, ms)
}
