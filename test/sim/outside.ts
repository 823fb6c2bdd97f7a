// Azure outside the VMs in this world: Event Grid, which sends late, twice, out of order or not at all,
// Resource Graph, which lags, and Resource Manager, which fails in each way that it may.

import type { ArmResult } from '../../functions/core/event/arm.ts'
import type { AzureResource } from '../../functions/core/event/outside.ts'
import type { Published } from '../../functions/core/event/published.ts'
import { joinPublished } from '../../functions/use-cases/published.ts'
import type { AzureApis, Machine, Relay } from '../../functions/use-cases/relay.ts'
import { isAdvice, type ScheduledEvent } from '../../shared/document.ts'
import { FoghornError } from '../../shared/errors.ts'
import type { Faults } from './faults.ts'
import type { Judge } from './judge.ts'
import type { Kernel } from './kernel.ts'
import type { Plan } from './plan.ts'
import type { Platform, Truth } from './platform.ts'
import { publishedFleet, subscription } from './published-fleet.ts'
import type { Random } from './random.ts'

const second = 1_000
const day = 86_400 * second
const place = { subscriptionId: subscription, resourceGroup: 'rg' }
const resource: AzureResource = { ...place, type: 'availabilitySets', name: 'web' }
/** The list lags by at most this, and counts as this old. */
const longestLagMs = 60 * second
const countsMs = 120 * second
/** Event Grid tries again, this often. */
const againMs = 10 * second
const maxTries = 20
/** From reading the list to the answer of Resource Manager, and if processes are slow. */
const underWayMs = { usually: 3 * second, slow: 90 * second }

/** A relay process. */
interface Worker {
  step(): Promise<void>
  use<T>(work: (relay: Relay) => Promise<T>): Promise<T>
}

interface Relays {
  serve<T>(
    work: (worker: Worker) => Promise<T | undefined>,
    done: (result: T | undefined) => void,
  ): void
}

interface Parts {
  kernel: Kernel
  judge: Judge
  faults: Faults
  random: Random
  plan: Plan
  calmAt: number
}

/** What Resource Manager may answer in place of 200, and whether trying again is in vain. */
const refusals: [status: number, isFinal: boolean][] = [
  [400, true],
  [403, false],
  [404, true],
  [405, true],
  [409, false],
  [429, false],
  [500, false],
]

export class Outside {
  platform!: Platform
  cluster!: Relays
  readonly #parts: Parts
  readonly #random: Random
  readonly #lagMs: number
  /** By event: all that was published of it, oldest first. */
  readonly #published = new Map<string, Published[]>()

  constructor(parts: Parts) {
    this.#parts = parts
    this.#random = parts.random
    this.#lagMs = this.#random.pick([0, 0, longestLagMs])
  }

  /** It began. Azure may add VMs to it, without a word. */
  begun(truth: Truth): void {
    this.#lieAbout(truth)
    const { kernel, faults } = this.#parts
    if (truth.fleet !== publishedFleet || faults.event_revised === 0) return
    const [vm] = truth.planned.request.Resources ?? []
    if (vm === undefined || this.#random.chance(0.5)) return
    const Resources = [...this.platform.tenantVms({ fleet: publishedFleet, name: vm })]
    kernel.after(this.#random.int(0, 60 * second), () =>
      this.platform.alter(truth.planned, { Resources }),
    )
  }

  /** In the name of Event Grid: it is over, it has started, or it is so tomorrow. */
  #lieAbout({ fleet, eventId }: Truth): void {
    const { kernel, judge, faults, calmAt } = this.#parts
    if (fleet !== publishedFleet || faults.azure_lies === 0) return
    const random = this.#random.fork(`lies about ${eventId}`)
    const key = `${fleet}/${eventId}`
    judge.lies.add(key)
    judge.outsideLies.add(key)
    const tell = () => {
      const last = this.#published.get(eventId)?.at(-1)
      const isThere = this.platform.find(publishedFleet, eventId) !== undefined
      if (!isThere || last === undefined || kernel.now >= calmAt) return
      // which would only be told wrongly
      if (isAdvice(last.event)) return
      judge.met.add("somebody lies in Azure's place")
      const event = { ...last.event, status: random.pick(['Scheduled', 'Started'] as const) }
      const ending = random.pick([undefined, 'cancelled', 'completed'] as const)
      const at = kernel.now + random.pick([0, 0, day])
      this.#send({ ...last, event, at, ...(ending && { ending }) }, 1)
      kernel.after(random.int(20, 90) * second, tell)
    }
    kernel.after(random.int(1, 60) * second, tell)
  }

