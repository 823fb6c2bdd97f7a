// One link for all events of a message, and how many events such a message may have.
import type { Claimed } from '../core/delivery/delivery.ts'
import type { Channel } from '../core/rules/config.ts'
import { listLink } from '../links/link.ts'
import type { Part } from '../notify/notifier.ts'
import { findNotifier, type Relay } from './relay.ts'

/** Undefined for one event, or if the link would be too long. */
export function linkToAll(relay: Relay, parts: Part[], now: number): Promise<string | undefined> {
  return listLink(relay, listedIn(parts), now)
}

/**
 * If the messages of the channel have one link alone: so many of the first parts as it shows. Else a message would
 * name an event that its button does not open.
 */
export async function partsOfOneLink(
  relay: Relay,
  channel: Channel | undefined,
  parts: Part[],
): Promise<Part[]> {
  const room = channel && findNotifier(relay, channel).roomForLink?.(channel as never)
  if (room === undefined || room === Number.POSITIVE_INFINITY) return parts
  for (let count = parts.length; count > 1; count--) {
    const some = parts.slice(0, count)
    const events = new Set(listedIn(some).map(({ fleet, eventId }) => `${fleet}/${eventId}`))
    if (events.size < 2) return some
    const link = await linkToAll(relay, some, relay.now())
    if (link !== undefined && link.length <= room) return some
  }
  return parts.slice(0, 1)
}

/** The deliveries that have an approve page. */
function listedIn(parts: Part[]): Claimed[] {
  const hasEvent = ({ pageUrl, message }: Part) => pageUrl !== undefined && !message.opensConsole
  return parts.filter(hasEvent).map(({ delivery }) => delivery)
}
