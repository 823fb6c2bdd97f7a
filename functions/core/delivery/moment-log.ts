// The log of moments: every step of every event, in order, for other systems that follow it. Who is
// notified of a moment is another question, see audience.ts.

import type { EventRecord } from '../event/event.ts'
import type { Moment } from '../event/moment.ts'
import type { EventView } from '../event/view.ts'
import { matchEvent } from '../rules/match.ts'
import { momentId, type Notification } from './delivery.ts'

/** One moment, as the commit that decided it writes it. */
export interface MomentEntry {
  /** `fleet/eventId/epoch/moment`, as in ids of deliveries. Writing it twice changes nothing. */
  id: string
  notification: Notification
}

export interface LoggedMoment extends MomentEntry {
  /** Positions begin with 1. A moment that appears later has a higher position. There may be gaps. */
  position: number
}

/** Conditions of a subscriber. All must hold. Of a list, any value is enough. */
export interface MomentFilter {
  fleets?: string[] | undefined
  eventTypes?: string[] | undefined
  moments?: string[] | undefined
  /** Glob over the names of VMs: one VM of the event must match. */
  resource?: string | undefined
}

export function entriesFor(
  record: EventRecord,
  moments: Moment[],
  event: EventView,
  now: number,
): MomentEntry[] {
  return moments.map((moment) => ({
    id: momentId(record, moment),
    notification: { moment, at: now, event },
  }))
}

export function passes(
  { fleets, eventTypes, moments, resource }: MomentFilter,
  { moment, event }: Notification,
): boolean {
  const match = {
    fleet: fleets,
    eventType: eventTypes,
    resource: resource === undefined ? undefined : [resource],
  }
  const isWanted = moments?.includes(moment) ?? true
  return isWanted && matchEvent(match, event.fleet, event.facts, []) !== 'none'
}
