// Channel health: ok, refusing or unreachable. If a channel refuses everything, one message at a
// time tries it, and the others go to its fallback at once. If a channel is unreachable, both the
// channel and its fallback get every message.
import { deliveryLeaseMs, type SendOutcome } from './attempt.ts'
import { type Claimed, type Delivery, isSameStory } from './delivery.ts'

interface Known {
  channel: string
  /** Fingerprint of the channel's configuration. After a change, the channel starts as ok. */
  of: string
  since: number
  /** Its last answer, without any secret. */
  note: string
  /** When the fallback was last notified of this kind of trouble. */
  alertedAt?: number
}

interface Troubled extends Known {
  /** The delivery that notifies the fallback, until its lease ends. Absent: not needed. */
  alerting?: { id: string; until: number }
}

/** It rejects every message, so an owner has to fix it. */
export interface Refusing extends Troubled {
  state: 'refusing'
  /** When the next message may try the channel, and the length of this wait. */
  nextTryAt: number
  waitMs: number
  /** The request that is trying, by its first delivery. `by` is its lease. */
  trying?: { id: string; by: string; until: number }
}

/** For too long, it gave no answer or only temporary errors. */
export interface Unreachable extends Troubled {
  state: 'unreachable'
  /** It refused everything before. `alertedAt` is when the fallback was notified of that. */
  was?: 'refusing'
}

/** It accepted a message again at `since`. If the same trouble returns soon, nobody is notified. */
export interface Recovered extends Known {
  state: 'ok'
  was: (Refusing | Unreachable)['state']
}

/** Undefined elsewhere means that the channel was never in trouble. */
export type ChannelHealth = Recovered | Refusing | Unreachable

/** A stored row. */
export interface HealthRow {
  /** Grows by one with each write. */
  version: number
  channel: string
  health: ChannelHealth
}

export const firstWaitMs = 60_000
export const maxWaitMs = 600_000
/** If the same trouble comes back within this time, the fallback is not notified again. */
const sameTroubleMs = 3_600_000

/** Whether a message may go to the channel now. */
export type Passage =
  | { go: 'send' }
  /** This message tries whether the channel accepts messages again. */
  | { go: 'try' }
  | { go: 'wait'; note: string }
  /** Send it to the fallback. */
  | { go: 'divert'; note: string }

export function passageOf(health: ChannelHealth | undefined, now: number): Passage {
  if (health?.state !== 'refusing') return { go: 'send' }
  const { trying, nextTryAt, since, note } = health
  // if the clock was set back, times too far ahead do not count
  if (trying !== undefined && trying.until > now && trying.until <= now + deliveryLeaseMs) {
    return {
      go: 'wait',
      note: 'another message is trying whether the channel accepts messages again',
    }
  }
  if (nextTryAt <= now || nextTryAt > now + maxWaitMs) return { go: 'try' }
  const from = new Date(since).toISOString()
  return {
    go: 'divert',
    note: `not sent, as the channel has refused messages since ${from}: ${note}`,
  }
}

/** The lease of a request is that of its first message. */
type Lease = Pick<Claimed, 'id' | 'lease' | 'leaseUntil'>

/**
 * Whether a request may be sent, and the health with this request as the try. If the worker that
 * was to notify the fallback died, this one takes over.
 */
export function beforeRequest(
  before: ChannelHealth | undefined,
  of: string,
  { id, lease, leaseUntil: until }: Lease,
  now: number,
): { passage: Passage; health: ChannelHealth | undefined } {
  const known = before?.of === of ? before : undefined
  const passage = passageOf(known, now)
  if (known === undefined || known.state === 'ok') return { passage, health: known }
  const { alerting } = known
  const isLost = alerting !== undefined && alerting.id !== id && alerting.until <= now
  const health = isLost ? { ...known, alerting: { id, until } } : known
  if (passage.go !== 'try' || health.state !== 'refusing') return { passage, health }
  return { passage, health: { ...health, trying: { id, by: lease, until } } }
}

export interface Answer extends Lease {
  channel: string
  of: string
  /** Undefined: nothing was sent. */
  sent: SendOutcome | undefined
  /** When the overdue message in it was planned. Absent if none is overdue. */
  overdueSince?: number | undefined
}

type HealthLog = 'channel_refuses' | 'channel_unreachable' | 'channel_recovered'

/**
 * The health after a request, and the log event. If trouble begins, the health names the delivery
 * that notifies the fallback, see follow-up.ts.
 */
export function afterAnswer(
  before: ChannelHealth | undefined,
  answer: Answer,
  now: number,
): { health: ChannelHealth | undefined; log?: HealthLog } {
  const known = before?.of === answer.of ? before : undefined
  const isTry = known?.state === 'refusing' && isTrying(known, answer)
  switch (evidenceIn(answer.sent)) {
    case 'refuses':
      if (known?.state === 'refusing') return { health: refusedAgain(known, isTry, answer, now) }
      return { health: refused(known, answer, now), log: 'channel_refuses' }
    case 'takes':
      if (isTry || known?.state === 'unreachable') {
        return { health: recovered(known, now), log: 'channel_recovered' }
      }
      // the request began before the first refusal, so it proves nothing
      return { health: known }
    case 'silent':
      // otherwise each message would have to wait for one that tries it until its time-out
      if (isTry) return { health: silentNow(known, answer) }
      if (!isUnreachable(known, answer, now)) return { health: known }
      return { health: begun('unreachable', known, answer, now), log: 'channel_unreachable' }
    case 'none':
      return { health: isTry ? withoutTry(known) : known }
  }
}

