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

const maxBroken = 20

export class Docket {
  readonly trace: string[] = []
  readonly broken: Broken[] = []
  readonly met = new Set<string>()
  /** Fleets in which a liar speaks as other VMs. What the relay concludes there proves nothing. */
  readonly mistaken = new Set<string>()
  /** Events that Azure does not know, by fleet and id. */
  readonly invented = new Set<string>()
  /** A fleet in which one VM invents events, and how many it invents. */
  flooded: { fleet: string; by: string; events: number } | undefined
  /** Events with lies about them, by fleet and id. */
  readonly lies = new Set<string>()
  /** Events of which somebody says in Azure's place what is not so. */
  readonly outsideLies = new Set<string>()
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
