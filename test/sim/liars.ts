// A liar with a fleet's key. It lies about another VM's event or its readiness, speaks in the name of
// other VMs, or invents events. The relay cannot know. But no lie may start an event that honest VMs
// see otherwise or are not ready for, or delay another fleet.
import { parseDocument, type ScheduledEvent } from '../../shared/document.ts'
import { type Report, reportPath } from '../../shared/report.ts'
import type { Cluster } from './cluster.ts'
import type { Faults } from './faults.ts'
import type { Judge } from './judge.ts'
import type { Kernel } from './kernel.ts'
import { signedHeaders } from './network.ts'
import type { FleetName, Plan } from './plan.ts'
import type { Platform, Truth } from './platform.ts'
import type { Random } from './random.ts'

const second = 1_000
/** How often it repeats its lie, as long as there is an event to lie about. */
const everyMs = 8 * second
const fullText = 4_000
const fillingReports = 130

interface Parts {
  kernel: Kernel
  cluster: Cluster
  judge: Judge
  platform: Platform
  plan: Plan
  faults: Faults
  random: Random
  calmAt: number
  http: boolean
}

/** The VM whose report it forges. */
interface Mask {
  name: string
  vmId: string
  fleet: FleetName
  bootId: string
  counter: number
}

type Lie = (event: ScheduledEvent) => ScheduledEvent

export class Liar {
  readonly #parts: Parts
  readonly #fleet: FleetName = 'prod'
  readonly #lie: Lie
  readonly #own: Mask
  readonly #impersonates: boolean
  /** Whether it says that the affected VM is ready. */
  readonly #pretends: boolean
  /** Whether it then says that Azure was told. */
  readonly #claims: boolean
  /** Whether it fills up the next event's row. Each report then says more. */
  #fills: boolean
  #masks = 0

