// Which channels get a message that its own channel does not accept. When they get it: `follow-up.ts`.
import { isAdvice } from '../../../shared/document.ts'
import { knownVms } from '../event/drill.ts'
import type { EventRecord } from '../event/event.ts'
import { channelsFor, type Route } from '../rules/routes.ts'
import type { ChannelFacts } from './audience.ts'
import {
  type Claimed,
  type Delivery,
  hearsByItself,
  isAlertAbout,
  isTestFor,
  tellsOfEvent,
} from './delivery.ts'
import { copyFor } from './follow-up.ts'

interface Situation {
  record: EventRecord | undefined
  /** All deliveries of the event. */
  siblings: Delivery[]
  routes: Route[]
  channels: ChannelFacts
  /** The channels of the fleet's owners. */
  owners: string[]
  now: number
}

export function channelsInstead(claimed: Claimed, situation: Situation): string[] {
  const { channels } = situation
  const isGone = !hearsByItself(claimed.channel) && channels.takes(claimed.channel) === undefined
  const named = isGone ? insteadOfGone(claimed, situation) : findFallback(claimed.channel, channels)
  // advice calls nobody
  return isAdvice(claimed.notification.event.facts)
    ? named.filter((name) => channels.takes(name) !== 'incident')
    : named
}

function findFallback(channel: string | undefined, channels: ChannelFacts): string[] {
  const fallback = channel === undefined ? undefined : channels.fallbackOf(channel)
  return fallback === undefined ? [] : [fallback]
}

/**
 * A removed channel may have been renamed, so its message goes to other channels that lack it. If
 * it replaced another channel's message, that channel's fallback gets it, else the routed channels.
 * An alert goes to the owners.
 */
function insteadOfGone(
  claimed: Claimed,
  { record, siblings, routes, channels, owners, now }: Situation,
): string[] {
  const { notification } = claimed
  const lacksIt = (name: string) => copyFor(claimed, name, siblings) === undefined
  if (isAlertAbout(notification)) return isTestFor(notification) ? [] : owners.filter(lacksIt)
  if (record === undefined || !tellsOfEvent(notification)) return []
  const { moment, insteadOf } = notification
  const fallback = findFallback(insteadOf, channels)
  const routed = channelsFor(routes, record, knownVms(record), moment, now, siblings)
  return (fallback.length > 0 ? fallback : routed).filter(lacksIt)
}
