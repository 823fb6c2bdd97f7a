// What an event shows of a feature.
import type { EventRecord } from './event.ts'

/** What features add to the public view of an event. Each adds its own by declaration merging. */
// biome-ignore lint/suspicious/noEmptyInterface: features add to it
export interface FeatureView {}

export interface Display {
  /** What the API, webhooks and streams show. */
  shows(event: Omit<EventRecord, 'sights' | 'history' | 'dueAt'>): FeatureView
  /** One word in the event's row of the console. Empty: none. */
  badge(record: EventRecord): string
}

/** How the timeline of an event says a step. */
export interface StepWords {
  bare: string
  withNote(note: string): string
}
