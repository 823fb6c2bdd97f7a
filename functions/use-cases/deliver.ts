// Sends what is due: claims deliveries, judges each, makes one request, and finishes each. Several
// workers may run at once: the store gives each delivery one lease and keeps each channel's rate.

import { messageOf } from '../../shared/errors.ts'
import {
  attemptMs,
  deliveryLeaseMs,
  heldUp,
  isFresh,
  listRetryAt,
  type SendOutcome,
  tookNoPlace,
} from '../core/delivery/attempt.ts'
import { isInTrouble, isOverdue, notPastOverdue } from '../core/delivery/channel-health.ts'
import {
  type Claimed,
  channelTroubleIn,
  type Delivery,
  hearsByItself,
  readStoredId,
} from '../core/delivery/delivery.ts'
import type { Context } from '../core/delivery/follow-up.ts'
import { channelsInstead } from '../core/delivery/instead.ts'
import { judgeDelivery, type Known } from '../core/delivery/overtake.ts'
import type { Channel } from '../core/rules/config.ts'
import { storedChannels } from '../features/targets.ts'
import type { ChatMessageAccess, Outgoing, Part } from '../notify/notifier.ts'
import { chatMessageRows } from '../store/small-rows.ts'
import type { Claim, Pacing } from '../store/store.ts'
import { channelsInTrouble, noteAnswer } from './channel-health.ts'
import { composePart } from './compose-part.ts'
import { partsTogether } from './decision-buttons.ts'
import { type Finish, setApart, settle } from './finish-attempt.ts'
import { linkToAll, partsOfOneLink } from './one-link.ts'
import {
  channelFacts,
  channelNamed,
  findNotifier,
  findRate,
  ownersNow,
  type Relay,
} from './relay.ts'
import type { Target } from './target.ts'
import { noteHealthChange } from './trouble.ts'

/** How many requests to a channel this worker has under way. `Infinity`: it gets no more now. */
type UnderWay = (channel: string) => number

const noneUnderWay: UnderWay = () => 0

/** Claims what is due. Each list is one request for `deliverTogether`. No request waits for another. */
export function claimDue(relay: Relay, limit: number, underWay = noneUnderWay): Promise<Claim> {
  return relay.store.claim({ leaseMs: deliveryLeaseMs, limit, ...pacing(relay, underWay) })
}

/** When the next delivery can be claimed or the next event is due. */
export function nextDueAt(relay: Relay, underWay = noneUnderWay): Promise<number | undefined> {
  return relay.store.nextDueAt(pacing(relay, underWay))
}

function pacing(relay: Relay, underWay: UnderWay): Pacing {
  return {
    now: relay.now(),
    rateOf: (channel) => findRate(relay, channel),
    roomOf: (channel) => {
      if (isForOthers(relay, channel)) return 0
      return Math.max(0, findRate(relay, channel).atOnce - underWay(channel))
    },
  }
}

/**
 * Relays that share a store get a new configuration one after the other: only one that has just read its own knows that
 * a channel is gone. To the others, the channel may be new.
 */
const freshConfigMs = 10 * 60_000

function isForOthers({ host, config, now }: Relay, channel: string): boolean {
  const { sharedSince } = host
  if (sharedSince === undefined || now() < sharedSince + freshConfigMs) return false
  return !Object.hasOwn(config.channels, channel) && readStoredId(channel) === undefined
}

/** A claimed delivery: its part of the message, or the result if nothing is to be sent. */
interface Prepared {
  claimed: Claimed
  /** All deliveries of its event to channels of the configuration, if they could be read. */
  siblings: Delivery[]
  /** The channels that get the message if this one does not accept it. */
  instead: string[]
  next: { part: Part } | { result: SendOutcome }
}

/**
 * Makes one request and finishes each delivery in it. Logs errors and throws none. `ended`: none of
 * them needs another attempt.
 */
