// The book of subscriptions: each gets every moment that passes its filter, under one id, and nothing
// of another fleet. What it misses is kept, and no endpoint delays others.
import { createHmac } from 'node:crypto'
import type { Settlement } from '../../functions/core/delivery/attempt.ts'
import {
  type Claimed,
  type Delivery,
  isPing,
  subscriptionChannel,
  subscriptionOf,
} from '../../functions/core/delivery/delivery.ts'
import type { MomentEntry } from '../../functions/core/delivery/moment-log.ts'
import { messageIdOf, type Subscription } from '../../functions/core/delivery/subscription.ts'
import type { Store } from '../../functions/store/store.ts'
import type { Sent } from '../support/world.ts'
import type { Docket } from './docket.ts'
import type { Attempt, MessageBook } from './message-book.ts'
import { minute } from './plan.ts'
import type { PlannedSubscription } from './subscriptions.ts'

/** A worker that read the subscription before it changed sends within its lease. */
const lookedBeforeMs = 21_000
/** Relays sleep at most 5 minutes in this world. */
const expandedMs = 6 * minute
/** From then on nothing new goes wrong, see world.ts. */
const calmMs = 5 * minute
/** If no relay fails, a message waits at most this long for its first attempt. */
const promptMs = 15_000
/** More events than this may fill a channel by themselves. */
const maxQuietEvents = 4
const pageSize = 500
/** As in subscription.ts of the core. */
const maxSecrets = 4
const finished = ['delivered', 'refused', 'superseded', 'given_up']

/** A subscription as the store has it. */
interface Known {
  id: string
  planned: PlannedSubscription
  state: Subscription['state'] | 'deleted'
  since: number
  /** Its endpoint has consented, so from then on it hears. */
  hears: boolean
}

export class SubscriptionBook {
  readonly #docket: Docket
  readonly #messages: MessageBook
  readonly #planned: PlannedSubscription[] = []
  readonly #known = new Map<string, Known>()
  /** By name: what the owner got, the last one first. */
  readonly #secrets = new Map<string, { text: string; at: number }[]>()
  /** Subscriptions with so many secrets that the relay forgets the oldest. */
  readonly #isCrowded = new Set<string>()
  readonly #committed = new Set<string>()
  /** Moments that a subscription must get, by its id and theirs. */
  readonly #expected = new Map<string, { since: number; known: Known }>()
  readonly #unplanned = new Set<string>()
  /** Ids of deliveries, by subscription and message. */
  readonly #rows = new Map<string, string>()
  readonly #accepted = new Map<string, Attempt[]>()
  readonly #bodies = new Map<string, string>()
  /** `webhook-id` by what the body says. */
  readonly #idsOf = new Map<string, string>()
  /** When the last message of an event to a channel ended. */
  readonly #endedAt = new Map<string, number>()
  /** Owners that got all. */
  readonly #satisfied = new Set<PlannedSubscription>()

