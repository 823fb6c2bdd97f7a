// What follows one attempt at one delivery: its new state, when it is retried in the special cases that
// `attempt.ts` does not know (lists, channels in trouble), and what other channels get instead. If
// a channel refuses a message, the fallback gets it at once. If the channel does not answer for too
// long, the fallback gets the message and the steps that wait behind it.

import { isEnd } from '../event/moment.ts'
import { alertDeliveryId, planChannelAlert } from './alert.ts'
import { afterAttempt, giveUpMs, isHeldUp, type SendOutcome, type Settlement } from './attempt.ts'
import { isInTrouble, isOverdue, isPutOff, notPastOverdue } from './channel-health.ts'
import {
  type Claimed,
  type Delivery,
  deliveryId,
  isAlertAbout,
  isAlertOver,
  isPing,
  isSameStory,
  isTestFor,
  tellsOfEvent,
  unsentFor,
} from './delivery.ts'
import type { ChannelHealth } from './health.ts'
import type { Rate } from './rate.ts'

/** How long a refused message that must arrive waits at first, and at most. */
const firstWaitMs = 60_000
const maxWaitMs = 600_000

export interface Context {
  /** The channel's health after the request. */
  health: ChannelHealth | undefined
  /** All deliveries of the event. */
  siblings: Delivery[]
  /** The channels that get what this one does not accept. */
  instead: string[]
  hasIncidents: boolean
  /** When the rate of the channel allows the next attempt. Absent: now. */
  freeAt?: number | undefined
  /** Present if it was sent in a list. `retryAt`: when the whole list is retried. */
  list?: { retryAt: number | undefined } | undefined
}

interface FollowUp {
  settlement: Settlement
  followUps: Delivery[]
}

/** `random` is in [0, 1). */
export function afterResult(
  claimed: Claimed,
  result: SendOutcome,
  context: Context,
  { now, random, rate }: { now: number; random: number; rate: Rate },
): FollowUp {
  const { list } = context
  let settlement = afterAttempt(claimed, result, now, random, rate)
  const isSplit = list !== undefined && result.outcome === 'refused' && !result.mayHaveArrived
  if (result.outcome === 'refused' && (result.broken || isSplit)) {
    settlement = afterRefusal(claimed, result, context, now)
  } else if (settlement.state === 'pending' && result.outcome === 'retry') {
    settlement = { ...settlement, nextAt: retryAt(claimed, result, context, settlement, now) }
  }
  if (isLastTry(claimed, result, settlement))
    settlement = { ...settlement, state: 'given_up', nextAt: now }
  if (result.answered !== undefined) settlement = { ...settlement, answered: result.answered }
  return { settlement, followUps: followUps(claimed, result, settlement, context, now) }
}

function retryAt(
  claimed: Claimed,
  result: Extract<SendOutcome, { outcome: 'retry' }>,
  { list, siblings }: Context,
  { nextAt }: Settlement,
  now: number,
): number {
  if (list?.retryAt !== undefined) return list.retryAt
  if (isHeldUp(result)) return nextAt
  return result.retryAfterMs === undefined ? notPastOverdue(claimed, siblings, nextAt, now) : nextAt
}

/** A test is one attempt: anybody with a token may send 60 in a minute to an address of their choice. */
function isLastTry(
  { notification }: Claimed,
  { outcome }: SendOutcome,
  { state, unsent }: Settlement,
): boolean {
  const isOnce = isPing(notification) && notification.about.once === true
  return isOnce && outcome === 'retry' && state === 'pending' && !unsent
}

function afterRefusal(
  claimed: Claimed,
  { note, broken }: Extract<SendOutcome, { outcome: 'refused' }>,
  context: Context,
  now: number,
): Settlement {
  // another message of the list may be to blame
  if (!broken) return { state: 'pending', nextAt: now, note, alone: true }
  // nobody else can resolve the incident, so a copy to the fallback is not enough
  const resolves = context.hasIncidents && isClosing(claimed.notification)
  const waits = resolves || isRefusedEverywhere(claimed, context)
  if (!waits || now >= claimed.plannedAt + giveUpMs) return { state: 'refused', nextAt: now, note }
  // after a wait as long as all before
  const waitMs = Math.min(Math.max(now - claimed.plannedAt, firstWaitMs), maxWaitMs)
  const nextAt = now + waitMs
  // refused, so nothing arrived
  return { state: 'pending', nextAt, note, unsent: true }
}

