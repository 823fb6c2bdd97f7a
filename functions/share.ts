// What one report may still open. The store counts once for each report that brings a new event, however
// many it brings. The limits are soft: relays that count at the same moment may exceed them by a little.
import { type OpenCounts, refusalOf } from './core/share.ts'
import type { Relay } from './relay.ts'

export class Share {
  readonly #count: () => Promise<OpenCounts>
  #counts: OpenCounts | undefined

  constructor({ store, now }: Pick<Relay, 'store' | 'now'>, fleet: string, beacon: string) {
    this.#count = () => store.countOpen(fleet, beacon, now())
  }

  /** Why one more event is refused; undefined where there is room. */
  async refusal(): Promise<string | undefined> {
    this.#counts ??= await this.#count()
    return refusalOf(this.#counts)
  }

  /** One more was opened. */
  use(): void {
    if (this.#counts === undefined) return
    this.#counts = { ofBeacon: this.#counts.ofBeacon + 1, ofFleet: this.#counts.ofFleet + 1 }
  }
}
