// A relay process over the one store. Every call to the store or to a channel takes its time, in which
// another one goes on, and any of them may be the last one that a process makes.

import { createApp } from '../../functions/app.ts'
import { readStoredId } from '../../functions/core/delivery/delivery.ts'
import { createCommitSignal } from '../../functions/host/commit-signal.ts'
import { createHolds, type Wait } from '../../functions/host/holds.ts'
import { Loop } from '../../functions/host/loop.ts'
import { nodeHmac } from '../../functions/host/parts.ts'
import { UnderWay } from '../../functions/host/under-way.ts'
import { nameBeacon } from '../../functions/http/beacons/authenticate.ts'
import { createPresses } from '../../functions/notify/all-presses.ts'
import type { Outgoing, Part, Send } from '../../functions/notify/notifier.ts'
import { type Notifiers, notifiers } from '../../functions/notify/registry.ts'
import type { Store } from '../../functions/store/store.ts'
import { Changes } from '../../functions/use-cases/changes.ts'
import { ClockWatch } from '../../functions/use-cases/clock-watch.ts'
import { createFrequentLog } from '../../functions/use-cases/frequent-log.ts'
import { OpenLimits } from '../../functions/use-cases/open-limits.ts'
import { receiveAndHold } from '../../functions/use-cases/receive-report.ts'
import type { Holds, Relay } from '../../functions/use-cases/relay.ts'
import { drillSchema, startDrill } from '../../functions/use-cases/run-drill.ts'
import type { Log } from '../../shared/log.ts'
import { reportSchema } from '../../shared/report.ts'
import { simFeatures } from '../features/sim.ts'
import { adminKey, noIdentity } from '../support/world.ts'
import { attemptMs, type Channels } from './channels.ts'
import type { Endpoints } from './endpoints.ts'
import type { Faults } from './faults.ts'
import type { Judge } from './judge.ts'
import { type Kernel, Process } from './kernel.ts'
import type { Outside } from './outside.ts'
import type { Plan } from './plan.ts'
import type { Random } from './random.ts'
import { directPage, httpPage, type PageWay, Replies, type SlackWay, slackWay } from './ways-in.ts'

/** What came back over HTTP; nothing where the connection broke. */
export type Reply = { status: number; text: string } | undefined

/** Gets nothing where no answer came. */
export type Done<T> = (result: T | undefined) => void

export interface Request {
  path: string
  fleet: string
  body: string
  headers?: Record<string, string>
  /** A relay begins to work on the report. */
  onTaken?: () => void
}

export const replayPath = '/v1/deliveries/replay'
export const drillPath = '/v1/drills'
const maxSleepMs = 5 * 60_000
const maxUnderWay = 16

export interface ClusterParts {
  kernel: Kernel
  plan: Plan
  faults: Faults
  random: Random
  judge: Judge
  channels: Channels
  endpoints: Endpoints
  log: Log
  calmAt: number
  /** Whether requests go through the HTTP face, which costs most of the time. */
  http: boolean
  /** Azure outside the VMs, if this world has it. */
  outside?: Outside | undefined
  /** One for each process, over the one database. */
  store: (worker: Worker) => Store
}

function timedOut(): Error {
  return Object.assign(new Error('no answer'), { name: 'TimeoutError' })
}

export class Worker {
  readonly process: Process
  readonly #parts: ClusterParts
  readonly #random: Random
  readonly #relay: Relay
  readonly #app: ReturnType<typeof createApp>
  readonly page: PageWay
  readonly slack: SlackWay
  /** Requests that wait for an answer of this process. */
  readonly #open = new Set<(reply: undefined) => void>()
  #wakesAt = Number.POSITIVE_INFINITY
  #underWay!: UnderWay
  #loop: Loop
  #downUntil = 0
  /** Answers that wait for a decision. */
  #held = 0

