// The book of channels in trouble: the fallback is notified once of each outage.

import {
  type ChannelTrouble,
  channelTroubleIn,
  type Delivery,
} from '../../functions/core/delivery/delivery.ts'
import type { ChannelHealth } from '../../functions/core/delivery/health.ts'
import type { Docket } from './docket.ts'
import { minute } from './plan.ts'

const sameTroubleMs = 60 * minute
/** Clocks of relays differ, and a worker may die between the mark and its alert. */
const skewMs = 10 * minute

export class MarkBook {
  readonly #docket: Docket
  /** The alerts that each channel's outages have. */
  readonly #outages = new Map<string, Set<string>>()
  readonly #notices = new Map<string, Set<string>>()
  readonly #last = new Map<string, { about: ChannelTrouble; at: number }>()

  constructor(docket: Docket) {
    this.#docket = docket
  }

  written(channel: string, health: ChannelHealth): void {
    this.#docket.note(`${channel} is ${health.state}: ${health.note}`)
    if (health.state !== 'ok') note(this.#outages, channel, `${health.state} ${health.alert}`)
  }

  planned(deliveries: Delivery[]): void {
    for (const { id, notification } of deliveries) {
      const about = channelTroubleIn(notification)
      if (about === undefined) continue
      note(this.#notices, about.channel, id)
      this.#checkRepeated(about, notification.at)
    }
  }

  /** Trouble that comes back within an hour is told once. */
  #checkRepeated(about: ChannelTrouble, at: number): void {
    const { channel, health } = about
    const last = this.#last.get(channel)
    this.#last.set(channel, { about, at })
    const isSame = last !== undefined && last.about.health === health
    if (isSame && Math.abs(at - last.at) < sameTroubleMs - skewMs) {
      this.#docket.broke('trouble', `${channel} is ${health}, which is told again`)
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
