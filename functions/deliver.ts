// Sends what is owed: claim under a lease, one attempt, settle. Several workers may run at once; the
// store sees to it that no delivery is under two leases.
import { messageOf } from '../shared/errors.ts'
import type { Channel } from './config.ts'
import {
  afterAttempt,
  attemptMs,
  type Claimed,
  deliveryLeaseMs,
  isOvertaken,
  mayHaveHeard,
  planNotice,
  type SendOutcome,
  type Settlement,
} from './core/delivery.ts'
import { compose } from './core/message.ts'
import { pageLink } from './link.ts'
import { channelNamed, type Relay } from './relay.ts'
import type { ClaimRequest } from './store/store.ts'

export type DeliverRequest = Omit<ClaimRequest, 'now' | 'leaseMs'>

/** Claims what is due; each is sent by `deliverOne`, and none waits for another. */
export function claimDue(relay: Relay, request: DeliverRequest): Promise<Claimed[]> {
  return relay.store.claim({ now: relay.now(), leaseMs: deliveryLeaseMs, ...request })
}

/** One attempt, settled. Outcomes are written and logged; nothing is thrown but a failing store. */
export async function deliverOne(relay: Relay, claimed: Claimed): Promise<void> {
  const channel = channelNamed(relay, claimed.channel)
  const result: SendOutcome =
    channel === undefined
      ? { outcome: 'refused', note: 'the configuration has no such channel any more' }
      : await attempt(relay, claimed, channel)
  const now = relay.now()
  const settlement = afterAttempt(claimed, result, now, relay.random())
  const follow = noticesOf(claimed, channel, settlement, now)
  const settled = await relay.store.settle(claimed, settlement, now, follow)
  if (settled === 'settled' && follow.length > 0) relay.wake()
  logAttempt(relay, claimed, settlement, settled)
}

async function attempt(relay: Relay, claimed: Claimed, channel: Channel): Promise<SendOutcome> {
  const { telling, fleet, eventId } = claimed
  const notifier = relay.notifiers[channel.kind]
  const record = await relay.store.readEvent({ fleet, eventId })
  if (!notifier.keepsEveryStep && isOvertaken(claimed, record)) {
    return { outcome: 'superseded', note: 'the event ended first' }
  }
  const siblings = await relay.store.readDeliveries({ fleet, eventId })
  const now = relay.now()
  const leftMs = claimed.leaseUntil - now
  // whoever slept through its lease sends nothing: another worker may be sending it now
  if (leftMs <= 0) return { outcome: 'retry', note: 'the lease ended before it was sent' }
  const signal = AbortSignal.timeout(Math.min(attemptMs, leftMs))
  const outgoing = {
    delivery: claimed,
    message: compose(telling, now),
    ...(telling.moment === 'notice' ? {} : { pageUrl: await pageLink(relay, claimed, now) }),
    mayHaveHeard: mayHaveHeard(claimed, siblings),
    now,
    signal,
  }
  try {
    return await notifier.notify(outgoing, channel as never, relay.send)
  } catch (error) {
    relay.log.error('notifier_failed', { kind: channel.kind, error: messageOf(error) })
    return { outcome: 'retry', note: 'the notifier failed; see the log' }
  }
}

/** What ends badly is told once on the fallback; a notice that fails itself is not told again. */
function noticesOf(
  claimed: Claimed,
  channel: Channel | undefined,
  settlement: Settlement,
  now: number,
) {
  const badly = settlement.state === 'refused' || settlement.state === 'given_up'
  const { fallback } = channel ?? {}
  if (!badly || fallback === undefined || claimed.telling.moment === 'notice') return []
  return [planNotice(claimed, fallback, settlement, now)]
}

function logAttempt(
  relay: Relay,
  claimed: Claimed,
  { state, note, nextAt }: Settlement,
  settled: 'settled' | 'lost',
): void {
  const { fleet, eventId, channel, attempts, telling } = claimed
  const fields = { fleet, eventId, channel, moment: telling.moment, attempts, state, note }
  if (settled === 'lost') relay.log.warn('delivery_lease_lost', fields)
  else if (state === 'delivered') relay.log.info('delivered', fields)
  else if (state === 'superseded') relay.log.info('delivery_superseded', fields)
  else if (state === 'pending') {
    relay.log.warn('delivery_retried', { ...fields, nextAt: new Date(nextAt).toISOString() })
  } else relay.log.error('delivery_failed', fields)
}
