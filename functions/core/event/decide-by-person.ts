// A person decides an event: approve, not now, or let its VMs prepare at once.
import { type Permission, permissionOf } from '../rules/permission.ts'
import type { Route } from '../rules/routes.ts'
import { type DecideOutcome, decide, stampOf } from './approval.ts'
import { nextLook } from './conclude.ts'
import type { Decision, Loaded, Needs } from './decision.ts'
import { knownOf } from './drill.ts'
import type { Decider, EventRecord, Verdict } from './event.ts'
import { prepareNow } from './preparation.ts'
import { withHeard } from './witness.ts'

export interface Wish {
  decision: Verdict['decision'] | 'prepare'
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
  { observers }: Loaded,
  routes: Route[],
  now: number,
): PersonDecision | Needs {
  const decided =
    decision === 'prepare'
      ? prepareNow(before, by, now)
      : decide(before, { decision, how: by.how, who: by.who, at: now })
  const unchanged = { record: before, moments: [] }
  if (decided.outcome !== 'decided') return { ...unchanged, reason: decided.outcome }
  if (observers === undefined) return { needs: 'observers' }
  const permission = permissionOf(routes, before, knownOf(before, observers), by)
  if (permission !== 'allowed') return { ...unchanged, reason: permission, permission }
  if (seen !== undefined && seen !== stampOf(before)) return { ...unchanged, reason: 'moved_on' }
  const { record, moments } = decided
  // nothing is decided, so the next look and its reminders stay
  if (decision === 'prepare') return { record, moments, reason: 'decided' }
  const dueAt = nextLook(record, withHeard(before, observers), now)
  return { record: { ...record, dueAt }, moments, reason: 'decided' }
}
