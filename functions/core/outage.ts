// A channel that refuses whatever it is sent: it is marked, and tried again now and then by one message,
// while the others go to its fallback at once. Pure; outage.ts beside core keeps the mark.
import { type Delivery, deliveryId } from './delivery.ts'

/** What stands in the store while a channel refuses. */
export interface Outage {
  channel: string
  /** Which configuration of the channel refused: another one is tried afresh. */
  of: string
  since: number
  /** Its last answer, without any secret. */
  note: string
  /** When the next message may try, and how long it was to wait for that. */
  nextTryAt: number
  waitMs: number
  /** Whoever has this lease is trying. */
  trying?: { by: string; until: number }
  /** The delivery whose end tells the fallback; until then others leave that to it. Absent: it is told. */
  teller?: { id: string; until: number }
}

export interface Mark {
  /** Grows by one with each write. */
  version: number
  channel: string
  /** Absent: the channel takes messages again. */
  outage?: Outage
}

const firstWaitMs = 60_000
export const maxWaitMs = 600_000

/** What becomes of messages to a channel now. */
export type Passage =
  | { go: 'send' }
  | { go: 'try' }
  /** Another message is trying. */
  | { go: 'wait'; note: string }
  | { go: 'divert'; note: string }

export function passageOf(outage: Outage | undefined, of: string, now: number): Passage {
  if (outage === undefined || outage.of !== of) return { go: 'send' }
  const { trying, nextTryAt, since, note } = outage
  if (trying !== undefined && trying.until > now) {
    return { go: 'wait', note: 'another message finds out whether the channel takes any again' }
  }
  if (nextTryAt <= now) return { go: 'try' }
  const from = new Date(since).toISOString()
  return { go: 'divert', note: `not sent, as the channel refuses since ${from}: ${note}` }
}

interface Refusal {
  channel: string
  of: string
  note: string
  /** The delivery that was refused, and its lease. */
  id: string
  lease: string
  leaseUntil: number
}

/** The mark after an answer that only a person can mend. */
export function afterRefusal(outage: Outage | undefined, refusal: Refusal, now: number): Outage {
  const { channel, of, note, id, lease, leaseUntil } = refusal
  if (outage === undefined || outage.of !== of) {
    const teller = { id, until: leaseUntil }
    const nextTryAt = now + firstWaitMs
    return { channel, of, since: now, note, nextTryAt, waitMs: firstWaitMs, teller }
  }
  // what was under way when the first was refused says nothing new
  if (outage.trying?.by !== lease) return { ...outage, note }
  const { trying: _, ...rest } = outage
  const waitMs = Math.min(2 * outage.waitMs, maxWaitMs)
  return { ...rest, note, waitMs, nextTryAt: now + waitMs }
}

/** The mark in the hands of this delivery, where whoever was to tell the fallback died of it. */
export function withTeller(
  outage: Outage,
  { id, leaseUntil }: Pick<Refusal, 'id' | 'leaseUntil'>,
  now: number,
): Outage {
  const { teller } = outage
  if (teller === undefined || teller.id === id || teller.until > now) return outage
  return { ...outage, teller: { id, until: leaseUntil } }
}

/** The message for the fallback; where that hears of this step anyway, it has the same id. */
export function divert(refused: Delivery, fallback: string, now: number): Delivery {
  const { id: _, telling, ...rest } = refused
  if (telling.moment === 'notice') throw new Error('a notice is told nowhere else')
  return {
    ...rest,
    id: deliveryId(telling.event, telling.moment, fallback),
    channel: fallback,
    telling: { ...telling, insteadOf: refused.channel },
    owedAt: now,
    nextAt: now,
    state: 'pending',
    attempts: 0,
    note: '',
  }
}