/** Whether the event or the alert is over with this message. */
function isClosing(notification: Claimed['notification']): boolean {
  return tellsOfEvent(notification) ? isEnd(notification.moment) : isAlertOver(notification)
}

/** Whether every other channel that was to get the message also refused it. */
function isRefusedEverywhere(claimed: Claimed, { instead, siblings }: Context): boolean {
  const isRefused = (name: string) => {
    const copy = copyFor(claimed, name, siblings)
    return copy !== undefined && ['refused', 'given_up'].includes(copy.state)
  }
  const { notification } = claimed
  if (isPing(notification) || isTestFor(notification)) return false
  if (!tellsOfEvent(notification) && (!isAlertAbout(notification) || instead.length === 0))
    return true
  const own = [...siblings.filter((one) => isSameStory(one, claimed)), claimed]
  const isFallback = own.some(
    ({ notification }) => tellsOfEvent(notification) && notification.insteadOf,
  )
  return (instead.length > 0 || isFallback) && instead.every(isRefused)
}

/** The delivery of the same message to another channel, if it is planned. */
export function copyFor(
  { notification }: Delivery,
  name: string,
  siblings: Delivery[],
): Delivery | undefined {
  const id = copyId(notification, name)
  return id === undefined ? undefined : siblings.find((one) => one.id === id)
}

/** Undefined for an alert about a channel, which is never copied. */
function copyId(notification: Delivery['notification'], to: string): string | undefined {
  if (isAlertAbout(notification)) return alertDeliveryId(notification.event, notification.about, to)
  return tellsOfEvent(notification)
    ? deliveryId(notification.event, notification.moment, to)
    : undefined
}

function followUps(
  claimed: Claimed,
  result: SendOutcome,
  { state, note, nextAt }: Settlement,
  context: Context,
  now: number,
): Delivery[] {
  const { health, instead, siblings } = context
  const inTrouble = isInTrouble(health)
  // a test is about this channel alone
  const isAlert = isAlertAbout(claimed.notification) && !isTestFor(claimed.notification)
  if (!tellsOfEvent(claimed.notification) && !isAlert) return []
  const tried = { ...claimed, freeAt: context.freeAt }
  const isRefused = result.outcome === 'refused' && result.broken
  // no message waits for a channel that is in trouble already
  const late =
    mayBeLate(result, state) &&
    (inTrouble ||
      isOverdue(tried, siblings, now) ||
      isPutOff(tried, siblings, result, { nextAt, now }))
  const failed = late || isRefused || state === 'refused' || state === 'given_up'
  // a refused end stays pending, but later messages must not wait for it
  const holdsUp = late || (isRefused && state === 'pending')
  const behind = holdsUp ? siblings.filter(isBehind(claimed)) : []
  const copies = instead.flatMap((name) =>
    [...(failed ? [claimed] : []), ...behind]
      .filter((one) => copyFor(one, name, siblings) === undefined)
      .map((one) => divert(one, name, now)),
  )
  // the fallback has its own copy, so only alert it that this channel refused the message
  const missed = !isAlert && state === 'refused' && !inTrouble && copies.length === 0
  const alerts = missed
    ? instead.map((name) => planChannelAlert(claimed, name, { state, note }, now))
    : []
  return [...copies, ...alerts]
}

/** A message that waits for an answer, for its rate, or, after its list was refused, for its turn alone. */
function mayBeLate(result: SendOutcome, state: Settlement['state']): boolean {
  if (result.outcome === 'retry') return !result.unsent || isHeldUp(result)
  return result.outcome === 'refused' && !result.broken && state === 'pending'
}

/** Deliveries that wait for this one, also of a later epoch. */
function isBehind(claimed: Claimed): (other: Delivery) => boolean {
  return (other) =>
    other.channel === claimed.channel &&
    other.seq > claimed.seq &&
    other.state === 'pending' &&
    copyId(other.notification, other.channel) !== undefined
}

/** Plans the same message for another channel, with the id that a route to that channel would give it. */
export function divert(failed: Delivery, to: string, now: number): Delivery {
  const { notification, urgentUntil } = failed
  const id = copyId(notification, to)
  if (id === undefined) throw new Error('an alert about a channel cannot be diverted')
  return {
    ...unsentFor(failed, to, now),
    id,
    urgentUntil,
    // for a copy of a copy, this stays the channel of the route
    notification: tellsOfEvent(notification)
      ? { insteadOf: failed.channel, ...notification }
      : notification,
  }
}
