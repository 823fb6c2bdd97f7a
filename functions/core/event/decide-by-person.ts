// A person decides an event: approve, not now, or let its VMs prepare at once. Or takes it: others see
// who looks at it.
import { judgePermission, type Permission } from '../rules/permission.ts'
import type { Route } from '../rules/routes.ts'
import { type DecideOutcome, decide, makeStamp } from './approval.ts'
import { type Decision, withDueAt } from './decide.ts'
import { knownVms } from './drill.ts'
import { type Decided, type Decider, type EventRecord, isOpen, type OpenRecord } from './event.ts'
import { addHistory, decisionNote } from './history.ts'
import { prepareNow } from './preparation.ts'
import type { Listening } from './sight.ts'

export interface Wish {
  decision: Decided['decision'] | 'prepare' | 'take' | 'give_back'
  by: Decider
  /** The reason for the decision. At most `maxReasonLength` characters. */
  reason?: string
  /** `makeStamp` what the person saw. Absent if the person named the event itself. */
  seen?: string
}

type Forbidden = Exclude<Permission, 'allowed'>

export interface PersonDecision extends Decision {
  record: EventRecord
  /** Anything but `decided` says why the decision is not accepted. */
  outcome: DecideOutcome['outcome'] | Forbidden | 'moved_on'
  /** Why this person may not decide. */
  permission?: Forbidden
}

export function decideByPerson(
  before: EventRecord,
  wish: Wish,
  routes: Route[],
  listening: Listening,
): PersonDecision {
  const { by, seen } = wish
  const decided = judge(before, wish, listening.now)
  const unchanged = { record: before, moments: [] }
  if (decided.outcome !== 'decided') return { ...unchanged, outcome: decided.outcome }
  const permission = judgePermission(routes, before, knownVms(before), by)
  if (permission !== 'allowed') return { ...unchanged, outcome: permission, permission }
  if (seen !== undefined && seen !== makeStamp(before)) return { ...unchanged, outcome: 'moved_on' }
  const { record, moments } = decided
  // nothing is decided, so reminders stay
  if (!isDecision(wish.decision)) return { record, moments, outcome: 'decided' }
  return {
    record: withDueAt(record, { reminders: [], rules: [], listening }),
    moments,
    outcome: 'decided',
  }
}

function isDecision(wish: Wish['decision']): wish is Decided['decision'] {
  return wish === 'approved' || wish === 'declined'
}

function judge(before: EventRecord, { decision, by, reason }: Wish, now: number) {
  const who = { how: by.how, who: by.who, ...(by.name && { name: by.name }), at: now }
  if (isDecision(decision)) return decide(before, { decision, ...who, ...(reason && { reason }) })
  if (decision === 'prepare') return prepareNow(before, by, now)
  if (!isOpen(before)) return { outcome: 'ended' as const }
  const { taken: _, ...free } = before
  const isTaken = decision === 'take'
  const what = isTaken ? ('taken' as const) : ('given_back' as const)
  const record = addHistory(isTaken ? { ...before, taken: who } : (free as OpenRecord), {
    ...{ at: now, what, note: decisionNote(by) },
  })
  return { outcome: 'decided' as const, record, moments: [] }
}
