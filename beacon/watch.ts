// Two documents of this VM in, the steps between them out. Pure: the relay decides what they mean.
import type { ScheduledEvent } from '../shared/document.ts'

/** What one successful poll showed. */
export interface Snapshot {
  /** When the answer arrived, monotonic ms. */
  seenAt: number
  events: readonly ScheduledEvent[]
}

/** One step between two documents: a change of shared/report.ts, with instants in place of ages. */
export interface Step {
  kind: 'appeared' | 'changed' | 'gone'
  /** When the document that shows the step arrived, monotonic ms. */
  seenAt: number
  /** For `gone`: when the last document with the event arrived. */
  lastSeenAt?: number
  /** For `appeared`: there was no earlier document that could have shown it. */
  firstPoll: boolean
  /** As the newer document has it; for `gone`, as the older had it. */
  event: ScheduledEvent
}

/** The steps from `last` to `next`, in the order of the documents, the gone ones last. */
export function watch(last: Snapshot | undefined, next: Snapshot): Step[] {
  const { seenAt } = next
  const steps: Step[] = []
  for (const event of next.events) {
    const before = find(last, event.eventId)
    if (before === undefined) {
      steps.push({ kind: 'appeared', seenAt, firstPoll: last === undefined, event })
    } else if (differs(before, event)) {
      steps.push({ kind: 'changed', seenAt, firstPoll: false, event })
    }
  }
  for (const event of last?.events ?? []) {
    if (find(next, event.eventId) !== undefined) continue
    const lastSeenAt = last?.seenAt ?? seenAt
    steps.push({ kind: 'gone', seenAt, lastSeenAt, firstPoll: false, event })
  }
  return steps
}

/** Whether the event hits this VM. The whole name counts: `vm1` is not `vm10`. */
export function hits(event: ScheduledEvent, vmName: string): boolean {
  const wanted = vmName.toLowerCase()
  return event.resources.some((name) => name.toLowerCase() === wanted)
}

function find(snapshot: Snapshot | undefined, eventId: string): ScheduledEvent | undefined {
  return snapshot?.events.find((event) => event.eventId === eventId)
}

function differs(before: ScheduledEvent, after: ScheduledEvent): boolean {
  return (
    before.status !== after.status ||
    moved(before.notBeforeAt, after.notBeforeAt) ||
    moved(before.durationSeconds, after.durationSeconds) ||
    moved(before.description, after.description) ||
    moved(setOf(before.resources), setOf(after.resources))
  )
}

/** A value that is no longer given is not a new value: NotBefore is emptied once Started. */
function moved(before: unknown, after: unknown): boolean {
  return after !== undefined && after !== before
}

/** Azure promises no order of the names, and their case says nothing. */
function setOf(names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined
  return JSON.stringify(names.map((name) => name.toLowerCase()).sort())
}
