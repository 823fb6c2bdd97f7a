// The delivery of a message to a channel: its shape, its id, and how it is planned. The id names
// event, moment and channel, so planning a message twice changes nothing.

import { type EventRecord, lastExpiry } from '../event/event.ts'
import { type Moment, traits } from '../event/moment.ts'
import { isAffected, isAzure } from '../event/sight.ts'
import { type EventView, toView } from '../event/view.ts'
import { hash } from '../hash.ts'
import type { FleetAlert } from './alert-kind.ts'
import type { ChannelHealth } from './health.ts'

/** The fleet of pings, and of alerts about the relay. No configured fleet can have this name. */
export const noFleet = '-'

/** How long retries are frequent if NotBefore sets no deadline. */
export const urgentMs = 15 * 60_000

export type DeliveryState = 'pending' | 'delivered' | 'refused' | 'superseded' | 'given_up'

/** A message: the event as it was at the moment. A retry sends the same. */
export interface Notification {
  moment: Moment
  at: number
  event: EventView
  /** The channel that did not accept it. */
  insteadOf?: string
}

/** An alert: a message about Foghorn itself. */
export interface AlertNotification<About = ChannelTrouble | FleetAlert | Ping> {
  moment: 'alert'
  at: number
  event: EventView
  about: About
}

/** A message that people read. */
export type ReadNotification = Notification | AlertNotification<ChannelTrouble | FleetAlert>

/** Trouble with a channel. Its fallback is notified. */
export interface ChannelTrouble {
  channel: string
  moment: Delivery['notification']['moment']
  state: string
  reason: string
  /** The channel itself is in trouble, which is reported once. */
  health?: 'refusing' | 'unreachable'
}

/** Asks a subscriber whether it wants messages, or tests its endpoint. */
interface Ping {
  /** The id of the stored channel. */
  ping: string
  /** Absent: a bare ping. Else the body shows `AlertNotification.event`, a made-up one, at this moment. */
  tests?: Moment
  /** The relay's origin, if the subscriber consents by the OPTIONS handshake of CloudEvents. */
  handshake?: string
  /** A person asked for it, so it is not tried again. */
  once?: true
}

export interface Delivery {
  /**
   * `fleet/eventId/epoch/moment/channel`, each part percent-encoded; also the idempotency key. A
   * change, a reminder or a decision after an expiry has a further part.
   */
  id: string
  fleet: string
  eventId: string
  channel: string
  /** The VM that told of the event, in lower case: one that tells much does not delay what others tell. */
  toldBy?: string
  /** Order within the event: a later message of a channel waits for an earlier one. */
  seq: number
  /** When the delivery was planned or replayed. Attempts go on for a day. */
  plannedAt: number
  urgentUntil: number
  notification: Notification | AlertNotification
  state: DeliveryState
  attempts: number
  nextAt: number
  /** The result of the last attempt, without any secret. */
  note: string
  /** The answer to the last attempt. Only for stored channels. */
  answered?: Answered
}

/** How the system behind a stored channel answered. */
export interface Answered {
  /** Undefined: no answer. */
  status: number | undefined
  /** The first 4 KB. */
  text: string
  tookMs: number
  at: number
}

export interface Claimed extends Delivery {
  /** Needed to settle it. Another claim makes it invalid. */
  lease: string
  /** From this time on, another worker may claim the delivery. */
  leaseUntil: number
  /** When the rate of its channel allows the next request, epoch ms. */
  freeAt?: number
  /** The rate allows no request before `freeAt`, so this one is only judged. */
  isHeldUp?: true
  /** The health of its channel, as the claim has read it. */
  health?: ChannelHealth | undefined
  /** The delivery's event, and all deliveries of that event, if the claim has read them. */
  known?: { record: EventRecord | undefined; siblings: Delivery[] }
}

/** A channel is configured, or it is stored: a feature keeps its settings in the store. A name in a route has no colon. */
const storedPrefix = 'subscription:'

