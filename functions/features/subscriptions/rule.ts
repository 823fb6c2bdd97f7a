// Subscriptions: webhook channels that other systems make for themselves through the API. A new
// endpoint must consent before it gets messages. The relay keeps the messages that a subscription
// misses for a replay.

import type { SendOutcome } from '../../core/delivery/attempt.ts'
import {
  type Answered,
  type Claimed,
  chooseSeq,
  type Delivery,
  deliveryId,
  isPing,
  type Notification,
  storedChannel,
  urgentUntil,
} from '../../core/delivery/delivery.ts'
import type { ChannelHealth } from '../../core/delivery/health.ts'
import { type MomentFilter, passes } from '../../core/delivery/moment-log.ts'
import type { Planner } from '../../core/delivery/planner.ts'
import { hash } from '../../core/hash.ts'
import { type Access, isBound, seesToken } from '../../core/rules/access.ts'
import { dayMs } from '../../core/units.ts'

/**
 * `pending`: the endpoint has not consented. `paused`: by its owner. `disabled`: by the relay,
 * because the endpoint failed.
 */
type SubscriptionState = 'pending' | 'active' | 'paused' | 'disabled'

/** How an endpoint shows that it wants messages. */
export const consents = ['ping', 'options'] as const
export type Consent = (typeof consents)[number]

interface Secret {
  text: string
  /** Epoch ms. Absent: the current one. */
  until?: number
}

/** A subscription as the relay stores it. Times are epoch ms. */
export interface Subscription {
  id: string
  url: string
  description?: string | undefined
  filter: MomentFilter
  /** The fleets of the token that made it. It hears only those. Absent: all. */
  bound?: string[] | undefined
  consent: Consent
  state: SubscriptionState
  /** When the state began. */
  since: number
  reason: string
  /** Whether the endpoint at this address has consented. */
  consented: boolean
  /** The current one first. */
  secrets: Secret[]
  /** How many pings and tests were planned. */
  pings: number
  /** The subscription hears the moments from this time on. Absent: its endpoint never consented. */
  hearsSince?: number | undefined
  createdAt: number
  /** `describeAccess` its maker. */
  createdBy: string
  /** Hash of the request that made it, if that had an Idempotency-Key. */
  request?: string | undefined
}

const maxSubscriptions = 200
/** A maker that is bound to fleets sees at most this many, so that other fleets have room. */
const maxSubscriptionsOfBound = 50
export const subscriptionIdBytes = 8
/** After a rotation, the old secret also signs for this long. */
const oldSecretMs = dayMs
/** A repeated request gets the secret again within this time. */
export const secretShownMs = dayMs
const maxSecrets = 4
/** An endpoint that accepts nothing for this long is disabled. */
export const maxFailingMs = 5 * dayMs
/** An endpoint is disabled only if it has failed one message for this long. */
const minFailingMs = 3_600_000

type New = Pick<
  Subscription,
  'id' | 'url' | 'description' | 'filter' | 'bound' | 'consent' | 'createdBy' | 'request'
>

export function newSubscription(wish: New, secret: string, now: number): Subscription {
  return {
    ...wish,
    state: 'pending',
    since: now,
    reason: waits,
    consented: false,
    secrets: [{ text: secret }],
    pings: 1,
    createdAt: now,
  }
}

const waits = 'the endpoint has not consented yet'

/**
 * After a ping to `url` succeeded. One that was paused meanwhile also hears from now on: what it
 * misses is kept.
 */
export function consentedSubscription(
  before: Subscription,
  url: string,
  now: number,
): Subscription {
  if (before.url !== url || before.consented) return before
  const after = { ...before, consented: true, hearsSince: before.hearsSince ?? now }
  if (before.state !== 'pending') return after
  return { ...after, state: 'active', since: now, reason: 'the endpoint consented' }
}

export function pausedSubscription(before: Subscription, by: string, now: number): Subscription {
  if (before.state === 'paused' || before.state === 'disabled') return before
  return { ...before, state: 'paused', since: now, reason: `paused by ${by}` }
}

/** An endpoint that was disabled, or has never consented, gets a new ping first. */
export function resumedSubscription(before: Subscription, by: string, now: number): Subscription {
  if (before.state === 'active' || before.state === 'pending') return before
  if (before.state === 'disabled' || !before.consented) return withPing(before, now)
  return { ...before, state: 'active', since: now, reason: `resumed by ${by}` }
}

function withPing(before: Subscription, now: number): Subscription {
  const state = { state: 'pending', since: now, reason: waits, consented: false } as const
  return { ...before, ...state, pings: before.pings + 1 }
}

export function disabledSubscription(
  before: Subscription,
  reason: string,
  now: number,
): Subscription {
  if (before.state === 'disabled') return before
  return { ...before, state: 'disabled', since: now, reason, consented: false }
}

/** A test of the endpoint, in any state but `disabled`. */
export function withNextPing(before: Subscription): Subscription {
  return { ...before, pings: before.pings + 1 }
}

/** A new address must consent before it gets messages. */
export function changedSubscription(
  before: Subscription,
  change: Partial<Pick<Subscription, 'url' | 'description' | 'filter'>>,
  now: number,
): Subscription {
  const after = { ...before, ...change }
  if (after.url === before.url) return after
  const isOn = before.state === 'active' || before.state === 'pending'
  return isOn ? withPing(after, now) : { ...after, consented: false }
}

