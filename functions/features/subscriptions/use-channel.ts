// A subscription as a channel: a webhook of its own, and what an answer means for it: it consents, or it is disabled.
import { messageOf } from '../../../shared/errors.ts'
import type { SendOutcome } from '../../core/delivery/attempt.ts'
import { type Claimed, isPing } from '../../core/delivery/delivery.ts'
import type { ChannelHealth } from '../../core/delivery/health.ts'
import type { Channel } from '../../core/rules/config.ts'
import type { Relay } from '../../use-cases/relay.ts'
import type { FindStored } from '../../use-cases/target.ts'
import { noteTrouble } from '../../use-cases/trouble.ts'
import { subscriptionRows } from './load.ts'
import {
  consentedSubscription,
  disabledSubscription,
  isHearing,
  readFleet,
  type Subscription,
  secretsAt,
  whyDisabled,
  whyKept,
} from './rule.ts'

declare module '../../use-cases/hearer.ts' {
  interface FeatureTroubles {
    subscription_disabled: true
  }
}

/** The channel of a subscription, as a configured webhook has it. */
interface WebhookChannel extends Channel {
  secret: string[]
}

export const findSubscribed: FindStored = async (relay, id, { notification }) => {
  const subscription = await subscriptionRows.read(relay.store, id)
  if (subscription === undefined) return undefined
  return {
    channel: toChannel(subscription, relay.now()),
    kept: whyKept(subscription, notification),
    isBound: subscription.bound !== undefined,
    noteAnswer: (...answer) => noteAnswer(relay, subscription, ...answer),
  }
}

function toChannel(subscription: Subscription, now: number): WebhookChannel {
  return { kind: 'webhook', url: subscription.url, secret: secretsAt(subscription, now) }
}

/** What an answer means for the subscription. */
async function noteAnswer(
  relay: Relay,
  subscription: Subscription,
  claimed: Claimed,
  sent: SendOutcome | undefined,
  health: ChannelHealth | undefined,
): Promise<void> {
  if (sent?.answered === undefined) return
  const { id } = subscription
  try {
    if (sent.outcome === 'delivered') {
      if (isConsent(subscription, claimed)) await activate(relay, subscription)
      return
    }
    const why = whyDisabled(subscription, sent.outcome, sent.answered, health, claimed.plannedAt)
    if (why === undefined) return
    // a ping belongs to no fleet
    const fleet = isPing(claimed.notification) ? fleetFor(relay, subscription) : claimed.fleet
    await disable(relay, subscription, fleet, why)
  } catch (error) {
    relay.log.error('subscription_failed', { id, error: messageOf(error) })
  }
}

/** The fleet of what is about the subscription itself. */
export function fleetFor({ config }: Pick<Relay, 'config'>, subscription: Subscription): string {
  return readFleet(subscription, Object.keys(config.fleets))
}

/** An endpoint that is to consent by the handshake does not consent by an answer to a message. */
function isConsent({ consent }: Subscription, { notification }: Claimed): boolean {
  if (!isPing(notification) || notification.about.tests !== undefined) return false
  return consent === 'ping' || notification.about.handshake !== undefined
}

async function activate(relay: Relay, { id, url, consented }: Subscription): Promise<void> {
  if (consented) return
  const { outcome } = await changeSubscription(relay, id, (before) =>
    consentedSubscription(before, url, relay.now()),
  )
  if (outcome === 'changed') relay.log.info('subscription_consented', { id })
}

/** The alert comes first: if the worker dies in between, the next attempt repeats both. */
async function disable(
  relay: Relay,
  subscription: Subscription,
  fleet: string,
  why: string,
): Promise<void> {
  const { id, url, description } = subscription
  // nobody relies on one whose endpoint has never consented
  if (isHearing(subscription)) {
    const reason = `"${description ?? id}": ${why}`
    await noteTrouble(relay, fleet, { kind: 'subscription_disabled', name: id, reason })
  }
  const { outcome } = await changeSubscription(relay, id, (before) =>
    before.url === url ? disabledSubscription(before, why, relay.now()) : before,
  )
  if (outcome === 'changed') relay.log.warn('subscription_disabled', { id, reason: why })
}

type Changed =
  | { outcome: 'changed' | 'unchanged'; subscription: Subscription; before: Subscription }
  | { outcome: 'unknown' }

/** `decide` keeps it by returning what it got. */
export async function changeSubscription(
  { store }: Pick<Relay, 'store'>,
  id: string,
  decide: (before: Subscription) => Subscription,
): Promise<Changed> {
  const { before, after } = await subscriptionRows.edit(
    store,
    id,
    (found) => found && decide(found),
  )
  if (before === undefined || after === undefined) return { outcome: 'unknown' }
  return { outcome: after === before ? 'unchanged' : 'changed', subscription: after, before }
}
