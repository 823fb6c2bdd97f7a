// Applies the configuration to an event after a step: the policy, and which moments are sent.
import { plannedFor } from '../delivery/audience.ts'
import type { Delivery } from '../delivery/delivery.ts'
import { judgePolicy, type PolicyRule } from '../rules/policy.ts'
import { channelsFor, type Route } from '../rules/routes.ts'
import { decideByPolicy } from './approval.ts'
import { changeLagMs, isUndisputed } from './dispute.ts'
import type { EventRecord, OpenRecord } from './event.ts'
import type { Moment } from './moment.ts'
import type { Observer } from './observer.ts'

export interface Rules {
  policy: PolicyRule[]
  routes: Route[]
}

interface Judged<State = EventRecord> {
  record: State
  moments: Moment[]
}

/**
 * Applies the first rule that matches. People are asked even if a rule approves: if beacons
 * disagree, if a rule waited in vain, or if this one waits for hooks, which a drill does not run.
 */
export function withPolicy<State extends EventRecord>(
  rules: Rules,
  record: State,
  observers: Observer[],
): State {
  const judged = judgePolicy(rules.policy, record, observers)
  const waitedInVain = record.notReady !== undefined
  const isDrill = record.drill === true && judged.whenReady === true
  const asks = record.disputed !== undefined || waitedInVain || isDrill
  const policy =
    asks && judged.decide === 'approve' ? { ...judged, decide: 'ask' as const } : judged
  const same = JSON.stringify(policy) === JSON.stringify(record.policy)
  return same ? record : { ...record, policy }
}

/** Approves if a rule says so and all beacons that see the event agree on what it is. */
export function approveByPolicy<State extends EventRecord>(
  record: State,
  observers: Observer[],
  now: number,
): Judged<State | OpenRecord> {
  const unchanged = { record, moments: [] }
  if (record.policy.decide !== 'approve' || record.verdict !== undefined) return unchanged
  if (!mayApprove(record, observers, now)) return unchanged
  const decided = decideByPolicy(record, now)
  return decided.outcome === 'decided' ? decided : unchanged
}

export function mayApprove(record: EventRecord, observers: Observer[], now: number): boolean {
  // the row of the beacon whose report caused the lapse is written later, so no rule approves for a while
  const { lapsedAt = Number.NEGATIVE_INFINITY } = record
  return now - lapsedAt >= changeLagMs && isUndisputed(record, observers, now)
}

/**
 * The tags and groups of an affected VM are known only after its own beacon has reported. If more
 * routes match then, their channels are notified of the current state.
 */
export function newlyRouted(
  rules: Rules,
  record: EventRecord,
  observers: Observer[],
  existing: Delivery[],
): Moment[] {
  if (record.policy.decide === 'ignore') return []
  const moment = record.phase === 'started' ? 'started' : 'scheduled'
  const notified = plannedFor(record, existing)
  const hearers = channelsFor(rules.routes, record, observers, moment)
  return hearers.every((name) => notified.includes(name)) ? [] : [moment]
}

/**
 * If several steps came together, only the last is sent. If the event was already gone at its first
 * report, nothing is sent until its end is confirmed.
 */
export function worthSending(
  moments: Moment[],
  record: EventRecord,
  inDocument: boolean,
): Moment[] {
  const order: Moment[] = ['changed', 'scheduled', 'started', 'completed', 'cancelled', 'lost']
  const last = Math.max(...moments.map((moment) => order.indexOf(moment)))
  const over = record.gone !== undefined && !inDocument
  return [...new Set(moments)].filter((moment) => {
    const rank = order.indexOf(moment)
    const pointless = over && (moment === 'scheduled' || moment === 'changed')
    return rank === -1 || (rank === last && !pointless)
  })
}

/** Records a moment that is not sent because the event seems over. */
export function holdBack(record: EventRecord, moments: Moment[], worth: Moment[]): EventRecord {
  if (worth.length > 0) return record
  const held = (['scheduled', 'changed'] as const).find((moment) => moments.includes(moment))
  // without "scheduled", nobody needs "changed"
  return held === undefined || record.heldBack ? record : { ...record, heldBack: held }
}

/** If the event is in a document again, the moment that was held back is sent. */
export function heldBackNews(record: EventRecord): Judged {
  const { heldBack, ...rest } = record
  if (heldBack === undefined || record.ended !== undefined) return { record, moments: [] }
  if (record.phase === 'scheduled') return { record: rest, moments: [heldBack] }
  return { record: rest, moments: heldBack === 'scheduled' ? ['started'] : [] }
}
