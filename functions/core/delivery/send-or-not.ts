// Whether a claimed delivery is sent now, by the current state of the event, its other deliveries,
// the configuration and the health of the channel.
import type { EventRecord } from '../event/event.ts'
import type { SendOutcome } from './attempt.ts'
import type { Passage } from './channel-health.ts'
import { type Claimed, channelTroubleIn, type Delivery, subscriptionOf } from './delivery.ts'
import { type Overtakes, overtaken } from './overtake.ts'

export interface Known {
  record: EventRecord | undefined
  /** All deliveries of the event. */
  siblings: Delivery[]
  /** Undefined: the configuration has no such channel any more. */
  channel: { overtakes: Overtakes; passage: Passage } | undefined
  /** Why the subscription gets nothing now. Undefined for a configured channel. */
  kept?: string | undefined
  /** Names of channels in trouble. Only a message about such trouble needs them. */
  inTrouble: string[]
}

type Judgement =
  | { go: 'send' }
  | { go: 'wait'; reason: string }
  | { go: 'superseded'; reason: string }
  | { go: 'given_up'; reason: string }
  /** `broken`: the channel refuses everything, so this message is not even sent. */
  | { go: 'refused'; reason: string; broken?: true }

const always: Overtakes = () => true

export function judgeDelivery(claimed: Claimed, known: Known): Judgement {
  const { record, siblings, channel, kept } = known
  if (kept !== undefined) return { go: 'given_up', reason: kept }
  const late =
    overtaken(claimed, record, siblings, channel?.overtakes ?? always) ?? overBy(claimed, known)
  if (late !== undefined) return { go: 'superseded', reason: late }
  if (channel === undefined) return { go: 'refused', reason: whyGone(claimed) }
  const { passage } = channel
  if (passage.go === 'wait') return { go: 'wait', reason: passage.note }
  if (passage.go === 'divert') return { go: 'refused', reason: passage.note, broken: true }
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
export function withoutSending(judgement: Exclude<Judgement, { go: 'send' }>): SendOutcome {
  const note = judgement.reason
  if (judgement.go === 'wait') return { outcome: 'retry', note, unsent: true }
  if (judgement.go === 'superseded') return { outcome: 'superseded', note }
  if (judgement.go === 'given_up') return { outcome: 'given_up', note }
  // without `unsent`, it counts as the attempt that was refused, so nothing arrived
  return { outcome: 'refused', note, ...(judgement.broken && { broken: true }) }
}
