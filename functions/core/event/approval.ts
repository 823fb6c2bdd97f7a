// Takes a decision of a person or a rule into the event. `directive.ts` passes an approval on.
import { hash } from '../hash.ts'
import {
  type Decided,
  type EventRecord,
  isOpen,
  type OpenRecord,
  type ScopedVm,
  withOverruled,
} from './event.ts'
import { type Undecidable, undecidable } from './facts.ts'
import { addHistory, decisionNote } from './history.ts'
import type { Moment } from './moment.ts'
import { toScope } from './scope.ts'

export type DecideOutcome =
  | { outcome: 'decided'; record: OpenRecord; moments: Moment[] }
  | { outcome: 'already_approved' | 'already_declined' | 'started' | 'ended' | Undecidable }

/**
 * Identifies what a person decides about: epoch, type, source, VMs, and what was decided. Forms and
 * buttons send it back, so that nobody approves an event that has changed, or that a colleague has left
 * to Azure since.
 */
export function makeStamp({
  epoch,
  facts,
  decided,
}: Pick<EventRecord, 'epoch' | 'facts' | 'decided'>): string {
  const names = facts.resources.map((name) => name.toLowerCase()).sort()
  return `${epoch}-${hash(JSON.stringify([facts.eventType, names, facts.source, decided?.decision]))}`
}

/**
 * Nobody can take an approval back, but it expires if the event outgrows it (scope.ts). After *not
 * now*, a person may still approve.
 */
export function decide(record: EventRecord, decided: Decided, read?: ScopedVm[]): DecideOutcome {
  if (!isOpen(record)) return { outcome: 'ended' }
  if (record.decided?.decision === 'approved') return { outcome: 'already_approved' }
  if (record.phase !== 'scheduled') return { outcome: 'started' }
  const why = undecidable(record.facts)
  if (why !== undefined) return { outcome: why }
  if (record.decided !== undefined && decided.decision === 'declined') {
    return { outcome: 'already_declined' }
  }
  const scope = decided.decision === 'approved' ? { scope: toScope(record, read) } : {}
  const before = record.decided === undefined ? record : withOverruled(record, record.decided)
  const { reason } = decided
  const noted = addHistory(
    { ...before, decided: { ...decided, ...scope } },
    {
      at: decided.at,
      what: decided.decision,
      note: decisionNote(decided),
      ...(reason && { reason }),
    },
  )
  return { outcome: 'decided', record: noted, moments: [decided.decision] }
}

/** A rule never approves after a person chose *not now*. `read`: what it read of the VMs. */
export function decideByPolicy(record: EventRecord, read: ScopedVm[], now: number): DecideOutcome {
  if (record.decided?.decision === 'declined') return { outcome: 'already_declined' }
  const { rule } = record.policy
  return decide(record, { decision: 'approved', how: 'policy', who: rule, at: now }, read)
}