  constructor(name: string, parts: ClusterParts) {
    this.process = new Process(name)
    this.#parts = parts
    this.#random = parts.random.fork(name)
    const { kernel, plan, log } = parts
    const replies = new Replies(() => this.step())
    const store = parts.store(this)
    this.#relay = {
      config: plan.config,
      store,
      log,
      now: () => kernel.now,
      random: () => this.#random.next(),
      wait: async () => {},
      listeningSince: kernel.now,
      host: {
        ...{ name: 'node', abilities: {}, troubles: async () => [], holdsConnections: true },
        // a request that waits for a place would halt the world's clock; test/http/door.test.ts tries the doors
        ...{
          heartbeats: plan.heartbeats,
          pause: async () => {},
          readPlaces: Number.MAX_SAFE_INTEGER,
        },
      },
      credentials: {
        ...{ hmac: nodeHmac, identity: noIdentity, adminKey },
        linkKeys: [new Uint8Array(32).fill(7)],
      },
      presses: createPresses(nodeHmac),
      sending: {
        notifiers,
        // an attempt has its own
        send: replies.send,
        sendForBound: replies.send,
        retryLog: createFrequentLog({ now: () => kernel.now, log }),
        removedChannels: [],
      },
      work: {
        wake: (...about) => this.#hint(...about),
        commitSignal: createCommitSignal(),
        holds: this.#newHolds(),
        changes: this.#newChanges(),
        openLimits: new OpenLimits(store),
      },
      outside: {
        tokens: { read: async () => 'token', drop: () => {} },
        ...(parts.outside &&
          ({ azure: parts.outside.apis(this) } satisfies Partial<Relay['outside']>)),
      },
      clockWatch: new ClockWatch(log, () => kernel.now),
    }
    this.#app = createApp(this.#relay)
    this.page = parts.http ? httpPage(this.#relay, this.#app) : directPage(this.#relay)
    this.slack = slackWay(this.#relay, replies)
    this.#loop = this.#newLoop()
    this.#sleep(0)
  }

  /** In [0, 1), by the seed. */
  chance(): number {
    return this.#random.next()
  }

  /** Whether the answer to a write is lost, so that the client of the storage writes again by itself. */
  losesAnswer(): boolean {
    const { kernel, faults, calmAt } = this.#parts
    return this.#random.chance(faults.store_slow / 4) && kernel.now < calmAt
  }

  /** Waits as a call does, and may die there. */
  async step(weight = 1): Promise<void> {
    const { kernel, faults, calmAt } = this.#parts
    const troubled = kernel.now < calmAt
    const slow = this.#random.chance(faults.store_slow) && troubled
    await kernel.pause(this.process, slow ? this.#random.int(50, 1_500) : this.#random.int(0, 4))
    const deadly = this.#random.chance((faults.relay_crashes / 8) * weight) && troubled
    if (deadly) await this.#crash()
  }

  /** A write that takes so long that a lease may end meanwhile. */
  async #stall(): Promise<void> {
    const { kernel, faults, calmAt } = this.#parts
    const stalls = this.#random.chance(faults.store_slow * 2) && kernel.now < calmAt
    if (stalls) await kernel.pause(this.process, this.#random.int(3_000, 12_000))
  }

  async #freeze(): Promise<void> {
    const { kernel, faults, calmAt } = this.#parts
    const frozen = this.#random.chance(faults.relay_stalls * 2) && kernel.now < calmAt
    if (frozen) await kernel.pause(this.process, this.#random.int(5_000, 45_000))
  }

  /** Works on something for somebody outside. */
  serve<T>(work: (worker: Worker) => Promise<T | undefined>, done: Done<T>): void {
    const answer: Done<T> = (result) => {
      if (this.#open.delete(answer)) done(result)
    }
    this.#open.add(answer)
    this.#parts.kernel.spawn(this.process, async () => answer(await work(this)))
  }

  /** Does what the API does for the owner of a subscription, without its HTTP face. */
  use<T>(work: (relay: Relay) => Promise<T>): Promise<T> {
    return work(this.#relay)
  }

  take(request: Request): Promise<Reply> {
    request.onTaken?.()
    // over HTTP a drill has a new id each time, and one seed would make many worlds
    const http = this.#parts.http && request.path !== drillPath
    return http ? this.#overHttp(request) : this.#directly(request)
  }

  async #overHttp({ path, body, headers = {} }: Request): Promise<Reply> {
    const response = await this.#app.request(path, { method: 'POST', body, headers })
    return { status: response.status, text: await response.text() }
  }

  async #directly({ path, fleet, body }: Request): Promise<Reply> {
    if (path === replayPath) {
      await this.#relay.store.replay({ since: 0 }, this.#parts.kernel.now, 1_000)
      this.#hint(1)
      return { status: 200, text: '' }
    }
    if (path === drillPath) {
      const { id, wish } = JSON.parse(body) as { id: string; wish: object }
      const { outcome } = await startDrill(this.#relay, drillSchema.parse(wish), id)
      return { status: outcome === 'started' ? 201 : 429, text: outcome }
    }
    const own = simFeatures.flatMap(({ serve = {} }) => serve[path] ?? [])[0]
    if (own !== undefined) return own(this.#relay, body)
    const report = reportSchema.safeParse(JSON.parse(body))
    if (!report.success) return { status: 400, text: String(report.error) }
    const named = nameBeacon({ by: 'key' }, report.data)
    if ('refusal' in named) return { status: 401, text: named.refusal.detail }
    const received = await receiveAndHold(this.#relay, fleet, named.beacon, report.data)
    if (received.outcome === 'answered') {
      return { status: 200, text: JSON.stringify(received.answer) }
    }
    const retired = received.outcome === 'retired'
    return retired
      ? { status: 409, text: '{"code":"boot_retired"}' }
      : { status: 503, text: '{"code":"busy"}' }
  }

  /** Hints may be lost, or come late. */
  #hint(...about: Parameters<Loop['hint']>): void {
    const { kernel, faults } = this.#parts
    if (this.#random.chance(faults.wake_lost * 2)) return
    kernel.after(this.#random.int(0, 20), () => this.#loop.hint(...about), this.process)
  }

  #newLoop(): Loop {
    const { kernel, judge } = this.#parts
    const store: Store = {
      ...this.#relay.store,
      nextDueAt: async (pacing) => {
        const askedAt = kernel.now
        const nextAt = await this.#relay.store.nextDueAt(pacing)
        // channels that this worker sends to need not be due for it
        judge.turned(this.#underWay.sends.size > 0 ? askedAt : nextAt, askedAt)
        return nextAt
      },
    }
    this.#underWay = this.#newUnderWay()
    const later = (ms: number, work: () => void) => kernel.after(ms, work, this.process)
    const host = { set: (ms: number) => this.#sleep(ms), later }
    const options = { places: { all: maxUnderWay, claimed: maxUnderWay }, maxSleepMs }
    return new Loop({ ...this.#relay, store }, this.#underWay, host, options)
  }

  #startTask(work: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#parts.kernel.spawn(this.process, async () => {
      await work()
      resolve()
    })
    return promise
  }

  /** The loop ticks after this time. */
  #sleep(ms: number): void {
    const { kernel } = this.#parts
    const at = kernel.now + ms
    this.#wakesAt = at
    const tick = () => {
      if (this.#wakesAt === at) void this.#loop.tick()
    }
    kernel.after(ms, tick, this.process)
  }

  /** Answers that wait, on the world's clock. */
  #newHolds(): Holds {
    const { kernel, judge } = this.#parts
    const wait: Wait = async (ms, register) => {
      this.#held += 1
      const endsAt = kernel.now + ms
      await kernel.park<void>(this.process, (resume) => {
        kernel.after(ms, () => resume(), this.process)
        register(() => resume())
      })
      this.#held -= 1
      if (kernel.now < endsAt) judge.met.add('a held answer is released early')
    }
    return createHolds({ wait })
  }

  #newChanges(): Changes {
    const { kernel } = this.#parts
    return new Changes((register) =>
      kernel.park<void>(this.process, (resume) => register(() => resume())),
    )
  }

  /** What this process sends, slow and deadly. */
  #newUnderWay(): UnderWay {
    const { judge } = this.#parts
    const store: Store = {
      ...this.#relay.store,
      // a process that is frozen between claim and sending, for longer than its lease
      readEvent: async (key) => {
        await this.#freeze()
        return this.#relay.store.readEvent(key)
      },
      settle: async (...args) => {
        await this.#stall()
        judge.messages.settling(args[0])
        return this.#relay.store.settle(...args)
      },
    }
    const sending = { ...this.#relay.sending, notifiers: this.#watched(notifiers) }
    const relay = { ...this.#relay, sending, store }
    return new UnderWay(relay, {}, (work) => this.#startTask(work))
  }

  /** What a notifier sends reaches the world's channels, which know what it is about. */
  #watched(real: Notifiers): Notifiers {
    const { channels, endpoints, judge } = this.#parts
    const watch = ([kind, notifier]: [string, Notifiers['slack']]) => {
      const notify = (outgoing: Outgoing, channel: never) => {
        const parts: Part[] = [outgoing, ...outgoing.also]
        const endsAt = Math.min(outgoing.now + attemptMs, outgoing.delivery.leaseUntil)
        const send: Send = async (url, init) => {
          await this.step()
          // the signal of a real request would have fired
          if (this.#parts.kernel.now >= endsAt) {
            // an earlier request of this message may have arrived
            for (const { delivery } of parts) judge.answerLost(delivery)
            throw timedOut()
          }
          const isOwn = readStoredId(outgoing.delivery.channel) === undefined
          const answered = isOwn
            ? await channels.take(this.process, parts, url, init, endsAt)
            : await endpoints.take(this.process, outgoing.delivery, url, init)
          await this.step(6)
          if (answered instanceof Response) return answered
          throw answered
        }
        return notifier.notify(outgoing, channel, send)
      }
      return [kind, { ...notifier, notify }]
    }
    return Object.fromEntries(Object.entries(real as never).map(watch as never)) as Notifiers
  }

  /** The process is gone in the middle of a step, and another one takes its place after a while. */
  async #crash(): Promise<never> {
    const dead = this.#parts.kernel.never(this.process)
    this.stop(this.#random.pick([20, 1_000, 5_000, 20_000]))
    return dead
  }

  /** Kills the process. Another one takes its place after `ms`, or later if that was planned. */
  stop(ms: number): void {
    const { kernel, judge } = this.#parts
    const { process } = this
    this.#downUntil = Math.max(this.#downUntil, kernel.now + ms)
    kernel.after(ms, () => this.#start())
    if (!process.alive) return
    process.kill()
    if (this.#held > 0) judge.met.add('a relay dies while it holds an answer')
    this.#held = 0
    this.#relay.work.holds = this.#newHolds()
    judge.crashed(process)
    for (const answer of [...this.#open]) answer(undefined)
    this.#wakesAt = Number.POSITIVE_INFINITY
  }

  #start(): void {
    const { kernel } = this.#parts
    if (this.process.alive || kernel.now < this.#downUntil) return
    this.process.revive(kernel.now)
    this.#relay.listeningSince = kernel.now
    const { lookAt: _l, listed: _r, doubtAt: _d, ...outside } = this.#relay.outside
    this.#relay.outside = outside
    // what a store keeps in memory ends with its process
    this.#relay.store = this.#parts.store(this)
    this.#relay.work.changes = this.#newChanges()
    this.#relay.work.openLimits = new OpenLimits(this.#relay.store)
    this.#loop = this.#newLoop()
    for (const book of this.#parts.judge.books.values()) book.restarted?.()
    this.#sleep(0)
  }
}
