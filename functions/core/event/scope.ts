// What an approval covers: law 10. An approval to restart one VM does not cover two. If the event
// outgrows its approval, the approval expires and people decide again.
import type { ScheduledEvent } from '../../../shared/document.ts'
import {
  type EventRecord,
  isOpen,
  type OpenRecord,
  type Scope,
  type ScopedVm,
  withOverruled,
} from './event.ts'
import type { Facts } from './facts.ts'
import { addHistory } from './history.ts'

/** After Azure accepted an approval, Azure has this long to start the event. Then the approval may expire. */
const acceptedMs = 60_000

type Covered = Pick<ScheduledEvent, 'eventType' | 'resources' | 'source' | 'durationSeconds'>

/** `read`: what the rule that approves read of the VMs. Absent if a person approves. */
export function toScope({ facts }: { facts: Facts }, read?: ScopedVm[]): Scope {
  const { eventType, source, durationSeconds } = facts
  return {
    eventType,
    resources: namesIn(facts),
    ...(source === undefined ? {} : { source }),
    ...(read !== undefined && durationSeconds !== undefined ? { durationSeconds } : {}),
    ...(read !== undefined && read.length > 0 ? { vms: read } : {}),
  }
}

/**
 * Whether the event exceeds the approval in nothing that is known. Unknown values pass here. The beacon
 * refuses them (`beacon/starter.ts`).
 */
export function isWithin(scope: Scope | undefined, event: Covered): boolean {
  if (scope === undefined) return false
  const { eventType, resources, source, durationSeconds } = scope
  const isSameSource =
    source === undefined ||
    event.source === undefined ||
    event.source.toLowerCase() === source.toLowerCase()
  const isAnyDuration = durationSeconds === undefined || event.durationSeconds === undefined
  return (
    event.eventType.toLowerCase() === eventType.toLowerCase() &&
    isSameSource &&
    (isAnyDuration || event.durationSeconds === durationSeconds) &&
    namesIn(event).every((name) => resources.includes(name))
  )
}

type Approved = OpenRecord & { decided: NonNullable<EventRecord['decided']> }

/** Whether an approval waits for Azure to start the event, and may expire. */
export function mayExpire(record: EventRecord, now: number): record is Approved {
  const { phase, decided, azure } = record
  const isWaiting = isOpen(record) && phase === 'scheduled' && decided?.decision === 'approved'
  return isWaiting && (azure.accepted === undefined || azure.accepted.at + acceptedMs <= now)
}

export function expire(record: Approved, at: number): OpenRecord {
  // without `stuckAt`, a later approval can be reported as stuck again
  const { azure: before } = record
  const expired = withOverruled(record, { ...record.decided, expiredAt: at })
  const { decided: _, ...undecided } = expired
  const { directive, outside, accepted = before.acceptedBefore } = before
  const azure = {
    ...(outside && { outside }),
    ...(directive && { directive }),
    ...(accepted && { acceptedBefore: accepted }),
  }
  return addHistory({ ...undecided, azure } as OpenRecord, { at, what: 'expired' })
}

/** Azure's 200 to a start of ours, also if the approval no longer applies. */
export function lastAccepted({ azure }: EventRecord): EventRecord['azure']['accepted'] {
  return azure.accepted ?? azure.acceptedBefore
}

/** The names in lower case and sorted, as in approvals. */
function namesIn({ resources }: Pick<Covered, 'resources'>): string[] {
  return resources.map((name) => name.toLowerCase()).sort()
}
