// Sends what is owed: claim under a lease, one request, settle. Several workers may run at once; the
// store sees to it that no delivery is under two leases, and no channel is told faster than it takes.
import { messageOf } from '../shared/errors.ts'
import type { Channel } from './config.ts'
import {
  afterAttempt,
  attemptMs,
  deliveryLeaseMs,
  type SendOutcome,
  type Settlement,
} from './core/attempt.ts'
import { type Claimed, planNotice } from './core/delivery.ts'
import { compose } from './core/message.ts'
import { mayHaveHeard, overtaken, skippedBefore } from './core/overtake.ts'
import { listLink, pageLink } from './link.ts'
import type { Outgoing, Part, PostAccess } from './notify/notifier.ts'
import { channelNamed, type Relay, rateOf } from './relay.ts'
import type { Pacing } from './store/store.ts'

/** How many requests to a channel this worker has under way. */
export type UnderWay = (channel: string) => number

const none: UnderWay = () => 0

/** Claims what is due: each list is one request for `deliverTogether`, and none waits for another. */
export function claimDue(relay: Relay, limit: number, underWay = none): Promise<Claimed[][]> {
  return relay.store.claim({ leaseMs: deliveryLeaseMs, limit, ...pacing(relay, underWay) })
}

/** When there is something to claim, or to conclude, next. */
export function nextDueAt(relay: Relay, underWay = none): Promise<number | undefined> {
  return relay.store.nextDueAt(pacing(relay, underWay))
}

function pacing(relay: Relay, underWay: UnderWay): Pacing {
  return {
    now: relay.now(),
    rateOf: (channel) => rateOf(relay, channel),
    roomOf: (channel) => Math.max(0, rateOf(relay, channel).atOnce - underWay(channel)),
  }
}

interface Judged {
  claimed: Claimed
  /** What is to be sent, or why it is not. */
  verdict: { part: Part } | { result: SendOutcome }
}

/** One request, and each delivery in it settled. What goes wrong is logged, and nothing is thrown. */
export async function deliverTogether(relay: Relay, group: Claimed[]): Promise<void> {
  const channel = channelNamed(relay, group[0]!.channel)
  const judged: Judged[] = []
  for (const claimed of group) {
    try {
      judged.push(await judge(relay, claimed, channel))
    } catch (error) {
      relay.log.error('message_failed', { id: claimed.id, error: messageOf(error) })
      const note = 'it could not be put together; see the log'
      judged.push({ claimed, verdict: { result: { outcome: 'retry', note } } })
    }
  }
  const parts = judged.flatMap(({ verdict }) => ('part' in verdict ? [verdict.part] : []))
  const [first, ...also] = parts
  const sent = first && channel ? await send(relay, first, also, channel) : undefined
  const inList = also.length > 0
  for (const { claimed, verdict } of judged) {
    try {
      if ('result' in verdict) await settle(relay, claimed, channel, verdict.result, false)
      else await settle(relay, claimed, channel, sent!, inList)
    } catch (error) {
      // the lease ends, and it is tried again; the others are not to blame
      relay.log.error('settle_failed', { id: claimed.id, error: messageOf(error) })
    }
  }
}

async function judge(
  relay: Relay,
  claimed: Claimed,
  channel: Channel | undefined,
): Promise<Judged> {
  if (channel === undefined) {
    const note = 'the configuration has no such channel any more'
    return { claimed, verdict: { result: { outcome: 'refused', note } } }
  }
  const { telling } = claimed
  const record = await relay.store.readEvent(claimed)
  const siblings = await relay.store.readDeliveries(claimed)
  const note = overtaken(claimed, record, siblings, relay.notifiers[channel.kind].overtakes)
  if (note !== undefined) return { claimed, verdict: { result: { outcome: 'superseded', note } } }
  const now = relay.now()
  const part = {
    delivery: claimed,
    message: compose(telling, now, skippedBefore(claimed, siblings)),
    ...(telling.moment === 'notice' ? {} : { pageUrl: await pageLink(relay, claimed, now) }),
    mayHaveHeard: mayHaveHeard(claimed, siblings),
  }
  return { claimed, verdict: { part } }
}

async function send(
  relay: Relay,
  first: Part,
  also: Part[],
  channel: Channel,
): Promise<SendOutcome> {
  const now = relay.now()
  const leftMs = first.delivery.leaseUntil - now
  // whoever slept through its lease sends nothing: another worker may be sending it now
  if (leftMs <= 0) {
    return { outcome: 'retry', note: 'the lease ended before it was sent', unsent: true }
  }
  const signal = AbortSignal.timeout(Math.min(attemptMs, leftMs))
  const posts = postsOf(relay, first.delivery)
  const listUrl = await listLink(relay, listedIn([first, ...also]), now)
  const list = listUrl === undefined ? {} : { listUrl }
  const outgoing: Outgoing = { ...first, also, ...list, posts, now, signal }
  try {
    return await relay.notifiers[channel.kind].notify(outgoing, channel as never, relay.send)
  } catch (error) {
    relay.log.error('notifier_failed', { kind: channel.kind, error: messageOf(error) })
    return { outcome: 'retry', note: 'the notifier failed; see the log' }
  }
}

/** Those with a page of their own. */
function listedIn(parts: Part[]): Claimed[] {
  return parts.filter(({ pageUrl }) => pageUrl !== undefined).map(({ delivery }) => delivery)
}

function postsOf({ store }: Relay, { fleet, eventId, channel, telling }: Claimed): PostAccess {
  const key = { fleet, eventId, epoch: telling.event.epoch, channel }
  return {
    read: () => store.readPost(key),
    write: (state, basedOn) => store.writePost(key, state, basedOn),
  }
}

async function settle(
  relay: Relay,
  claimed: Claimed,
  channel: Channel | undefined,
  result: SendOutcome,
  inList: boolean,
): Promise<void> {
  const now = relay.now()
  const rate = rateOf(relay, claimed.channel)
  const settlement =
    inList && result.outcome === 'refused'
      ? { state: 'pending' as const, nextAt: now, note: result.note, alone: true as const }
      : afterAttempt(claimed, result, now, relay.random(), rate)
  const follow = noticesOf(claimed, channel, settlement, now)
  const settled = await relay.store.settle(claimed, settlement, now, follow)
  if (settled === 'settled' && follow.length > 0) relay.wake(follow.length)
  logAttempt(relay, claimed, settlement, settled)
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
