// An event for other systems, in webhooks and in the events API: ISO times, no internals.
import { defined, iso } from '../../../shared/json.ts'
import { displays } from '../../features/rules.ts'
import { type Delivery, tellsOfEvent } from '../delivery/delivery.ts'
import type { FeatureView } from './display.ts'
import {
  type Decided,
  type Decider,
  type Ended,
  type EventRecord,
  type Inference,
  listDecisions,
  type StartKind,
  type Unheard,
} from './event.ts'
import type { HitVm } from './hit-vms.ts'
import type { HookState, HookStates, NotReady, Readiness, Slot } from './hook-state.ts'
import { isAffected } from './sight.ts'
import { chooseStep } from './summary.ts'
import type { EventView } from './view.ts'

export interface PublicEvent extends FeatureView {
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
  /** If `resources` has only the first names: the number of affected VMs. */
  resourcesTotal?: number
  /** Only in webhooks and in the API's answer for one event. VMs of which more is known come first. */
  vms?: HitVm[]
  /** How many VMs see the event without being affected. Absent while they are still reporting. */
  observers?: number
  notBefore?: string
  durationSeconds?: number
  description?: string
  /** With `whenReady` or `maxConcurrent`, the rule waits before it approves. */
  policy: EventView['policy']
  /** Absent if no affected VM has a hook, and no rule waits for one. */
  readiness?: PublicReadiness
  /** Only under a rule with `maxConcurrent`: `held`, `waits` or `unknown`. */
  slot?: Slot['state']
  /** A rule waited in vain, so people were asked, and no rule approves the event. */
  notReady?: { at: string; rule: string; why: NotReady['why']; values?: NotReady['values'] }
  /** A person asked the VMs to prepare at once. */
  prepareNow?: Decider & { at: string }
  /** Who said last that they look at it. Nobody has decided by that. */
  taken?: Decider & { at: string }
  /** Approved, and Azure has not acted on it since. */
  stuckSince?: string
  /** Nobody can tell Azure: no beacon that sees the event has reported since. */
  unheard?: { since: string; vms: string[]; count: number }
  firstSeenAt: string
  startedAt?: string
  /** Why the event was first seen as Started: `none` (no notice), `already_running` or `reported_late`. */
  startKind?: StartKind
  endedAt?: string
  outcome?: Ended['outcome']
  /** Why the relay concludes the outcome. Absent if a beacon saw it. */
  inferred?: Inference
  /** Who decided, how we know, and when. An approval may follow a *not now*. */
  approvals: PublicDecision[]
  /** `through`: the relay told Azure itself. `vm` is then the scale set, VM or availability set. */
  azureAccepted?: { vm: string; at: string; through?: 'resource_manager' }
}

export function publicView(event: EventView): PublicEvent {
  const { facts, ended, azure, started } = event
  const { readiness, slot, notReady, prepareNow } = event.wait
  const { resources, eventType, source, durationSeconds, description, notBeforeAt } = facts
  return defined({
    fleet: event.fleet,
    eventId: event.eventId,
    epoch: event.epoch,
    sequence: event.sequence,
    phase: event.phase,
    drill: event.drill && true,
    eventType,
    source,
    resources,
    resourcesTotal: facts.vmCount,
    vms: event.vms && [...event.vms, ...namesLeft(resources, event.vms)],
    observers: event.spared,
    notBefore: iso(notBeforeAt),
    durationSeconds,
    description,
    policy: event.policy,
    readiness: readiness && publicReadiness(readiness),
    slot: slot?.state,
    notReady: notReady && { ...notReady, at: iso(notReady.at) },
    prepareNow: prepareNow && { ...prepareNow, at: iso(prepareNow.at) },
    taken: event.taken && { ...event.taken, at: iso(event.taken.at) },
    ...Object.assign({}, ...displays.map((display) => display.shows(event))),
    stuckSince: chooseStep(event) === 'stuck' ? iso(azure.stuckAt) : undefined,
    unheard: event.unheard && publicUnheard(event.unheard),
    firstSeenAt: iso(event.firstSeenAt),
    startedAt: iso(started?.at),
    startKind: started?.kind,
    endedAt: iso(ended?.at),
    outcome: ended?.outcome,
    inferred: ended?.inferred,
    approvals: listDecisions(event).map(publicDecision),
    azureAccepted: azure.accepted && acceptedView(azure.accepted),
  }) as PublicEvent
}

