// What a process has counted of the shares of fleets and beacons. The limits are soft: each process
// counts by itself.
import { beaconRefusal, maxBeaconsOfFleet } from '../core/event/open-limits.ts'
import type { Store } from '../store/store.ts'

/** The beacons of a fleet are counted this often, because many new ones may report at once. */
const countMs = 10_000

interface Counted {
  at: number
  beacons: number
}

export class Shares {
  /** By fleet. */
  readonly #counted = new Map<string, Counted>()

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
