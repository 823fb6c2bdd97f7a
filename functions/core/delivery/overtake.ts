// Whether a claimed delivery is sent now, by the current state of the event, its other deliveries and
// the configuration. A later step of the same event and channel overtakes a pending one, so that nobody
// is asked to approve an event that is over.
import type { EventRecord } from '../event/event.ts'
import { isEnd, type Moment, traits } from '../event/moment.ts'
import type { SendOutcome } from './attempt.ts'
import {
  type Claimed,
  channelTroubleIn,
  type Delivery,
  deliveryId,
  endsAlert,
  isAlertAbout,
  isSameStep,
  isSameStory,
  type Notification,
  readStoredId,
  tellsOfEvent,
} from './delivery.ts'
import { overtakesInIncident } from './incident.ts'

/**
 * How a channel takes the steps of an event: a program gets `every` one, people only the `newest` of those
 * that wait, and an `incident` opens, is acknowledged and is resolved.
 */
export type Takes = 'every' | 'newest' | 'incident'

/** Whether the later step, if it is planned, makes the earlier one needless. */
function overtakes(takes: Takes, later: Notification, earlier: Notification): boolean {
  return takes === 'incident' ? overtakesInIncident(later, earlier) : takes === 'newest'
}

/** Why a claimed message is too late, or undefined. */
export function overtaken(
  delivery: Delivery,
  record: EventRecord | undefined,
  siblings: Delivery[],
  takes: Takes,
): string | undefined {
  const { notification } = delivery
  if (!tellsOfEvent(notification)) return afterAlert(delivery, siblings, takes)
  const alive = siblings.filter(({ state }) => state === 'pending' || state === 'delivered')
  return (
    byTheEvent(delivery, notification, record, takes) ??
    byTheOriginal(delivery, notification, siblings) ??
    overtakenBy(delivery, alive, takes)
  )
}

/** What the event is by now makes the message pointless. */
function byTheEvent(
  delivery: Delivery,
  notification: Notification,
  record: EventRecord | undefined,
  takes: Takes,
): string | undefined {
  if (record === undefined) return undefined
  const isReminder = notification.moment === 'reminder' && takes !== 'every'
  const why = isReminder ? whyPointless(notification, record) : undefined
  const isOver = record.ended !== undefined || record.epoch > notification.event.epoch
  return why ?? (isOver ? afterItsEnd(delivery, takes) : undefined)
}

/** A fallback's copy is too late if the channel that it stands in for has the message. */
function byTheOriginal(
  delivery: Delivery,
  notification: Notification,
  siblings: Delivery[],
): string | undefined {
  if (notification.insteadOf === undefined) return undefined
  const original = deliveryId(notification.event, notification.moment, notification.insteadOf)
  const has = siblings.some(({ id, state }) => id === original && state === 'delivered')
  // a fallback that knows of the event receives all further messages
  const knows = siblings.some(
    (one) => one.id !== delivery.id && isSameStory(one, delivery) && mayHaveArrived(one),
  )
  if (has && !knows) return `"${notification.insteadOf}" has it by now`
  // a fallback may have sent the end by its own route, also where it wants every step
  const isLate = traits[notification.moment].expires && hasSentEnd(delivery, siblings)
  return isLate ? endedFirst : undefined
}

/**
 * An owner may replay an alert after its end was sent. It would open an incident that nobody closes.
 * If the end still waits for this channel, both are sent.
 */
function afterAlert(delivery: Delivery, siblings: Delivery[], takes: Takes): string | undefined {
  const ends = siblings.filter(
    (one) => one.seq > delivery.seq && !isSameStep(one, delivery) && endsAlert(one.notification),
  )
  const follows = ends.some((one) => one.channel === delivery.channel && one.state === 'pending')
  if (ends.length === 0 || follows) return undefined
  return takes === 'every' ? undefined : 'the alert is over'
}

/** A reminder asks for a decision before the NotBefore that it names. */
function whyPointless(
  { event }: Pick<Notification, 'event'>,
  record: EventRecord,
): string | undefined {
  if (record.decided !== undefined) return 'decided meanwhile'
  if (record.phase !== 'scheduled') return 'started meanwhile'
  return record.facts.notBeforeAt === event.facts.notBeforeAt ? undefined : 'moved meanwhile'
}

