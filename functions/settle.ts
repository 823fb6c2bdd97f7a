// The end of one attempt at one delivery: what becomes of it, and who is told where it ends badly.
import type { Channel } from './config.ts'
import { afterAttempt, type SendOutcome, type Settlement } from './core/attempt.ts'
import { type Claimed, type Delivery, planNotice } from './core/delivery.ts'
import { divert, type Outage } from './core/outage.ts'
import type { Part } from './notify/notifier.ts'
import { noteTold } from './outage.ts'
import { type Relay, rateOf } from './relay.ts'

/** Its turn comes; where it has buttons, by itself. Nothing was sent, so this was no attempt. */
export async function setApart(relay: Relay, claimed: Claimed, { buttons }: Part): Promise<void> {
  const { id, channel } = claimed
  const now = relay.now()
  const waits = { state: 'pending' as const, nextAt: now, note: 'it waits for its turn' }
  const alone = buttons === undefined ? {} : { alone: true as const }
  const settlement = { ...waits, ...alone, unsent: true as const }
  const settled = await relay.store.settle(claimed, settlement, now, [])
  relay.log.debug('delivery_set_apart', { id, channel, settled })
}

export interface Context {
  channel: Channel | undefined
  outage: Outage | undefined
  siblings: Delivery[] | undefined
  /** It was sent together with others. */
  inList: boolean
}

export async function settle(
  relay: Relay,
  claimed: Claimed,
  result: SendOutcome,
  context: Context,
): Promise<void> {
  const now = relay.now()
  const rate = rateOf(relay, claimed.channel)
  // another message of the list may be to blame, unless the channel is
  const alone = context.inList && result.outcome === 'refused' && !result.broken
  const settlement = alone
    ? { state: 'pending' as const, nextAt: now, note: result.note, alone: true as const }
    : afterAttempt(claimed, result, now, relay.random(), rate)
  const broken = result.outcome === 'refused' && result.broken === true
  const tells = settlement.state !== 'pending' && context.outage?.teller?.id === claimed.id
  const follow = followUps(claimed, settlement, { ...context, broken, tells }, now)
  const settled = await relay.store.settle(claimed, settlement, now, follow)
  logAttempt(relay, claimed, settlement, settled)
  if (settled === 'lost') return
  if (follow.length > 0) relay.wake(follow.length)
  if (tells) await noteTold(relay, claimed.channel)
}

/**
 * What ends badly is told on the fallback; a notice that fails itself is not told again. A channel that
 * refuses everything is told as such once, and its messages go to the fallback themselves.
 */
function followUps(
  claimed: Claimed,
  { state, note }: Settlement,
  { channel, outage, siblings = [], broken, tells }: Context & { broken: boolean; tells: boolean },
  now: number,
): Delivery[] {
  const { fallback } = channel ?? {}
  if (fallback === undefined) return []
  const told = { state: 'refused' as const, note: outage?.note ?? note, refusesAll: true }
  const trouble = tells ? [planNotice(claimed, fallback, told, now)] : []
  const badly = state === 'refused' || state === 'given_up'
  if (!badly || claimed.telling.moment === 'notice') return trouble
  if (!broken) return [...trouble, planNotice(claimed, fallback, { state, note }, now)]
  const diverted = divert(claimed, fallback, now)
  return siblings.some(({ id }) => id === diverted.id) ? trouble : [...trouble, diverted]
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
