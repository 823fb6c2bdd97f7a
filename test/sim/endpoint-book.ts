// The book of endpoints: what each was sent. It checks the address, the signature, the id and the
// body of every request, and that an endpoint gets no message twice without need.
import { createHmac } from 'node:crypto'
import {
  buildMessageId,
  type Claimed,
  type Delivery,
  isPing,
  readStoredId,
} from '../../functions/core/delivery/delivery.ts'
import type { Sent } from '../support/world.ts'
import type { Docket } from './docket.ts'
import type { Attempt, MessageBook } from './message-book.ts'
import type { PlannedSubscription, StoredSubscription } from './subscriptions.ts'

/** A worker that read the subscription before it changed sends within its lease. */
const lookedBeforeMs = 21_000
/** With as many secrets as the relay keeps of one subscription, it may have forgotten one. */
const maxSecrets = 4

/** A subscription as the store has it. */
export interface Known {
  id: string
  planned: PlannedSubscription
  state: StoredSubscription['state'] | 'deleted'
  since: number
  /** Its endpoint has consented, so from then on it hears. */
  hears: boolean
  /** Since when it hears. */
  hearsSince: number
  /** How many secrets it has, with those that expired. */
  secrets: number
}

export class EndpointBook {
  readonly #docket: Docket
  readonly #messages: MessageBook
  readonly #of: (delivery: Delivery) => Known | undefined
  /** By name: what the owner got, the last one first. */
  readonly #secrets = new Map<string, { text: string; at: number }[]>()
  readonly #accepted = new Map<string, Attempt[]>()
  readonly #bodies = new Map<string, string>()
  /** `webhook-id` by what the body says. */
  readonly #idsOf = new Map<string, string>()

  constructor(
    docket: Docket,
    messages: MessageBook,
    known: (delivery: Delivery) => Known | undefined,
  ) {
    this.#docket = docket
    this.#messages = messages
    this.#of = known
  }

  /** An owner got a secret. */
  learned({ name }: PlannedSubscription, secret: string): void {
    const known = this.#secrets.get(name) ?? []
    this.#secrets.set(name, [{ text: secret, at: this.#docket.now }, ...known])
  }

  /** All that owners got. */
  secrets(): string[] {
    return [...this.#secrets.values()].flat().map(({ text }) => text)
  }

  /** Whether the endpoint took a message: by the subscription and the message. */
  hasTaken(key: string): boolean {
    return this.#accepted.has(key)
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
      this.#docket.broke('address', `${claimed.id} is sent to ${new URL(request.url).host}`)
      return
    }
    if (redirect !== 'manual')
      this.#docket.broke('address', `${name}: a redirect would be followed`)
    if (request.method === 'OPTIONS') return
    this.#checkSignature(known, request)
    const isOff = known.state !== 'active' && !isPing(claimed.notification)
    if (isOff && this.#docket.now > known.since + lookedBeforeMs) {
      this.#docket.broke('kept', `${claimed.id} is sent, although ${name} is ${known.state}`)
    }
    const { type, data } = request.json
    if (type === 'foghorn.ping') return
    const isMadeUp = data.test === true && data.eventId.startsWith('test-')
    if (isMadeUp !== isPing(claimed.notification)) {
      this.#docket.broke(
        'tests',
        `${name} cannot tell ${data.eventId} from a ${isMadeUp ? 'test' : 'real one'}`,
      )
    }
    this.#checkBody(claimed, request, at)
  }

  /** A worker may have read the secrets before the owner got the last one. */
  #checkSignature({ planned: { name }, secrets }: Known, { headers, body }: Sent): void {
    const [last, ...older] = this.#secrets.get(name) ?? []
    if (last === undefined || secrets >= maxSecrets) return
    const isNew = this.#docket.now < last.at + lookedBeforeMs
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    const signatures = [last, ...(isNew ? older : [])].map(({ text }) => {
      const key = Buffer.from(text.slice('whsec_'.length), 'base64')
      return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
    })
    const found = headers['webhook-signature']?.split(' ') ?? []
    if (!signatures.some((one) => found.includes(one))) {
      this.#docket.broke('signature', `${name} cannot verify a message`)
    }
  }

  /** One message has one id and one body, and every id one message. */
  #checkBody(claimed: Claimed, { headers, body, json }: Sent, planned: PlannedSubscription): void {
    const id = String(headers['webhook-id'])
    const { fleet, eventId, epoch, sequence, moment } = json.data
    const own = planned.name
    const said = `${own} ${fleet}/${eventId}/${epoch}/${sequence}/${moment}`
    if (json.id !== id || id !== buildMessageId(claimed)) {
      this.#docket.broke('told once', `${own} gets ${json.id} under the id ${id}`)
    }
    const known = this.#idsOf.get(said) ?? id
    if (known !== id) this.#docket.broke('told once', `${said} is sent as ${known} and as ${id}`)
    this.#idsOf.set(said, id)
    const first = this.#bodies.get(`${own} ${id}`) ?? body
    if (first !== body) this.#docket.broke('told once', `${own} gets another body under ${id}`)
    this.#bodies.set(`${own} ${id}`, body)
    if (!(planned.fleets?.includes(fleet) ?? true)) {
      this.#docket.broke('fleets', `${own} hears ${id}, although it is bound to ${planned.fleets}`)
    }
  }

  /** Its endpoint has it, or says so. */
  accepted(claimed: Claimed, { headers, method }: Sent): void {
    this.#docket.note(`${this.#of(claimed)?.planned.name} takes ${claimed.id}`)
    if (method === 'OPTIONS') return
    const key = `${readStoredId(claimed.channel)} ${headers['webhook-id']}`
    const attempt = this.#messages.attemptOf(claimed)
    if (attempt === undefined) throw new Error(`${claimed.id} was sent without a claim`)
    const earlier = this.#accepted.get(key) ?? []
    for (const { settled, answerLost, crashed, until } of earlier) {
      const isExcused = answerLost || crashed || until <= this.#docket.now
      if (settled === 'delivered' || !isExcused)
        this.#docket.broke('told once', `${key} was told twice`)
    }
    this.#accepted.set(key, [...earlier, attempt])
  }

  answerLost(claimed: Claimed): void {
    this.#messages.answerLost(claimed)
  }
}