function publicUnheard({ since, vms, count }: Unheard) {
  return { since: iso(since), vms, count }
}

/** Affected VMs of which only the name is known, or of which there was no room for more. */
function namesLeft(resources: string[], vms: HitVm[]): HitVm[] {
  const known = new Set(vms.map(({ name }) => name))
  return resources.filter((name) => !known.has(name)).map((name) => ({ name }))
}

/** The lists name the first VMs only. Times are those of the last change of state. */
interface PublicReadiness {
  /** How many affected VMs have each state. */
  counts: Readiness['counts']
  unready: Timed<Readiness['unready'][number]>[]
  restore?: {
    counts: NonNullable<Readiness['restore']>['counts']
    failed: Timed<NonNullable<Readiness['restore']>['failed'][number]>[]
  }
}

type Timed<Run extends { since?: number }> = Omit<Run, 'since'> & { since?: string }

function publicReadiness({ counts, unready, restore }: Readiness): PublicReadiness {
  return {
    counts,
    unready: unready.map(timed),
    ...(restore && { restore: { ...restore, failed: restore.failed.map(timed) } }),
  }
}

function timed<Run extends { since?: number }>({ since, ...run }: Run): Timed<Run> {
  return { ...run, ...(since === undefined ? {} : { since: iso(since) }) }
}

interface PublicDecision extends Decider {
  decision: Decided['decision']
  at: string
  reason?: string
  expiredAt?: string
}

function publicDecision(decided: Decided): PublicDecision {
  const { decision, how, who, name, at, reason, expiredAt } = decided
  const times = { at: iso(at), ...(expiredAt && { expiredAt: iso(expiredAt) }) }
  return { decision, how, who, ...(name && { name }), ...times, ...(reason && { reason }) }
}

export interface PublicSight {
  vm: string
  /** The event affects this VM. */
  hit: boolean
  /** First poll that showed it. */
  firstSeenAt: string
  /** Last poll that showed it, to one pace. */
  lastSeenAt: string
  /** First poll without it. */
  goneAt?: string
  /** Runs of the VM's hooks for the event. */
  hooks?: Partial<Record<keyof HookStates, Timed<HookState>>>
}

/** Which VMs see the event, and from when to when. Of those that are not affected, at most four. */
export function listPublicSights(record: EventRecord): PublicSight[] {
  return record.sights
    .map((sight) => ({
      vm: sight.vm,
      hit: isAffected(record.facts, sight),
      at: sight.firstSeenAt,
      firstSeenAt: iso(sight.firstSeenAt),
      lastSeenAt: iso(sight.missing?.lastSeenAt ?? sight.polledAt),
      goneAt: iso(sight.missing?.firstAt),
      hooks: sight.hooks && publicHooks(sight.hooks),
    }))
    .sort((a, b) => Number(b.hit) - Number(a.hit) || a.at - b.at || (a.vm < b.vm ? -1 : 1))
    .map(({ at: _, ...shown }) => defined(shown) as PublicSight)
}

function publicHooks(hooks: HookStates): NonNullable<PublicSight['hooks']> {
  return Object.fromEntries(Object.entries(hooks).map(([hook, run]) => [hook, timed(run)]))
}

/** One delivery: a message for a channel, and its state. */
export function publicDelivery(delivery: Delivery) {
  const { id, channel, notification, state, attempts, note, plannedAt, nextAt } = delivery
  // for an alert about a channel, that channel
  const insteadOf = tellsOfEvent(notification)
    ? notification.insteadOf
    : 'channel' in notification.about
      ? notification.about.channel
      : undefined
  return {
    id,
    channel,
    moment: notification.moment,
    epoch: notification.event.epoch,
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

function acceptedView({ vm, through, at }: NonNullable<EventView['azure']['accepted']>) {
  return { vm, at: iso(at), ...(through && { through }) }
}