export async function deliverTogether(relay: Relay, group: Claimed[]): Promise<Finish> {
  const first = group[0]!
  const target = await findTarget(relay, first)
  if (target === undefined) return 'open'
  const { channel } = target
  const prepared: Prepared[] = []
  for (const claimed of group) prepared.push(await prepare(relay, claimed, target))

  const ready = partsTogether(prepared.flatMap(({ next }) => ('part' in next ? next.part : [])))
  const parts = await partsOfOneLink(relay, channel, ready)
  const sent =
    channel && parts.length > 0 ? await send(relay, parts, { ...target, channel }) : undefined

  const inRequest = prepared.filter(({ next }) => 'part' in next && parts.includes(next.part))
  const isFree = sent === undefined || tookNoPlace(sent)
  if (isFree && !first.isHeldUp) await giveSlotBack(relay, first.channel)
  const freeAt = isFree ? undefined : first.freeAt
  const overdue = inRequest.find(({ claimed, siblings }) => {
    return isOverdue({ ...claimed, freeAt }, siblings, relay.now())
  })
  const since = overdue?.claimed.plannedAt
  // a list that is refused is sent again in parts, so it says nothing of the channel yet
  const isSplit = sent?.outcome === 'refused' && !sent.broken && inRequest.length > 1
  const health =
    channel && sent && !isSplit
      ? await noteAnswer(relay, channel, first, sent, since)
      : first.health
  if (isInTrouble(health) !== isInTrouble(first.health)) await noteHealthChange(relay)
  await target.noteAnswer?.(first, sent, health)

  const list = inRequest.length > 1 ? { retryAt: chooseRetryAt(relay, inRequest, sent) } : undefined
  const hasIncidents = channelFacts(relay).takes(first.channel) === 'incident'
  const finishOne = (one: Prepared) => {
    const { siblings, instead } = one
    const isIn = inRequest.includes(one)
    const context = {
      ...{ health, siblings, instead, hasIncidents },
      freeAt: isSplit ? findSendAt(relay, one.claimed, freeAt, inRequest.indexOf(one)) : freeAt,
      list: isIn ? list : undefined,
    }
    return finish(relay, one, isIn ? sent : undefined, context)
  }
  const finishes: Finish[] = []
  for (const one of prepared) finishes.push(await finishOne(one))
  return finishes.includes('open') ? 'open' : 'ended'
}

/** Undefined if the channel cannot be read: then the lease ends, and the delivery is retried. */
async function findTarget(relay: Relay, first: Claimed): Promise<Target | undefined> {
  const id = readStoredId(first.channel)
  if (id === undefined) return { channel: channelNamed(relay, first.channel) }
  try {
    for (const find of storedChannels) {
      const found = await find(relay, id, first)
      if (found !== undefined) return found
    }
    return { channel: undefined }
  } catch (error) {
    relay.log.error('message_failed', { id: first.id, error: messageOf(error) })
    return undefined
  }
}

/** Loads what the judgement needs, and composes the message. */
async function prepare(
  relay: Relay,
  claimed: Claimed,
  { channel, kept }: Target,
): Promise<Prepared> {
  const { config, now } = relay
  const { routes } = config
  const owners = ownersNow(relay, claimed.fleet)
  const instead = ({ record, siblings }: EventRead) =>
    channelsInstead(claimed, {
      ...{ record, siblings, routes, owners },
      channels: channelFacts(relay),
      now: now(),
    })
  try {
    // for who gets every step in order, no other step matters
    const event = hearsByItself(claimed.channel) ? unread : await readNewest(relay, claimed)
    const isAboutChannel = channelTroubleIn(claimed.notification) !== undefined
    const judged = judgeDelivery(claimed, {
      ...event,
      takes: channel && findNotifier(relay, channel).takes,
      kept,
      inTrouble: isAboutChannel ? (await channelsInTrouble(relay)).map((one) => one.channel) : [],
    })
    const { isHeldUp, freeAt = 0 } = claimed
    const result = judged ?? (isHeldUp ? heldUp(freeAt) : undefined)
    const next =
      result === undefined
        ? { part: await composePart(relay, claimed, event.record, event.siblings) }
        : { result }
    return { claimed, siblings: event.siblings, instead: instead(event), next }
  } catch (error) {
    relay.log.error('message_failed', { id: claimed.id, error: messageOf(error) })
    const note = 'the message could not be composed; see the log'
    const result = { outcome: 'retry' as const, note }
    return { claimed, siblings: [], instead: instead(unread), next: { result } }
  }
}

type EventRead = Pick<Known, 'record' | 'siblings'>

const unread: EventRead = { record: undefined, siblings: [] }

