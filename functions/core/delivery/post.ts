// What stands in a channel of one epoch of an event, for kinds that edit what they posted. Whoever posts says so
// first, by compare-and-set: a worker that slept through its lease finds that another has taken over.
import type { Delivery } from './delivery.ts'

export interface PostKey {
  fleet: string
  eventId: string
  epoch: number
  channel: string
}

export type PostState =
  /** Whoever has the lease `by` is posting it, until that ends (epoch ms). */
  | { is: 'posting'; by: string; until: number }
  | Posted
  /** The attempt to post it has ended without one. */
  | { is: 'absent'; by: string }

export interface Posted {
  is: 'posted'
  /** Where it was to be posted, as the configuration says. */
  to: string
  /** What the channel calls the place and the message. */
  place: string
  message: string
  /** `seq` of the last delivery that it tells. */
  seq: number
}

export interface Post {
  /** Grows by one with each write. */
  version: number
  state: PostState
}

type PostStep =
  | { step: 'post' }
  | { step: 'edit'; posted: Posted }
  /** Nothing is to be sent now, and why. */
  | { step: 'wait' | 'told' | 'overtaken'; note: string }

/** What a delivery does to what stands in the channel; `to` as the configuration says now. */
export function nextStep(
  post: Post | undefined,
  { seq }: Pick<Delivery, 'seq'>,
  to: string,
  now: number,
): PostStep {
  const state = post?.state
  if (state === undefined || state.is === 'absent') return { step: 'post' }
  if (state.is === 'posting') {
    // its worker died before it posted, or before it noted that: once more is better than never
    if (state.until <= now) return { step: 'post' }
    return { step: 'wait', note: 'another worker is posting it' }
  }
  if (state.seq === seq) return { step: 'told', note: 'it had been told before it was noted' }
  if (state.seq > seq) return { step: 'overtaken', note: 'a later step stands there already' }
  return state.to === to ? { step: 'edit', posted: state } : { step: 'post' }
}
