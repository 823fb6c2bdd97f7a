// Collects what the page of a link shows: the event or the events of a list, what the viewer may do
// (see viewer.ts), and the token of each form.

import { inSlices } from '../../../shared/slices.ts'
import { makeStamp } from '../../core/event/approval.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { createFormToken, type LinkToken, type ListToken, readOne } from '../../links/link.ts'
import type { Seen } from '../../pages/event.ts'
import type { Listed } from '../../pages/list.ts'
import { openToken } from '../../use-cases/decide-event.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { findViewer, type Visit } from './viewer.ts'

/** An event may name 200 VMs: reading twenty such takes 100 ms, for which reports would wait. */
const fewEvents = 4

/** A page that answers a press ignores presses for this long: it may be a double tap. */
export const pressGuardMs = 1_500

/** The person who asks for a page. */
export interface Visitor extends Pick<Visit, 'header' | 'path'> {
  /** The visitor comes from a page of ours, so a second tap may hit this page before they have read it. */
  pressed: boolean
}

/** The event as a link shows it. Its form is bound to `shownBy`. */
export async function seenBy(
  relay: Relay,
  record: EventRecord,
  shownBy: string,
  { channel }: LinkToken,
  visitor: Visitor,
): Promise<Seen> {
  const viewer = await findViewer(relay, record, { ...visitor, channel })
  const countsAt = visitor.pressed ? relay.now() + pressGuardMs : 0
  const form = await createFormToken(
    relay.credentials.linkKeys,
    shownBy,
    makeStamp(record),
    countsAt,
  )
  return { record, viewer, form, listed: shownBy.includes(placeMark) }
}

/** No link contains it. */
const placeMark = '#'

/** The binding of the form of one event in a list. */
export function placeIn(link: string, place: string | number): string {
  return link + placeMark + place
}

/** Undefined: the relay has removed the event, or it ended long ago. */
export function readRecords(relay: Relay, list: ListToken): Promise<(EventRecord | undefined)[]> {
  const readAt = async (place: number) => {
    const opened = await openToken(relay, readOne(list, String(place))!)
    return opened.outcome === 'open' ? opened.record : undefined
  }
  return inSlices(
    [...list.events.keys()],
    relay.host.pause,
    (places) => Promise.all(places.map(readAt)),
    fewEvents,
  )
}

/** These events as the page of the list shows them. */
export function composeList(
  relay: Relay,
  link: string,
  list: ListToken,
  records: (EventRecord | undefined)[],
  visitor: Visitor,
): Promise<Listed[]> {
  const composeAt = async ([place, record]: [number, EventRecord | undefined]) => {
    const own = readOne(list, String(place))!
    return record && seenBy(relay, record, placeIn(link, place), own, visitor)
  }
  return inSlices(
    [...records.entries()],
    relay.host.pause,
    (some) => Promise.all(some.map(composeAt)),
    fewEvents,
  )
}
