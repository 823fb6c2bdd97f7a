// The room that one report has for new events. The store counts once per report that brings a new
// event. The limits are soft: relays that count at the same moment may exceed them by a few events.
import { type OpenCounts, refusalOf } from '../core/event/open-limits.ts'
import type { Relay } from './relay.ts'

export class Room {
  readonly #count: () => Promise<OpenCounts>
  #counts: OpenCounts | undefined

  constructor({ store, now }: Pick<Relay, 'store' | 'now'>, fleet: string, beacon: string) {
    this.#count = () => store.countOpen(fleet, beacon, now())
  }

  /** Why one more event is refused, or undefined if there is room. */
  async refusal(): Promise<string | undefined> {
    this.#counts ??= await this.#count()
    return refusalOf(this.#counts)
  }

  /** Notes that one more event was opened. */
  use(): void {
    if (this.#counts === undefined) return
    this.#counts = { ofBeacon: this.#counts.ofBeacon + 1, ofFleet: this.#counts.ofFleet + 1 }
  }
}