  constructor(parts: Parts) {
    this.#parts = parts
    const { random, judge } = parts
    const kind = random.next()
    this.#impersonates = kind < 0.25
    this.#pretends = parts.plan.hooks !== undefined && kind >= 0.25 && kind < 0.7
    this.#claims = kind < 0.4
    this.#fills = kind > 0.9
    const lie = random.pick(lies)
    this.#lie = random.fork('omits').chance(0.3) ? omits : lie
    this.#own = this.#maskOf('liar', 'id-of-a-liar')
    if (this.#pretends) judge.mistaken.add(this.#fleet)
    if (!this.#impersonates) return
    judge.mistaken.add(this.#fleet)
    judge.met.add('somebody speaks as other VMs')
  }

  /** Azure has a new event. The liar is faster than the VMs that see it. */
  begun({ fleet, eventId, planned }: Truth): void {
    if (fleet !== this.#fleet) return
    const { kernel, judge, platform, random, plan, calmAt } = this.#parts
    const [hit] = planned.request.Resources!
    judge.lies.add(`${fleet}/${eventId}`)
    judge.met.add('a VM lies about an event')
    const vms = plan.tenants[fleet].find((all) => all.includes(hit!))!
    if (this.#pretends) {
      this.#pretend(this.#maskOf(hit!, 'id-of-a-liar'), `${fleet}/${eventId}`)
      return
    }
    const tell = () => this.#send(this.#own, this.#events(vms[0]!))
    const goOn = () => {
      tell()
      const isThere = platform.find(fleet, eventId) !== undefined
      if (isThere && kernel.now < calmAt) kernel.after(everyMs, goOn)
    }
    if (!this.#impersonates) kernel.after(random.int(0, 300), goOn)
    else for (const ms of [4, 8, 12, 16, 20]) kernel.after(ms * second, () => this.#hide(vms))
    if (this.#impersonates) kernel.after(21 * second, goOn)
    if (!this.#fills) return
    for (let i = 0; i < fillingReports; i++) kernel.after(second + i * 50, tell)
    this.#fills = false
  }

  /** Under the name of a VM that the event affects. */
  #pretend(mask: Mask, key: string): void {
    const { kernel, judge, platform, calmAt } = this.#parts
    judge.met.add('somebody says that another VM is ready')
    const eventId = key.slice(key.indexOf('/') + 1)
    const run = { hook: 'prepare' as const, ageMs: 0, eventId, state: 'succeeded' as const }
    const start = { eventId, ageMs: 0, outcome: 'accepted' as const, status: 200 }
    const hooks = { available: ['prepare' as const], runs: [run] }
    judge.hooks.pretended(mask.fleet, mask.name, eventId)
    const starts = this.#claims ? [start] : []
    void sendAs(this.#parts, mask, this.#shown(mask.name), { hooks, starts })
    const isThere = platform.find(mask.fleet, eventId) !== undefined
    // its second report is earlier than the first one of the VM itself
    const afterMs = mask.counter < 3 ? 200 : everyMs
    if (isThere && kernel.now < calmAt) kernel.after(afterMs, () => this.#pretend(mask, key))
  }

  /** In the name of all VMs that see the event: nothing is there any more. */
  #hide(vms: string[]): void {
    for (const name of vms) this.#send(this.#maskOf(name, `id-${this.#fleet}-${name}`), [])
  }

  #shown(vm: string): ScheduledEvent[] {
    const document = this.#parts.platform.shown({ name: vm, fleet: this.#fleet }, '2020-07-01')
    const parsed = parseDocument(JSON.stringify(document), '2020-07-01')
    return typeof parsed === 'string' ? [] : parsed.events
  }

  #events(vm: string): ScheduledEvent[] {
    const { random } = this.#parts
    return this.#shown(vm).map((event) => {
      const told = this.#lie(event)
      if (!this.#fills) return told
      const description = `${random.int(1e6, 9e6)} `.repeat(fullText / 8)
      return { ...told, description }
    })
  }

  #maskOf(name: string, vmId: string): Mask {
    return { name, vmId, fleet: this.#fleet, bootId: `liar-${++this.#masks}-boot`, counter: 0 }
  }

  #send(mask: Mask, events: ScheduledEvent[]): void {
    void sendAs(this.#parts, mask, events)
  }
}

/** What a rule does not know must not help the liar, either. */
const omits: Lie = ({ source: _s, durationSeconds: _d, ...event }) => event

const lies: Lie[] = [
  (event) => ({ ...event, source: 'User' }),
  (event) => ({ ...event, source: 'User' }),
  (event) => ({ ...event, eventType: 'Freeze', durationSeconds: 5 }),
  (event) => ({ ...event, durationSeconds: 5 }),
  (event) => ({ ...event, resources: event.resources.slice(0, 1) }),
]

/**
 * One VM of the other fleet invents more events than channels accept in a minute, and reports them
 * more often than the relay joins them at a time. Later they are gone.
 */
export function flood(parts: Parts): void {
  const { kernel, judge, random } = parts
  const fleet = 'test'
  const count = random.pick([40, 60, 130])
  const mask = {
    name: 'flood',
    vmId: 'id-of-a-flood',
    fleet,
    bootId: 'flood-boot',
    counter: 0,
  } as const
  const events = Array.from({ length: count }, (_, i): ScheduledEvent => {
    const eventId = `f100d000-0000-4000-8000-${String(random.int(1e11, 9e11))}`
    judge.invented.add(`${fleet}/${eventId}`)
    const notBeforeAt = kernel.now + 600 * second
    const facts = { eventType: 'Reboot', status: 'Scheduled' as const, source: 'Platform' }
    return { eventId, ...facts, resources: [`flood_${i}`], notBeforeAt }
  })
  judge.met.add('a fleet floods the relay')
  judge.flooded = { fleet, by: mask.vmId, events: count }
  const self: Mask = { ...mask }
  const at = random.int(10, 60) * second
  for (let i = 0; i < 6; i++) kernel.after(at, () => void sendAs(parts, self, events))
  for (const ms of [40, 60]) kernel.after(at + ms * second, () => void sendAs(parts, self, []))
}

async function sendAs(
  { kernel, cluster, plan, http }: Parts,
  mask: Mask,
  events: ScheduledEvent[],
  more: Pick<Partial<Report>, 'hooks' | 'starts'> = {},
): Promise<void> {
  const { name, vmId, fleet, bootId } = mask
  mask.counter += 1
  const { tags = {} } = plan.vms.find((vm) => vm.fleet === fleet && vm.name === name) ?? {}
  const none = { subscriptionId: '', scaleSet: '', placementGroup: '', location: '', zone: '' }
  const report = {
    version: 1,
    vm: { ...none, name, vmId, resourceGroup: 'rg', tags },
    beacon: { version: 'sim', bootId, counter: mask.counter, uptimeMs: 3_600_000 },
    document: { ageMs: 0, incarnation: 1, apiVersion: '2020-07-01', events },
    changes: [],
    starts: [],
    ...more,
  }
  const body = JSON.stringify(report)
  const id = `${bootId}-${mask.counter}`
  const headers = http ? await signedHeaders(fleet, id, kernel.now, body) : {}
  cluster.post({ path: reportPath, fleet, body, headers }, () => {})
}
