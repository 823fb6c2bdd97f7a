// The record of one event: facts from Azure, and what people and beacons did.
import type { ScheduledEvent } from '../../../shared/document.ts'
import type { Start } from '../../../shared/report.ts'
import type { Alert } from './alert-row.ts'
import type { NotReady, Readiness, Turn } from './hook-state.ts'
import type { KnownVm, Witness } from './observer.ts'

export const phases = ['scheduled', 'cancelled', 'started', 'completed'] as const
export type Phase = (typeof phases)[number]

/** Moments that ask people for the first time, or again. */
export type Asking = 'scheduled' | 'changed' | 'not_ready'

/** What the policy does with an event: approve at once, ask people, only notify, or ignore. */
export const decisions = ['approve', 'ask', 'notify', 'ignore'] as const
export type Decide = (typeof decisions)[number]

/** Values that Azure may change while the event is scheduled. */
export type Values = Pick<
  ScheduledEvent,
  'eventType' | 'source' | 'resources' | 'notBeforeAt' | 'durationSeconds' | 'description'
>

/** Values that rules read. A false one could cause an approval. */
export const disputable = ['eventType', 'resources', 'source', 'durationSeconds'] as const
export type Disputable = (typeof disputable)[number]

/** The event in Azure, merged over all beacons. An unknown value never replaces a known one. */
export type Facts = Omit<ScheduledEvent, 'eventId' | 'status'>

/** Why an event was first seen as Started. */
export const startKinds = ['none', 'already_running', 'reported_late'] as const
export type StartKind = (typeof startKinds)[number]

/** Why the relay concludes an end that no beacon saw. */
export const inferences = [
  'start_not_seen_vm_rebooted',
  'start_not_seen_approved',
  'start_not_seen_not_before_passed',
  'gone_before_its_time',
  'vm_gone',
  'nobody_left_to_see',
  'drill_overdue',
] as const
export type Inference = (typeof inferences)[number]

export interface Ended {
  at: number
  outcome: 'completed' | 'cancelled' | 'lost'
  /** Absent if a beacon saw it Started and then gone. */
  inferred?: Inference
}

/** How we know who decided. */
export const proofs = ['link', 'slack', 'entra', 'admin', 'token', 'policy'] as const
export type Proof = (typeof proofs)[number]

export interface Decider {
  /**
   * `link`: anyone who had the link. `slack`: a signed payload. `entra`: a person who signed in.
   * `admin`: the admin key. `token`: a token of the API. `policy`: a rule of the configuration.
   */
  how: Proof
  /**
   * In this order: the channel of the link, `team/user`, `tenant/object id`, `admin`, `id/name`,
   * the rule.
   */
  who: string
}

/** What an approval covers, see agreed.ts. */
export interface Agreed {
  eventType: string
  /** In lower case, sorted. */
  resources: string[]
  /** Absent if the requester was unknown. */
  source?: string
  /** Only if a rule approved, as its match may limit the duration. */
  durationSeconds?: number
}

export interface Verdict extends Decider {
  decision: 'approved' | 'declined'
  at: number
  /** What was approved. */
  agreed?: Agreed
  /** When the event exceeded that. */
  lapsedAt?: number
}

/** Azure's 200 to a StartRequests of ours. */
interface PassedOn {
  vm: string
  at: number
}

/** The lease to tell Azure. One beacon at a time holds it. */
interface Directive {
  beacon: string
  vm: string
  until: number
  /** The beacon failed, so another one may get the lease at once. */
  failed: boolean
  /** Azure had been told before, but did not start the event. */
  again?: true
  /** A request of this beacon or of an earlier one may have reached Azure, but nobody knows. */
  mayBePassedOn?: true
}

/** The last attempt to tell Azure, if it failed. */
export interface StartFailure {
  vm: string
  outcome: Exclude<Start['outcome'], 'accepted'>
  /** HTTP status of IMDS, if there was an answer. */
  status?: number
  at: number
}

export interface HistoryEntry {
  at: number
  what:
    | 'seen'
    | 'started'
    | 'changed'
    | 'approved'
    | 'declined'
    | 'directed'
    | 'passed_on'
    | 'start_failed'
    | 'not_started'
    | 'lapsed'
    | 'prepare_now'
    | 'not_ready'
    | 'stuck'
    | 'reminder'
    | 'gone'
    | 'seen_again'
    | 'completed'
    | 'cancelled'
    | 'lost'
    | 'reopened'
  /** A VM, a channel, a rule or a sentence. */
  note?: string
}

/** What happens in a drill, instead of Azure and the VMs. */
export interface DrillPlan {
  /** From its start to its end. */
  impactSeconds: number
  /** When NotBefore moves. Absent if it does not, or already did. */
  changesAt?: number
  /** What rules know of the affected VMs. Of others, only the name is known. */
  vms: KnownVm[]
}

export interface Absence {
  /** The first poll without it, and the last poll with it. */
  firstAt: number
  lastSeenAt: number
  /** From then on, the absence may be confirmed. */
  confirmAt: number
  /** Only outliers miss it, so it goes on. See witness.ts. */
  denied?: true
}

