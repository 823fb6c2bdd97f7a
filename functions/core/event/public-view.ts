// An event for other systems, in webhooks and in the events API: ISO times, no internals.
import type { Delivery } from '../delivery/delivery.ts'
import { type EventRecord, isHit, type Verdict } from './event.ts'
import type { Observer } from './observer.ts'
import type { EventView } from './view.ts'

export interface PublicEvent {
  fleet: string
  eventId: string
  epoch: number
  /** Grows with every change. Drop older values. */
  sequence: number
  phase: EventView['phase']
  /** An event of the relay's own. Absent for a real one. */
  drill?: true
  eventType: string
  source?: string
  resources: string[]
  notBefore?: string
  durationSeconds?: number
  description?: string
  policy: EventView['policy']
  firstSeenAt: string
  startedAt?: string
  /** Why it was first seen as Started: `none` (no notice), `already_running` or `reported_late`. */
  startKind?: EventView['startKind']
  endedAt?: string
  outcome?: string
  /** Why the relay concludes the outcome. Absent if a beacon saw it. */
  inferred?: string
  /** Who decided, how we know, and when. An approval may follow a *not now*. */
  approvals: { decision: string; how: string; who: string; at: string; lapsedAt?: string }[]
  passedOn?: { vm: string; at: string }
}

export function publicView(event: EventView): PublicEvent {
  const { facts, overruled, verdict, ended, passedOn, startKind } = event
  const { resources, eventType, source, durationSeconds, description, notBeforeAt } = facts
  return defined({
    fleet: event.fleet,
    eventId: event.eventId,
    epoch: event.epoch,
    sequence: event.sequence,
    phase: event.phase,
    drill: event.drill,
    eventType,
    source,
    resources,
    notBefore: iso(notBeforeAt),
    durationSeconds,
    description,
    policy: event.policy,
    firstSeenAt: iso(event.firstSeenAt),
    startedAt: iso(event.startedAt),
    startKind,
    endedAt: iso(ended?.at),
    outcome: ended?.outcome,
    inferred: ended?.inferred,
    approvals: [overruled, verdict].filter((one) => one !== undefined).map(publicVerdict),
    passedOn: passedOn && { ...passedOn, at: iso(passedOn.at) },
  }) as PublicEvent
}

function publicVerdict({ decision, how, who, at, lapsedAt }: Verdict) {
  return { decision, how, who, at: iso(at), ...(lapsedAt && { lapsedAt: iso(lapsedAt) }) }
}

function iso(at: number): string
function iso(at: number | undefined): string | undefined
function iso(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString()
}

function defined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined))
}

/** Affected VMs come first. */
const maxSeenBy = 1_000

export interface PublicSighting {
  vm: string
  /** The event affects this VM. */
  hit: boolean
  /** First poll that showed it. */
  firstSeenAt?: string
  /** Last poll that showed it, to one pace. */
  lastSeenAt: string
  /** First poll without it. */
  goneAt?: string
}

/** Which VMs saw the event, and from when to when. */
export function publicSightings(record: EventRecord, observers: Observer[]): PublicSighting[] {
  return observers
    .map(({ beacon: { vm, heardAt, polledAt }, sighting: { firstSeenAt, gone } }) => ({
      vm,
      hit: isHit(record.facts, vm),
      at: firstSeenAt ?? 0,
      firstSeenAt: iso(firstSeenAt),
      lastSeenAt: iso(gone?.lastSeenAt ?? polledAt ?? heardAt),
      goneAt: iso(gone?.firstAt),
    }))
    .sort((a, b) => Number(b.hit) - Number(a.hit) || a.at - b.at || (a.vm < b.vm ? -1 : 1))
    .slice(0, maxSeenBy)
    .map(({ at: _, ...shown }) => defined(shown) as PublicSighting)
}

/** One delivery: a message for a channel, and its state. */
export function publicDelivery(delivery: Delivery) {
  const { id, channel, telling, state, attempts, note, plannedAt, nextAt } = delivery
  // for an alert about a channel, that channel
  const insteadOf =
    telling.moment !== 'alert'
      ? telling.insteadOf
      : 'alert' in telling.about
        ? undefined
        : telling.about.channel
  return {
    id,
    channel,
    moment: telling.moment,
    epoch: telling.event.epoch,
    state,
    attempts,
    note,
    ...(insteadOf && { insteadOf }),
    plannedAt: iso(plannedAt),
    ...(state === 'pending' ? { nextAttemptAt: iso(nextAt) } : {}),
    // the commit that superseded it did not set this time
    ...(state === 'pending' || state === 'superseded' ? {} : { settledAt: iso(nextAt) }),
  }
}

export function publicHistory({ history }: EventRecord) {
  return history.map(({ at, ...entry }) => ({ at: iso(at), ...entry }))
}
