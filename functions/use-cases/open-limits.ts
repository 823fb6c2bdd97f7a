// Whether a fleet has room for one more open event or beacon. The limits are in core/limits.ts.

import { eventGrid, resourceGraph } from '../core/event/sight.ts'
import { beaconRefusal, describeLimit, maxBeaconsOfFleet, type Sharer } from '../core/limits.ts'
import type { Store } from '../store/store.ts'

const sharers: Partial<Record<string, Sharer>> = {
  [eventGrid]: 'event_grid',
  [resourceGraph]: 'list',
}
/** The beacons of a fleet are counted this often, because many new ones may report at once. */
const countMs = 10_000
/** Traces of a fleet: ends of unknown events, because Azure reports them out of order. */
const maxTraces = 100
const tracesMs = 10 * 60_000

export class OpenLimits {
  /** Beacons by fleet. Each process counts for itself, so the limit is soft. */
  readonly #beacons = new Map<string, { at: number; count: number }>()
  /** Traces since `from`, by fleet. */
  readonly #traces = new Map<string, { from: number; count: number }>()
  readonly #store: Pick<Store, 'countBeacons' | 'countOpen'>

  constructor(store: Pick<Store, 'countBeacons' | 'countOpen'>) {
    this.#store = store
  }

  /** Why one more open event is refused, or undefined if there is room. */
  async forEvent(fleet: string, beacon: string): Promise<string | undefined> {
    return describeLimit(await this.#store.countOpen(fleet, beacon), sharers[beacon])
  }

  /** Takes the place of a new beacon. If there is none, returns why the beacon is refused. */
  async forBeacon(fleet: string, now: number): Promise<string | undefined> {
    let counted = this.#beacons.get(fleet)
    if (counted === undefined || Math.abs(now - counted.at) >= countMs) {
      counted = { at: now, count: await this.#store.countBeacons(fleet) }
      this.#beacons.set(fleet, counted)
    }
    if (counted.count >= maxBeaconsOfFleet) return beaconRefusal()
    counted.count += 1
    return undefined
  }

  hasRoomForTrace(fleet: string, now: number): boolean {
    const { from, count } = this.#traces.get(fleet) ?? { from: now, count: 0 }
    if (now >= from && now - from < tracesMs) return count < maxTraces
    this.#traces.delete(fleet)
    return true
  }

  noteTrace(fleet: string, now: number): void {
    const { from, count } = this.#traces.get(fleet) ?? { from: now, count: 0 }
    this.#traces.set(fleet, { from, count: count + 1 })
  }
}