/** Fields of an event in every state. */
interface Kept {
  fleet: string
  eventId: string
  /** Grows when an event that seemed over is seen again. */
  epoch: number
  facts: Facts
  firstSeenAt: number
  /** An event of the relay's own. It never reaches a beacon. */
  drill?: true
  /** Only in the row of an alert. */
  alert?: Alert
  /** Poll time of each value's last change. For that value, earlier polls are outdated. */
  changedAt?: Partial<Record<keyof Values, number>>
  /** The known values that the newest change replaced. */
  changedFrom?: Partial<Values>
  /** Values on which the beacons disagree. Then no rule approves, and people are asked. */
  disputed?: Disputable[]
  /** Set while the documents of some VMs lack the event. */
  gone?: Absence
  /** The poll that began this epoch, if an event that had ended was seen again. */
  reopenedAt?: number
  /** A moment that was not sent, as the event already seemed over. */
  heldBack?: 'scheduled' | 'changed'
  /** With `whenReady` or `maxConcurrent`, the rule waits before it approves. */
  policy: { decide: Decide; rule: string; whenReady?: true; maxConcurrent?: number }
  /** Absent if no affected VM has a hook, and no rule waits for one. */
  readiness?: Readiness
  turn?: Turn
  /** A rule waited in vain, so people were asked, and no rule approves the event. */
  notReady?: NotReady
  /** A person asked the VMs to prepare at once. */
  prepareNow?: Decider & { at: number }
  /** The last decision. Nobody can take an approval back, but it may lapse (agreed.ts). */
  verdict?: Verdict
  /** A *not now* that a later approval replaced, or an approval that lapsed. */
  overruled?: Verdict
  /** When an approval last lapsed. Later messages get new ids, so they are sent again. */
  lapsedAt?: number
  /** Removed when Azure accepts. */
  startFailure?: StartFailure
  passedOn?: PassedOn
  /** Azure accepted an approval that no longer applies, so it may still start the event. */
  passedOnBefore?: PassedOn
  stuckAt?: number
  /** Distances from NotBefore that need no reminder any more. */
  remindedBeforeSeconds?: number[]
  /**
   * The last reminder, for all distances that were due. `late`: people were asked after their time,
   * by `askedBy`. Absent: by *scheduled*.
   */
  reminder?: { beforeSeconds: number; due: number[]; late: boolean; askedBy?: Asking }
  /** Observers that report often, and until when. */
  watchers: { beacon: string; until: number }[]
  /** Changes that people were notified of in this epoch: how many, and `changeOf` the last one. */
  changes?: { epoch: number; count: number; last?: string }
  history: HistoryEntry[]
  /** Grows with every commit. Receivers may drop older values. */
  sequence: number
}

/** Fields that are needed only until the end of the event. */
interface Pending extends Kept {
  ended?: undefined
  /** Only for a drill. */
  drillPlan?: DrillPlan
  /** The beacon whose report this commit holds. Its own row is written after the event's. */
  heard?: Witness | undefined
  directive?: Directive | undefined
  /** The only beacon that reports it. Absent once another one has reported it. */
  onlyBeacon?: string | undefined
  /** When a rule that waits must look at the event again. */
  lookAt?: number | undefined
  /** When the sweep looks at the event, as time alone may conclude something. */
  dueAt?: number | undefined
}

interface ScheduledRecord extends Pending {
  phase: 'scheduled'
  startedAt?: undefined
  startKind?: undefined
}

export interface StartedRecord extends Pending {
  phase: 'started'
  startedAt: number
  /** Absent if a beacon saw it Scheduled before. */
  startKind?: StartKind | undefined
}

export interface EndedRecord extends Kept {
  /** A lost event keeps the phase in which it was last seen. */
  phase: Phase
  ended: Ended
  startedAt?: number | undefined
  startKind?: StartKind | undefined
  drillPlan?: DrillPlan
  heard?: undefined
  directive?: undefined
  onlyBeacon?: undefined
  lookAt?: undefined
  dueAt?: undefined
}

export type OpenRecord = ScheduledRecord | StartedRecord
export type EventRecord = OpenRecord | EndedRecord

export function isOpen(record: EventRecord): record is OpenRecord {
  return record.ended === undefined
}

/** Removes the fields that are needed only until the end. */
export function withEnd(record: EventRecord, ended: Ended): EndedRecord {
  const { heard: _h, directive: _l, onlyBeacon: _o, lookAt: _a, dueAt: _d, ...kept } = record
  const phase = ended.outcome === 'lost' ? record.phase : ended.outcome
  return { ...kept, phase, ended, watchers: [] }
}

export function withStarted(record: OpenRecord, startedAt: number): StartedRecord {
  return { ...record, phase: 'started', startedAt }
}

/** Whether its start surprised everybody. If a user asked for it, somebody knew. */
export function isUnannounced({ startKind, facts }: Pick<EventRecord, 'startKind' | 'facts'>) {
  return startKind === 'none' && facts.source !== 'User'
}

export function isHit(facts: Pick<Facts, 'resources'>, vm: string): boolean {
  const lower = vm.toLowerCase()
  return facts.resources.some((resource) => resource.toLowerCase() === lower)
}
