// Counts the beacons of a fleet and the new events of a beacon, for the limits in open-limits.ts.
// Each process counts for itself, so the limits are soft. The beacon's row has no such count: if a
// beacon sent many reports at once, all of them would read the same one.
import { beaconRefusal, maxBeaconsOfFleet } from '../core/event/open-limits.ts'
import { setNewest } from '../core/newest.ts'
import type { Store } from '../store/store.ts'

/** The beacons of a fleet are counted this often, because many new ones may report at once. */
const countMs = 10_000

const hourMs = 3_600_000
/** Beacons whose new events are counted: those that reported one last. */
const maxKept = 10_000

interface Counted {
  at: number
  beacons: number
}

interface NewEvents {
  /** When the hour of this count began. */
  since: number
  count: number
}

export class Shares {
  /** By fleet. */
  readonly #counted = new Map<string, Counted>()

  /** By fleet and beacon. */
  readonly #newEvents = new Map<string, NewEvents>()

  /** New events that this beacon was the first to report in the last hour. */
  newEventsOf(fleet: string, beacon: string, now: number): number {
    return this.#hourOf(nameOf(fleet, beacon), now).count
  }

  noteNewEvent(fleet: string, beacon: string, now: number): void {
    const name = nameOf(fleet, beacon)
    const { since, count } = this.#hourOf(name, now)
    setNewest(this.#newEvents, name, { since, count: count + 1 }, maxKept)
  }

  #hourOf(name: string, now: number): NewEvents {
    const known = this.#newEvents.get(name)
    const isOver = known === undefined || Math.abs(now - known.since) >= hourMs
    return isOver ? { since: now, count: 0 } : known
  }

  /** Takes the place of a new beacon. If there is none, returns why the beacon is refused. */
  async takeBeacon(
    { store, now }: { store: Pick<Store, 'countBeacons'>; now(): number },
    fleet: string,
  ): Promise<string | undefined> {
    let counted = this.#counted.get(fleet)
    if (counted === undefined || Math.abs(now() - counted.at) >= countMs) {
      counted = { at: now(), beacons: await store.countBeacons(fleet) }
      this.#counted.set(fleet, counted)
    }
    if (counted.beacons >= maxBeaconsOfFleet) return beaconRefusal()
    counted.beacons += 1
    return undefined
  }
}

function nameOf(fleet: string, beacon: string): string {
  return JSON.stringify([fleet, beacon])
}