  /** Azure changed an event, or it began. */
  changed(truth: Truth): void {
    if (truth.fleet !== publishedFleet) return
    const { kernel, calmAt } = this.#parts
    const published = this.#read(truth)
    if (published === undefined) return
    const before = this.#published.get(truth.eventId) ?? []
    this.#published.set(truth.eventId, [...before, published])
    if (this.#random.chance(0.25) && kernel.now < calmAt) return
    const copies = this.#random.chance(0.3) ? 2 : 1
    for (let i = 0; i < copies; i++) {
      const ms = this.#random.pick([0, 1, 3, 20, 240]) * second + this.#random.int(0, 900)
      kernel.after(ms, () => this.#send(published, 1))
    }
  }

  #read({ eventId, steps }: Truth): Published | undefined {
    const { now } = this.#parts.kernel
    const last = this.#published.get(eventId)?.at(-1)
    const step = steps.at(-1)?.step
    const ending =
      step === 'ended'
        ? ('completed' as const)
        : step === 'cancelled'
          ? ('cancelled' as const)
          : undefined
    const found = this.platform.find(publishedFleet, eventId)
    if (found === undefined) {
      return last && ending && { ...last, event: { ...last.event }, ending, at: now }
    }
    const { type, resources, source, durationSeconds, description, notBeforeAt, startedAt } = found
    const isStarted = startedAt !== null && startedAt <= now
    return {
      by: 'Azure Event Grid',
      resource,
      event: {
        ...{ eventId, eventType: type, status: isStarted ? 'Started' : 'Scheduled' },
        ...{ resources: [...resources], source, durationSeconds, description },
        ...(!isStarted && { notBeforeAt: Math.floor(notBeforeAt / second) * second }),
      },
      ...(ending && { ending }),
      at: now,
    }
  }

  #send(published: Published, tries: number): void {
    const join = (worker: Worker) =>
      worker.use((relay) => joinPublished(relay, publishedFleet, published))
    this.cluster.serve(join, (result) => {
      if (result === 'joined' || tries === maxTries) return
      this.#parts.kernel.after(againMs, () => this.#send(published, tries + 1))
    })
  }

  apis(worker: Worker): AzureApis {
    return {
      subscriptions: [subscription],
      graph: {
        listEvents: async () => {
          await this.#ask(worker)
          return this.#list()
        },
        listReadable: async (subscriptions) => subscriptions,
        listMachines: async () => {
          await this.#ask(worker)
          return this.#parts.plan.vms
            .filter(({ fleet }) => fleet === publishedFleet)
            .map(({ name, tags }): Machine => {
              const own = { ...place, type: 'virtualMachines' as const, name, tags }
              return { ...own, scaleSet: '', availabilitySet: '', publishes: true }
            })
        },
      },
      manager: { acknowledge: (_, eventId) => this.#acknowledge(worker, eventId) },
    }
  }

  async #ask(worker: Worker): Promise<void> {
    await worker.step()
    if (this.#fails()) throw new FoghornError('azure_graph_failed', 'it fails')
  }

  #fails(): boolean {
    const { kernel, faults, calmAt } = this.#parts
    return kernel.now < calmAt && this.#random.chance(faults.azure_fails * 4)
  }

  #list(): Published[] {
    const { now } = this.#parts.kernel
    const asOf = now - this.#random.int(0, this.#lagMs)
    return [...this.#published.values()].flatMap((all) => {
      const last = all.findLast(({ at }) => at <= asOf)
      return last === undefined
        ? []
        : [{ ...last, by: 'Azure Resource Graph' as const, at: now - countsMs }]
    })
  }

  /** The event as the list may have shown it when the relay read it. */
  #mayHaveSeen(eventId: string): ScheduledEvent[] {
    const { kernel, faults } = this.#parts
    const isSlow = faults.store_slow + faults.relay_stalls + faults.relay_crashes > 0
    const lateMs = isSlow ? underWayMs.slow : underWayMs.usually
    const since = kernel.now - this.#lagMs - lateMs
    const all = this.#published.get(eventId) ?? []
    const first = all.findLastIndex(({ at }) => at <= since)
    return all.slice(Math.max(0, first)).map(({ event }) => event)
  }

  async #acknowledge(worker: Worker, eventId: string): Promise<ArmResult> {
    const { judge } = this.#parts
    await worker.step()
    if (this.#fails()) {
      const [status, isFinal] = this.#random.pick(refusals)
      judge.met.add('Resource Manager refuses')
      return { outcome: 'failed', reason: `HTTP ${status}`, status, isFinal }
    }
    const found = this.platform.find(publishedFleet, eventId)
    if (found === undefined || found.startedAt !== null) {
      return { outcome: 'failed', reason: 'HTTP 404', status: 404, isFinal: true }
    }
    judge.acknowledges(publishedFleet, this.#mayHaveSeen(eventId))
    const vm = found.resources[0]!
    this.platform.onStart(publishedFleet, vm, eventId)
    const status = this.platform.start(publishedFleet, vm, [eventId])
    judge.met.add('Resource Manager starts an event')
    // the answer gets lost
    if (this.#fails()) return { outcome: 'failed', reason: 'no answer', isFinal: false }
    return status === 200
      ? { outcome: 'accepted', resource: resource.name }
      : { outcome: 'failed', reason: `HTTP ${status}`, status, isFinal: true }
  }
}
