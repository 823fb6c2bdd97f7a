// What the IMDS servers should do wrong, and for how long. Pure.
// Faults with `times` come first, in the order they were given; then the newest lasting one.

import type { Endpoint, FaultRequest } from './requests.ts'

export class Faults {
  #entries: { fault: FaultRequest; usedBy: Map<string, number> }[] = []

  add(fault: FaultRequest): void {
    this.#entries.push({ fault, usedBy: new Map() })
  }

  /** All of them, or those given for one VM. */
  clear(vm?: string): void {
    this.#entries = this.#entries.filter(({ fault }) => vm !== undefined && fault.vm !== vm)
  }

  /** The fault for this VM's next request; asking uses it up by one. */
  take(vm: string, endpoint: Endpoint = 'scheduledevents'): FaultRequest | null {
    const mine = this.#entries.filter(
      ({ fault }) => (fault.vm ?? vm) === vm && (fault.endpoint ?? 'scheduledevents') === endpoint,
    )
    const counted = mine.find(({ fault, usedBy }) => (usedBy.get(vm) ?? 0) < (fault.times ?? 0))
    if (counted === undefined) {
      return mine.findLast(({ fault }) => fault.times === undefined)?.fault ?? null
    }
    counted.usedBy.set(vm, (counted.usedBy.get(vm) ?? 0) + 1)
    return counted.fault
  }
}
