// Decides what a newer state changes on the page. Pure.
import type { LiveState } from '../state.ts'

/** One event as the page shows it. */
export interface Shown {
  sequence: number
  step: string
  /** What the reader decides about; see `seenOf`. */
  seen: string
  hasForm: boolean
  /** The page has removed the buttons. */
  wasClosed: boolean
}

interface Update {
  /** The event took a step, so the answer to an earlier press is out of date. */
  isNextStep: boolean
  /** Nobody can decide any more. */
  removesForm: boolean
  /** The buttons do not fit this state. The page never adds or moves any. */
  needsReload: boolean
}

/** Undefined: the page already shows something newer, or the relay no longer knows the event. */
export function updateOf(shown: Shown, state: LiveState | null): Update | undefined {
  if (state === null || state.sequence < shown.sequence) return undefined
  const isOtherEvent = state.seen !== shown.seen
  const lacksForm = !shown.hasForm && shown.wasClosed
  return {
    isNextStep: state.step !== shown.step,
    removesForm: !state.decidable,
    needsReload: state.decidable && (isOtherEvent || lacksForm),
  }
}
