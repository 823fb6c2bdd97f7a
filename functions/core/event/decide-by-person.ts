// A person decides an event: approve, not now, or let its VMs prepare at once.
import { type Permission, permissionOf } from '../rules/permission.ts'
import type { Route } from '../rules/routes.ts'
import { type DecideOutcome, decide, stampOf } from './approval.ts'
import { type Decision, withDueAt } from './decide.ts'
import { knownVms } from './drill.ts'
import type { Decided, Decider, EventRecord } from './event.ts'
import { prepareNow } from './preparation.ts'
import type { Listening } from './sight.ts'

export interface Wish {
  decision: Decided['decision'] | 'prepare'
  by: Decider
  /** `stampOf` what the person saw. Absent if the person named the event itself. */
  seen?: string
}

type Forbidden = Exclude<Permission, 'allowed'>

export interface PersonDecision extends Decision {
  record: EventRecord
  reason: DecideOutcome['outcome'] | Forbidden | 'moved_on'
  /** Why this person may not decide. */
  permission?: Forbidden
}

/** The `reason` says why a decision is not accepted. */
export function decideByPerson(
  before: EventRecord,
  { decision, by, seen }: Wish,
  routes: Route[],
  listening: Listening,
): PersonDecision {
  const { now } = listening
  const decided =
    decision === 'prepare'
      ? prepareNow(before, by, now)
      : decide(before, { decision, how: by.how, who: by.who, at: now })
  const unchanged = { record: before, moments: [] }
  if (decided.outcome !== 'decided') return { ...unchanged, reason: decided.outcome }
  const permission = permissionOf(routes, before, knownVms(before), by)
  if (permission !== 'allowed') return { ...unchanged, reason: permission, permission }
  if (seen !== undefined && seen !== stampOf(before)) return { ...unchanged, reason: 'moved_on' }
  const { record, moments } = decided
  // nothing is decided, so reminders stay
  if (decision === 'prepare') return { record, moments, reason: 'decided' }
  return { record: withDueAt(record, [], listening), moments, reason: 'decided' }
}
