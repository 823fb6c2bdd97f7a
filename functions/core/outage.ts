// A channel that does not get what it is owed, and is marked. One that refuses whatever it is sent is tried
// again now and then by one message, while the others go to its fallback at once. One that can't be reached is
// tried by each of them, and its fallback is told as well. Pure; outage.ts beside core keeps the mark.
import { type Delivery, deliveryId } from './delivery.ts'

interface Marked {
  channel: string
  /** Which configuration of the channel it was: another one is tried afresh. */
  of: string
  since: number
  /** Its last answer, without any secret. */
  note: string
  /** The delivery whose attempt tells the fallback; until then others leave that to it. Absent: it is told. */
  teller?: { id: string; until: number }
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

/** What stands in the store until the channel takes a message. */
export type Outage = Refusing | Unreachable

export interface Mark {
  /** Grows by one with each write. */
  version: number
  channel: string
  /** Absent: the channel takes messages again. */
  outage?: Outage
}

export const firstWaitMs = 60_000
export const maxWaitMs = 600_000

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
  if (trying !== undefined && trying.until > now) {
    return { go: 'wait', note: 'another message finds out whether the channel takes any again' }
  }
  if (nextTryAt <= now) return { go: 'try' }
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
    return { kind: 'refuses', ...marked(refusal, now), nextTryAt, waitMs: firstWaitMs }
  }
  // what was under way when the first was refused says nothing new
  if (outage.trying?.by !== lease) return { ...outage, note }
  const { trying: _, ...rest } = outage
  const waitMs = Math.min(2 * outage.waitMs, maxWaitMs)
  return { ...rest, note, waitMs, nextTryAt: now + waitMs }
}

/** A message that waits for longer is told elsewhere as well: two minutes, or half of the time that is left. */
const patienceMs = 120_000

export function isOverdue(
  { owedAt, urgentUntil }: Pick<Delivery, 'owedAt' | 'urgentUntil'>,
  now: number,
): boolean {
  return now - owedAt >= Math.min(patienceMs, (urgentUntil - owedAt) / 2)
}

/** The mark after an attempt of an overdue message that came to nothing. */
export function afterSilence(outage: Outage | undefined, failure: Failure, now: number): Outage {
  if (outage?.of === failure.of) return outage
  return { kind: 'unreachable', ...marked(failure, now) }
}

function marked({ channel, of, note, id, leaseUntil }: Failure, now: number): Marked {
  return { channel, of, since: now, note, teller: { id, until: leaseUntil } }
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

/** The message for another channel; where that hears of this step anyway, it has the same id. */
export function divert(failed: Delivery, to: string, now: number): Delivery {
  const { id: _, telling, ...rest } = failed
  if (telling.moment === 'notice') throw new Error('a notice is told nowhere else')
  return {
    ...rest,
    id: deliveryId(telling.event, telling.moment, to),
    channel: to,
    telling: { ...telling, insteadOf: failed.channel },
    owedAt: now,
    nextAt: now,
    state: 'pending',
    attempts: 0,
    note: '',
  }
}
