// A channel that does not get what it is owed, and is marked. One that refuses whatever it is sent is tried
// again now and then by one message, while the others go to its fallback at once. One that can't be reached is
// tried by each of them, and its fallback is told as well. Pure; outage.ts beside core keeps the mark.
import { deliveryLeaseMs } from './attempt.ts'
import { alertDeliveryId, type Delivery, deliveryId, isAlertOf, isSameStory } from './delivery.ts'

interface Marked {
  channel: string
  /** Which configuration of the channel it was: another one is tried afresh. */
  of: string
  since: number
  /** Its last answer, without any secret. */
  note: string
  /** The delivery whose attempt tells the fallback; until then others leave that to it. Absent: nobody need. */
  teller?: { id: string; until: number }
  /** When the fallback was told of it, now or before. */
  toldAt?: number
}

/** Somebody has to mend it. */
export interface Refusing extends Marked {
  kind: 'refuses'
  /** When the next message may try, and how long it was to wait for that. */
  nextTryAt: number
  waitMs: number
  /** Whoever has this lease is trying. */
  trying?: { by: string; until: number }
}

/** No answer, or one that may pass by itself, for too long. */
export interface Unreachable extends Marked {
  kind: 'unreachable'
}

/** It took a message again at `since`; people are not told that, so that what comes back soon is no news. */
export interface Passed extends Marked {
  kind: 'passed'
  was: 'refuses' | 'unreachable'
}

export type Outage = Refusing | Unreachable | Passed

export interface Mark {
  /** Grows by one with each write. */
  version: number
  channel: string
  outage: Outage
}

export const firstWaitMs = 60_000
export const maxWaitMs = 600_000
/** Of the same trouble, nobody is told again within this time. */
const sameTroubleMs = 3_600_000

/** What becomes of messages to a channel now. */
export type Passage =
  | { go: 'send' }
  | { go: 'try' }
  /** Another message is trying. */
  | { go: 'wait'; note: string }
  | { go: 'divert'; note: string }

export function passageOf(outage: Outage | undefined, of: string, now: number): Passage {
  if (outage?.kind !== 'refuses' || outage.of !== of) return { go: 'send' }
  const { trying, nextTryAt, since, note } = outage
  // a clock that was set back makes nobody wait for longer
  if (trying !== undefined && trying.until > now && trying.until <= now + deliveryLeaseMs) {
    return { go: 'wait', note: 'another message finds out whether the channel takes any again' }
  }
  if (nextTryAt <= now || nextTryAt > now + maxWaitMs) return { go: 'try' }
  const from = new Date(since).toISOString()
  return { go: 'divert', note: `not sent, as the channel refuses since ${from}: ${note}` }
}

interface Failure {
  channel: string
  of: string
  note: string
  /** The delivery that met it, and its lease. */
  id: string
  lease: string
  leaseUntil: number
}

/** The mark after an answer that only a person can mend. */
export function afterRefusal(outage: Outage | undefined, refusal: Failure, now: number): Refusing {
  const { note, lease } = refusal
  if (outage?.kind !== 'refuses' || outage.of !== refusal.of) {
    const nextTryAt = now + firstWaitMs
    return { ...marked('refuses', outage, refusal, now), nextTryAt, waitMs: firstWaitMs }
  }
  // what was under way when the first was refused says nothing new
  if (outage.trying?.by !== lease) return { ...outage, note }
  const { trying: _, ...rest } = outage
  const waitMs = Math.min(2 * outage.waitMs, maxWaitMs)
  return { ...rest, note, waitMs, nextTryAt: now + waitMs }
}

/** What waits for longer is told elsewhere as well: two minutes, or half of the time that is left. */
const patienceMs = 120_000

/**
 * Whether a channel has kept an event waiting for too long: since the first step that it has not taken, as each
 * step may be overtaken by the next. One attempt that comes to nothing says nothing yet.
 */
