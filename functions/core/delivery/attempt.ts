// The result of an attempt: when a delivery is retried or given up, and how long its channel rests.
// `follow-up.ts` sets other times for lists and for refusals by a channel in trouble.
import { backoffMs } from '../../../shared/retry.ts'
import { dayMs } from '../units.ts'
import type { Answered, Delivery, DeliveryState } from './delivery.ts'
import { maxPauseMs, type Rate, spentByPause } from './rate.ts'

export const deliveryLeaseMs = 20_000
export const attemptMs = 15_000
/** What a claim has read is good for this long: then another worker may have written. */
const freshMs = 2_000
/** Attempts stop this long after the message was planned. */
export const giveUpMs = dayMs
export const maxAttempts = 1_000

/** The waits between attempts before the deadline. */
const dense = { baseMs: 1_000, capMs: 15_000 }
const sparse = { baseMs: 60_000, capMs: 3_600_000 }
/** Far ahead of the deadline, attempts may be rare: this many in the time that is left. */
const attemptsPerTimeLeft = 60

export type SendOutcome = (
  | { outcome: 'delivered'; note: string }
  | Retry
  /**
   * `broken`: the channel is at fault, so it would also refuse any other message. `mayHaveArrived`: nobody can
   * read its answer, and another attempt might repeat the message.
   */
  | { outcome: 'refused'; note: string; broken?: true; mayHaveArrived?: true }
  /** The message was not sent, because it came too late. */
  | { outcome: 'superseded'; note: string }
  /** The message was not sent, but is kept: an owner can replay it. */
  | { outcome: 'given_up'; note: string }
) & { answered?: Answered }

interface Retry {
  outcome: 'retry'
  note: string
  retryAfterMs?: number
  /** The message was not tried, so this counts as no attempt. */
  unsent?: true
  /** There was no connection. */
  unreached?: true
  /** Epoch ms. Not tried, as the rate of the channel allows no request before. */
  heldUntil?: number
}

export function heldUp(heldUntil: number): SendOutcome {
  return { outcome: 'retry', note: 'waits for the rate of the channel', unsent: true, heldUntil }
}

export function isHeldUp(sent: SendOutcome): sent is Retry & { heldUntil: number } {
  return sent.outcome === 'retry' && sent.heldUntil !== undefined
}

export interface Settlement {
  state: DeliveryState
  nextAt: number
  note: string
  /** Nothing was sent, so it does not count as an attempt. */
  unsent?: true
  /** The channel refused a list with this message, so it is sent by itself from now on. */
  alone?: true
  /** The channel asked for a pause, see `Rate`. */
  spentUntil?: number
  /** Stored with the delivery. Absent: the delivery keeps the answer that it has. */
  answered?: Answered
}

export function claimedAt({ leaseUntil }: { leaseUntil: number }): number {
  return leaseUntil - deliveryLeaseMs
}

export function isFresh(claimed: { leaseUntil: number }, now: number): boolean {
  return now - claimedAt(claimed) < freshMs
}

/** Whether the service certainly got no request. Then the request takes no place in the rate. */
export function tookNoPlace(sent: SendOutcome): boolean {
  return sent.outcome === 'retry' && (sent.unsent === true || sent.unreached === true)
}

/** What becomes of a delivery after an attempt. `random` is in [0, 1). */
export function afterAttempt(
  delivery: Delivery,
  result: SendOutcome,
  now: number,
  random: number,
  rate: Rate,
): Settlement {
  const { note } = result
  if (result.outcome === 'superseded' || result.outcome === 'given_up') {
    return { state: result.outcome, nextAt: now, note, unsent: true }
  }
  if (result.outcome !== 'retry') return { state: result.outcome, nextAt: now, note }
  if (isHeldUp(result)) return { state: 'pending', nextAt: result.heldUntil, note, unsent: true }
  const { retryAfterMs, unsent } = result
  const untilDeadlineMs = delivery.urgentUntil - now
  const isBefore = untilDeadlineMs > 0
  const own = isBefore
    ? denseWait(delivery, untilDeadlineMs, random)
    : sparseWait(-untilDeadlineMs, random)
  // one more attempt comes before the deadline, even if the channel asks for a longer pause
  const latest = isBefore ? Math.floor(untilDeadlineMs / 2) : sparse.capMs
  const wait = Math.max(own, Math.min(retryAfterMs ?? 0, latest))
  const isGivenUp = now + wait > delivery.plannedAt + giveUpMs || delivery.attempts >= maxAttempts
  const pauseMs = Math.min(retryAfterMs ?? 0, maxPauseMs)
  const common = {
    ...(unsent && { unsent }),
    ...(retryAfterMs !== undefined && { spentUntil: spentByPause(rate, now + pauseMs) }),
  }
  return isGivenUp
    ? { state: 'given_up', nextAt: now, note, ...common }
    : { state: 'pending', nextAt: now + wait, note, ...common }
}

/** When a list is retried: with its first message. Undefined if none of its messages is retried. */
export function listRetryAt(
  list: Delivery[],
  result: SendOutcome,
  now: number,
  random: number,
  rate: Rate,
): number | undefined {
  const again = list
    .map((one) => afterAttempt(one, result, now, random, rate))
    .filter(({ state }) => state === 'pending')
  return again.length === 0 ? undefined : Math.min(...again.map(({ nextAt }) => nextAt))
}

function denseWait({ attempts }: Delivery, leftMs: number, random: number): number {
  const capMs = Math.min(sparse.capMs, Math.max(dense.capMs, leftMs / attemptsPerTimeLeft))
  return backoffMs(attempts, { ...dense, capMs }, random)
}

/** Each wait is about as long as the time since the deadline, whatever the number of attempts. */
function sparseWait(sinceMs: number, random: number): number {
  return backoffMs(1 + Math.floor(Math.log2(1 + sinceMs / sparse.baseMs)), sparse, random)
}
