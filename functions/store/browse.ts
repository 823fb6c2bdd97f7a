// What the console reads: open events, and a search of all events. Every list has a limit and goes on at a cursor that only the store can
// read. A page may be shorter than its limit and still not be the last one.
import type { EventRecord } from '../core/event/event.ts'
import type { EventStep, EventSummary } from '../core/event/summary.ts'

interface Page {
  /** `next` of the page before. */
  after?: string | undefined
  /** At least 1. */
  limit: number
}

export interface EventSearch extends Page {
  fleets: readonly string[]
  eventType?: string | undefined
  step?: EventStep | undefined
  /**
   * The beginning of the name of an affected VM, or of the event's id. Its case does not matter. If
   * very many names begin with it, some may be missing.
   */
  prefix?: string | undefined
  /** First seen at this time or later, and before. Epoch ms. */
  since?: number | undefined
  until?: number | undefined
}

export interface EventsFound {
  events: EventSummary[]
  /** Absent on the last page. */
  next?: string
}

export interface BrowseStore {
  /** Open events, without alerts, at most `limit`. Those whose NotBefore is next come first. */
  listOpen(fleets: readonly string[], limit: number): Promise<EventRecord[]>

  /** Events that match, without alerts. The event that was first seen last comes first. */
  findEvents(search: EventSearch): Promise<EventsFound>
}
