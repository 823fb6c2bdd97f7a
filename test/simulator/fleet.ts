// A fleet as the platform sees it: tenants, their VMs, the events that hit them. Pure: the time (ms) and
// new ids come from the caller, so a virtual clock can drive it. Nothing happens by itself: `advance`
// makes happen what is due, in order, and every operation does that first.

import { ADVICE, type ApiVersion, documentFor, type EventsDocument, NEWEST } from './documents.ts'
import { type FleetEvent, newEvent, type Step, transitionAt } from './event.ts'
import { isRefusal, noEvent, type Refusal } from './refusal.ts'
import {
  type EventPatch,
  type EventRequest,
  type RecordedDocument,
  recordedIds,
} from './requests.ts'

const MAX_START_REQUESTS = 10_000

export interface Tenant {
  readonly name: string
  readonly vms: readonly string[]
  incarnation: number
  /** When the service, switched on by the first GET, begins to answer. */
  readyAt: number | null
  readonly events: FleetEvent[]
}

interface Vm {
  readonly tenant: Tenant
  away: boolean
  recorded: RecordedDocument
}

export interface StartRequest {
  readonly vm: string
  readonly eventId: string
  /** What the VM was answered. */
  readonly status: number
  readonly at: number
}

interface FleetOptions {
  readonly firstGetMs?: number
  readonly onStep?: (step: Step) => void
}

export class Fleet {
  readonly tenants: readonly Tenant[]
  readonly startRequests: StartRequest[] = []
  readonly #vms = new Map<string, Vm>()
  readonly #options: FleetOptions
  #now = Number.NEGATIVE_INFINITY

  constructor(tenants: readonly (readonly string[])[], options: FleetOptions = {}) {
    this.#options = options
    this.tenants = tenants.map((vms, index) => ({
      name: `tenant-${index}`,
      vms,
      incarnation: 1,
      readyAt: null,
      events: [],
    }))
    for (const tenant of this.tenants) {
      for (const name of tenant.vms) this.#vms.set(name, { tenant, away: false, recorded: null })
    }
  }

