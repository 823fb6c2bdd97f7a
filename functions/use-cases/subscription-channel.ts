// The channel of a delivery: from the configuration, or a subscription that is a webhook channel of
// its own. Also what an attempt means for the subscription: it consents, or it is disabled.
import { messageOf } from '../../shared/errors.ts'
import type { SendOutcome } from '../core/delivery/attempt.ts'
import { type Claimed, isPing, readSubscription } from '../core/delivery/delivery.ts'
import type { ChannelHealth } from '../core/delivery/health.ts'
import {
  activated,
  disabled,
  isHearing,
  readFleet,
  type Subscription,
  secretsAt,
  whyDisabled,
  whyKept,
} from '../core/delivery/subscription.ts'
import type { Channel } from '../core/rules/config.ts'
import { subscriptionRows } from '../store/small-rows.ts'
import { channelNamed, type Relay } from './relay.ts'
import { noteTrouble } from './trouble.ts'

/** Each attempt loses to another worker that writes the same subscription. */
const maxAttempts = 20

export interface Target {
  /** Undefined if the channel does not exist any more. */
  channel: Channel | undefined
  subscription?: Subscription
  /** Why the message is not sent but kept, if it is. */
  kept?: string | undefined
}

/** The channel of a subscription, as a configured webhook has it. */
interface WebhookChannel extends Channel {
  secret: string[]
}

export async function findChannel(relay: Relay, claimed: Claimed): Promise<Target> {
  const id = readSubscription(claimed.channel)
  if (id === undefined) return { channel: channelNamed(relay, claimed.channel) }
  const subscription = await subscriptionRows.read(relay.store, id)
  if (subscription === undefined) return { channel: undefined }
  const channel = toChannel(subscription, relay.now())
  return { channel, subscription, kept: whyKept(subscription, claimed.notification) }
}

function toChannel(subscription: Subscription, now: number): WebhookChannel {
  return { kind: 'webhook', url: subscription.url, secret: secretsAt(subscription, now) }
}

/**
 * Notes what a subscription's answer means. Call this before the delivery is settled: if the worker
 * dies in between, the attempt is repeated. Never throws.
 */
export async function noteAttempt(
  relay: Relay,
  { subscription }: Target,
  claimed: Claimed,
  sent: SendOutcome | undefined,
  health: ChannelHealth | undefined,
): Promise<void> {
  if (subscription === undefined || sent?.answered === undefined) return
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
    activated(before, url, relay.now()),
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
    before.url === url ? disabled(before, why, relay.now()) : before,
  )
  if (outcome === 'changed') relay.log.warn('subscription_disabled', { id, reason: why })
}

type Changed =
  | { outcome: 'changed' | 'unchanged'; subscription: Subscription; before: Subscription }
  | { outcome: 'unknown' }

/** Decides again each time another worker has written it meanwhile. */
export async function changeSubscription(
  { store }: Pick<Relay, 'store'>,
  id: string,
  decide: (before: Subscription) => Subscription,
): Promise<Changed> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const found = await subscriptionRows.read(store, id)
    if (found === undefined) return { outcome: 'unknown' }
    const { version, ...before } = found
    const subscription = decide(before)
    if (subscription === before) return { outcome: 'unchanged', subscription, before }
    if ((await subscriptionRows.write(store, subscription, version, id)) === 'written') {
      return { outcome: 'changed', subscription, before }
    }
  }
  throw new Error(`too many workers write subscription "${id}" at once`)
}
