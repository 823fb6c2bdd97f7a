// Turns a decision into one atomic write: the record, and the deliveries that it plans.
import { hits } from '../../../shared/document.ts'
import { planners } from '../../features/planners.ts'
import { knownVms } from '../event/drill.ts'
import { type EventRecord, isOpen, lastExpiry } from '../event/event.ts'
import { fitEvent } from '../event/history.ts'
import { describeExtent, maxMessageVmBytes } from '../event/hit-vms.ts'
import { isEnd, type Moment } from '../event/moment.ts'
import type { Loaded } from '../event/stage.ts'
import { stages } from '../event/stages.ts'
import { toView } from '../event/view.ts'
import type { Route } from '../rules/routes.ts'
import { type ChannelFacts, findAudience, findNewest, isIgnored } from './audience.ts'
import { type Delivery, plan } from './delivery.ts'
import { entriesFor, type MomentEntry } from './moment-log.ts'

interface CommitContext {
  /** All deliveries of the event so far, to channels of the configuration. */
  deliveries: Delivery[]
  now: number
  /** Before this time, the relay could hear no beacon. */
  listeningSince: number
  /** Absent: what features keep with the record still counts. */
  loaded?: Loaded
  /** The configuration has other routes or channels than when the event was written. */
  isRerouted?: boolean
}

/** One atomic write. */
export interface Commit {
  record: EventRecord
  /** `sequence` of the record this was decided from; 0 if there was none. */
  basedOn: number
  /**
   * New deliveries of this event. An earlier one of the same channel that waits for its next attempt
   * becomes due at once, as the new one waits for it.
   */
  deliveries: Delivery[]
  /** Entries for the log of moments. */
  moments: MomentEntry[]
  /** When the plan is written, which is its place in the log. */
  now: number
}

export function commitPlan(
  routes: Route[],
  channels: ChannelFacts,
  before: EventRecord | undefined,
  { record: decided, moments }: { record: EventRecord; moments: Moment[] },
  { deliveries: existing, now, listeningSince, isRerouted = false, loaded = {} }: CommitContext,
): Commit {
  const basedOn = before?.sequence ?? 0
  const vms = knownVms(decided)
  const settled = stages.reduce((so, stage) => stage.settle(so, before, loaded, now), decided)
  const record = fitEvent({ ...settled, sequence: basedOn + 1 })
  const isExpiry = lastExpiry(record) !== (before && lastExpiry(before))
  const newest = findNewest(record)
  const step = { record, moments, isExpiry, vms, existing, now }
  const audience = findAudience(routes, channels, step)
  const own = isIgnored(record) ? moments.filter(isEnd) : moments
  const mayReach = mayReachMore(before, record, isRerouted) && !moments.includes(newest)
  const joining = mayReach && !isIgnored(record) ? audience.joining() : []
  const isNotified = moments.length > 0 || joining.length > 0
  const listening = { now, listeningSince }
  const extent = isNotified ? describeExtent(decided, listening, maxMessageVmBytes) : {}
  const event = { ...toView(record), ...extent }
  const planned = [
    ...plan(record, own, audience.of, now, event),
    ...plan(record, [newest], () => joining, now, event),
    ...plan(record, moments, () => channels.sinks, now, event),
  ]
  const fresh = planned.filter((one) => existing.every(({ id }) => id !== one.id))
  const entries = entriesFor(record, moments, event, now)
  const others = planners.flatMap((planFor) => planFor(loaded, entries, now))
  return { record, basedOn, deliveries: [...fresh, ...others], moments: entries, now }
}

/** Whether routes name channels that have heard nothing of the event. Such a commit is worth its write. */
export function reachesMore(
  routes: Route[],
  channels: ChannelFacts,
  record: EventRecord,
  existing: Delivery[],
  now: number,
): boolean {
  const isKnown = isOpen(record) && record.notified?.epoch === record.epoch && !isIgnored(record)
  if (!isKnown) return false
  const step = { record, moments: [], isExpiry: false, vms: knownVms(record), existing, now }
  return findAudience(routes, channels, step).joining().length > 0
}

/**
 * Whether routes may match that did not before: they are others, more is known of the affected VMs, or
 * the values or the policy changed. Such a step sends the newest moment to the channels that have heard
 * nothing.
 */
export function mayReachMore(
  before: EventRecord | undefined,
  record: EventRecord,
  isRerouted: boolean,
): boolean {
  if (before === undefined || !isOpen(record)) return false
  if (record.notified?.epoch !== record.epoch) return false
  const known = (one: EventRecord) => {
    const vms = knownVms(one).filter(({ vm }) => hits(record.facts, vm))
    return JSON.stringify([
      vms.map(({ vm, resourceGroup, scaleSet, tags }) => [vm, resourceGroup, scaleSet, tags]),
      one.facts,
      one.policy.decide === 'ignore',
      stages.map((stage) => stage.reach(one)),
    ])
  }
  return isRerouted || known(before) !== known(record)
}
