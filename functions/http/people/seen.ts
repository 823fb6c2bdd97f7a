// Collects what the page of a link needs: the event or the events of a list, what the viewer may do
// (viewer.ts judges that), and the token of the form.

import { stampOf } from '../../core/event/approval.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { createFormToken, type LinkToken, type ListToken, oneOf } from '../../links/link.ts'
import type { Seen } from '../../pages/event.ts'
import type { Listed } from '../../pages/list.ts'
import { openToken } from '../../use-cases/decide-event.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { type Visit, viewerOf } from './viewer.ts'

/** The second tap of a double tap comes within this time. A page that answers a press takes none before. */
const pressGuardMs = 1_500

/** Who asks for a page: what the host says of them, and where they are to come back to. */
export interface Visitor extends Pick<Visit, 'header' | 'path'> {
  /** They pressed something on a page of ours, and may not have seen this one before they press again. */
  pressed: boolean
}

/** The event as a link shows it; `shownBy` is what its form is bound to. */
export async function seenBy(
  relay: Relay,
  record: EventRecord,
  shownBy: string,
  { channel }: LinkToken,
  visitor: Visitor,
): Promise<Seen> {
  const viewer = await viewerOf(relay, record, { ...visitor, channel })
  const countsAt = visitor.pressed ? relay.now() + pressGuardMs : 0
  const form = await createFormToken(relay.linkKeys, shownBy, stampOf(record), countsAt)
  return { record, viewer, form, listed: shownBy.includes(placeMark) }
}

/** In no link. */
const placeMark = '#'

/** What the form of one event of a list is bound to. */
export function placeIn(link: string, place: string | number): string {
  return link + placeMark + place
}

/** Undefined: an event that is not known any more, or long over. */
export function recordsOf(relay: Relay, list: ListToken): Promise<(EventRecord | undefined)[]> {
  return Promise.all(
    list.events.map(async (_, place) => {
      const opened = await openToken(relay, oneOf(list, String(place))!)
      return opened.outcome === 'open' ? opened.record : undefined
    }),
  )
}

/** The same as this list shows them. */
export async function listOf(
  relay: Relay,
  link: string,
  list: ListToken,
  visitor: Visitor,
): Promise<Listed[]> {
  const records = await recordsOf(relay, list)
  return Promise.all(
    records.map(async (record, place) => {
      const own = oneOf(list, String(place))!
      return record && seenBy(relay, record, placeIn(link, place), own, visitor)
    }),
  )
}
