// Sends what is owed: claim under a lease, one request, settle. Several workers may run at once; the
// store sees to it that no delivery is under two leases, and no channel is told faster than it takes.
import { messageOf } from '../shared/errors.ts'
import type { Channel } from './config.ts'
import { attemptMs, deliveryLeaseMs, listRetryAt, type SendOutcome } from './core/attempt.ts'
import { type Claimed, type Delivery, deliveryId, isAlertOf, outageIn } from './core/delivery.ts'
import type { EventRecord } from './core/event.ts'
import { asksFor, compose } from './core/message.ts'
import { isOverdue, type Outage, type Passage } from './core/outage.ts'
import { mayHaveHeard, overtaken, skippedBefore } from './core/overtake.ts'
import { channelsFor } from './core/policy.ts'
import { partsForOne, waysToDecide } from './decision-buttons.ts'
import { listLink, pageLink } from './link.ts'
import { readPost, writePost } from './memos.ts'
import type { Outgoing, Part, PostAccess } from './notify/notifier.ts'
import { type Gate, noteAnswer, outagesOf, passGate } from './outage.ts'
import { channelNamed, type Relay, rateOf } from './relay.ts'
import { setApart, settle } from './settle.ts'
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
  /** All deliveries of its event, where it came to that. */
  siblings?: Delivery[]
  /** Whom the routes name now, where the configuration has its channel no more. */
  heirs?: string[]
  /** What is to be sent, or why it is not. */
  verdict: { part: Part } | { result: SendOutcome }
}

/** One request, and each delivery in it settled. What goes wrong is logged, and nothing is thrown. */
export async function deliverTogether(relay: Relay, group: Claimed[]): Promise<void> {
  const leader = group[0]!
  const channel = channelNamed(relay, leader.channel)
  const judged: Judged[] = []
  let gate: Gate | undefined
  for (const claimed of group) {
    try {
      if (channel !== undefined) gate ??= await passGate(relay, channel, leader)
      judged.push(await judge(relay, claimed, channel, gate?.passage))
    } catch (error) {
      relay.log.error('message_failed', { id: claimed.id, error: messageOf(error) })
      const note = 'it could not be put together; see the log'
      judged.push({ claimed, verdict: { result: { outcome: 'retry', note } } })
    }
  }
  const parts = judged.flatMap(({ verdict }) => ('part' in verdict ? [verdict.part] : []))
  const { now, apart } = partsForOne(parts)
  const [first, ...also] = now
  const sent = first && channel ? await send(relay, first, also, channel) : undefined
  const waiting = judged.filter(({ verdict }) => 'part' in verdict && now.includes(verdict.part))
  const late = waiting.find((one) => isOverdue(one.claimed, one.siblings ?? [], relay.now()))
  const overdue = late?.claimed
  const outage = await noteOutage(relay, channel, gate, sent, { first: leader, overdue })
  const inList = also.length > 0
  const retryAt = retryAtOf(relay, judged, sent)
  const fallback = channel?.fallback === undefined ? [] : [channel.fallback]
  for (const { claimed, siblings = [], heirs: instead = fallback, verdict } of judged) {
    try {
      if ('part' in verdict && apart.includes(verdict.part)) {
        await setApart(relay, claimed, verdict.part)
        continue
      }
      const result = 'result' in verdict ? verdict.result : sent!
      const isGone = channel === undefined
      const isPart = 'part' in verdict
      const together = isTogether({ verdict }) ? retryAt : undefined
      const which = { inList: inList && isPart, retryAt: together }
      const context = { outage, siblings, instead, isGone, ...which }
      await settle(relay, claimed, result, context)
    } catch (error) {
      // the lease ends, and it is tried again; the others are not to blame
      relay.log.error('settle_failed', { id: claimed.id, error: messageOf(error) })
    }
  }
}

/** When a list that failed, or could not be sent yet, is sent again. Its messages stay one list. */
function retryAtOf(
  relay: Relay,
  judged: Judged[],
  sent: SendOutcome | undefined,
): number | undefined {
  const list = judged.filter(isTogether)
  const [first] = list
  if (first === undefined || list.length < 2) return undefined
  const result = 'result' in first.verdict ? first.verdict.result : sent
  if (result?.outcome !== 'retry') return undefined
  const rate = rateOf(relay, first.claimed.channel)
  const claimed = list.map((one) => one.claimed)
  return listRetryAt(claimed, result, relay.now(), relay.random(), rate)
}

