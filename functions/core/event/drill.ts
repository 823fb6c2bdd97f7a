// A drill: an event of the relay's own that takes the same way as a real one, so that an owner can
// test the set-up. No beacon sees it and no VM is touched. It moves by the times in its plan.
import { drillPrefix } from '../../../shared/document.ts'
import {
  type DrillPlan,
  type Ended,
  type EventRecord,
  fresh,
  type OpenRecord,
  withStarted,
} from './event.ts'
import type { Facts } from './facts.ts'
import { addHistory } from './history.ts'
import { isElsewhere, type KnownVm } from './sight.ts'

/** An approved drill starts after this time, as Azure takes some seconds, too. */
export const drillStartMs = 5_000
/** How far a drill with a change moves NotBefore. */
export const drillMoveMs = 60_000
/** If no relay was running, a drill that is this old ends without a start. */
export const drillLifeMs = 90 * 60_000

/** Marks the history of a drill. */
export const drillNote = 'a drill'

export interface DrillWish {
  fleet: string
  facts: Omit<Facts, 'notBeforeAt'>
  /** Time from now to NotBefore. 0: the event starts at once, without notice. */
  noticeSeconds: number
  impactSeconds: number
  changeAfterSeconds?: number | undefined
  vms: KnownVm[]
}

export function drillId(id: string): string {
  return `${drillPrefix}${id}`
}

export function beginDrill(wish: DrillWish, id: string, now: number): OpenRecord {
  const { fleet, facts, noticeSeconds, impactSeconds, changeAfterSeconds, vms } = wish
  const started = noticeSeconds === 0
  const changes = changeAfterSeconds !== undefined
  return {
    ...fresh,
    fleet,
    eventId: drillId(id),
    epoch: 1,
    facts: started ? facts : { ...facts, notBeforeAt: now + noticeSeconds * 1_000 },
    firstSeenAt: now,
    ...(started
      ? { phase: 'started', started: { at: now, kind: 'none' } }
      : { phase: 'scheduled' }),
    drill: {
      impactSeconds,
      ...(changes ? { changesAt: now + changeAfterSeconds * 1_000 } : {}),
      vms,
    },
    sights: [],
    history: [{ at: now, what: started ? 'started' : 'seen', note: drillNote }],
    sequence: 0,
  }
}

/** The step of an open drill that is due. After a pause, each missed step still happens. */
export function moveDrill(
  record: OpenRecord,
  plan: DrillPlan,
  now: number,
): { record: OpenRecord } | { ended: Ended } {
  if (record.phase === 'started') {
    return endsAt(record, plan) <= now ? { ended: { at: now, outcome: 'completed' } } : { record }
  }
  if (record.firstSeenAt + drillLifeMs <= now) {
    return { ended: { at: now, outcome: 'cancelled', inferred: 'drill_overdue' } }
  }
  if (startsAt(record) <= now) {
    const noted = addHistory(record, { at: now, what: 'started', note: drillNote })
    return { record: withStarted(noted, { at: now }) }
  }
  if (changesAt(record, plan) <= now) {
    return { record: withMovedTime(record, plan, now) }
  }
  return { record }
}

/** When its next step is due. */
export function drillDueAt(record: EventRecord, plan: DrillPlan): number {
  if (record.phase === 'started') return endsAt(record, plan)
  return Math.min(startsAt(record), changesAt(record, plan), record.firstSeenAt + drillLifeMs)
}

/** While a relay runs, no drill is open later than this. */
export function drillEndsBy(record: EventRecord, plan: DrillPlan): number {
  const movesMs = plan.changesAt === undefined ? 0 : drillMoveMs
  const lastStartAt = record.started?.at ?? (record.facts.notBeforeAt ?? 0) + movesMs
  return lastStartAt + plan.impactSeconds * 1_000
}

function startsAt({ facts, decided }: EventRecord): number {
  const approvedAt = decided?.decision === 'approved' ? decided.at + drillStartMs : undefined
  return Math.min(facts.notBeforeAt ?? 0, approvedAt ?? Number.POSITIVE_INFINITY)
}

function endsAt({ started }: EventRecord, { impactSeconds }: DrillPlan): number {
  return (started?.at ?? 0) + impactSeconds * 1_000
}

/** An approved drill is about to start, so its time no longer moves. */
function changesAt({ decided }: EventRecord, plan: DrillPlan): number {
  const approved = decided?.decision === 'approved'
  return approved ? Number.POSITIVE_INFINITY : (plan.changesAt ?? Number.POSITIVE_INFINITY)
}

function withMovedTime(record: OpenRecord, plan: DrillPlan, now: number): OpenRecord {
  const { notBeforeAt: before = now } = record.facts
  const notBeforeAt = before + drillMoveMs
  const { changesAt: _, ...drill } = plan
  const note = `NotBefore ${new Date(notBeforeAt).toISOString()}`
  return {
    ...addHistory(record, { at: now, what: 'changed', note }),
    facts: { ...record.facts, notBeforeAt },
    changed: { at: now, names: ['notBeforeAt'], from: { notBeforeAt: before } },
    // as for a real event, a moved NotBefore starts new reminders
    reminders: { passed: [] },
    drill,
  }
}

/**
 * What rules know of VMs comes from the VMs' own beacons, or from the plan of a drill. Of a VM without a
 * beacon, it comes from Azure's inventory, at the resource that Azure's list names. A VM with the same name
 * in another place is not meant.
 */
export function knownVms({ drill, facts, sights, azure }: EventRecord): KnownVm[] {
  if (drill !== undefined) return drill.vms
  const seeing = sights.filter((one) => !isElsewhere(facts, one))
  const own = new Set(seeing.map(({ vm }) => vm.toLowerCase()))
  // of another resource, the inventory says other things of VMs with the same names
  const listed = azure.outside?.listed ? (azure.outside.vms ?? []) : []
  return [...seeing, ...listed.filter(({ vm }) => !own.has(vm.toLowerCase()))]
}
