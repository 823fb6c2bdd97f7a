// The room that one report has for new events. The store counts open events before each of them, because
// the beacon may send many reports at once. Reports that are counted at the same moment may exceed the
// limits by one event each. On Azure's tables, the store counts a few events of a beacon by itself.
import { newRefusal, refusalOf } from '../core/event/open-limits.ts'
import type { Relay } from './relay.ts'

type Parts = Pick<Relay, 'store' | 'now' | 'shares'>

export class Room {
  readonly #relay: Parts
  readonly #fleet: string
  readonly #beacon: string
  /** Once the limit is reached, it is not counted again in this report. */
  #full: string | undefined

  constructor(relay: Parts, fleet: string, beacon: string) {
    this.#relay = relay
    this.#fleet = fleet
    this.#beacon = beacon
  }

  /** Why one more event is refused, or undefined if there is room. An event that is back is not new. */
  async refusal(isNew: boolean): Promise<string | undefined> {
    const { store, shares, now } = this.#relay
    const [fleet, beacon] = [this.#fleet, this.#beacon]
    const refusal = isNew ? newRefusal(shares.newEventsOf(fleet, beacon, now())) : undefined
    if (refusal !== undefined) return refusal
    this.#full ??= refusalOf(await store.countOpen(fleet, beacon, now()))
    return this.#full
  }

  /** A new event was stored. It may be over already. */
  noteNew(): void {
    const { shares, now } = this.#relay
    shares.noteNewEvent(this.#fleet, this.#beacon, now())
  }
}
