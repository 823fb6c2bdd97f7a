// Keeps an event small enough for one row. If a commit needs more room, it cuts history, then lists of
// VMs. So false reports cannot make a later report or decision fail.

import { namesIn } from './agreed.ts'
import type { EventRecord } from './event.ts'
import { leastValuable, maxNoteLength, shortNote } from './history.ts'
import type { EventView } from './view.ts'

/** Characters of an event as JSON. A row of Azure Tables holds 480 000. */
export const maxEventLength = 400_000
/** Shorter lists are stored twice, so that rows stay readable. */
const shortList = 16
const asInFacts = '='

/** The event for a store. If the approved VMs equal those in the facts, they are stored once. */
export function packEvent<Event extends EventRecord | EventView>(event: Event): Event {
  const { verdict, facts } = event
  const { agreed } = verdict ?? {}
  if (agreed === undefined || agreed.resources.length < shortList) return event
  if (!isSame(agreed.resources, namesIn(facts))) return event
  const packed = { ...verdict, agreed: { ...agreed, resources: asInFacts } }
  return { ...event, verdict: packed as unknown as Event['verdict'] }
}

/** Reverses `packEvent`. */
export function unpackEvent<Event extends EventRecord | EventView>(event: Event): Event {
  const { verdict } = event
  const { agreed } = verdict ?? {}
  if ((agreed?.resources as unknown) !== asInFacts) return event
  const resources = namesIn(event.facts)
  return { ...event, verdict: { ...verdict, agreed: { ...agreed, resources } } as Event['verdict'] }
}

export function eventLength(event: EventRecord): number {
  return JSON.stringify(packEvent(event)).length
}

/**
 * Cuts the record to `maxEventLength`. First cuts history, except decisions and the first entry,
 * then lists of VMs that only older messages or pages show.
 */
export function fitEvent(record: EventRecord): EventRecord {
  let fitted = withShortNotes(record)
  let over = eventLength(fitted) - maxEventLength
  if (over <= 0) return fitted
  fitted = cutHistory(fitted, over)
  for (const lighten of [
    withoutUnready,
    withoutFormerNames,
    withoutFormerApproval,
    withoutCoverage,
  ]) {
    over = eventLength(fitted) - maxEventLength
    if (over <= 0) break
    fitted = lighten(fitted)
  }
  return fitted
}

function withShortNotes(record: EventRecord): EventRecord {
  const isLong = ({ note = '' }: { note?: string }) => note.length > maxNoteLength
  if (!record.history.some(isLong)) return record
  return { ...record, history: record.history.map(shortNote) }
}

/** Removes the least valuable entries until this many characters are free. */
function cutHistory(record: EventRecord, length: number): EventRecord {
  let free = 0
  const history = [...record.history]
  while (free < length) {
    const next = leastValuable(history, 'keep_decisions')
    if (next === undefined) break
    const [cut] = history.splice(next, 1)
    free += JSON.stringify(cut).length + 1
  }
  return { ...record, history }
}

/** Drops the list of VMs that are not ready, and keeps the counts. */
function withoutUnready(record: EventRecord): EventRecord {
  const { readiness } = record
  return readiness === undefined ? record : { ...record, readiness: { ...readiness, unready: [] } }
}

/** The message then says that the VMs changed, but not from which ones. */
function withoutFormerNames(record: EventRecord): EventRecord {
  const { resources: _, ...changedFrom } = record.changedFrom ?? {}
  return record.changedFrom === undefined ? record : { ...record, changedFrom }
}

function withoutFormerApproval(record: EventRecord): EventRecord {
  if (record.overruled === undefined) return record
  const { agreed: _, ...overruled } = record.overruled
  return { ...record, overruled }
}

/** Drops the list of approved VMs. Then the approval covers no VM, so it starts nothing. */
function withoutCoverage(record: EventRecord): EventRecord {
  const { verdict } = record
  if (verdict?.agreed === undefined) return record
  return { ...record, verdict: { ...verdict, agreed: { ...verdict.agreed, resources: [] } } }
}

function isSame(some: string[], others: string[]): boolean {
  return some.length === others.length && some.every((name, i) => name === others[i])
}
