// Plans alerts, the messages about Foghorn itself: to owners about problems (`features/problems`), and to the
// fallback of a channel. Only an alert about one refused message belongs to an event.
import { alertPrefix } from '../../../shared/document.ts'
import type { EventView } from '../event/view.ts'
import { noEvent } from '../event/view.ts'
import type { AlertKind, FleetAlert } from './alert-kind.ts'
import {
  chooseSeq,
  type Delivery,
  type DeliveryState,
  encode,
  isAlertAbout,
  noFleet,
  shortHash,
  unsentFor,
  urgentMs,
} from './delivery.ts'
import { mayHaveArrived } from './overtake.ts'

/** Alerts about a channel sort last, so that messages about the event do not wait for them. */
const alertsFrom = 2 ** 40

/** The key of the messages of one kind, beside the fleet. No event of a fleet has it. */
export function alertId(kind: AlertKind): string {
  return `${alertPrefix}${kind}`
}

/** Channels that an earlier message of the episode may have reached, such as a fallback. */
export function reachedBy(existing: Delivery[], episode: number): string[] {
  const reached = existing.filter(
    (one) =>
      isAlertAbout(one.notification) &&
      one.notification.about.episode === episode &&
      (one.state === 'pending' || mayHaveArrived(one)),
  )
  return reached.map(({ channel }) => channel)
}

/** One message for each channel. `sequence`: of the messages with this key. */
export function alertsTo(
  channels: string[],
  { fleet, eventId, sequence }: { fleet: string; eventId: string; sequence: number },
  about: FleetAlert,
  now: number,
): Delivery[] {
  const epoch = about.episode
  const event = noEvent({ fleet, eventId, epoch, sequence, eventType: 'Alert' }, now)
  return [...new Set(channels)].map((channel, i) => ({
    ...unsentFor({ fleet, eventId, seq: chooseSeq(event, i) }, channel, now),
    id: alertDeliveryId(event, about, channel),
    urgentUntil: now + urgentMs,
    notification: { moment: 'alert', at: now, event, about },
  }))
}

/** A channel gets no more than one test in this time. */
export const testEveryMs = 10_000

/** The id under which the tests of a channel of one day are stored. */
export function testId(channel: string, now: number): string {
  const day = new Date(now).toISOString().slice(0, 10)
  return `${alertId('channel_test')}-${day}-${channel}`
}

/** A message that an owner sends to try a channel. Undefined: another one was sent a moment ago. */
export function planChannelTest(
  existing: Delivery[],
  fleet: string,
  { channel, by }: { channel: string; by: string },
  now: number,
): Delivery | undefined {
  const last = existing.at(-1)
  const sinceLastMs = now - (last?.notification.at ?? Number.NEGATIVE_INFINITY)
  // a time in the future is from before the clock was set back
  if (sinceLastMs >= 0 && sinceLastMs < testEveryMs) return undefined
  const episode = (last?.notification.event.epoch ?? 0) + 1
  const about: FleetAlert = {
    ...{ alert: 'channel_test', episode, message: 1, since: now },
    ...{ names: [channel], reasons: [by] },
  }
  const key = { fleet, eventId: testId(channel, now), sequence: episode }
  return alertsTo([channel], key, about, now)[0]
}

/** Workers that store the same message give it the same id. */
export function alertDeliveryId(
  { fleet, eventId, epoch }: EventView,
  { message }: FleetAlert,
  channel: string,
): string {
  const which = [fleet, eventId, String(epoch), 'alert', channel, String(message)]
  return which.map(encode).join('/')
}

/** An alert for the channel's fallback: the channel refused this delivery. */
export function planChannelAlert(
  failed: Delivery,
  fallback: string,
  end: { state: DeliveryState; note: string },
  now: number,
): Delivery {
  return {
    ...unsentFor(failed, fallback, now),
    id: [failed.id, 'alert', encode(fallback)].join('/'),
    seq: failed.seq + alertsFrom,
    ...aboutChannel(failed, end, now),
  }
}

/**
 * An alert for the channel's fallback: the channel is in trouble, as its answer to this delivery shows.
 * Every worker that finds the same trouble plans the same alert.
 */
export function planTroubleAlert(
  failed: Delivery,
  fallback: string,
  { state, note, alert }: { state: 'refusing' | 'unreachable'; note: string; alert: number },
  now: number,
): Delivery {
  const key = { fleet: noFleet, eventId: `${alertPrefix}channel-${failed.channel}` }
  const which = [key.fleet, key.eventId, '1', 'alert', fallback, state, shortHash(alert)]
  return {
    ...unsentFor({ ...failed, ...key, seq: alert }, fallback, now),
    id: which.map(encode).join('/'),
    ...aboutChannel(failed, { state: 'pending', note }, now, state),
  }
}

function aboutChannel(
  { channel, notification }: Delivery,
  { state, note }: { state: DeliveryState; note: string },
  now: number,
  health?: 'refusing' | 'unreachable',
): Pick<Delivery, 'urgentUntil' | 'notification'> {
  const about = {
    channel,
    moment: notification.moment,
    state,
    reason: note,
    ...(health && { health }),
  }
  const alert = { moment: 'alert' as const, at: now, event: notification.event, about }
  return { urgentUntil: now + urgentMs, notification: alert }
}
