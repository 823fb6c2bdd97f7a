// The room that one report has for new events. The store counts open events once per report that brings
// a new event. The limits are soft: relays that count at the same moment may exceed them by a few events.
import { newRefusal, type OpenCounts, refusalOf } from '../core/event/open-limits.ts'
import type { Relay } from './relay.ts'

type Parts = Pick<Relay, 'store' | 'now' | 'shares'>

export class Room {
  readonly #relay: Parts
  readonly #fleet: string
  readonly #beacon: string
  #counts: OpenCounts | undefined

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
    this.#counts ??= await store.countOpen(fleet, beacon, now())
    return refusalOf(this.#counts)
  }

  /** A new event was stored. It may be over already. */
  noteNew(): void {
    const { shares, now } = this.#relay
    shares.noteNewEvent(this.#fleet, this.#beacon, now())
  }

  noteOpened(): void {
    if (this.#counts === undefined) return
    this.#counts = { ofBeacon: this.#counts.ofBeacon + 1, ofFleet: this.#counts.ofFleet + 1 }
  }
}