  get vmNames(): string[] {
    return [...this.#vms.keys()]
  }

  has(vm: string): boolean {
    return this.#vms.has(vm)
  }

  tenantOf(vm: string): Tenant {
    return this.#vm(vm).tenant
  }

  createEvent(newId: string, request: EventRequest, now: number): { EventId: string } | Refusal {
    this.advance(now)
    const resources = request.Resources ?? this.vmNames.slice(0, 1)
    const tenant = this.#ownerOf(resources)
    if (isRefusal(tenant)) return tenant
    const id = request.EventId ?? newId
    if (this.#find(id)) return { refused: 409, error: `An event ${id} exists already.` }
    const type = request.EventType ?? 'Reboot'
    if (request.takesVmDown && type !== 'Reboot' && type !== 'Redeploy') {
      return { refused: 400, error: `takesVmDown is for Reboot and Redeploy, not for ${type}.` }
    }
    const event = newEvent(id, type, resources, request, now)
    tenant.events.push(event)
    this.#changed(tenant, id, event.startedAt === null ? 'scheduled' : 'started')
    this.advance(now)
    return { EventId: id }
  }

  patchEvent(id: string, patch: EventPatch, now: number): { EventId: string } | Refusal {
    this.advance(now)
    const found = this.#find(id)
    if (!found) return noEvent(id)
    const { tenant, event } = found
    if (patch.NotBefore !== undefined && event.startedAt !== null) {
      return { refused: 409, error: `The event ${id} has started: its NotBefore is empty now.` }
    }
    const owner = this.#ownerOf(patch.Resources ?? event.resources)
    if (isRefusal(owner)) return owner
    if (owner !== tenant) {
      return { refused: 400, error: `Resources must stay within ${tenant.name} of the event.` }
    }
    const before = JSON.stringify(event)
    event.resources = [...(patch.Resources ?? event.resources)]
    event.description = patch.Description ?? event.description
    event.durationSeconds = patch.DurationInSeconds ?? event.durationSeconds
    if (patch.NotBefore !== undefined) event.notBeforeAt = Date.parse(patch.NotBefore)
    if (JSON.stringify(event) !== before) this.#changed(tenant, event.id, 'changed')
    this.advance(now)
    return { EventId: event.id }
  }

  cancelEvent(id: string, now: number): { EventId: string } | Refusal {
    this.advance(now)
    const found = this.#find(id)
    if (!found) return noEvent(id)
    const { tenant, event } = found
    if (event.startedAt !== null) {
      return { refused: 409, error: `The event ${id} has started and can't be cancelled.` }
    }
    tenant.events.splice(tenant.events.indexOf(event), 1)
    this.#changed(tenant, event.id, 'cancelled')
    return { EventId: event.id }
  }

  /** All or nothing: one unknown id refuses the whole request. Repeating is harmless. */
  startEvents(vm: string, ids: readonly string[], now: number): 200 | 400 {
    this.advance(now)
    const known = this.#idsShownTo(vm)
    const status = ids.every((id) => known.includes(id.toLowerCase())) ? 200 : 400
    this.logStartRequests(vm, ids, status, now)
    if (status === 400 || this.#vm(vm).recorded !== null) return status
    for (const id of ids) {
      const found = this.#find(id)
      if (!found || found.event.approvedAt !== null || found.event.startedAt !== null) continue
      found.event.approvedAt = now
      this.#tell(found.tenant, found.event.id, 'approved')
    }
    this.advance(now)
    return status
  }

  logStartRequests(vm: string, ids: readonly string[], status: number, now: number): void {
    for (const eventId of ids) this.startRequests.push({ vm, eventId, status, at: now })
    const surplus = this.startRequests.length - MAX_START_REQUESTS
    if (surplus > 0) this.startRequests.splice(0, surplus)
  }

  resetIncarnation(): void {
    for (const tenant of this.tenants) tenant.incarnation = 1
  }

  setAway(vm: string, away: boolean): void {
    this.#vm(vm).away = away
  }

  serveRecorded(vms: readonly string[], document: RecordedDocument): void {
    for (const vm of vms) this.#vm(vm).recorded = document
  }

  /** Whether this VM's endpoint can be reached at all. */
  answers(vm: string): boolean {
    const { tenant, away } = this.#vm(vm)
    const down = tenant.events.some(
      (event) => event.takesVmDown && event.startedAt !== null && event.resources.includes(vm),
    )
    return !away && !down
  }

  /** The first GET switches the service on. Returns how long (ms) this one has to wait for that. */
  switchOn(vm: string, now: number): number {
    const tenant = this.#vm(vm).tenant
    tenant.readyAt ??= now + (this.#options.firstGetMs ?? 0)
    return Math.max(0, tenant.readyAt - now)
  }

  /** What the VM sees: its recorded document where there is one, else the tenant's. */
  document(vm: string, version: ApiVersion = NEWEST): EventsDocument | RecordedDocument {
    const { tenant, recorded } = this.#vm(vm)
    return recorded ?? documentFor(version, tenant.incarnation, tenant.events)
  }

  /** When `advance` next has something to do, or null. */
  nextTransitionAt(): number | null {
    return this.#next()?.at ?? null
  }

  advance(now: number): void {
    for (let next = this.#next(); next !== null && next.at <= now; next = this.#next()) {
      this.#now = Math.max(this.#now, next.at)
      if (next.event.type === ADVICE) {
        this.#end(next.tenant, next.event)
      } else if (next.event.startedAt === null) {
        next.event.startedAt = this.#now
        this.#changed(next.tenant, next.event.id, 'started')
      } else {
        this.#end(next.tenant, next.event)
      }
    }
    this.#now = Math.max(this.#now, now)
  }

  #next(): { at: number; tenant: Tenant; event: FleetEvent } | null {
    let first: { at: number; tenant: Tenant; event: FleetEvent } | null = null
    for (const tenant of this.tenants) {
      for (const event of tenant.events) {
        const at = transitionAt(event)
        if (first === null || at < first.at) first = { at, tenant, event }
      }
    }
    return first
  }

  #end(tenant: Tenant, event: FleetEvent): void {
    tenant.events.splice(tenant.events.indexOf(event), 1)
    if (event.type === 'Preempt' || event.type === 'Terminate') {
      for (const name of event.resources) this.setAway(name, true)
    }
    this.#changed(tenant, event.id, 'ended')
  }

  #changed(tenant: Tenant, eventId: string, step: Step['step']): void {
    tenant.incarnation += 1
    this.#tell(tenant, eventId, step)
  }

  #tell(tenant: Tenant, eventId: string, step: Step['step']): void {
    this.#options.onStep?.({ at: this.#now, tenant: tenant.name, eventId, step })
  }

  #find(id: string): { tenant: Tenant; event: FleetEvent } | null {
    for (const tenant of this.tenants) {
      const event = tenant.events.find((one) => one.id.toLowerCase() === id.toLowerCase())
      if (event) return { tenant, event }
    }
    return null
  }

  #idsShownTo(vm: string): string[] {
    const { tenant, recorded } = this.#vm(vm)
    return (recorded === null ? tenant.events.map((event) => event.id) : recordedIds(recorded)).map(
      (id) => id.toLowerCase(),
    )
  }

  #ownerOf(resources: readonly string[]): Tenant | Refusal {
    const unknown = resources.filter((name) => !this.#vms.has(name))
    if (unknown.length > 0) {
      const error = `Resources: no VM is called ${unknown.join(', ')}; there are ${this.vmNames.join(', ')}.`
      return { refused: 400, error }
    }
    const [owner, ...others] = new Set(resources.map((name) => this.tenantOf(name)))
    if (owner === undefined || others.length > 0) {
      return { refused: 400, error: 'Resources must name VMs of one tenant.' }
    }
    return owner
  }

  #vm(name: string): Vm {
    const vm = this.#vms.get(name)
    if (!vm) throw new Error(`No VM is called ${name}; there are ${this.vmNames.join(', ')}.`)
    return vm
  }
}