function isTrying({ trying }: Refusing, { id, lease }: Lease): boolean {
  return trying?.id === id && trying.by === lease
}

type Evidence = 'refuses' | 'takes' | 'silent' | 'none'

/** A channel that refuses one message has read it, so it is not broken. */
function evidenceIn(sent: SendOutcome | undefined): Evidence {
  if (sent === undefined || sent.outcome === 'superseded' || sent.outcome === 'given_up') {
    return 'none'
  }
  if (sent.outcome === 'delivered') return 'takes'
  if (sent.outcome === 'refused') return sent.broken ? 'refuses' : 'takes'
  return sent.unsent ? 'none' : 'silent'
}

/**
 * Whether the channel counts as unreachable: a message is overdue, and the channel has accepted no
 * other since that was planned. Otherwise, the message is at fault.
 */
function isUnreachable(
  known: ChannelHealth | undefined,
  { overdueSince }: Answer,
  now: number,
): boolean {
  if (overdueSince === undefined) return false
  if (known === undefined) return true
  // a time in the future is from before the clock was set back
  return known.state === 'ok' && (known.since < overdueSince || known.since > now)
}

function refused(known: ChannelHealth | undefined, answer: Answer, now: number): Refusing {
  const waits = { nextTryAt: now + firstWaitMs, waitMs: firstWaitMs }
  return { ...begun('refusing', known, answer, now), ...waits }
}

function refusedAgain(known: Refusing, isTry: boolean, answer: Answer, now: number): Refusing {
  const note = noteIn(answer)
  // a request that began before the first refusal does not delay the next try
  if (!isTry) return note === known.note ? known : { ...known, note }
  const waitMs = Math.min(2 * known.waitMs, maxWaitMs)
  return { ...withoutTry(known), note, waitMs, nextTryAt: now + waitMs }
}

function recovered({ state, channel, of, note, alertedAt }: Refusing | Unreachable, now: number) {
  const alerted = alertedAt === undefined ? {} : { alertedAt }
  return { state: 'ok' as const, was: state, channel, of, note, since: now, ...alerted }
}

function silentNow({ trying: _, nextTryAt: __, waitMs: ___, ...known }: Refusing, answer: Answer) {
  return { ...known, state: 'unreachable' as const, was: 'refusing' as const, note: noteIn(answer) }
}

function withoutTry({ trying: _, ...rest }: Refusing): Refusing {
  return rest
}

function begun<State extends Recovered['was']>(
  state: State,
  known: ChannelHealth | undefined,
  answer: Answer,
  now: number,
): Troubled & { state: State } {
  const { channel, of, id, leaseUntil } = answer
  const trouble = { state, channel, of, since: now, note: noteIn(answer) }
  const alertedAt = wasOf(known) === state ? known?.alertedAt : undefined
  const isKnown = alertedAt !== undefined && alertedAt <= now && now - alertedAt < sameTroubleMs
  return isKnown ? { ...trouble, alertedAt } : { ...trouble, alerting: { id, until: leaseUntil } }
}

function wasOf(known: ChannelHealth | undefined): Recovered['was'] | undefined {
  return known === undefined || known.state === 'refusing' ? undefined : known.was
}

function noteIn({ sent }: Answer): string {
  return sent?.note ?? ''
}

/** The fallback is notified, or there is none. */
export function afterAlert(health: ChannelHealth, now: number): ChannelHealth {
  if (health.state === 'ok') return { ...health, alertedAt: now }
  const { alerting: _, ...rest } = health
  return { ...rest, alertedAt: now }
}

/** An owner has fixed the channel, so the next message tries it. */
export function tryNow<Health extends ChannelHealth>(health: Health, now: number): Health {
  return health.state === 'refusing' ? { ...health, nextTryAt: now } : health
}

/** After this time, or half of the time left, a message also goes to the fallback. */
const patienceMs = 120_000

/**
 * Whether a message has waited too long for its channel. The wait begins with the first step that
 * the channel has not accepted, as later steps overtake it. One failed attempt is not enough.
 */
export function isOverdue(delivery: Delivery, siblings: Delivery[], now: number): boolean {
  const waiting = undeliveredUpTo(delivery, siblings)
  const attempts = waiting.reduce((sum, one) => sum + one.attempts, 0)
  return attempts > 1 && now >= overdueAt(delivery, waiting)
}

/** Whether the channel asked for a longer pause than a message waits for its channel. */
export function isPutOff(
  delivery: Delivery,
  siblings: Delivery[],
  result: SendOutcome,
  nextAt: number,
): boolean {
  if (result.outcome !== 'retry' || result.retryAfterMs === undefined) return false
  return nextAt > overdueAt(delivery, undeliveredUpTo(delivery, siblings))
}

function overdueAt({ urgentUntil }: Delivery, waiting: Delivery[]): number {
  const since = Math.min(...waiting.map(({ plannedAt }) => plannedAt))
  const left = urgentUntil - since
  return since + (left > 0 ? Math.min(patienceMs, left / 2) : patienceMs)
}

/** This delivery and the failed ones before it, since the last delivered one. */
function undeliveredUpTo(delivery: Delivery, siblings: Delivery[]): Delivery[] {
  const before = siblings.filter((one) => isSameStory(one, delivery) && one.seq < delivery.seq)
  const delivered = before.filter(({ state }) => state === 'delivered').map(({ seq }) => seq)
  const last = Math.max(...delivered)
  const tried = before.filter(({ seq, attempts, telling, state }) => {
    const waited = state === 'pending' || state === 'superseded'
    return waited && seq > last && attempts > 0 && telling.moment !== 'alert'
  })
  return [...tried, delivery]
}
