// The end of one attempt at one delivery: what becomes of it, and who is told where it ends badly.
import { afterAttempt, giveUpMs, type SendOutcome, type Settlement } from './core/attempt.ts'
import {
  alertDeliveryId,
  type Claimed,
  type Delivery,
  deliveryId,
  isAlertOf,
  isSameStory,
  planNotice,
} from './core/delivery.ts'
import { divert, firstWaitMs, isOverdue, type Outage } from './core/outage.ts'
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
  outage: Outage | undefined
  siblings: Delivery[]
  /** Who is told where this channel is not: its fallback, or where the configuration lost it, its heirs. */
  instead: string[]
  isGone: boolean
  /** It was sent together with others. */
  inList: boolean
  /** When the whole list is sent again. Undefined for a single message. */
  retryAt: number | undefined
}

export async function settle(
  relay: Relay,
  claimed: Claimed,
  result: SendOutcome,
  context: Context,
): Promise<void> {
  const now = relay.now()
  const settlement = settlementOf(relay, claimed, result, context, now)
  const follow = followUps(claimed, result, settlement, context, now)
  const settled = await relay.store.settle(claimed, settlement, now, follow)
  logAttempt(relay, claimed, settlement, settled)
  if (settled === 'lost') return
  if (follow.length > 0) relay.wake(follow.length)
  if (isTeller(claimed, context)) await noteTold(relay, claimed.channel)
}

function isTeller({ id }: Claimed, { outage }: Context): boolean {
  return outage?.teller?.id === id
}

function settlementOf(
  relay: Relay,
  claimed: Claimed,
  result: SendOutcome,
  context: Context,
  now: number,
): Settlement {
  if (result.outcome !== 'refused' || !(result.broken || context.inList)) {
    const own = afterAttempt(claimed, result, now, relay.random(), rateOf(relay, claimed.channel))
    const together = own.state === 'pending' ? context.retryAt : undefined
    return together === undefined ? own : { ...own, nextAt: together }
  }
  const { note } = result
  // another message of the list may be to blame
  if (!result.broken) return { state: 'pending', nextAt: now, note, alone: true }
  const waits = isRefusedEverywhere(claimed, context) && now < claimed.owedAt + giveUpMs
  if (!waits) return { state: 'refused', nextAt: now, note }
  const { outage } = context
  const nextAt = outage?.kind === 'refuses' ? outage.nextTryAt : now + firstWaitMs
  // it is certain that nothing of it arrived
  return { state: 'pending', nextAt, note, unsent: true }
}

/** Whether nobody else takes it, who was to. Trouble with a channel is told in one place, and so is a copy. */
function isRefusedEverywhere(claimed: Claimed, { instead, siblings }: Context): boolean {
  const isRefused = (name: string) => {
    const copy = copyFor(claimed, name, siblings)
    return copy !== undefined && ['refused', 'given_up'].includes(copy.state)
  }
  const { telling } = claimed
  if (telling.moment === 'notice' && (!isAlertOf(telling) || instead.length === 0)) return true
  const own = [...siblings.filter((one) => isSameStory(one, claimed)), claimed]
  const standsIn = own.some(({ telling }) => telling.moment !== 'notice' && telling.insteadOf)
  return (instead.length > 0 || standsIn) && instead.every(isRefused)
}

/** What another channel is told of the same step, as far as it is planned. */
function copyFor({ telling }: Delivery, name: string, siblings: Delivery[]): Delivery | undefined {
  if (telling.moment === 'notice' && !isAlertOf(telling)) return undefined
  const id =
    telling.moment === 'notice'
      ? alertDeliveryId(telling.event, name)
      : deliveryId(telling.event, telling.moment, name)
  return siblings.find((one) => one.id === id)
}

/**
 * What is not told here is told elsewhere, the message itself: at once where it is refused, and where it
 * can't be delivered, once that has lasted, with the steps that wait behind it. That a channel is in trouble
 * is told once; that it refused one message, where nobody else would say so.
 */
function followUps(
  claimed: Claimed,
  result: SendOutcome,
  { state, note }: Settlement,
  context: Context,
  now: number,
): Delivery[] {
  const { outage, instead, siblings, isGone } = context
  const kind = outage === undefined || outage.kind === 'passed' ? undefined : outage.kind
  const tells = kind !== undefined && isTeller(claimed, context)
  const trouble = tells
    ? instead.map((name) =>
        planNotice(claimed, name, { state, note: outage!.note }, now, {
          kind,
          since: outage!.since,
        }),
      )
    : []
  const isAlert = isAlertOf(claimed.telling)
  if (claimed.telling.moment === 'notice' && !isAlert) return trouble
  const came = result.outcome === 'retry' && !result.unsent
  // a channel that refuses was tried, and did not answer
  const late = came && (kind !== undefined || isOverdue(claimed, siblings, now))
  const behind = late ? siblings.filter(isBehind(claimed)) : []
  const failed = state === 'refused' || state === 'given_up' || late
  const untold = [...(failed ? [claimed] : []), ...behind]
  const copies = instead.flatMap((name) =>
    untold
      .filter((one) => copyFor(one, name, siblings) === undefined)
      .map((one) => divert(one, name, now, isGone)),
  )
  const missed = !isAlert && state === 'refused' && kind === undefined && copies.length === 0
  const notices = missed
    ? instead.map((name) => planNotice(claimed, name, { state, note }, now))
    : []
  return [...trouble, ...copies, ...notices]
}

/** What waits for this message to be delivered or given up. */
function isBehind(claimed: Claimed): (other: Delivery) => boolean {
  return (other) =>
    isSameStory(other, claimed) &&
    other.seq > claimed.seq &&
    other.state === 'pending' &&
    other.telling.moment !== 'notice'
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
