// What the relay sends to the endpoint of a subscription on its own: a ping, which asks for consent,
// or a made-up event, which tests the endpoint. Each has an id that no event of a fleet has.

import {
  type AlertNotification,
  type Delivery,
  noFleet,
  storedChannel,
  unsentFor,
  urgentMs,
} from '../../core/delivery/delivery.ts'
import type { Moment } from '../../core/event/moment.ts'
import { testEvent } from '../../core/event/test-event.ts'
import { noEvent } from '../../core/event/view.ts'
import type { Subscription } from './rule.ts'

/** The last ping that was counted. Planning it twice changes nothing. `isOnce`: it is a test. */
export function planPing(
  one: Subscription,
  origin: string,
  now: number,
  isOnce: boolean,
): Delivery {
  const eventId = `ping-${countedId(one)}`
  const handshake = mustShakeHands(one) ? { handshake: origin } : {}
  const once = isOnce ? { once: true as const } : {}
  const key = { fleet: noFleet, eventId, epoch: 1, sequence: one.pings, eventType: 'Ping' }
  const event = noEvent(key, now)
  return planToEndpoint(one, event, { ping: one.id, ...handshake, ...once }, now)
}

/** A made-up event in place of the last ping that was counted. */
export function planTest(one: Subscription, moment: Moment, fleet: string, now: number): Delivery {
  const eventType = one.filter.eventTypes?.[0] ?? 'Reboot'
  const event = testEvent({ fleet, eventType, id: countedId(one), moment }, now)
  return planToEndpoint(one, event, { ping: one.id, tests: moment, once: true }, now)
}

/** Until the subscription has consented by the handshake, its endpoint gets nothing else. */
function mustShakeHands({ consent, consented }: Subscription): boolean {
  return consent === 'options' && !consented
}

/** A repeated request may make a deleted subscription again, under its id. */
function countedId({ id, createdAt, pings }: Subscription): string {
  return `${id}-${createdAt}-${pings}`
}

/** A delivery to the endpoint that belongs to no event of a fleet. */
function planToEndpoint(
  { id, pings }: Subscription,
  event: AlertNotification['event'],
  about: AlertNotification['about'] & { tests?: Moment },
  now: number,
): Delivery {
  const channel = storedChannel(id)
  const { eventId } = event
  const what = about.tests === undefined ? 'ping' : 'test'
  return {
    ...unsentFor({ fleet: noFleet, eventId, seq: pings }, channel, now),
    id: `${noFleet}/${eventId}/1/${what}/${encodeURIComponent(channel)}`,
    urgentUntil: now + urgentMs,
    notification: { moment: 'alert', at: now, event, about },
  }
}
