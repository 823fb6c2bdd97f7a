// The message of one delivery, with the ways to decide that its channel may offer.
import { giveUpMs } from '../core/delivery/attempt.ts'
import {
  type Claimed,
  channelTroubleIn,
  type Delivery,
  hearsByItself,
  isAlertAbout,
  isForPeople,
  isPing,
  isTestFor,
  type ReadNotification,
  tellsOfEvent,
} from '../core/delivery/delivery.ts'
import { mayHaveHeard, skippedBefore } from '../core/delivery/overtake.ts'
import { knownVms } from '../core/event/drill.ts'
import type { EventRecord } from '../core/event/event.ts'
import { alertTraits } from '../core/message/alert.ts'
import { compose, noText } from '../core/message/message.ts'
import { asksFor } from '../core/message/step.ts'
import { runbookFor } from '../core/rules/routes.ts'
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
  const { notification } = claimed
  const now = relay.now()
  const links = hasEvent(notification) ? { links: eventLinks(relay, notification.event) } : {}
  if (hearsByItself(claimed.channel) || !isForPeople(notification)) {
    return { delivery: claimed, message: noText, ...links, mayHaveHeard: [] }
  }
  const asks =
    record !== undefined && tellsOfEvent(notification) && asksFor(notification.event, now)
  const { buttons, askers } = asks
    ? await waysToDecide(relay, record, notification.event, claimed.channel)
    : {}
  return {
    delivery: claimed,
    message: compose(
      withRunbook(relay, claimed.channel, notification, record),
      now,
      skippedBefore(claimed, siblings),
      askers,
    ),
    ...(buttons && { buttons }),
    ...(await findPage(relay, claimed, now)),
    ...links,
    mayHaveHeard: mayHaveHeard(
      claimed,
      siblings,
      (name) => !hearsByItself(name) && !channelNamed(relay, name),
    ),
  }
}

/** Adds the runbook of the channel's route, if that has one. */
function withRunbook(
  { config }: Relay,
  channel: string,
  notification: ReadNotification,
  record: EventRecord | undefined,
): ReadNotification {
  const own = record && runbookFor(config.routes, record, knownVms(record), channel)
  if (own === undefined) return notification
  const { event } = notification
  return { ...notification, event: { ...event, policy: { ...event.policy, runbook: own } } }
}

/** The event's page, or the part of the console that an alert is about. */
async function findPage(
  relay: Relay,
  claimed: Claimed,
  now: number,
): Promise<{ pageUrl?: string }> {
  const { notification } = claimed
  if (isTestFor(notification)) return {}
  const part = composeConsolePart(notification)
  if (part === undefined) {
    return { pageUrl: await pageLink(relay, claimed, issuedAt(notification, now)) }
  }
  const { credentials, config } = relay
  if (credentials.adminKey === undefined && config.signIn === undefined) return {}
  return { pageUrl: `${config.publicUrl}/console${part}` }
}

/** The path below `/console`. */
export function composeConsolePart(notification: Claimed['notification']): string | undefined {
  if (isAlertAbout(notification)) {
    const { about, event } = notification
    return alertTraits(about).page(about, event.fleet)
  }
  const trouble = channelTroubleIn(notification)
  return trouble && `/channels/${encodeURIComponent(trouble.channel)}`
}

/** Every attempt has the same link, so that a body stays the same. A late replay gets a new one. */
function issuedAt({ at }: Claimed['notification'], now: number): number {
  return now - at <= giveUpMs ? at : now
}

/** A test has an event, which is made up. */
function hasEvent(notification: Claimed['notification']): boolean {
  const trouble = channelTroubleIn(notification)
  if (trouble !== undefined) return trouble.moment !== 'alert'
  return (
    !isAlertAbout(notification) && !(isPing(notification) && notification.about.tests === undefined)
  )
}