/** A message that could not be composed waits on its own. */
function isTogether({ verdict }: Pick<Judged, 'verdict'>): boolean {
  return 'part' in verdict || 'unsent' in verdict.result
}

/** A mark that can't be written costs another try of a channel in trouble, and nothing else. */
async function noteOutage(
  relay: Relay,
  channel: Channel | undefined,
  gate: Gate | undefined,
  sent: SendOutcome | undefined,
  of: { first: Claimed; overdue: Claimed | undefined },
): Promise<Outage | undefined> {
  if (channel === undefined || gate === undefined) return undefined
  try {
    return await noteAnswer(relay, channel, gate, sent, of)
  } catch (error) {
    relay.log.error('mark_failed', { channel: of.first.channel, error: messageOf(error) })
    return gate.outage
  }
}

async function judge(
  relay: Relay,
  claimed: Claimed,
  channel: Channel | undefined,
  passage: Passage | undefined,
): Promise<Judged> {
  const { telling } = claimed
  const record = await relay.store.readEvent(claimed)
  const siblings = await relay.store.readDeliveries(claimed)
  const overtakes = channel === undefined ? () => true : relay.notifiers[channel.kind].overtakes
  const late = overtaken(claimed, record, siblings, overtakes) ?? (await passed(relay, telling))
  if (late !== undefined) {
    return { claimed, siblings, verdict: { result: { outcome: 'superseded', note: late } } }
  }
  if (channel === undefined) {
    const note = 'the configuration has no such channel any more'
    const heirs = await heirsOf(relay, claimed, record, siblings)
    return { claimed, siblings, heirs, verdict: { result: { outcome: 'refused', note } } }
  }
  if (passage?.go === 'wait') {
    const result = { outcome: 'retry' as const, note: passage.note, unsent: true as const }
    return { claimed, siblings, verdict: { result } }
  }
  if (passage?.go === 'divert') {
    // counted as an attempt: refused after one means that nothing of it can have arrived
    const refused = { outcome: 'refused' as const, broken: true as const }
    return { claimed, siblings, verdict: { result: { ...refused, note: passage.note } } }
  }
  const now = relay.now()
  const asks = record !== undefined && telling.moment !== 'notice' && asksFor(telling.event, now)
  const { buttons, askers } = asks
    ? await waysToDecide(relay, record, telling.event, claimed.channel)
    : {}
  const message = compose(telling, now, skippedBefore(claimed, siblings), askers)
  const part = {
    delivery: claimed,
    message,
    ...(buttons && { buttons }),
    ...(hasPage(telling) ? { pageUrl: await pageLink(relay, claimed, now) } : {}),
    mayHaveHeard: mayHaveHeard(claimed, siblings, (name) => !channelNamed(relay, name)),
  }
  return { claimed, siblings, verdict: { part } }
}

function hasPage(telling: Claimed['telling']): boolean {
  return outageIn(telling) === undefined && !isAlertOf(telling)
}

/** Nobody is woken for a channel that was mended before anybody could be told. */
async function passed(relay: Relay, telling: Claimed['telling']): Promise<string | undefined> {
  const about = outageIn(telling)
  if (about === undefined) return undefined
  const { channel } = about
  const lasts = (await outagesOf(relay)).some((outage) => outage.channel === channel)
  return lasts ? undefined : 'that channel takes messages again'
}

/** A channel may have been renamed, or others have taken its place: those that were not told. */
async function heirsOf(
  relay: Relay,
  { telling, channel }: Claimed,
  record: EventRecord | undefined,
  siblings: Delivery[],
): Promise<string[]> {
  if (record === undefined || telling.moment === 'notice') return []
  const { moment, event, insteadOf } = telling
  const observers = await relay.store.readObservers(record)
  const routed = () => channelsFor(relay.config.routes, record, observers, moment, siblings)
  const named = insteadOf === undefined ? routed() : chainFrom(relay, insteadOf)
  const known = siblings.map(({ id }) => id)
  const untold = named.filter(
    (name) => name !== channel && !known.includes(deliveryId(event, moment, name)),
  )
  return insteadOf === undefined ? untold : untold.slice(0, 1)
}

/** Its fallback, the fallback of that, and so on; a circle ends where it began. */
function chainFrom(relay: Relay, name: string): string[] {
  const chain = [name]
  for (let next = channelNamed(relay, name)?.fallback; next && !chain.includes(next); ) {
    chain.push(next)
    next = channelNamed(relay, next)?.fallback
  }
  return chain.slice(1)
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
    read: () => readPost(store, key),
    write: (state, basedOn) => writePost(store, key, state, basedOn),
  }
}
