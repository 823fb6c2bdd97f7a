// Keeps the relay's heartbeats right for the number of its beacons. The timer counts for metrics
// anyway. Other instances read the row that it wrote: at their start, and then once in a while.
import { messageOf } from '../../../shared/errors.ts'
import { alignedHeartbeats } from '../../core/event/heartbeat.ts'
import { beaconsIn } from '../../core/metrics/tally.ts'
import { countAll } from '../../use-cases/read-metrics.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { timerMs } from './requests.ts'

export class FleetSize {
  readonly #relay: Relay
  #readAt = 0

  constructor(relay: Relay) {
    this.#relay = relay
  }

  /** Counts if the last count is older than `maxAgeMs`. Throws if the store fails. */
  async follow(maxAgeMs: number): Promise<void> {
    const relay = this.#relay
    this.#readAt = relay.now()
    const beacons = beaconsIn(await countAll(relay, maxAgeMs))
    relay.heartbeats = alignedHeartbeats(relay.config.publicUrl, beacons)
  }

  /** Reads the last count once a minute at most. No request waits for it. */
  refresh(): void {
    const relay = this.#relay
    if (relay.now() - this.#readAt < timerMs) return
    this.follow(Number.POSITIVE_INFINITY).catch((error) => {
      relay.log.warn('fleet_size_unread', { error: messageOf(error) })
    })
  }
}