export function storedChannel(id: string): string {
  return storedPrefix + id
}

/** The id of a stored channel, or undefined for a configured one. */
export function readStoredId(channel: string): string | undefined {
  const isOwn = channel.startsWith(storedPrefix)
  return isOwn ? channel.slice(storedPrefix.length) : undefined
}

/** Whether a channel gets every step without a route: a stored one, or a sink. A name in a route has no colon. */
export function hearsByItself(channel: string): boolean {
  return channel.includes(':')
}

/** A sink is a channel of the configuration that hears by itself: a machine keeps what it gets, nobody reads it at once. */
export function isSink(channel: string): boolean {
  return hearsByItself(channel) && readStoredId(channel) === undefined
}

const seqPerCommit = 64

/** The place of a delivery within its event. `i`: within its commit. */
export function chooseSeq({ sequence }: Pick<EventView, 'sequence'>, i: number): number {
  return sequence * seqPerCommit + i
}

/** Whether one commit planned both. */
export function isSameStep(one: Delivery, other: Delivery): boolean {
  return Math.floor(one.seq / seqPerCommit) === Math.floor(other.seq / seqPerCommit)
}

/** Whether both are for one channel and one epoch of an event. */
export function isSameStory(one: Delivery, other: Delivery): boolean {
  return (
    one.channel === other.channel && one.notification.event.epoch === other.notification.event.epoch
  )
}

/** One delivery for each moment and channel. `event` is the record as messages show it. */
export function plan(
  record: EventRecord,
  moments: Moment[],
  channels: (moment: Moment) => string[],
  now: number,
  event: EventView = toView(record),
): Delivery[] {
  const planned = moments.flatMap((moment) =>
    channels(moment).map((channel) => ({ moment, channel })),
  )
  return planned.map(({ moment, channel }, i) => ({
    id: deliveryId(record, moment, channel),
    fleet: record.fleet,
    eventId: record.eventId,
    channel,
    ...findTeller(record),
    seq: chooseSeq(record, i),
    plannedAt: now,
    urgentUntil: urgentUntil(record, moment, now),
    notification: { moment, at: now, event },
    state: 'pending',
    attempts: 0,
    nextAt: now,
    note: '',
  }))
}

/** An affected VM that shows the event, or else the first VM that did. Azure's own word is from none. */
function findTeller({ facts, sights }: EventRecord): Pick<Delivery, 'toldBy'> {
  const vms = sights.filter((one) => !isAzure(one))
  const teller = vms.find((one) => one.isHit === true && isAffected(facts, one)) ?? vms[0]
  return teller === undefined ? {} : { toldBy: teller.vm.toLowerCase() }
}

/** The delivery for another channel, without what a claim adds: the lease, and the event as it was then. */
export function unsentFor(
  { fleet, eventId, seq }: Pick<Delivery, 'fleet' | 'eventId' | 'seq'>,
  channel: string,
  now: number,
) {
  const state: DeliveryState = 'pending'
  return { fleet, eventId, channel, seq, plannedAt: now, state, attempts: 0, nextAt: now, note: '' }
}

/** Whether the message is about a step of an event. Else it is about Foghorn itself. */
export function tellsOfEvent(
  notification: Notification | AlertNotification,
): notification is Notification {
  return notification.moment !== 'alert'
}

/** The trouble that an alert is about, if the channel itself is in trouble. */
export function channelTroubleIn(
  notification: Notification | AlertNotification,
): ChannelTrouble | undefined {
  if (tellsOfEvent(notification) || !('channel' in notification.about)) return undefined
  return notification.about.health === undefined ? undefined : notification.about
}

export function isAlertAbout(
  notification: Notification | AlertNotification,
): notification is AlertNotification<FleetAlert> {
  return !tellsOfEvent(notification) && 'alert' in notification.about
}

/** Whether the message says that problems are over. */
export function isAlertOver(notification: Notification | AlertNotification): boolean {
  return isAlertAbout(notification) && notification.about.news?.form === 'over'
}

