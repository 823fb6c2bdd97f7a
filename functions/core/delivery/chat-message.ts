// The message about one epoch of an event in a channel, for kinds that edit it. A worker
// claims it first, by compare-and-set. If its lease ends, another worker takes over.
import type { Delivery } from './delivery.ts'

export interface ChatMessageKey {
  fleet: string
  eventId: string
  epoch: number
  channel: string
}

export type ChatMessageState =
  /** The worker with the lease `by` is posting it, until `until` (epoch ms). */
  | { is: 'posting'; by: string; until: number }
  | Posted
  /** The attempt to post it failed. */
  | { is: 'absent'; by: string }

export interface Posted {
  is: 'posted'
  /** The id of the Slack channel that the configuration had then. */
  to: string
  /** The channel's ids of the place and the message. */
  place: string
  message: string
  /** `seq` of the last delivery in it. */
  seq: number
}

export interface ChatMessage {
  /** Grows by one with each write. */
  version: number
  state: ChatMessageState
}

type NextStep =
  | { step: 'post' }
  | { step: 'edit'; posted: Posted }
  /** Nothing is sent now. */
  | { step: 'wait' | 'posted' | 'overtaken'; note: string }

/** What a delivery does to the message. `to`: the place in the configuration now. */
export function nextStep(
  message: ChatMessage | undefined,
  { seq }: Pick<Delivery, 'seq'>,
  to: string,
  now: number,
): NextStep {
  const state = message?.state
  if (state === undefined || state.is === 'absent') return { step: 'post' }
  if (state.is === 'posting') {
    // the worker died before it posted, or before it recorded that: posting twice beats never
    if (state.until <= now) return { step: 'post' }
    return { step: 'wait', note: 'another worker is posting it' }
  }
  if (state.seq === seq)
    return { step: 'posted', note: 'it was already posted, but that was not recorded' }
  if (state.seq > seq) return { step: 'overtaken', note: 'a later step was already posted' }
  return state.to === to ? { step: 'edit', posted: state } : { step: 'post' }
}