/** A worker may have slept since the claim, so what the claim has read is good for a moment only. */
async function readNewest({ store, now }: Relay, claimed: Claimed): Promise<EventRead> {
  const { known } = claimed
  if (known !== undefined && isFresh(claimed, now())) return known
  return { record: await store.readEvent(claimed), siblings: await store.readDeliveries(claimed) }
}

async function send(
  relay: Relay,
  parts: Part[],
  { channel, isBound }: Target & { channel: Channel },
): Promise<SendOutcome> {
  const [first, ...also] = parts as [Part, ...Part[]]
  const now = relay.now()
  const leftMs = first.delivery.leaseUntil - now
  // if this worker slept through its lease, another worker may be sending this now
  if (leftMs <= 0) {
    return { outcome: 'retry', note: 'the lease ended before the request', unsent: true }
  }
  const signal = AbortSignal.timeout(Math.min(attemptMs, leftMs))
  const chatMessage = findChatMessage(relay, first.delivery)
  const listUrl = await linkToAll(relay, parts, now)
  const list = listUrl === undefined ? {} : { listUrl }
  const { wait } = relay
  const outgoing: Outgoing = {
    ...first,
    also,
    ...list,
    chatMessage,
    publicUrl: relay.config.publicUrl,
    hmac: relay.credentials.hmac,
    azureTokens: relay.outside.tokens,
    now,
    wait,
    signal,
  }
  try {
    const { reply, ...sent } = await findNotifier(relay, channel).notify(
      outgoing,
      channel as never,
      isBound ? relay.sending.sendForBound : relay.sending.send,
    )
    if (readStoredId(first.delivery.channel) === undefined) return sent
    const at = relay.now()
    const { status, text = '' } = reply ?? {}
    return { ...sent, answered: { status, text, tookMs: at - now, at } }
  } catch (error) {
    relay.log.error('notifier_failed', { kind: channel.kind, error: messageOf(error) })
    return { outcome: 'retry', note: 'the notifier failed; see the log' }
  }
}

function findChatMessage(
  { store }: Relay,
  { fleet, eventId, channel, notification }: Claimed,
): ChatMessageAccess {
  const key = { fleet, eventId, epoch: notification.event.epoch, channel }
  return {
    read: () => chatMessageRows.read(store, key),
    write: (state, basedOn) => chatMessageRows.write(store, { state }, basedOn, key),
  }
}

/** When to send a failed list again. Its messages stay one list. */
function chooseRetryAt(
  relay: Relay,
  together: Prepared[],
  sent: SendOutcome | undefined,
): number | undefined {
  if (sent?.outcome !== 'retry') return undefined
  const list = together.map(({ claimed }) => claimed)
  const now = relay.now()
  const nextAt = listRetryAt(list, sent, now, relay.random(), findRate(relay, list[0]!.channel))
  if (nextAt === undefined || sent.retryAfterMs !== undefined) return nextAt
  const judged = together.map((one) => notPastOverdue(one.claimed, one.siblings, nextAt, now))
  return Math.min(...judged)
}

/** When the rate lets a message of a refused list go alone: one after the other. */
function findSendAt(
  relay: Relay,
  { channel }: Claimed,
  freeAt: number | undefined,
  place: number,
): number | undefined {
  return freeAt === undefined ? undefined : freeAt + place * findRate(relay, channel).everyMs
}

/** If this fails, the channel's next message waits for its rate as usual. */
async function giveSlotBack(relay: Relay, channel: string): Promise<void> {
  const { everyMs } = findRate(relay, channel)
  if (everyMs === 0) return
  try {
    await relay.store.giveBack(channel, everyMs)
  } catch (error) {
    relay.log.error('channel_health_failed', { channel, error: messageOf(error) })
  }
}

/** If this fails, the lease ends and the delivery is retried. */
async function finish(
  relay: Relay,
  { claimed, next }: Prepared,
  sent: SendOutcome | undefined,
  context: Context,
): Promise<Finish> {
  try {
    const result = 'result' in next ? next.result : sent
    if (result !== undefined) return await settle(relay, claimed, result, context)
    if ('part' in next) await setApart(relay, claimed, next.part)
  } catch (error) {
    relay.log.error('settle_failed', { id: claimed.id, error: messageOf(error) })
  }
  return 'open'
}