export function isOverdue(delivery: Delivery, siblings: Delivery[], now: number): boolean {
  const untaken = untakenUpTo(delivery, siblings)
  const since = Math.min(...untaken.map(({ owedAt }) => owedAt))
  const attempts = untaken.reduce((sum, one) => sum + one.attempts, 0)
  const left = delivery.urgentUntil - since
  const patience = left > 0 ? Math.min(patienceMs, left / 2) : patienceMs
  return attempts > 1 && now - since >= patience
}

/** The steps before this one that were tried in vain, back to the last one that was taken, and itself. */
function untakenUpTo(delivery: Delivery, siblings: Delivery[]): Delivery[] {
  const before = siblings.filter((one) => isSameStory(one, delivery) && one.seq < delivery.seq)
  const taken = before.filter(({ state }) => state === 'delivered').map(({ seq }) => seq)
  const last = Math.max(...taken)
  const tried = before.filter(({ seq, attempts, telling, state }) => {
    const waited = state === 'pending' || state === 'superseded'
    return waited && seq > last && attempts > 0 && telling.moment !== 'notice'
  })
  return [...tried, delivery]
}

/** The mark after an attempt of an overdue message that came to nothing. */
export function afterSilence(outage: Outage | undefined, failure: Failure, now: number): Outage {
  if (outage?.of === failure.of && outage.kind !== 'passed') return outage
  return marked('unreachable', outage, failure, now)
}

/** The mark of a channel that took a message. */
export function afterSuccess(outage: Outage, now: number): Passed {
  const { channel, of, note, toldAt } = outage
  const was = outage.kind === 'passed' ? outage.was : outage.kind
  const told = toldAt === undefined ? {} : { toldAt }
  return { kind: 'passed', was, channel, of, note, since: now, ...told }
}

/** The mark without whoever tried: it came to nothing that says anything of the channel. */
export function withoutTry(outage: Outage, lease: string): Outage {
  if (outage.kind !== 'refuses' || outage.trying?.by !== lease) return outage
  const { trying: _, ...rest } = outage
  return rest
}

function marked<Kind extends Passed['was']>(
  kind: Kind,
  before: Outage | undefined,
  { channel, of, note, id, leaseUntil }: Failure,
  now: number,
): Marked & { kind: Kind } {
  const mark = { kind, channel, of, since: now, note }
  const { toldAt = Number.NEGATIVE_INFINITY } = before ?? {}
  const same = before?.kind === 'passed' && before.was === kind && before.of === of
  const isKnown = same && toldAt <= now && now - toldAt < sameTroubleMs
  return isKnown ? { ...mark, toldAt } : { ...mark, teller: { id, until: leaseUntil } }
}

/** The mark in the hands of this delivery, where whoever was to tell the fallback died of it. */
export function withTeller<Any extends Outage>(
  outage: Any,
  { id, leaseUntil }: Pick<Failure, 'id' | 'leaseUntil'>,
  now: number,
): Any {
  const { teller } = outage
  if (teller === undefined || teller.id === id || teller.until > now) return outage
  return { ...outage, teller: { id, until: leaseUntil } }
}

/**
 * The message for another channel; where that hears of this step anyway, it has the same id. `heir`: it has
 * taken the channel's place in the configuration, and stands in for nobody.
 */
export function divert(failed: Delivery, to: string, now: number, heir = false): Delivery {
  const { id: _, telling, ...rest } = failed
  const afresh = { owedAt: now, nextAt: now, state: 'pending', attempts: 0, note: '' } as const
  if (isAlertOf(telling)) {
    return { ...rest, id: alertDeliveryId(telling.event, to), channel: to, telling, ...afresh }
  }
  if (telling.moment === 'notice') throw new Error('a notice is told nowhere else')
  const insteadOf = telling.insteadOf ?? failed.channel
  return {
    ...rest,
    id: deliveryId(telling.event, telling.moment, to),
    channel: to,
    telling: heir ? telling : { ...telling, insteadOf },
    ...afresh,
  }
}
