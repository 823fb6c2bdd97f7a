// What a document adds to the known facts of an event, and what it changes.
import { isSameName, limits, type ScheduledEvent } from '../../../shared/document.ts'
import { disputable, type EventRecord, type Facts, type Values } from './event.ts'
import type { SightedEvent } from './observer.ts'
import { namesKey, namesThatFit } from './vm-names.ts'

/** One document of a beacon that shows the event. */
interface Seen {
  /** Poll time by the relay's clock. */
  at: number
  /** False for a change from the spool. */
  live: boolean
  event: ScheduledEvent
  /** The event in this beacon's last document. */
  previous?: SightedEvent
}

/** Fills in values that were unknown. Keys keep their order, so that equal facts are equal text. */
export function merge(known: Facts, event: ScheduledEvent): Facts {
  const { eventId: _id, status: _status, ...seen } = event
  return {
    ...known,
    ...seen,
    ...known,
    eventType: known.eventType === 'Unknown' ? seen.eventType : known.eventType,
    resources: known.resources.length === 0 ? seen.resources : known.resources,
  }
}

/** The values that this beacon saw change, and that are new to the record. */
export function transition({ facts, changedAt }: EventRecord, seen: Seen): Partial<Values> {
  const { event, previous, at } = seen
  const names = [...disputable, 'notBeforeAt', 'description'] as const
  const differing: Partial<Values> = {}
  for (const name of names) {
    const value = event[name]
    if (isUnknown(value)) continue
    // a newer api-version shows more values, but nothing changed
    if (sinceNewer.includes(name) && previous?.[name] === undefined && facts[name] === undefined) {
      continue
    }
    if (at < (changedAt?.[name] ?? 0)) continue
    const isKnown = [previous, facts].some((known) => known && isSame(name, known, event))
    if (!isKnown) Object.assign(differing, { [name]: value })
  }
  return differing
}

/** Values that older api-versions do not show. */
const sinceNewer = ['source', 'durationSeconds', 'description']

/** Whether the document does not contain the value. */
function isUnknown(value: unknown): boolean {
  return value === undefined || value === 'Unknown' || (Array.isArray(value) && value.length === 0)
}

/**
 * A beacon's first document of an event shows no change. But people who decide must know every VM
 * that it names, so VMs are added, but not removed.
 */
export function addedByNewcomer(
  { facts, changedAt, firstSeenAt }: EventRecord,
  seen: Seen,
): Partial<Values> {
  const isNews = seen.live && seen.at > (changedAt?.resources ?? firstSeenAt)
  const known = facts.resources.map((name) => name.toLowerCase())
  const more = seen.event.resources.filter((name) => !known.includes(name.toLowerCase()))
  // if no VM was known, `merge` adds them
  if (!isNews || known.length === 0 || more.length === 0) return {}
  const fitting = namesThatFit(more, facts.resources)
  const resources = [...facts.resources, ...fitting].slice(0, limits.resources)
  return resources.length === known.length ? {} : { resources }
}

function isSame(name: keyof Values, one: Facts | SightedEvent, other: ScheduledEvent): boolean {
  if (name === 'resources') return namesKey(one) === namesKey(other)
  const [text, otherText] = [one[name], other[name]]
  if (name === 'description' || typeof text !== 'string' || typeof otherText !== 'string') {
    return text === otherText
  }
  return isSameName(text, otherText)
}

export function replaced(known: Facts, differing: Partial<Values>): Partial<Values> {
  return Object.fromEntries(Object.entries(known).filter(([name]) => name in differing))
}

/** If more VMs changed, the history gives their number instead of their names. */
const maxNamedVms = 5

export function noteOf(values: Partial<Values>): string {
  return Object.entries(values)
    .map(([name, value]) => {
      if (name === 'notBeforeAt') return `NotBefore ${new Date(Number(value)).toISOString()}`
      if (Array.isArray(value) && value.length > maxNamedVms) return `${name}: ${value.length} VMs`
      return `${name} ${JSON.stringify(value)}`
    })
    .join(', ')
}