  constructor(docket: Docket, messages: MessageBook) {
    this.#docket = docket
    this.#messages = messages
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

  /** An owner got a secret. */
  learned({ name }: PlannedSubscription, secret: string): void {
    const known = this.#secrets.get(name) ?? []
    this.#secrets.set(name, [{ text: secret, at: this.#docket.now }, ...known])
  }

  satisfied(planned: PlannedSubscription): void {
    this.#satisfied.add(planned)
  }

  /** A text of the log or of a row must not show these. */
  leakIn(text: string): string | undefined {
    const paths = this.#planned.map(({ url }) => new URL(url).pathname)
    const secrets = [...this.#secrets.values()].flat().map((secret) => secret.text)
    return [...secrets, ...paths].find((secret) => text.includes(secret))
  }

  /** The store has it. */
  written({ id, url, state, consented, secrets }: Subscription): void {
    if (secrets.length >= maxSecrets) this.#isCrowded.add(id)
    const planned = this.#planned.find((one) => one.url === url)
    if (planned === undefined) return this.broke('subscribing', `${id} has an unknown address`)
    const before = this.#known.get(id)
    const since = before?.state === state ? before.since : this.#docket.now
    if (before?.state !== state) this.note(`the subscription ${planned.name} is ${state}`)
    const hears = before?.hears || consented
    const known = { id, planned, state, since, hears }
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
      for (const moment of news.filter((one) => wants(known.planned, one.telling))) {
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
      if (known === undefined || isPing(one.telling)) continue
      const key = `${known.id} ${messageIdOf(one)}`
      const before = this.#rows.get(key)
      if (before === one.id) continue
      if (before !== undefined) this.broke('told once', `${key} is planned as ${one.id}, too`)
      this.#rows.set(key, one.id)
      this.#unplanned.delete(key)
      if (!wants(known.planned, one.telling)) this.broke('filter', `${one.id} does not pass`)
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
    const id = subscriptionOf(channel)
    return id === undefined ? undefined : this.#known.get(id)
  }

  claimed(claimed: Claimed): void {
    const { channel, plannedAt, attempts, telling } = claimed
    const planned = this.#of(claimed)?.planned
    const isOwn = planned?.trouble !== undefined || planned?.isSlow || planned?.pause
    if (attempts !== 1 || isOwn || !this.#isCalm() || this.#planned.length === 0) return
    const before = this.#endedAt.get(placeOf(claimed)) ?? 0
    const waitedMs = this.#docket.now - Math.max(plannedAt, before)
    if (waitedMs <= promptMs) return
    const text = `${channel} waits ${waitedMs} ms for "${telling.moment}" of ${claimed.eventId}`
    this.broke('neighbours', text)
  }

  settled(claimed: Claimed, { state }: Pick<Settlement, 'state'>): void {
    if (state !== 'pending') this.#endedAt.set(placeOf(claimed), this.#docket.now)
  }

  /** Neither relays nor configured channels fail, and few events happen. */
  #isCalm(): boolean {
    const { flooded, parts } = this.#docket
    const { faults, plan } = parts
    const relays = ['relay_away', 'relay_crashes', 'relay_stalls', 'wake_lost', 'store_slow'] as const
    const channels = ['channel_slow', 'channel_busy', 'channel_fails', 'channel_refuses'] as const
    const silent = ['channel_mute', 'channel_dead', 'imds_throttles'] as const
    const isFew = flooded === undefined && plan.events.length <= maxQuietEvents
    return isFew && [...relays, ...channels, ...silent].every((kind) => faults[kind] === 0)
  }

  /** A request leaves for an endpoint. */
  sent(
    claimed: Claimed,
    request: Sent,
    at: PlannedSubscription | undefined,
    redirect: RequestInit['redirect'],
  ): void {
    const known = this.#of(claimed)
    const { name } = known?.planned ?? { name: claimed.channel }
    if (at === undefined || at !== known?.planned) {
      return this.broke('address', `${claimed.id} is sent to ${new URL(request.url).host}`)
    }
    if (redirect !== 'manual') this.broke('address', `${name}: a redirect would be followed`)
    if (request.method === 'OPTIONS') return
    this.#checkSignature(known, request)
    const isOff = known.state !== 'active' && !isPing(claimed.telling)
    if (isOff && this.#docket.now > known.since + lookedBeforeMs) {
      this.broke('kept', `${claimed.id} is sent, although ${name} is ${known.state}`)
    }
    if (!isPing(claimed.telling)) this.#checkBody(claimed, request, at)
  }

  /** A worker may have read the secrets before the owner got the last one. */
  #checkSignature({ id, planned: { name } }: Known, { headers, body }: Sent): void {
    const [last, ...older] = this.#secrets.get(name) ?? []
    if (last === undefined || this.#isCrowded.has(id)) return
    const isNew = this.#docket.now < last.at + lookedBeforeMs
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    const signatures = [last, ...(isNew ? older : [])].map(({ text }) => {
      const key = Buffer.from(text.slice('whsec_'.length), 'base64')
      return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
    })
    const found = headers['webhook-signature']?.split(' ') ?? []
    if (!signatures.some((one) => found.includes(one))) {
      this.broke('signature', `${name} cannot verify a message`)
    }
  }

  /** One message has one id and one body, and every id one message. */
  #checkBody(claimed: Claimed, { headers, body, json }: Sent, planned: PlannedSubscription): void {
    const id = String(headers['webhook-id'])
    const { fleet, eventId, epoch, sequence, moment } = json.data
    const own = planned.name
    const said = `${own} ${fleet}/${eventId}/${epoch}/${sequence}/${moment}`
    if (json.id !== id || id !== messageIdOf(claimed)) {
      this.broke('told once', `${own} gets ${json.id} under the id ${id}`)
    }
    const known = this.#idsOf.get(said) ?? id
    if (known !== id) this.broke('told once', `${said} is sent as ${known} and as ${id}`)
    this.#idsOf.set(said, id)
    const first = this.#bodies.get(`${own} ${id}`) ?? body
    if (first !== body) this.broke('told once', `${own} gets another body under ${id}`)
    this.#bodies.set(`${own} ${id}`, body)
    if (!(planned.fleets?.includes(fleet) ?? true)) {
      this.broke('fleets', `${own} hears ${id}, although it is bound to ${planned.fleets}`)
    }
  }

  /** Its endpoint has it, or says so. */
  accepted(claimed: Claimed, { headers, method }: Sent): void {
    this.note(`${this.#of(claimed)?.planned.name} takes ${claimed.id}`)
    if (method === 'OPTIONS') return
    const key = `${subscriptionOf(claimed.channel)} ${headers['webhook-id']}`
    const attempt = this.#messages.attemptOf(claimed)
    if (attempt === undefined) throw new Error(`${claimed.id} was sent without a claim`)
    const earlier = this.#accepted.get(key) ?? []
    for (const { settled, answerLost, crashed, until } of earlier) {
      const isExcused = answerLost || crashed || until <= this.#docket.now
      if (settled === 'delivered' || !isExcused) this.broke('told once', `${key} was told twice`)
    }
    this.#accepted.set(key, [...earlier, attempt])
  }

  answerLost(claimed: Claimed): void {
    this.#messages.answerLost(claimed)
  }

  async checkEnd(store: Store): Promise<void> {
    for (const known of this.#known.values()) {
      const rows = await allTo(store, subscriptionChannel(known.id))
      for (const row of rows) this.#checkRow(known, row)
      this.#docket.stats.deliveries += rows.length
    }
    const rowIds = new Set(this.#rows.keys())
    for (const [key, { known }] of this.#expected) {
      if (known.state === 'deleted') continue
      if (!rowIds.has(key)) this.broke('expansion', `${key} was never planned`)
      const isOwed = known.planned.replaysAfterMs !== undefined
      if (isOwed && !this.#accepted.has(key)) this.broke('reached', `${key} never arrived`)
    }
  }

  #checkRow(known: Known, row: Delivery): void {
    const { name } = known.planned
    if (!finished.includes(row.state)) this.broke('ending', `${row.id} is ${row.state} for ever`)
    const key = `${known.id} ${messageIdOf(row)}`
    const isAnswered = this.#accepted.has(key) || known.planned.consent === 'options'
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
  { moment, event }: Delivery['telling'],
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