function overtakenBy(delivery: Delivery, others: Delivery[], takes: Takes): string | undefined {
  const { notification } = delivery
  if (!tellsOfEvent(notification)) return undefined
  const later = others.find(
    (other) =>
      isSameStory(delivery, other) &&
      other.seq > delivery.seq &&
      !isSameStep(delivery, other) &&
      tellsOfEvent(other.notification) &&
      // a reminder may still be dropped, and says less than other messages
      (other.notification.moment !== 'reminder' || notification.moment === 'reminder') &&
      overtakes(takes, other.notification, notification),
  )
  return later && `overtaken by "${later.notification.moment}"`
}

/** After the end, only a channel that wants every step receives this one. */
function afterItsEnd({ notification }: Delivery, takes: Takes): string | undefined {
  if (!tellsOfEvent(notification) || !traits[notification.moment].expires) return undefined
  return takes === 'every' ? undefined : endedFirst
}

const endedFirst = 'the event ended first'

function hasSentEnd(delivery: Delivery, siblings: Delivery[]): boolean {
  return siblings.some(
    (one) =>
      tellsOfEvent(one.notification) &&
      isEnd(one.notification.moment) &&
      isSameStory(one, delivery) &&
      mayHaveArrived(one),
  )
}

/** The steps that this channel missed since its last delivered message. */
export function skippedBefore(delivery: Delivery, siblings: Delivery[]): Moment[] {
  if (!tellsOfEvent(delivery.notification)) return []
  const earlier = siblings.filter(
    (other) => isSameStory(delivery, other) && other.seq < delivery.seq,
  )
  const heard = earlier.filter(({ state }) => state === 'delivered').map(({ seq }) => seq)
  const since = Math.max(...heard)
  const missing = earlier.filter(({ seq, state }) => seq > since && state !== 'pending')
  const missed = missing.map(({ notification }) => notification).filter(tellsOfEvent)
  return [...new Set(missed.map(({ moment }) => moment))]
}

/**
 * The earlier steps of this event, or messages of this alert, that may have reached the channel. A
 * channel that is no longer in the configuration may be this one, under another name.
 */
export function mayHaveHeard(
  delivery: Delivery,
  siblings: Delivery[],
  isGone: (channel: string) => boolean,
): Delivery['notification'][] {
  const isAlert = isAlertAbout(delivery.notification)
  const heard = siblings.filter((other) => {
    const own = isGone(other.channel) ? { ...other, channel: delivery.channel } : other
    const isEarlier = isSameStory(delivery, own) && other.seq < delivery.seq
    const isOfKind = isAlert ? isAlertAbout(other.notification) : tellsOfEvent(other.notification)
    return isEarlier && isOfKind && mayHaveArrived(other)
  })
  return heard.map(({ notification }) => notification)
}

/** A delivery whose only attempt was refused certainly did not arrive. */
export function mayHaveArrived({ attempts, state }: Delivery): boolean {
  return attempts > 0 && !(state === 'refused' && attempts === 1)
}

export interface Known {
  record: EventRecord | undefined
  /** All deliveries of the event to channels of the configuration. */
  siblings: Delivery[]
  /** Undefined: the configuration has no such channel any more. */
  takes: Takes | undefined
  /** Why the stored channel gets nothing now. Undefined for a configured channel. */
  kept?: string | undefined
  /** Names of channels in trouble. Only a message about such trouble needs them. */
  inTrouble: string[]
}

/** Why a message is not sent, as the outcome of a refused attempt: nothing arrived. Undefined: send it. */
export function judgeDelivery(claimed: Claimed, known: Known): SendOutcome | undefined {
  const { record, siblings, takes, kept } = known
  if (kept !== undefined) return { outcome: 'given_up', note: kept }
  const late = overtaken(claimed, record, siblings, takes ?? 'newest') ?? overBy(claimed, known)
  if (late !== undefined) return { outcome: 'superseded', note: late }
  return takes === undefined ? { outcome: 'refused', note: whyGone(claimed) } : undefined
}

function whyGone({ channel }: Claimed): string {
  return readStoredId(channel) === undefined
    ? 'the configuration has no such channel any more'
    : 'the channel was deleted'
}

/** An alert about a channel is not sent if the channel was fixed in the meantime. */
function overBy({ notification }: Claimed, { inTrouble }: Known): string | undefined {
  const about = channelTroubleIn(notification)
  if (about === undefined || inTrouble.includes(about.channel)) return undefined
  return 'that channel takes messages again'
}
