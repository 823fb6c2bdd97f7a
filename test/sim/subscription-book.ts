// The book of subscriptions: each gets every moment that passes its filter, under one id, and nothing
// of another fleet. What it misses is kept, and no endpoint delays others.
import type { Settlement } from '../../functions/core/delivery/attempt.ts'
import {
  buildMessageId,
  type Claimed,
  type Delivery,
  isPing,
  readStoredId,
  storedChannel,
} from '../../functions/core/delivery/delivery.ts'
import type { MomentEntry } from '../../functions/core/delivery/moment-log.ts'
import type { Store } from '../../functions/store/store.ts'
import type { Docket } from './docket.ts'
import { EndpointBook, type Known } from './endpoint-book.ts'
import type { MessageBook } from './message-book.ts'
import { minute } from './plan.ts'
import type { PlannedSubscription, StoredSubscription } from './subscriptions.ts'

/** Relays sleep at most 5 minutes in this world. */
const expandedMs = 6 * minute
/** From then on nothing new goes wrong, see world.ts. */
const calmMs = 5 * minute
/** If no relay fails, a message waits at most this long for its first attempt. */
const promptMs = 15_000
/** More events than this may fill a channel by themselves. */
const maxQuietEvents = 4
const pageSize = 500
const lateMs = 24 * 60 * minute
const finished = ['delivered', 'refused', 'superseded', 'given_up']

export class SubscriptionBook {
  readonly #docket: Docket
  readonly endpoints: EndpointBook
  readonly #planned: PlannedSubscription[] = []
  readonly #known = new Map<string, Known>()
  readonly #committed = new Set<string>()
  /** Moments that a subscription must get, by its id and theirs. */
  readonly #expected = new Map<string, { since: number; known: Known }>()
  readonly #unplanned = new Set<string>()
  /** Ids of deliveries, by subscription and message. */
  readonly #rows = new Map<string, string>()
  /** By event and subscription: pending deliveries and their order. Without replayed ones. */
  readonly #pending = new Map<string, Map<string, number>>()
  /** When the last message of an event to a channel ended. */
  readonly #endedAt = new Map<string, number>()
  /** Owners that got all. */
  readonly #satisfied = new Set<PlannedSubscription>()

