// An event as messages, pages and the API show it.
import type { EventRecord } from './event.ts'
import type { Extent } from './hit-vms.ts'

/** The part of a record that a message may need. */
export type EventView = Omit<EventRecord, 'sights' | 'history' | 'dueAt'> &
  Extent & {
    /** The event is made up for a test of a stored channel. */
    test?: true
  }

export function toView(record: EventRecord): EventView {
  const { sights: _s, history: _h, dueAt: _d, ...view } = record
  const { directive: _l, ...azure } = record.azure
  return { ...view, azure }
}

/** Stands in for the event in a message that is about none: a ping, or an alert. */
export function noEvent(
  key: Pick<EventView, 'fleet' | 'eventId' | 'epoch' | 'sequence'> & { eventType: string },
  now: number,
): EventView {
  const { eventType, ...own } = key
  return {
    ...own,
    phase: 'scheduled',
    facts: { eventType, resources: [] },
    firstSeenAt: now,
    azure: {},
    wait: {},
    overruled: [],
    reminders: { passed: [] },
    policy: { decide: 'notify', rule: eventType.toLowerCase() },
  }
}
