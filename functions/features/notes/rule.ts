// A note of an owner on an event: what others should know before they decide.
import { iso } from '../../../shared/json.ts'
import type { Display } from '../../core/event/display.ts'
import type { Decider, EventRecord } from '../../core/event/event.ts'
import { addHistory, decisionNote } from '../../core/event/history.ts'

interface OwnerNote {
  text: string
  /** Epoch ms. */
  at: number
  by: Decider
}

declare module '../../core/event/event.ts' {
  interface FeatureFields {
    ownerNote?: OwnerNote
  }
  interface FeatureSteps {
    owner_note: true
  }
}

declare module '../../core/event/display.ts' {
  interface FeatureView {
    ownerNote?: { text: string; at: string; by: string }
  }
}

/** The event with this note in the place of the last one. Empty: without a note. */
export function withOwnerNote(
  record: EventRecord,
  text: string,
  by: Decider,
  now: number,
): EventRecord {
  const { ownerNote: before, ...rest } = record
  if (text === (before?.text ?? '')) return record
  const next = text === '' ? (rest as EventRecord) : { ...record, ownerNote: { text, at: now, by } }
  const note = text === '' ? {} : { note: `${decisionNote(by)}: ${text}` }
  return addHistory(next, { at: now, what: 'owner_note', ...note })
}

export const noteFields = ['ownerNote'] as const

export const noteDisplay: Display = {
  shows: ({ ownerNote }) =>
    ownerNote === undefined
      ? {}
      : {
          ownerNote: {
            text: ownerNote.text,
            at: iso(ownerNote.at),
            by: decisionNote(ownerNote.by),
          },
        },
  badge: ({ ownerNote }) => (ownerNote === undefined ? '' : 'note'),
}

export const noteSteps = {
  owner_note: {
    bare: 'A note was removed',
    withNote: (note: string) => `Note of ${note}`,
  },
}