  constructor(docket: Docket, messages: MessageBook) {
    this.#docket = docket
    this.endpoints = new EndpointBook(docket, messages, (one) => this.#of(one))
  }

  get beganAt(): number {
    return this.#docket.beganAt
  }

  note(text: string): void {
    this.#docket.note(text)
  }

  broke(promise: string, text: string): void {
    this.#docket.broke(promise, text)
  }

  owned(planned: PlannedSubscription): void {
    this.#planned.push(planned)
  }

  satisfied(planned: PlannedSubscription): void {
    this.#satisfied.add(planned)
  }

  /** A text of the log or of a row must not show these. */
  leakIn(text: string): string | undefined {
    const paths = this.#planned.map(({ url }) => new URL(url).pathname)
    return [...this.endpoints.secrets(), ...paths].find((secret) => text.includes(secret))
  }

  /** The store has it. */
  written({ id, url, state, consented, secrets }: StoredSubscription): void {
    const planned = this.#planned.find((one) => one.url === url)
    if (planned === undefined) {
      this.broke('subscribing', `${id} has an unknown address`)
      return
    }
    const before = this.#known.get(id)
    const since = before?.state === state ? before.since : this.#docket.now
    if (before?.state !== state) this.note(`the subscription ${planned.name} is ${state}`)
    if (state === 'disabled') this.#docket.met.add('a subscription is disabled')
    const hears = before?.hears || consented
    const hearsSince = before?.hears ? before.hearsSince : this.#docket.now
    const known = { id, planned, state, since, hears, hearsSince, secrets: secrets.length }
    if (before === undefined) this.#known.set(id, known)
    else Object.assign(before, known)
  }

  removed(id: string): void {
    const known = this.#known.get(id)
    if (known === undefined) return
    this.note(`the subscription ${known.planned.name} is deleted`)
    Object.assign(known, { state: 'deleted', since: this.#docket.now })
    for (const key of this.#unplanned) if (key.startsWith(`${id} `)) this.#unplanned.delete(key)
  }

  committed(moments: MomentEntry[]): void {
    // writing a moment again for a new channel changes nothing
    const news = moments.filter(({ id }) => !this.#committed.has(id))
    for (const { id } of news) this.#committed.add(id)
    for (const known of this.#known.values()) {
      if (!known.hears || known.state === 'deleted') continue
      // a commit that was decided before knows nothing of it
      if (this.#docket.now - known.hearsSince < promptMs) continue
      for (const moment of news.filter((one) => wants(known.planned, one.notification))) {
        const key = `${known.id} ${moment.id}`
        if (this.#expected.has(key)) continue
        this.#expected.set(key, { since: this.#docket.now, known })
        if (!this.#rows.has(key)) this.#unplanned.add(key)
      }
    }
  }

  planned(deliveries: Delivery[]): void {
    for (const one of deliveries) {
      const known = this.#of(one)
      if (known === undefined || isPing(one.notification)) continue
      const key = `${known.id} ${buildMessageId(one)}`
      const before = this.#rows.get(key)
      if (before === one.id) continue
      if (before !== undefined) this.broke('told once', `${key} is planned as ${one.id}, too`)
      this.#rows.set(key, one.id)
      if (one.state === 'pending') this.#pendingOf(one).set(one.id, one.seq)
      else this.#docket.met.add('a subscription misses what happens while it is paused')
      this.#unplanned.delete(key)
      if (!wants(known.planned, one.notification)) this.broke('filter', `${one.id} does not pass`)
      const { since } = this.#expected.get(key) ?? { since: one.plannedAt }
      const late = this.#docket.now - since
      if (this.#isCalm() && late > promptMs) {
        this.broke('expansion', `${one.id} is planned ${late} ms after its moment`)
      }
    }
  }

  /** Whether nothing has to happen any more. */
  isOver(): boolean {
    const { now, parts } = this.#docket
    const awayMs = parts.plan.away?.untilMs ?? 0
    const troubledUntil = this.beganAt + Math.max(calmMs, awayMs)
    for (const key of this.#unplanned) {
      const { since } = this.#expected.get(key)!
      if (now < Math.max(since, troubledUntil) + expandedMs) return false
      this.broke('expansion', `${key} was committed ${now - since} ms ago, and is not planned`)
      this.#unplanned.delete(key)
    }
    const waits = ({ replaysAfterMs }: PlannedSubscription) => replaysAfterMs !== undefined
    return this.#planned.every((one) => !waits(one) || this.#satisfied.has(one))
  }

  #of({ channel }: Delivery): Known | undefined {
    const id = readStoredId(channel)
    return id === undefined ? undefined : this.#known.get(id)
  }

  claimed(claimed: Claimed): void {
    for (const [id, seq] of this.#pendingOf(claimed)) {
      if (seq < claimed.seq) this.broke('order', `${claimed.id} is claimed before ${id} has ended`)
    }
    const { channel, plannedAt, attempts, notification } = claimed
    const planned = this.#of(claimed)?.planned
    const isOwn = planned?.trouble !== undefined || planned?.isSlow || planned?.pause
    if (attempts !== 1 || isOwn || !this.#isCalm() || this.#planned.length === 0) return
    const before = this.#endedAt.get(placeOf(claimed)) ?? 0
    const waitedMs = this.#docket.now - Math.max(plannedAt, before)
    if (waitedMs <= promptMs) return
    const text = `${channel} waits ${waitedMs} ms for "${notification.moment}" of ${claimed.eventId}`
    this.broke('neighbours', text)
  }

  settled(claimed: Claimed, { state }: Pick<Settlement, 'state'>): void {
    if (state === 'pending') return
    this.#endedAt.set(placeOf(claimed), this.#docket.now)
    this.#pendingOf(claimed).delete(claimed.id)
    const isLate = this.#docket.now - claimed.notification.at > lateMs
    if (state === 'delivered' && isLate && !isPing(claimed.notification)) {
      this.#docket.met.add('an endpoint gets days later what it missed')
    }
  }

  #pendingOf(one: Delivery): Map<string, number> {
    const known = this.#pending.get(placeOf(one)) ?? new Map<string, number>()
    this.#pending.set(placeOf(one), known)
    return known
  }

  /** Neither relays nor configured channels fail, and few events happen. */
  #isCalm(): boolean {
    const { flooded, parts } = this.#docket
    const { faults, plan } = parts
    const relays = [
      'relay_away',
      'relay_crashes',
      'relay_stalls',
      'wake_lost',
      'store_slow',
    ] as const
    const channels = ['channel_slow', 'channel_busy', 'channel_fails', 'channel_refuses'] as const
    const silent = ['channel_mute', 'channel_dead', 'imds_throttles'] as const
    const isFew = flooded === undefined && plan.events.length <= maxQuietEvents
    return isFew && [...relays, ...channels, ...silent].every((kind) => faults[kind] === 0)
  }

  async checkEnd(store: Store): Promise<void> {
    for (const known of this.#known.values()) {
      const rows = await allTo(store, storedChannel(known.id))
      for (const row of rows) this.#checkRow(known, row)
      this.#docket.stats.deliveries += rows.length
    }
    const rowIds = new Set(this.#rows.keys())
    for (const [key, { known }] of this.#expected) {
      if (known.state === 'deleted') continue
      if (!rowIds.has(key)) this.broke('expansion', `${key} was never planned`)
      const isOwed = known.planned.replaysAfterMs !== undefined
      if (isOwed && !this.endpoints.hasTaken(key)) this.broke('reached', `${key} never arrived`)
    }
  }

  #checkRow(known: Known, row: Delivery): void {
    const { name } = known.planned
    if (!finished.includes(row.state)) this.broke('ending', `${row.id} is ${row.state} for ever`)
    const key = `${known.id} ${buildMessageId(row)}`
    const isAnswered = this.endpoints.hasTaken(key) || known.planned.consent === 'options'
    if (row.state === 'delivered' && !isAnswered) {
      this.broke('reached', `${row.id} counts as delivered, and ${name} never took it`)
    }
    if (this.leakIn(row.note) !== undefined) {
      this.broke('secrets', `the note of ${row.id} holds one`)
    }
  }
}

async function allTo(store: Store, channel: string): Promise<Delivery[]> {
  const all: Delivery[] = []
  let before: string | undefined
  do {
    const page = await store.listDeliveries(channel, {
      limit: pageSize,
      ...(before !== undefined && { before }),
    })
    all.push(...page.deliveries)
    before = page.next
  } while (before !== undefined)
  return all
}

function placeOf({ channel, fleet, eventId }: Delivery): string {
  return `${channel} ${fleet}/${eventId}`
}

/** What a subscription hears, told apart from the code of the relay. */
function wants(
  { fleets: bound, filter }: PlannedSubscription,
  { moment, event }: Delivery['notification'],
): boolean {
  const { fleets, eventTypes, moments, resource } = filter
  const includes = (list: readonly string[] | undefined, value: string) =>
    list === undefined || list.includes(value)
  const glob = new RegExp(`^${(resource ?? '*').replaceAll('*', '.*')}$`, 'i')
  return (
    includes(bound, event.fleet) &&
    includes(fleets, event.fleet) &&
    includes(eventTypes, event.facts.eventType) &&
    includes(moments, moment) &&
    (resource === undefined || event.facts.resources.some((name) => glob.test(name)))
  )
}