export function rotatedSecrets(before: Subscription, secret: string, now: number): Subscription {
  const until = now + oldSecretMs
  const old = secretsIn(before, now).map((one) => ({ ...one, until: one.until ?? until }))
  return { ...before, secrets: [{ text: secret }, ...old].slice(0, maxSecrets) }
}

function secretsIn({ secrets }: Subscription, now: number): Secret[] {
  return secrets.filter(({ until }) => until === undefined || until > now)
}

/** The secrets that sign now, the current one first. */
export function secretsAt(subscription: Subscription, now: number): string[] {
  return secretsIn(subscription, now).map(({ text }) => text)
}

/** Until when older secrets sign, or undefined. */
export function oldSecretsUntil(subscription: Subscription, now: number): number | undefined {
  const ends = secretsIn(subscription, now).flatMap(({ until }) => until ?? [])
  return ends.length === 0 ? undefined : Math.max(...ends)
}

/** Whether messages are planned for it. */
export function isHearing(one: Subscription): boolean {
  return one.hearsSince !== undefined
}

/** A fleet for what is about the subscription itself: one that it hears, if there is any. */
export function readFleet({ bound, filter }: Subscription, configured: readonly string[]): string {
  // its maker must not learn of another fleet
  const seen = bound ?? configured
  const heard = seen.filter((name) => filter.fleets?.includes(name) ?? true)
  return heard.find((name) => configured.includes(name)) ?? seen[0]!
}

/** Whether a subscription hears this moment, by its filter and by the fleets of its maker. */
function hears(one: Subscription, notification: Notification): boolean {
  if (!isHearing(one)) return false
  return (one.bound?.includes(notification.event.fleet) ?? true) && passes(one.filter, notification)
}

declare module '../../core/event/stage.ts' {
  interface Loaded {
    allSubscribed?: Subscription[]
  }
}

/** The deliveries of the moments of one commit to those that hear them. */
export const planForSubscriptions: Planner = ({ allSubscribed = [] }, moments, now) => {
  return moments.flatMap(({ notification }, i) => {
    const seq = chooseSeq(notification.event, i)
    return allSubscribed
      .filter((one) => hears(one, notification))
      .map((one) => planFor(one, notification, seq, now))
  })
}

/** Plans the subscription's delivery of a moment. If it is not active, the message is kept for a replay. */
function planFor(
  one: Subscription,
  notification: Notification,
  seq: number,
  now: number,
): Delivery {
  const { event } = notification
  const channel = storedChannel(one.id)
  const kept = whyKept(one)
  return {
    id: deliveryId(event, notification.moment, channel),
    fleet: event.fleet,
    eventId: event.eventId,
    channel,
    seq,
    plannedAt: now,
    urgentUntil: urgentUntil(event, notification.moment, now),
    notification,
    state: kept === undefined ? 'pending' : 'given_up',
    attempts: 0,
    nextAt: now,
    note: kept ?? '',
  }
}

/** Whether messages that are kept, or were refused, can be sent again. */
export function canReplay({ state }: Subscription): boolean {
  return state === 'active'
}

/** Why a message is not sent now but kept, or undefined. */
export function whyKept(
  { state, consented }: Subscription,
  notification?: Claimed['notification'],
): string | undefined {
  const isPinged = notification !== undefined && isPing(notification) && state !== 'disabled'
  // before consent, an endpoint gets only what asks for it: its address may be new
  const mayPing = isPinged && (consented || notification.about.tests === undefined)
  if (state === 'active' || mayPing) return undefined
  return `not sent, as the subscription was ${state}; replay it once the subscription is active`
}

/** Why a subscription is disabled after an attempt at a message, or undefined. */
export function whyDisabled(
  { state }: Subscription,
  outcome: SendOutcome['outcome'],
  answered: Answered,
  health: ChannelHealth | undefined,
  plannedAt: number,
): string | undefined {
  if (answered.status === 410) return 'its endpoint answered 410 Gone'
  if (state !== 'active' || health === undefined || health.state === 'ok') return undefined
  // nothing may have been sent for days, so the first failure after them proves little
  const tried = outcome === 'refused' || answered.at - plannedAt >= minFailingMs
  const isFailing = tried && answered.at - health.since >= maxFailingMs
  return isFailing ? 'its endpoint has accepted nothing for 5 days' : undefined
}

/** Whether this user may see and change it: it must hear no other fleet than the user's. */
export function seesSubscription(access: Access, { bound }: Pick<Subscription, 'bound'>): boolean {
  return seesToken(access, { fleets: bound })
}

/** The limit that one more subscription would exceed, if any. */
export function roomReached(maker: Access, all: Pick<Subscription, 'bound'>[]): number | undefined {
  if (all.length >= maxSubscriptions) return maxSubscriptions
  const isFull =
    isBound(maker) &&
    all.filter((one) => seesSubscription(maker, one)).length >= maxSubscriptionsOfBound
  return isFull ? maxSubscriptionsOfBound : undefined
}

/** If one maker repeats a request with the same Idempotency-Key, the id is the same. */
export function idFor(maker: string, idempotencyKey: string): string {
  return hash(JSON.stringify([maker, idempotencyKey])).slice(0, 2 * subscriptionIdBytes)
}
