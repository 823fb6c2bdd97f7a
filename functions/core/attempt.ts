// What an attempt comes to: when a delivery is tried again or given up, and how long its channel rests.
import { backoffMs } from '../../shared/retry.ts'
import type { Delivery, DeliveryState } from './delivery.ts'
import { pausedUntil, type Rate } from './rate.ts'

export const deliveryLeaseMs = 20_000
export const attemptMs = 15_000
/** Attempts stop this long after the message was owed. */
export const giveUpMs = 24 * 3_600_000
export const maxAttempts = 1_000
/** A channel that asks for more is asked again after this time: the next event may not wait for hours. */
export const maxPauseMs = 60_000

const dense = { baseMs: 1_000, capMs: 15_000 }
const sparse = { baseMs: 60_000, capMs: 3_600_000 }
/** Days ahead of the deadline an attempt every few seconds helps nobody. */
const attemptsPerTimeLeft = 60

export type SendOutcome =
  | { outcome: 'delivered'; note: string }
  | { outcome: 'retry'; note: string; retryAfterMs?: number }
  | { outcome: 'refused'; note: string }
  | { outcome: 'superseded'; note: string }

export interface Settlement {
  state: DeliveryState
  nextAt: number
  note: string
  /** What the channel has spent, in the terms of `Rate`: it asked to be left alone for a while. */
  spentUntil?: number
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
  if (result.outcome !== 'retry') return { state: result.outcome, nextAt: now, note }
  const { retryAfterMs } = result
  const left = delivery.urgentUntil - now
  const own = left > 0 ? denseWait(delivery, left, random) : sparseWait(-left, random)
  const latest = left > 0 ? left : sparse.capMs
  const wait = Math.max(own, Math.min(retryAfterMs ?? 0, latest))
  const spent = now + wait > delivery.owedAt + giveUpMs || delivery.attempts >= maxAttempts
  const rest =
    retryAfterMs === undefined
      ? {}
      : { spentUntil: pausedUntil(rate, now + Math.min(retryAfterMs, maxPauseMs)) }
  return spent
    ? { state: 'given_up', nextAt: now, note, ...rest }
    : { state: 'pending', nextAt: now + wait, note, ...rest }
}

function denseWait({ attempts }: Delivery, leftMs: number, random: number): number {
  const capMs = Math.min(sparse.capMs, Math.max(dense.capMs, leftMs / attemptsPerTimeLeft))
  return backoffMs(attempts, { ...dense, capMs }, random)
}

/** Starts small again, whatever the dense attempts before: each wait is about the time since then. */
function sparseWait(sinceMs: number, random: number): number {
  return backoffMs(1 + Math.floor(Math.log2(1 + sinceMs / sparse.baseMs)), sparse, random)
}
