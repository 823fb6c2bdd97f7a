// The book of mutes: while one counts, people hear nothing of what began under it, and once it is over they do.
import { type Delivery, hearsByItself } from '../../functions/core/delivery/delivery.ts'
import { knownVms } from '../../functions/core/event/drill.ts'
import type { EventRecord } from '../../functions/core/event/event.ts'
import { channelsFor } from '../../functions/core/rules/routes.ts'
import { isAdvice } from '../../shared/document.ts'
import type { Docket } from './docket.ts'
import type { PlannedMute } from './plan.ts'

interface Mute extends PlannedMute {
  /** When its owner knew that it counts. */
  from: number
  until: number
}

/** A worker may have read the mutes a moment before. */
const readMs = 1_000
/** What is hidden is told so soon after the end, unless a relay dies or sleeps. */
const toldMs = 60_000

export class MuteBook {
  readonly #docket: Docket
  readonly #mutes: Mute[] = []

  constructor(docket: Docket) {
    this.#docket = docket
  }

  added(planned: PlannedMute, until: number): void {
    this.#mutes.push({ ...planned, from: this.#docket.now, until })
  }

  planned(deliveries: Delivery[]): void {
    const { now } = this.#docket
    for (const { id, channel, notification } of deliveries) {
      if (isMachine(channel) || notification.moment === 'alert') continue
      const mute = this.#hiding(notification.event)
      if (mute === undefined) continue
      if (now < mute.until) this.#docket.broke('mutes', `${id} is told while its fleet is muted`)
      else this.#docket.met.add('an event is told when its mute ends')
    }
  }

  checkEnd(record: EventRecord, rows: Delivery[]): void {
    const mute = this.#hiding(record)
    const { ended, policy, facts } = record
    if (mute === undefined || ended === undefined) return
    this.#docket.met.add('a mute hides an event')
    const { plan, faults } = this.#docket.parts
    const { relay_crashes, relay_away, relay_stalls, store_slow, wake_lost } = faults
    const isCalm = relay_crashes + relay_away + relay_stalls + store_slow + wake_lost === 0
    const isOpen = ended.at > mute.until + toldMs
    if (!isCalm || !isOpen || policy.decide === 'ignore' || isAdvice(facts)) return
    const named = channelsFor(plan.config.routes, record, knownVms(record), 'scheduled', ended.at)
    const isTold = rows.some(({ channel }) => !isMachine(channel))
    if (named.some((name) => !isMachine(name)) && !isTold) {
      const { fleet, eventId } = record
      this.#docket.broke('mutes', `nobody is told of ${fleet}/${eventId} after its mute`)
    }
  }

  /** The mute of the whole fleet under which an event was first seen. */
  #hiding({ fleet, firstSeenAt }: Pick<EventRecord, 'fleet' | 'firstSeenAt'>): Mute | undefined {
    return this.#mutes.find(
      (one) =>
        one.fleet === fleet &&
        one.tag === undefined &&
        firstSeenAt > one.from + readMs &&
        firstSeenAt < one.until,
    )
  }
}

/** It gets every step. */
export function isMachine(channel: string): boolean {
  return channel === 'hook' || hearsByItself(channel)
}
