// Azure as this world has it: one simulated fleet for each credential, and what really happened to every
// event.

import type { ApiVersion, EventsDocument } from '../simulator/documents.ts'
import type { FleetEvent, Step } from '../simulator/event.ts'
import { Fleet } from '../simulator/fleet.ts'
import type { Kernel } from './kernel.ts'
import type { Alteration, FleetName, Plan, PlannedEvent, PlannedVm } from './plan.ts'

export interface Truth {
  fleet: FleetName
  eventId: string
  planned: PlannedEvent
  steps: Step[]
  begunAt: number
  /** When Azure last changed it. */
  changedAt: number
}

interface PlatformHooks {
  /** A POST arrived; called before it takes effect. */
  onStart(fleet: FleetName, vm: string, eventId: string): void
  onStep(truth: Truth, step: Step): void
  /** SmallRows show it from this time on. */
  onBegin(truth: Truth): void
}

export class Platform {
  readonly truths = new Map<string, Truth>()
  /** Ways to wake what waits for a change of a VM's view. */
  readonly watchers = new Set<() => void>()
  readonly #kernel: Kernel
  readonly #fleets: Record<FleetName, Fleet>
  readonly #plan: Plan
  readonly #hooks: PlatformHooks
  readonly #disguises: boolean
  /** When VMs move to another place of Azure, by fleet and name. */
  readonly #movesAt = new Map<string, number>()
  #toCome: number

