// What a world has shown so far: the trace, what it counts up to, and what is broken.
import type { Beacon } from './beacons.ts'
import type { Faults } from './faults.ts'
import type { Kernel } from './kernel.ts'
import type { Plan } from './plan.ts'
import type { Platform } from './platform.ts'

export interface Broken {
  /** Which promise, in a word. */
  promise: string
  text: string
}

export interface DocketParts {
  kernel: Kernel
  plan: Plan
  faults: Faults
  secrets: string[]
  beacons: () => Beacon[]
  platform: () => Platform
}

/** What a world may bring about, and enough worlds must. */
export const encounters = [
  'two people decide at once',
  'a person and a policy decide',
  'a listed person decides',
  'an unlisted person is refused',
  'a form of the page decides',
  'a press in Slack decides',
  'a press for what has changed is refused',
  'a relay dies between decision and directive',
  'a beacon dies with a directive',
  'a channel that is away is stood in for',
  'an event starts while no relay answers',
  'a VM still shows what the others miss',
  'IMDS answers 400 for seconds',
  'IMDS throttles',
  'a document has entries that cannot be read',
  'an event that seemed cancelled is back as Started',
  'an event is first seen long after its NotBefore',
  'an event changes while its start is under way',
  'an event is of another type',
  'a VM is added while its beacon reports',
  'a beacon is updated while Azure cancels',
  'a VM lies about an event',
  'somebody speaks as other VMs',
  'a fleet floods the relay',
] as const
export type Encounter = (typeof encounters)[number]

const maxBroken = 20

export class Docket {
  readonly trace: string[] = []
  readonly broken: Broken[] = []
  readonly met = new Set<Encounter>()
  /** Fleets in which somebody speaks as other VMs: what the relay makes of that proves nothing. */
  readonly mistaken = new Set<string>()
  /** Events, by fleet and id, that Azure does not know of. */
  readonly invented = new Set<string>()
  /** A fleet in which one VM invents events, and how many. */
  flooded: { fleet: string; by: string; events: number } | undefined
  /** Events, by fleet and id, that somebody lies about. */
  readonly lies = new Set<string>()
  readonly stats = { events: 0, crashes: 0, reopened: 0, failovers: 0, deliveries: 0 }
  readonly parts: DocketParts
  readonly beganAt: number

  constructor(parts: DocketParts) {
    this.parts = parts
    this.beganAt = parts.kernel.now
  }

  get now(): number {
    return this.parts.kernel.now
  }

  note(text: string): void {
    this.trace.push(`${((this.now - this.beganAt) / 1_000).toFixed(3)} ${text}`)
  }

  broke(promise: string, text: string): void {
    this.note(`BROKEN ${promise}: ${text}`)
    if (this.broken.length < maxBroken) this.broken.push({ promise, text })
  }
}
