// Compares two documents of this VM and returns the steps between them. Pure: the relay decides
// what they mean. A document can hide an event, in an unreadable entry or because of an older api-
// version. Then the event is kept as last seen: a wrong end is worse than a late one.
import {
  type ApiVersion,
  limits,
  type ScheduledEvent,
  shows,
  type Unreadable,
  unknownType,
} from '../shared/document.ts'

/** What one successful poll showed. */
export interface Shown {
  /** When the answer arrived, monotonic ms. */
  seenAt: number
  apiVersion: ApiVersion
  incarnation?: number
  events: readonly ScheduledEvent[]
  unreadable: Unreadable
}

/** What one successful poll showed, and what the beacon knows from earlier polls. */
export interface Snapshot extends Shown {
  /** Events that the document lacks but may hide. */
  hidden: readonly Hidden[]
  /** Each event's values as any document last showed them, by the ids of `events` and `hidden`. */
  known: ReadonlyMap<string, ScheduledEvent>
}

interface Hidden {
  /** The event as the last document that contained it showed it. */
  event: ScheduledEvent
  /** When that document arrived, and its unreadable entries. */
  lastSeenAt: number
  unreadable: Unreadable
  /** When the first document without it arrived. */
  since: number
}

/** One step between two documents: a change of shared/report.ts, with instants in place of ages. */
export interface Step {
  kind: 'appeared' | 'changed' | 'gone'
  /** When the document that shows the step arrived, monotonic ms. */
  seenAt: number
  /** For `gone`: when the last document with the event arrived. */
  lastSeenAt?: number
  /** For `appeared`: no document of the last seconds could have shown it. */
  firstPoll: boolean
  /** The event in the newer document. For `gone`: in the older one. */
  event: ScheduledEvent
}

interface Watched {
  snapshot: Snapshot
  /** The steps are in the order of the documents, `gone` last. */
  steps: Step[]
  /** Events with a value that the previous api-version did not show. These are no steps. */
  learned: ScheduledEvent[]
}

/**
 * How long an event may count as hidden. An unreadable entry can belong to another event, and an
 * event that ended must end here, too.
 */
export const hiddenForMs = 5 * 60_000

/** If polls failed for longer, an event may have been announced and may have started unseen. */
export const blindMs = 10_000

export function watch(last: Snapshot | undefined, next: Shown): Watched {
  const { seenAt } = next
  if (last !== undefined && isRepeated(last, next)) {
    return { snapshot: { ...last, seenAt }, steps: [], learned: [] }
  }
  const { steps, learned, known } = shownSteps(last, next)
  const hidden: Hidden[] = []
  for (const missing of findMissing(last, next, known)) {
    const { event, lastSeenAt } = missing
    if (isHidden(missing, next) && next.events.length + hidden.length < limits.events) {
      hidden.push(missing)
      known.set(event.eventId, last?.known.get(event.eventId) ?? event)
    } else {
      steps.push({ kind: 'gone', seenAt, lastSeenAt, firstPoll: false, event })
    }
  }
  return { snapshot: { ...next, hidden, known }, steps, learned }
}

/** The steps of the events in the document, and what is known of each. */
function shownSteps(last: Snapshot | undefined, next: Shown) {
  const { seenAt } = next
  const wasBlind = last === undefined || seenAt - last.seenAt > blindMs
  const steps: Step[] = []
  const learned: ScheduledEvent[] = []
  const known = new Map<string, ScheduledEvent>()
  for (const event of next.events) {
    const before = last?.known.get(event.eventId)
    known.set(event.eventId, merged(before, event))
    if (before === undefined) {
      steps.push({ kind: 'appeared', seenAt, firstPoll: wasBlind, event })
      continue
    }
    const news = newsIn(before, event)
    const isSameVersion = last?.apiVersion === next.apiVersion
    if (news.includes('changed') || (isSameVersion && news.includes('visible'))) {
      steps.push({ kind: 'changed', seenAt, firstPoll: false, event })
    } else if (news.length > 0) learned.push(event)
  }
  return { steps, learned, known }
}

/** Whether the very same document was watched before, so that it shows no step. */
function isRepeated(
  last: Snapshot,
  { events, unreadable, apiVersion, incarnation }: Shown,
): boolean {
  const isSame = events === last.events && unreadable === last.unreadable
  const isSameVersion = apiVersion === last.apiVersion && incarnation === last.incarnation
  return isSame && isSameVersion && last.hidden.length === 0
}

function findMissing(
  last: Snapshot | undefined,
  { seenAt }: Shown,
  shown: ReadonlyMap<string, ScheduledEvent>,
): Hidden[] {
  if (last === undefined) return []
  const { unreadable } = last
  const were = last.events.map((event) => {
    return { event, lastSeenAt: last.seenAt, unreadable, since: seenAt }
  })
  return [...were, ...last.hidden].filter(({ event }) => !shown.has(event.eventId))
}

/** Whether a document without the event may still hide it. */
function isHidden({ event, unreadable, since }: Hidden, next: Shown): boolean {
  if (next.seenAt - since >= hiddenForMs) return false
  return !shows(next.apiVersion, event.eventType) || hasMore(unreadable, next.unreadable)
}

/** Whether there is a new unreadable entry. An unchanged entry hides nothing new. */
function hasMore(before: Unreadable, now: Unreadable): boolean {
  const left = [...before.samples]
  const isNew = now.samples.map((sample) => {
    const at = left.indexOf(sample)
    if (at !== -1) left.splice(at, 1)
    return at === -1
  })
  return now.count > before.count || isNew.includes(true)
}

/** The event's values in this document, else those in earlier documents. */
function merged(before: ScheduledEvent | undefined, event: ScheduledEvent): ScheduledEvent {
  if (before === undefined) return event
  return {
    ...before,
    ...event,
    eventType: event.eventType === unknownType ? before.eventType : event.eventType,
    resources: event.resources.length === 0 ? before.resources : event.resources,
  }
}

/** Says of each new value whether it replaces another one (`changed`), or none was known (`visible`). */
function newsIn(before: ScheduledEvent, after: ScheduledEvent): ('changed' | 'visible')[] {
  const pairs: [unknown, unknown][] = [
    [before.status, after.status],
    [typeIn(before), typeIn(after)],
    [lower(before.source), lower(after.source)],
    [before.notBeforeAt, after.notBeforeAt],
    [before.durationSeconds, after.durationSeconds],
    [before.description, after.description],
    [toSet(before.resources), toSet(after.resources)],
  ]
  // A missing value is not a new value: IMDS empties NotBefore once the event is Started.
  const differing = pairs.filter(([was, is]) => is !== undefined && is !== was)
  return differing.map(([was]) => (was === undefined ? 'visible' : 'changed'))
}

function typeIn({ eventType }: ScheduledEvent): string | undefined {
  return eventType === unknownType ? undefined : lower(eventType)
}

function lower(text: string | undefined): string | undefined {
  return text?.toLowerCase()
}

/** Azure promises no order of the names, and their case says nothing. */
function toSet(names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined
  return JSON.stringify(names.map((name) => name.toLowerCase()).sort())
}
