// The message of one delivery, with the ways to decide that its channel may offer.
import { giveUpMs } from '../core/delivery/attempt.ts'
import {
  type Claimed,
  channelTroubleIn,
  type Delivery,
  isAlertOf,
  isPing,
  subscriptionOf,
} from '../core/delivery/delivery.ts'
import { mayHaveHeard, skippedBefore } from '../core/delivery/overtake.ts'
import type { EventRecord } from '../core/event/event.ts'
import { compose, noText } from '../core/message/message.ts'
import { asksFor } from '../core/message/step.ts'
import { eventLinks, pageLink } from '../links/link.ts'
import type { Part } from '../notify/notifier.ts'
import { waysToDecide } from './decision-buttons.ts'
import { channelNamed, type Relay } from './relay.ts'

/** `siblings`: all deliveries of the event. */
export async function composePart(
  relay: Relay,
  claimed: Claimed,
  record: EventRecord | undefined,
  siblings: Delivery[],
): Promise<Part> {
  const { telling } = claimed
  const now = relay.now()
  const links = hasEvent(telling) ? { links: eventLinks(relay, telling.event) } : {}
  if (subscriptionOf(claimed.channel) !== undefined) {
    return { delivery: claimed, message: noText, ...links, mayHaveHeard: [] }
  }
  const asks = record !== undefined && telling.moment !== 'alert' && asksFor(telling.event, now)
  const { buttons, askers } = asks
    ? await waysToDecide(relay, record, telling.event, claimed.channel)
    : {}
  return {
    delivery: claimed,
    message: compose(telling, now, skippedBefore(claimed, siblings), askers),
    ...(buttons && { buttons }),
    ...(hasPage(telling)
      ? { pageUrl: await pageLink(relay, claimed, issuedAt(telling, now)) }
      : {}),
    ...links,
    mayHaveHeard: mayHaveHeard(claimed, siblings, (name) => !channelNamed(relay, name)),
  }
}

/** The same link at every attempt, so that a body stays the same. A late replay gets a new one. */
function issuedAt({ at }: Claimed['telling'], now: number): number {
  return now - at <= giveUpMs ? at : now
}

/** A test has an event, which is made up. */
function hasEvent(telling: Claimed['telling']): boolean {
  return !isAlertOf(telling) && !(isPing(telling) && telling.about.tests === undefined)
}

function hasPage(telling: Claimed['telling']): boolean {
  return channelTroubleIn(telling) === undefined && !isAlertOf(telling) && !isPing(telling)
}