  constructor(kernel: Kernel, plan: Plan, hooks: PlatformHooks) {
    this.#kernel = kernel
    this.#plan = plan
    this.#hooks = hooks
    const fleetOf = (name: FleetName) =>
      new Fleet(plan.tenants[name], { onStep: (step) => this.#record(name, step) })
    this.#fleets = { prod: fleetOf('prod'), test: fleetOf('test') }
    this.#toCome = plan.events.length
    this.#disguises = plan.events.some(({ hiddenMs, overdueMs }) => hiddenMs ?? overdueMs)
    for (const event of plan.events) kernel.after(event.afterMs, () => this.#begin(event))
    for (const { fleet, moves } of plan.events) {
      if (moves === undefined) continue
      this.#movesAt.set(`${fleet}/${moves.vm}`, kernel.now + moves.afterMs)
      kernel.after(moves.afterMs, () => this.changed())
    }
  }

  /** Whether every event has come and gone. */
  isOver(): boolean {
    const open = Object.values(this.#fleets).some((fleet) =>
      fleet.tenants.some((tenant) => tenant.events.length > 0),
    )
    return this.#toCome === 0 && !open
  }

  fleet(name: FleetName): Fleet {
    return this.#fleets[name]
  }

  /** Approves in Azure, which for Foghorn happens out of the blue unless it asked for it. */
  start(fleet: FleetName, vm: string, eventIds: readonly string[]): 200 | 400 {
    const status = this.#fleets[fleet].startEvents(vm, eventIds, this.#kernel.now)
    this.changed()
    return status
  }

  /** Lets everybody look again, and sets the clock for what happens next by itself. */
  changed(): void {
    for (const fleet of Object.values(this.#fleets)) {
      const at = fleet.nextTransitionAt()
      if (at === null) continue
      this.#kernel.after(at - this.#kernel.now, () => {
        if ((fleet.nextTransitionAt() ?? Number.POSITIVE_INFINITY) > this.#kernel.now) return
        fleet.advance(this.#kernel.now)
        this.changed()
      })
    }
    this.wake()
  }

  #begin(event: PlannedEvent): void {
    const { now } = this.#kernel
    const fleet = this.#fleets[event.fleet]
    const eventId = event.id.toLowerCase()
    const truth: Truth = {
      fleet: event.fleet,
      eventId,
      planned: event,
      steps: [],
      begunAt: now,
      changedAt: now,
    }
    this.truths.set(`${event.fleet}/${eventId}`, truth)
    fleet.createEvent(event.id, { ...event.request, EventId: event.id }, now)
    this.#toCome -= 1
    const then = (afterMs: number, act: (now: number) => void) =>
      this.#kernel.after(afterMs, () => {
        act(this.#kernel.now)
        this.changed()
      })
    for (const { afterMs, patch } of event.patches) {
      then(afterMs, (at) => fleet.patchEvent(event.id, patch(at), at))
    }
    for (const { afterMs, values } of event.alterations ?? []) {
      then(afterMs, () => this.alter(event, values))
    }
    const { from, until } = event.hiddenMs ?? {}
    for (const ms of [from, until]) if (ms !== undefined) then(ms, () => {})
    const { cancelAfterMs, approvedElsewhereAfterMs } = event
    if (cancelAfterMs !== undefined) then(cancelAfterMs, (at) => fleet.cancelEvent(event.id, at))
    if (approvedElsewhereAfterMs !== undefined) {
      const vm = event.request.Resources![0]!
      then(approvedElsewhereAfterMs, (at) => fleet.startEvents(vm, [event.id], at))
    }
    this.changed()
    this.#hooks.onBegin(truth)
  }

  /**
   * Changes an event that has not started. Azure does not announce this, and may change type and
   * source.
   */
  alter(event: Pick<PlannedEvent, 'fleet' | 'id'>, values: Alteration): void {
    const found = this.find(event.fleet, event.id)
    if (found === undefined || found.startedAt !== null) return
    const { EventType: type, EventSource: source, ...patch } = values
    Object.assign(found, { ...(type && { type }), ...(source && { source }) })
    const now = this.#kernel.now
    const Description = `Revised at ${new Date(now).toISOString()}.`
    this.#fleets[event.fleet].patchEvent(event.id, { Description, ...patch }, now)
    this.changed()
  }

  find(fleet: FleetName, id: string): FleetEvent | undefined {
    const lower = id.toLowerCase()
    const all = this.#fleets[fleet].tenants.flatMap(({ events }) => events)
    return all.find((event) => event.id.toLowerCase() === lower)
  }

  /** What this VM's IMDS shows now. */
  shown({ fleet, name }: Pick<PlannedVm, 'fleet' | 'name'>, version: ApiVersion): EventsDocument {
    const document = this.#fleets[fleet].document(name, version) as EventsDocument
    if (this.hasMoved({ fleet, name })) return { ...document, Events: [] }
    if (!this.#disguises) return document
    const Events = document.Events.flatMap((event) => {
      const { begunAt, planned } = this.truths.get(`${fleet}/${event.EventId.toLowerCase()}`)!
      const { hiddenMs, overdueMs = 0 } = planned
      const ms = this.#kernel.now - begunAt
      if (hiddenMs !== undefined && hiddenMs.from <= ms && ms < hiddenMs.until) return []
      if (overdueMs === 0 || event.NotBefore === '') return [event]
      const at = Date.parse(event.NotBefore) - overdueMs
      return [{ ...event, NotBefore: new Date(at).toUTCString() }]
    })
    return { ...document, Events }
  }

  hasMoved({ fleet, name }: Pick<PlannedVm, 'fleet' | 'name'>): boolean {
    return (this.#movesAt.get(`${fleet}/${name}`) ?? Number.POSITIVE_INFINITY) <= this.#kernel.now
  }

  /** Lets all observers look again. */
  wake(): void {
    for (const wake of [...this.watchers]) wake()
  }

  #record(name: FleetName, step: Step): void {
    const truth = this.truths.get(`${name}/${step.eventId.toLowerCase()}`)
    if (truth === undefined) return
    truth.steps.push(step)
    truth.changedAt = step.at
    this.#hooks.onStep(truth, step)
  }

  onStart(fleet: FleetName, vm: string, eventId: string): void {
    this.#hooks.onStart(fleet, vm, eventId)
  }

  tenantVms(vm: Pick<PlannedVm, 'fleet' | 'name'>): readonly string[] {
    return this.#plan.tenants[vm.fleet].find((vms) => vms.includes(vm.name))!
  }
}
