// Azure as this world has it: one simulated fleet for each credential, and what really happened to every
// event.
import type { Step } from '../simulator/event.ts'
import { Fleet } from '../simulator/fleet.ts'
import type { Kernel } from './kernel.ts'
import type { FleetName, Plan, PlannedEvent, PlannedVm } from './plan.ts'

export interface Truth {
  fleet: FleetName
  eventId: string
  planned: PlannedEvent
  steps: Step[]
}

export interface PlatformHooks {
  /** A POST arrived; called before it takes effect. */
  onStart(fleet: FleetName, vm: string, eventId: string): void
  onStep(truth: Truth, step: Step): void
}

export class Platform {
  readonly truths = new Map<string, Truth>()
  /** Ways to wake what waits for a change of a VM's view. */
  readonly watchers = new Set<() => void>()
  readonly #kernel: Kernel
  readonly #fleets: Record<FleetName, Fleet>
  readonly #plan: Plan
  readonly #hooks: PlatformHooks
  #toCome: number

  constructor(kernel: Kernel, plan: Plan, hooks: PlatformHooks) {
    this.#kernel = kernel
    this.#plan = plan
    this.#hooks = hooks
    const fleetOf = (name: FleetName) =>
      new Fleet(plan.tenants[name], { onStep: (step) => this.#record(name, step) })
    this.#fleets = { prod: fleetOf('prod'), test: fleetOf('test') }
    this.#toCome = plan.events.length
    for (const event of plan.events) kernel.after(event.afterMs, () => this.#begin(event))
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
    for (const wake of [...this.watchers]) wake()
  }

  #begin(event: PlannedEvent): void {
    const { now } = this.#kernel
    const fleet = this.#fleets[event.fleet]
    const eventId = event.id.toLowerCase()
    const truth = { fleet: event.fleet, eventId, planned: event, steps: [] }
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
    const { cancelAfterMs, approvedElsewhereAfterMs } = event
    if (cancelAfterMs !== undefined) then(cancelAfterMs, (at) => fleet.cancelEvent(event.id, at))
    if (approvedElsewhereAfterMs !== undefined) {
      const vm = event.request.Resources![0]!
      then(approvedElsewhereAfterMs, (at) => fleet.startEvents(vm, [event.id], at))
    }
    this.changed()
  }

  #record(name: FleetName, step: Step): void {
    const truth = this.truths.get(`${name}/${step.eventId.toLowerCase()}`)
    if (truth === undefined) return
    truth.steps.push(step)
    this.#hooks.onStep(truth, step)
  }

  onStart(fleet: FleetName, vm: string, eventId: string): void {
    this.#hooks.onStart(fleet, vm, eventId)
  }

  tenantVms(vm: PlannedVm): readonly string[] {
    return this.#plan.tenants[vm.fleet].find((vms) => vms.includes(vm.name))!
  }
}
