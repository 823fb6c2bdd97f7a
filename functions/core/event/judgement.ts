// What the configuration makes of an event that just took a step: policy, and who is to be told.

import { heardOf } from '../delivery/commit.ts'
import type { Delivery } from '../delivery/delivery.ts'
import { channelsFor, judgePolicy, type PolicyRule, type Route } from '../rules/policy.ts'
import { decideByPolicy } from './approval.ts'
import { changeLagMs, isUndisputed } from './dispute.ts'
import type { EventRecord, Moment, Observer, OpenRecord } from './event.ts'

export interface Rules {
  policy: PolicyRule[]
  routes: Route[]
}

interface Judged<State = EventRecord> {
  record: State
  moments: Moment[]
}

/**
 * The record with the decision of the first rule that matches what is known now. If beacons
 * disagree about the event, people are asked even if a rule approves.
 */
export function withPolicy<State extends EventRecord>(
  rules: Rules,
  record: State,
  observers: Observer[],
): State {
  const judged = judgePolicy(rules.policy, record, observers)
  const asks = judged.decide === 'approve' && record.disputed !== undefined
  const policy = asks ? { ...judged, decide: 'ask' as const } : judged
  const same = policy.decide === record.policy.decide && policy.rule === record.policy.rule
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
  // a beacon's own row, with what it saw, is written after the lapse that its report caused
  const { lapsedAt = Number.NEGATIVE_INFINITY } = record
  if (now - lapsedAt < changeLagMs || !isUndisputed(record, observers, now)) return unchanged
  const decided = decideByPolicy(record, now)
  return decided.outcome === 'decided' ? decided : unchanged
}

/**
 * What a hit VM is, only its own beacon says, and rarely the first one to report: the channels that
 * its name, tags or groups bring in are told then what the others know already.
 */
export function missed(
  rules: Rules,
  record: EventRecord,
  observers: Observer[],
  existing: Delivery[],
): Moment[] {
  if (record.policy.decide === 'ignore') return []
  const moment = record.phase === 'started' ? 'started' : 'scheduled'
  const heard = heardOf(record, existing)
  const hearers = channelsFor(rules.routes, record, observers, moment)
  return hearers.every((name) => heard.includes(name)) ? [] : [moment]
}

/**
 * Of steps that came together only the last is told; a new event is told with its newest values. One
 * that was already gone when it was first reported is told when it is clear how it ended.
 */
export function worthTelling(
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

/** Notes what people were not told of an event, as it seemed over when the news came. */
export function holdBack(record: EventRecord, moments: Moment[], worth: Moment[]): EventRecord {
  if (worth.length > 0) return record
  const held = (['scheduled', 'changed'] as const).find((moment) => moments.includes(moment))
  // who was not told that it is there, need not be told that it changed
  return held === undefined || record.heldBack ? record : { ...record, heldBack: held }
}

/** What seemed over is in a document again: people are notified of what was held back. */
export function heldBackNews(record: EventRecord): Judged {
  const { heldBack, ...rest } = record
  if (heldBack === undefined || record.ended !== undefined) return { record, moments: [] }
  if (record.phase === 'scheduled') return { record: rest, moments: [heldBack] }
  return { record: rest, moments: heldBack === 'scheduled' ? ['started'] : [] }
}
