// What follows one attempt at one delivery: its new state, and what other channels get in its place. A message
// that its channel refuses goes to the fallback at once. If the channel does not answer, the message and the
// steps that wait behind it go there once that has lasted too long. Pure.
import { afterAttempt, giveUpMs, type SendOutcome, type Settlement } from './attempt.ts'
import { type ChannelHealth, firstWaitMs, isOverdue } from './channel-health.ts'
import {
  alertDeliveryId,
  type Claimed,
  type Delivery,
  deliveryId,
  isAlertOf,
  isSameStory,
  planChannelAlert,
} from './delivery.ts'
import type { Rate } from './rate.ts'

export interface Context {
  /** Of the channel, after the request. */
  health: ChannelHealth | undefined
  /** All deliveries of the event. */
  siblings: Delivery[]
  /** The channels that get what this one does not take. */
  instead: string[]
  /** Present if it belongs to a list of several; `retryAt` is when the whole list is sent again. */
  list?: { retryAt: number | undefined } | undefined
}

interface Aftermath {
  settlement: Settlement
  followUps: Delivery[]
  /** With this delivery, the fallback is notified that the channel is in trouble. */
  isTeller: boolean
}

/** `random` is in [0, 1). */
export function afterResult(
  claimed: Claimed,
  result: SendOutcome,
  context: Context,
  { now, random, rate }: { now: number; random: number; rate: Rate },
): Aftermath {
  const { list } = context
  let settlement = afterAttempt(claimed, result, now, random, rate)
  if (result.outcome === 'refused' && (result.broken || list !== undefined)) {
    settlement = afterRefusal(claimed, result, context, now)
  } else if (settlement.state === 'pending' && list?.retryAt !== undefined) {
    settlement = { ...settlement, nextAt: list.retryAt }
  }
  const isTeller = isTellerIn(context, claimed)
  return { settlement, followUps: followUps(claimed, result, settlement, context, now), isTeller }
}

function isTellerIn({ health }: Context, { id }: Claimed): boolean {
  return health !== undefined && health.state !== 'ok' && health.teller?.id === id
}

function afterRefusal(
  claimed: Claimed,
  { note, broken }: Extract<SendOutcome, { outcome: 'refused' }>,
  context: Context,
  now: number,
): Settlement {
  // another message of the list may be to blame
  if (!broken) return { state: 'pending', nextAt: now, note, alone: true }
  const waits = isRefusedEverywhere(claimed, context) && now < claimed.plannedAt + giveUpMs
  if (!waits) return { state: 'refused', nextAt: now, note }
  const { health } = context
  const nextAt = health?.state === 'refusing' ? health.nextTryAt : now + firstWaitMs
  // it is certain that nothing of it arrived
  return { state: 'pending', nextAt, note, unsent: true }
}

/**
 * Whether every other channel that was to get the message refused it, too. Trouble with a channel is reported
 * in one place only.
 */
function isRefusedEverywhere(claimed: Claimed, { instead, siblings }: Context): boolean {
  const isRefused = (name: string) => {
    const copy = copyFor(claimed, name, siblings)
    return copy !== undefined && ['refused', 'given_up'].includes(copy.state)
  }
  const { telling } = claimed
  if (telling.moment === 'alert' && (!isAlertOf(telling) || instead.length === 0)) return true
  const own = [...siblings.filter((one) => isSameStory(one, claimed)), claimed]
  const standsIn = own.some(({ telling }) => telling.moment !== 'alert' && telling.insteadOf)
  return (instead.length > 0 || standsIn) && instead.every(isRefused)
}

/** The delivery of the same message to another channel, if it is planned. */
export function copyFor(
  { telling }: Delivery,
  name: string,
  siblings: Delivery[],
): Delivery | undefined {
  const id = copyId(telling, name)
  return id === undefined ? undefined : siblings.find((one) => one.id === id)
}

/** Undefined: trouble with a channel is reported in one place only. */
function copyId(telling: Delivery['telling'], to: string): string | undefined {
  if (isAlertOf(telling)) return alertDeliveryId(telling.event, to)
  return telling.moment === 'alert' ? undefined : deliveryId(telling.event, telling.moment, to)
}

function followUps(
  claimed: Claimed,
  result: SendOutcome,
  { state, note }: Settlement,
  context: Context,
  now: number,
): Delivery[] {
  const { health, instead, siblings } = context
  const inTrouble = health !== undefined && health.state !== 'ok'
  const trouble =
    inTrouble && isTellerIn(context, claimed)
      ? instead.map((name) =>
          planChannelAlert(claimed, name, { state, note: health.note }, now, {
            state: health.state,
            since: health.since,
          }),
        )
      : []
  const isAlert = isAlertOf(claimed.telling)
  if (claimed.telling.moment === 'alert' && !isAlert) return trouble
  const isSilent = result.outcome === 'retry' && !result.unsent
  // no message waits for a channel that is in trouble already
  const late = isSilent && (inTrouble || isOverdue(claimed, siblings, now))
  const failed = late || state === 'refused' || state === 'given_up'
  const behind = late ? siblings.filter(isBehind(claimed)) : []
  const copies = instead.flatMap((name) =>
    [...(failed ? [claimed] : []), ...behind]
      .filter((one) => copyFor(one, name, siblings) === undefined)
      .map((one) => divert(one, name, now)),
  )
  // the fallback has the message itself, so it is told that this channel does not
  const missed = !isAlert && state === 'refused' && !inTrouble && copies.length === 0
  const alerts = missed
    ? instead.map((name) => planChannelAlert(claimed, name, { state, note }, now))
    : []
  return [...trouble, ...copies, ...alerts]
}

/** What waits for this message to be delivered or given up. */
function isBehind(claimed: Claimed): (other: Delivery) => boolean {
  return (other) =>
    isSameStory(other, claimed) &&
    other.seq > claimed.seq &&
    other.state === 'pending' &&
    other.telling.moment !== 'alert'
}

/** The same message for another channel. It has the id that it would have if the routes had named that one. */
export function divert(failed: Delivery, to: string, now: number): Delivery {
  const { telling } = failed
  const id = copyId(telling, to)
  if (id === undefined) throw new Error('trouble with a channel is reported in one place only')
  return {
    ...failed,
    id,
    channel: to,
    // for a copy of a copy, it stays the channel that the routes named
    telling: telling.moment === 'alert' ? telling : { insteadOf: failed.channel, ...telling },
    ...{ plannedAt: now, nextAt: now, state: 'pending', attempts: 0, note: '' },
  }
}
