// Whether a claimed delivery is sent now, by the current state of the event, its other deliveries and
// the configuration.
import type { EventRecord } from '../event/event.ts'
import type { SendOutcome } from './attempt.ts'
import { type Claimed, channelTroubleIn, type Delivery, subscriptionOf } from './delivery.ts'
import { type Overtakes, overtaken } from './overtake.ts'

export interface Known {
  record: EventRecord | undefined
  /** All deliveries of the event. */
  siblings: Delivery[]
  /** Undefined: the configuration has no such channel any more. */
  overtakes: Overtakes | undefined
  /** Why the subscription gets nothing now. Undefined for a configured channel. */
  kept?: string | undefined
  /** Names of channels in trouble. Only a message about such trouble needs them. */
  inTrouble: string[]
}

type Judgement = { go: 'send' } | { go: 'superseded' | 'given_up' | 'refused'; reason: string }

const always: Overtakes = () => true

export function judgeDelivery(claimed: Claimed, known: Known): Judgement {
  const { record, siblings, overtakes, kept } = known
  if (kept !== undefined) return { go: 'given_up', reason: kept }
  const late = overtaken(claimed, record, siblings, overtakes ?? always) ?? overBy(claimed, known)
  if (late !== undefined) return { go: 'superseded', reason: late }
  if (overtakes === undefined) return { go: 'refused', reason: whyGone(claimed) }
  return { go: 'send' }
}

function whyGone({ channel }: Claimed): string {
  return subscriptionOf(channel) === undefined
    ? 'the configuration has no such channel any more'
    : 'the subscription was deleted'
}

/** An alert about a channel is not sent if the channel was fixed in the meantime. */
function overBy({ telling }: Claimed, { inTrouble }: Known): string | undefined {
  const about = channelTroubleIn(telling)
  if (about === undefined || inTrouble.includes(about.channel)) return undefined
  return 'that channel takes messages again'
}

/** The outcome of a delivery that is not sent. */
export function withoutSending({ go, reason }: Exclude<Judgement, { go: 'send' }>): SendOutcome {
  // it counts as the attempt that was refused, so nothing arrived
  return { outcome: go, note: reason }
}
