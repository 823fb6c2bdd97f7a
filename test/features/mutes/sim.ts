// Mutes in the simulation: while one counts, people hear nothing of what began under it, and once it is over they
// do.
import type { Delivery } from '../../../functions/core/delivery/delivery.ts'
import { knownVms } from '../../../functions/core/event/drill.ts'
import type { EventRecord } from '../../../functions/core/event/event.ts'
import { channelsFor } from '../../../functions/core/rules/routes.ts'
import { addMute } from '../../../functions/features/mutes/use.ts'
import { isAdvice } from '../../../shared/document.ts'
import type { Book, SimFeature, Watch } from '../../sim/feature.ts'
import { isMachine } from '../../sim/machine.ts'

interface Wish {
  fleet: string
  /** Absent: the whole fleet. */
  tag?: string
  /** ISO 8601. */
  until: string
}

interface Mute extends Omit<Wish, 'until'> {
  /** When its owner knew that it counts. */
  from: number
  until: number
}

const second = 1_000
/** A worker may have read the mutes a moment before. */
const readMs = 1_000
/** What is hidden is told so soon after the end, unless a relay dies or sleeps. */
const toldMs = 60_000
const path = '/v1/mutes'

export const muteSim: SimFeature = {
  name: 'mutes',
  encounters: { 'a mute hides an event': [], 'an event is told when its mute ends': [] },
  spoilt: {
    'mutes not read': {
      shownIn: 34,
      spoil: () => (store) => ({
        ...store,
        readSmallRow: async (key) => (key.kind === 'mutes' ? undefined : store.readSmallRow(key)),
      }),
    },
  },
  /** In every fifth world. */
  plan(random, tenants) {
    if (!random.chance(0.2)) return []
    const fleet = tenants.test.length > 0 && random.chance(0.3) ? 'test' : 'prod'
    const tag = random.chance(0.2) ? { tag: 'tier=data' } : {}
    const forMs = random.int(20, 200) * second
    const afterMs = random.int(0, 60) * second
    const body = (now: number) => ({ fleet, ...tag, until: new Date(now + forMs).toISOString() })
    return [{ afterMs, note: `an admin mutes ${fleet}`, path, body }]
  },
  serve: {
    async [path](relay, body) {
      const wish = JSON.parse(body) as Wish
      const own = { ...wish, until: Date.parse(wish.until) }
      const { outcome } = await addMute(relay, { by: 'admin' }, own)
      return { status: outcome === 'added' ? 201 : 400, text: outcome }
    },
  },
  hides: ({ muted }) => muted !== undefined,
  openBook: (watch) => new MuteBook(watch),
}

class MuteBook implements Book {
  readonly #watch: Watch
  readonly #mutes: Mute[] = []

  constructor(watch: Watch) {
    this.#watch = watch
  }

  acted(body: object): void {
    const wish = body as Wish
    this.#mutes.push({ ...wish, from: this.#watch.now, until: Date.parse(wish.until) })
  }

  planned(deliveries: Delivery[]): void {
    const { now } = this.#watch
    for (const { id, channel, notification } of deliveries) {
      if (isMachine(channel) || notification.moment === 'alert') continue
      const mute = this.#hiding(notification.event)
      if (mute === undefined) continue
      if (now < mute.until) this.#watch.broke('mutes', `${id} is told while its fleet is muted`)
      else this.#watch.met.add('an event is told when its mute ends')
    }
  }

  checkEnd(record: EventRecord, rows: Delivery[]): void {
    const mute = this.#hiding(record)
    const { ended, policy, facts } = record
    if (mute === undefined || ended === undefined) return
    this.#watch.met.add('a mute hides an event')
    const { plan, faults } = this.#watch.parts
    const { relay_crashes, relay_away, relay_stalls, store_slow, wake_lost } = faults
    const isCalm = relay_crashes + relay_away + relay_stalls + store_slow + wake_lost === 0
    const isOpen = ended.at > mute.until + toldMs
    if (!isCalm || !isOpen || policy.decide === 'ignore' || isAdvice(facts)) return
    const named = channelsFor(plan.config.routes, record, knownVms(record), 'scheduled', ended.at)
    const isTold = rows.some(({ channel }) => !isMachine(channel))
    if (named.some((name) => !isMachine(name)) && !isTold) {
      const { fleet, eventId } = record
      this.#watch.broke('mutes', `nobody is told of ${fleet}/${eventId} after its mute`)
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
