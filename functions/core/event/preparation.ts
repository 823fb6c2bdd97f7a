// When the VMs of an event run their hook `prepare`: by their own plan, in slots, or at once because
// a person asked for it.
import { hits, type ScheduledEvent } from '../../../shared/document.ts'
import type { DecideOutcome } from './approval.ts'
import { type Decider, type EventRecord, isOpen } from './event.ts'

import { addHistory, decisionNote } from './history.ts'
import { preparesFrom } from './rule-approves.ts'

/**
 * What the answer to this VM's beacon says, if the event hits the VM by the record or by the VM's
 * own document. Undefined: the beacon follows its own plan.
 */
export function preparationFor(
  record: EventRecord,
  { vm, document }: { vm: string; document: Pick<ScheduledEvent, 'eventId' | 'resources'>[] },
  now: number,
): 'now' | 'hold' | undefined {
  const { wait, decided, policy } = record
  const { slot } = wait
  // it may open again, and then it needs a slot
  if (!isOpen(record)) return takesTurns(policy) ? 'hold' : undefined
  const shown = document.filter(({ eventId }) => eventId === record.eventId)
  if (![record.facts, ...shown].some((one) => hits(one, vm))) return undefined
  if (wait.prepareNow !== undefined) return record.phase === 'scheduled' ? 'now' : undefined
  if (decided?.decision === 'approved') return undefined
  return slot?.state === 'unknown' ? 'hold' : byRule(record, now)
}

function byRule(record: EventRecord, now: number): 'now' | 'hold' | undefined {
  const { policy, wait } = record
  const isDue = policy.whenReady === true && preparesFrom(record) <= now
  const due = record.phase === 'scheduled' && isDue ? 'now' : undefined
  if (!takesTurns(policy)) return policy.prepareBeforeSeconds === undefined ? undefined : due
  return wait.slot?.state === 'held' ? due : 'hold'
}

/** Without `whenReady`, the slot ends with the question to people. */
function takesTurns({ maxConcurrent, whenReady, decide }: EventRecord['policy']): boolean {
  return maxConcurrent !== undefined && (whenReady === true || decide === 'approve')
}

/** Whether a person can ask the VMs to prepare at once. */
export function canPrepareNow({ phase, ended, wait }: EventRecord): boolean {
  const isAhead = ended === undefined && phase === 'scheduled' && wait.prepareNow === undefined
  return isAhead && (wait.readiness?.counts.planned ?? 0) > 0
}

/**
 * Asks the VMs to prepare at once, whatever their plan or slot is. `moved_on`: no hook is planned
 * any more.
 */
export function prepareNow(
  record: EventRecord,
  by: Decider,
  now: number,
): DecideOutcome | { outcome: 'moved_on' } {
  if (!isOpen(record)) return { outcome: 'ended' }
  if (record.decided?.decision === 'approved') return { outcome: 'already_approved' }
  if (record.phase !== 'scheduled') return { outcome: 'started' }
  if (!canPrepareNow(record)) return { outcome: 'moved_on' }
  const entry = { at: now, what: 'prepare_now' as const, note: decisionNote(by) }
  const wait = { ...record.wait, prepareNow: { how: by.how, who: by.who, at: now } }
  const asked = { ...record, wait }
  return { outcome: 'decided', record: addHistory(asked, entry), moments: [] }
}
