// Ends one attempt at one delivery. One write stores its result and the copies for other channels.
import type { SendOutcome, Settlement } from '../core/delivery/attempt.ts'
import { type Claimed, readStoredId } from '../core/delivery/delivery.ts'
import { afterResult, type Context } from '../core/delivery/follow-up.ts'
import type { Part } from '../notify/notifier.ts'
import { goesAlone } from './decision-buttons.ts'
import { findRate, type Relay } from './relay.ts'

/** Whether a delivery needs another attempt. */
export type Finish = 'ended' | 'open'

/** Leaves a part for a later request. This does not count as an attempt. */
export async function setApart(relay: Relay, claimed: Claimed, part: Part): Promise<void> {
  const { id, channel, plannedAt } = claimed
  const now = relay.now()
  // it keeps its place among those that wait
  const waits = { state: 'pending' as const, nextAt: plannedAt, note: 'waits for its turn' }
  const alone = goesAlone(part) ? { alone: true as const } : {}
  const settlement = { ...waits, ...alone, unsent: true as const }
  const settled = await relay.store.settle(claimed, settlement, now, [])
  relay.log.debug('delivery_set_apart', { id, channel, settled })
}

export async function settle(
  relay: Relay,
  claimed: Claimed,
  result: SendOutcome,
  context: Context,
): Promise<Finish> {
  const now = relay.now()
  const chance = { now, random: relay.random(), rate: findRate(relay, claimed.channel) }
  const { settlement, followUps } = afterResult(claimed, result, context, chance)
  const settled = await relay.store.settle(claimed, settlement, now, followUps)
  logAttempt(relay, claimed, settlement, settled)
  if (settled === 'lost') return 'open'
  const deliveries = followUps.length
  if (deliveries > 0) relay.work.wake(deliveries, { event: claimed, deliveries })
  return settlement.state === 'pending' ? 'open' : 'ended'
}

function logAttempt(
  relay: Relay,
  claimed: Claimed,
  { state, note, nextAt }: Settlement,
  settled: 'settled' | 'lost',
): void {
  const { fleet, eventId, channel, attempts, notification } = claimed
  const fields = { fleet, eventId, channel, moment: notification.moment, attempts, state, note }
  if (settled === 'lost') relay.log.warn('delivery_lease_lost', fields)
  else if (state === 'delivered' && !readStoredId(channel)) relay.log.info('delivered', fields)
  // there may be 1,000 for one moment, and the API lists them
  else if (state === 'delivered') relay.log.debug('delivered', fields)
  else if (state === 'superseded') relay.log.info('delivery_superseded', fields)
  else if (state === 'pending') {
    const again = { ...fields, nextAt: new Date(nextAt).toISOString() }
    relay.sending.retryLog.note('delivery_retried', again, channel)
  } else relay.log.error('delivery_failed', fields)
}