/** Whether the message says that the last problem is over. */
export function endsAlert(notification: Notification | AlertNotification): boolean {
  return (
    isAlertOver(notification) &&
    isAlertAbout(notification) &&
    notification.about.news?.remaining === 0
  )
}

/** Whether an owner sent it to try the channel. */
export function isTestFor(notification: Notification | AlertNotification): boolean {
  return isAlertAbout(notification) && notification.about.alert === 'channel_test'
}

export function isPing(
  notification: Notification | AlertNotification,
): notification is AlertNotification<Ping> {
  return !isForPeople(notification) && 'ping' in notification.about
}

/** Only software gets a ping. */
export function isForPeople(
  notification: Notification | AlertNotification,
): notification is ReadNotification {
  return tellsOfEvent(notification) || !('ping' in notification.about)
}

export function deliveryId(record: EventView, moment: Moment, channel: string): string {
  return buildId(record, moment, [channel])
}

/** The channel in the id of a delivery. Empty if the text is no such id. */
export function channelIn(id: string): string {
  return (id.split('/')[4] ?? '').replace('%3A', ':')
}

/** The id of a moment of the event. It is the same for all channels. */
export function momentId(record: EventView, moment: Moment): string {
  return buildId(record, moment, [])
}

/** What identifies a message for its receiver: the same at every attempt, and in the stream. */
export function buildMessageId({ id, channel, notification }: Delivery): string {
  const isMoment = tellsOfEvent(notification) && hearsByItself(channel)
  return isMoment ? momentId(notification.event, notification.moment) : id
}

function buildId(record: EventView, moment: Moment, channel: string[]): string {
  const parts = [record.fleet, record.eventId, String(record.epoch), moment, ...channel]
  return [...parts.map(encode), ...describeWhich(record, moment)].join('/')
}

/** Tells apart several messages about one kind of moment. */
function describeWhich(record: EventView, moment: Moment): string[] {
  if (moment === 'reminder') {
    // NotBefore may move away and back, which starts new reminders
    const time = [record.facts.notBeforeAt ?? null, record.notified?.count ?? 0]
    return [`${record.reminders.last?.beforeSeconds}s`, shortHash(time)]
  }
  if (['approved', 'declined', 'stuck'].includes(moment)) return describeAgain(record)
  // Azure may take a change back, and make it again
  return moment === 'changed' ? [hashChange(record), String(record.notified?.count ?? 0)] : []
}

/** After an approval expired, messages get new ids, so that they may be sent again. */
function describeAgain(event: EventView): string[] {
  const expiredAt = lastExpiry(event)
  if (expiredAt === undefined) return []
  // two may expire in one millisecond
  const together = event.overruled.filter((one) => one.expiredAt === expiredAt).length
  return [shortHash(together === 1 ? expiredAt : [expiredAt, together])]
}

/** Equal values have equal hashes. */
export function hashChange(record: EventView): string {
  const { notBeforeAt, resources, eventType, source, durationSeconds, description } = record.facts
  const names = resources.map((name) => name.toLowerCase()).sort()
  const values = [
    notBeforeAt,
    names,
    durationSeconds,
    description,
    eventType,
    source,
    ...describeAgain(record),
  ]
  return shortHash(values)
}

/** 128 bits: no other values with the same hash can be found, and it is short enough for a key. */
export function shortHash(values: unknown): string {
  return hash(JSON.stringify(values)).slice(0, 32)
}

/** Standard Webhooks forbids a dot in an id. */
export function encode(part: string): string {
  return encodeURIComponent(part).replaceAll('.', '%2E')
}

export function urgentUntil({ facts }: EventView, moment: Moment, now: number): number {
  const { notBeforeAt } = facts
  return traits[moment].asks && notBeforeAt !== undefined
    ? Math.max(notBeforeAt, now + 60_000)
    : now + urgentMs
}
