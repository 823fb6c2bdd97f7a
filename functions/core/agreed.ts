// What an approval covers. Whoever agreed to restart one VM has not agreed to restart two, so an event that
// grows before Azure was told is decided anew.
import type { ScheduledEvent } from '../../shared/document.ts'
import { type Agreed, addHistory, type EventRecord, isOpen } from './event.ts'

type Covered = Pick<ScheduledEvent, 'eventType' | 'resources' | 'durationSeconds'>

export function agreedOf({ facts }: Pick<EventRecord, 'facts'>, byRule: boolean): Agreed {
  const { eventType, durationSeconds } = facts
  const bounded = byRule && durationSeconds !== undefined ? { durationSeconds } : {}
  return { eventType, resources: namesIn(facts), ...bounded }
}

/** Whether an event is no more than what was agreed to; it may be less. */
export function isWithin(agreed: Agreed | undefined, event: Covered): boolean {
  if (agreed === undefined) return true
  const { eventType, resources, durationSeconds } = agreed
  const asLong = durationSeconds === undefined || event.durationSeconds === undefined
  return (
    event.eventType.toLowerCase() === eventType.toLowerCase() &&
    (asLong || event.durationSeconds === durationSeconds) &&
    namesIn(event).every((name) => resources.includes(name))
  )
}

/** An approval that Azure does not know of and that the event has outgrown is one no more. */
export function withoutOutgrown(record: EventRecord, at: number): EventRecord {
  const { verdict, ...undecided } = record
  const stands =
    verdict?.decision !== 'approved' ||
    record.passedOn !== undefined ||
    record.phase !== 'scheduled' ||
    !isOpen(record) ||
    isWithin(verdict.agreed, record.facts)
  if (stands) return record
  const overruled = { ...verdict, lapsedAt: at }
  return addHistory({ ...undecided, overruled }, { at, what: 'lapsed' })
}

/** In lower case and order, as approvals list them. */
export function namesIn({ resources }: Pick<Covered, 'resources'>): string[] {
  return resources.map((name) => name.toLowerCase()).sort()
}
