// The book of channels in trouble: the fallback is notified once of each outage.

import type { ChannelHealth } from '../../functions/core/delivery/channel-health.ts'
import { channelTroubleIn, type Delivery } from '../../functions/core/delivery/delivery.ts'
import type { Docket } from './docket.ts'

export class MarkBook {
  readonly #docket: Docket
  readonly #marks = new Map<string, { health: ChannelHealth; markedAt: number }>()
  readonly #outages = new Map<string, number>()
  readonly #notices = new Map<string, Set<string>>()

  constructor(docket: Docket) {
    this.#docket = docket
  }

  written(channel: string, health: ChannelHealth): void {
    const known = this.#marks.get(channel)
    this.#docket.note(`${channel} is ${health.state}: ${health.note}`)
    if (health.state === 'ok') {
      this.#marks.delete(channel)
      return
    }
    const same = known?.health.state === health.state
    this.#marks.set(channel, { health, markedAt: same ? known.markedAt : this.#docket.now })
    // trouble that comes back soon is not told anew
    if (!same && health.alerting !== undefined) count(this.#outages, channel)
  }

  planned(deliveries: Delivery[]): void {
    for (const { id, telling } of deliveries) {
      const about = channelTroubleIn(telling)
      if (about === undefined) continue
      const { channel } = about
      this.#notices.set(channel, (this.#notices.get(channel) ?? new Set()).add(id))
    }
  }

  /** Where no process dies or sleeps, each outage is told once. */
  checkEnd(hasFallback: (channel: string) => boolean): void {
    const { relay_crashes, relay_away, relay_stalls, store_slow } = this.#docket.parts.faults
    if (relay_crashes + relay_away + relay_stalls + store_slow > 0) return
    for (const [channel, outages] of this.#outages) {
      const told = this.#notices.get(channel)?.size ?? 0
      if (hasFallback(channel) && told !== outages) {
        this.#docket.broke('trouble', `${channel} failed ${outages} times, and ${told} were told`)
      }
    }
  }
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
