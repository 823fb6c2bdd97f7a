// What an approval covers. An approval to restart one VM does not cover two. So if an event grows,
// people decide again. If Azure was told before, it has a minute to start the event first.
import { type Agreed, type EventRecord, isOpen } from './event.ts'
import { addHistory } from './history.ts'
import type { SightedEvent } from './observer.ts'
import { namesKey } from './vm-names.ts'

type Covered = Pick<
  SightedEvent,
  'eventType' | 'resources' | 'namesHash' | 'source' | 'durationSeconds'
>

export function agreedOf({ facts }: Pick<EventRecord, 'facts'>, byRule: boolean): Agreed {
  const { eventType, source, durationSeconds } = facts
  return {
    eventType,
    resources: namesIn(facts),
    ...(source === undefined ? {} : { source }),
    ...(byRule && durationSeconds !== undefined ? { durationSeconds } : {}),
  }
}

/** Whether the approval covers the event. */
export function isWithin(agreed: Agreed | undefined, event: Covered): boolean {
  if (agreed === undefined) return false
  const { eventType, resources, source, durationSeconds } = agreed
  const asRequested =
    source === undefined ||
    event.source === undefined ||
    event.source.toLowerCase() === source.toLowerCase()
  const asLong = durationSeconds === undefined || event.durationSeconds === undefined
  return (
    event.eventType.toLowerCase() === eventType.toLowerCase() &&
    asRequested &&
    (asLong || event.durationSeconds === durationSeconds) &&
    areWithin(event, resources)
  )
}

/** If only a part of the event's list is stored, compares the hash of the whole list. */
function areWithin(event: Covered, resources: string[]): boolean {
  if (event.namesHash !== undefined) return event.namesHash === namesKey({ resources })
  return namesIn(event).every((name) => resources.includes(name))
}

/** An approval lapses if it does not cover the event and Azure was not told yet. */
export function withoutOutgrown(record: EventRecord, own: Covered, at: number): EventRecord {
  return mayLapse(record) && !isCovered(record, own) ? lapse(record, at) : record
}

/** Whether the approval covers the event. If a rule made it, it must cover this document, too. */
export function isCovered({ facts, verdict }: EventRecord, own: Covered): boolean {
  const byRule = verdict?.how === 'policy'
  return isWithin(verdict?.agreed, facts) && (!byRule || isWithin(verdict.agreed, own))
}

export type Approved = EventRecord & { verdict: NonNullable<EventRecord['verdict']> }

/** Whether the event is approved and Azure was not told yet. */
export function mayLapse(record: EventRecord): record is Approved {
  const isWaiting = record.phase === 'scheduled' && isOpen(record) && record.passedOn === undefined
  return isWaiting && record.verdict?.decision === 'approved'
}

export function lapse(record: Approved, at: number): EventRecord {
  // without `stuckAt`, a later approval can be reported as stuck again
  const { verdict, passedOn, stuckAt: _s, startFailure: _f, ...undecided } = record
  const overruled = { ...verdict, lapsedAt: at }
  const told = passedOn === undefined ? {} : { passedOnBefore: passedOn }
  return addHistory({ ...undecided, ...told, overruled, lapsedAt: at }, { at, what: 'lapsed' })
}

/** Azure's 200 to a start of ours, also if the approval no longer applies. */
export function lastPassedOn({ passedOn, passedOnBefore }: EventRecord): EventRecord['passedOn'] {
  return passedOn ?? passedOnBefore
}

/** In lower case and sorted, as in approvals. */
export function namesIn({ resources }: Pick<Covered, 'resources'>): string[] {
  return resources.map((name) => name.toLowerCase()).sort()
}
