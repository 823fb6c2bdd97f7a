// The book of channels in trouble: the fallback is notified once of each outage.

import type { ChannelHealth } from '../../functions/core/delivery/channel-health.ts'
import { channelTroubleIn, type Delivery } from '../../functions/core/delivery/delivery.ts'
import type { Docket } from './docket.ts'

export class MarkBook {
  readonly #docket: Docket
  /** The alerts that each channel's outages have. */
  readonly #outages = new Map<string, Set<string>>()
  readonly #notices = new Map<string, Set<string>>()

  constructor(docket: Docket) {
    this.#docket = docket
  }

  written(channel: string, health: ChannelHealth): void {
    this.#docket.note(`${channel} is ${health.state}: ${health.note}`)
    if (health.state !== 'ok') note(this.#outages, channel, `${health.state} ${health.alert}`)
  }

  planned(deliveries: Delivery[]): void {
    for (const { id, telling } of deliveries) {
      const about = channelTroubleIn(telling)
      if (about === undefined) continue
      note(this.#notices, about.channel, id)
    }
  }

  /** Where no process dies or sleeps, each outage is told once. */
  checkEnd(hasFallback: (channel: string) => boolean): void {
    const { relay_crashes, relay_away, relay_stalls, store_slow } = this.#docket.parts.faults
    if (relay_crashes + relay_away + relay_stalls + store_slow > 0) return
    for (const [channel, outages] of this.#outages) {
      const told = this.#notices.get(channel)?.size ?? 0
      if (hasFallback(channel) && told !== outages.size) {
        const text = `${channel} failed ${outages.size} times, and ${told} were told`
        this.#docket.broke('trouble', text)
      }
    }
  }
}

function note(notes: Map<string, Set<string>>, channel: string, one: string): void {
  notes.set(channel, (notes.get(channel) ?? new Set()).add(one))
}
