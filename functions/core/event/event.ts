// The record of one event: facts from Azure, and what people and beacons did.

import type { ReadVm, Start } from '../../../shared/report.ts'
import type { Facts, Values } from './facts.ts'
import type { NotReady, Readiness, Slot } from './hook-state.ts'
import type { Outside } from './outside.ts'
import type { Proof } from './proof.ts'
import type { KnownVm, Sight } from './sight.ts'

export const phases = ['scheduled', 'cancelled', 'started', 'completed'] as const
export type Phase = (typeof phases)[number]

/** Moments that ask people for the first time, or again. */
export type Asking = 'scheduled' | 'changed' | 'not_ready'

/** What the policy does with an event: approve at once, ask people, only notify, or ignore. */
export const decisions = ['approve', 'ask', 'notify', 'ignore'] as const
export type Decide = (typeof decisions)[number]

/**
 * Why the first document that showed an event showed it as Started. `none`: Azure gave no notice.
 * `already_running`: it ran when the beacon first polled. `reported_late`: a beacon saw it Scheduled, and
 * could not report that.
 */
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

export interface Started {
  at: number
  /** Only if the relay first heard of the event when it had started. */
  kind?: StartKind
  /** Only this one said that the event started, and others may show otherwise: Event Grid, or an onlooker. */
  by?: 'azure' | 'onlooker'
  /** The beacon of that onlooker. */
  onlooker?: string
  /** The affected VM that said so. One that had only named itself may turn out not to be affected. */
  vm?: string
}

export interface Ended {
  at: number
  outcome: 'completed' | 'cancelled' | 'lost'
  /** Absent if a beacon saw it Started and then gone, and if Azure said how it ended. */
  inferred?: Inference
  /** `azure`: it said so outside the VMs. `doubt`: no affected VM has shown the end. A VM may know better. */
  by?: 'azure' | 'doubt'
}

export interface Decider {
  how: Proof
  /**
   * A person is `place/user`, such as `tenant/object id`. Otherwise the channel of the link, `admin`, `id/name` of a
   * token, or the rule.
   */
  who: string
  /**
   * What the service or Entra calls the person, which may later be another person's. Or what the holder of a link or of the
   * admin key wrote, which nobody has proved.
   */
  name?: string
}

/** What an approval covers, see scope.ts. */
export interface Scope {
  eventType: string
  /** Names in lower case, sorted. */
  resources: string[]
  /** Absent if the requester was unknown. */
  source?: string
  /** Only if a rule approved, as its match may limit the duration. */
  durationSeconds?: number
  /** Only if a rule approved, and rules read something of the VMs: their tags, group or scale set. */
  vms?: ScopedVm[]
}

/** A VM as the rules read it. `name`: in lower case. */
export interface ScopedVm extends ReadVm {
  name: string
}

export interface Decided extends Decider {
  decision: 'approved' | 'declined'
  at: number
  /** What the person wrote about it, see `maxReasonLength`. */
  reason?: string
  /** What the approval covers. Absent if declined. */
  scope?: Scope
  /** When this approval expired, because the event exceeded it. */
  expiredAt?: number
}

/** Azure's 200 to a StartRequests of ours. */
interface Accepted {
  /** The VM that told Azure, or the resource that the relay named to Resource Manager. */
  vm: string
  /** The VM's beacon, and the boot that says so: another machine may use the beacon's id. */
  beacon?: string
  bootId?: string
  at: number
  /** Absent: a beacon told Azure. */
  through?: 'resource_manager'
}

/** The lease to tell Azure. One beacon at a time holds it. */
interface Directive {
  beacon: string
  /** The VM of that beacon. */
  vm: string
  /** The lease ends then. */
  until: number
  /** The beacon failed, so another one may get the lease at once. */
  failed: boolean
  /** The beacon that held the lease before. It may still tell Azure, if its directive came late. */
  earlier?: string
  /** Azure had been told before, but did not start the event. */
  again?: true
}

/** The last attempt to tell Azure, if it failed. */
export interface StartFailure {
  vm: string
  outcome: Exclude<Start['outcome'], 'accepted'>
  /** HTTP status of IMDS, if there was an answer. */
  status?: number
  at: number
}

/** The relay's own last try to tell Azure, through Resource Manager. */
interface ArmTry {
  at: number
  /** Why the try failed. `isFinal`: a further try would fail in the same way. */
  failure?: { reason: string; status?: number; isFinal?: true; retryAfterMs?: number }
}

/** What a rule waits for before it approves. */
interface Wait {
  /** Absent if no affected VM has a hook, and no rule waits for one. */
  readiness?: Readiness
  /** Whether the event may go on under a rule with `maxConcurrent`. */
  slot?: Slot
  /** A rule waited in vain, so people were asked, and no rule approves the event. */
  notReady?: NotReady
  /** A person asked the VMs to prepare at once. */
  prepareNow?: Decider & { at: number }
}

/** What Azure says outside the VMs, and what came of an approval. */
interface Azure {
  outside?: Outside
  /** Which beacon tells Azure to start the event. */
  directive?: Directive
  /** Removed when Azure accepts. */
  failure?: StartFailure
  accepted?: Accepted
  /** Azure accepted an approval that no longer applies, so it may still start the event. */
  acceptedBefore?: Accepted
  arm?: ArmTry
  /** When people were told that Azure did not start the event. */
  stuckAt?: number
}

interface Reminders {
  /** Seconds before NotBefore. For these, no reminder is sent any more. */
  passed: number[]
  /**
   * The last reminder. `due`: all distances that were due then. `late`: the reminder's time came before
   * people were last asked. `askedBy`: the moment that asked them last, if it is late.
   */
  last?: { beforeSeconds: number; due: number[]; late: boolean; askedBy?: Asking }
}

/** What the core notes in the history. */
export type OwnStep =
  | 'seen'
  | 'started'
  | 'changed'
  | 'approved'
  | 'declined'
  | 'directed'
  | 'azure_accepted'
  | 'start_failed'
  | 'not_started'
  | 'expired'
  | 'prepare_now'
  | 'taken'
  | 'given_back'
  | 'not_ready'
  | 'stuck'
  | 'reminder'
  | 'gone'
  | 'seen_again'
  | 'completed'
  | 'cancelled'
  | 'lost'
  | 'reopened'

/** What features note in the history. Each adds its own by declaration merging. */
// biome-ignore lint/suspicious/noEmptyInterface: features add to it
export interface FeatureSteps {}

/** What features keep with an event. Each adds its own by declaration merging. */
// biome-ignore lint/suspicious/noEmptyInterface: features add to it
export interface FeatureFields {}

export interface HistoryEntry {
  at: number
  /**
   * `directed`: a beacon got the lease. `azure_accepted`: Azure accepted. `not_started`: Azure accepted, but
   * did not start the event, so Azure is told again. `gone`: a VM's document lacks the event.
   */
  what: OwnStep | keyof FeatureSteps
  /** A VM, a channel, a rule or a sentence. */
  note?: string
  /** The person's reason, if the step is a decision. */
  reason?: string
}

/** What happens in a drill, instead of Azure and the VMs. */
export interface DrillPlan {
  /** Time from the event's start to its end. */
  impactSeconds: number
  /** When NotBefore moves. Absent if it does not, or already did. */
  changesAt?: number
  /** What rules know of the affected VMs. Of others, only the name is known. */
  vms: KnownVm[]
}

/** All beacons that show the event are silent. */
export interface Unheard {
  /** When the last of them was heard, epoch ms. */
  since: number
  /** The first VMs that show the event, and how many there are. */
  vms: string[]
  count: number
  /** Some are heard, but cannot read Azure's document. */
  isBlind?: true
}

/** Fields of an event in every state. */
interface EventFields extends FeatureFields {
  fleet: string
  eventId: string
  /** Grows when an event that ended is back, and when a lost event gets a known end. */
  epoch: number
  facts: Facts
  /** When the event was first seen, in its first epoch. */
  firstSeenAt: number
  /** When the relay heard of the event. Absent if that was soon after `firstSeenAt`. */
  firstHeardAt?: number
  /** Only in an event of the relay's own, which never reaches a beacon. */
  drill?: DrillPlan
  /** What VMs last showed of the event. Of the VMs that it does not affect, at most four are here. */
  sights: Sight[]
  /** The newest change: when a document showed it, which values, and what they were, if known. */
  changed?: {
    at: number
    names: (keyof Values)[]
    from: Partial<Values>
    /** One who knows showed it: an affected VM, Azure's list, or more VMs than were wrong before. */
    corrects?: true
  }
  /** Azure said that the event is over before anybody knew of it. Nobody was told, and no list shows it. */
  trace?: true
  /**
   * The event is back because only one reporter told of a start, and there was none. The beacons of those reporters;
   * `true` in rows of before, for all.
   */
  wrongStart?: true | string[]
  /** If the event is back: poll time of the document that showed it again. */
  backAt?: number
  /** `rule`: its name, or `default` if none matches. With `whenReady` or `maxConcurrent`, the rule waits. */
  policy: {
    decide: Decide
    rule: string
    whenReady?: true
    prepareBeforeSeconds?: number
    maxConcurrent?: number
    /** The rule's address for people. */
    runbook?: string
  }
  wait: Wait
  /** No beacon that shows the event is heard, so nobody can tell Azure. */
  unheard?: Unheard
  /** The decision that counts now. Nobody can take an approval back, but it may expire (scope.ts). */
  decided?: Decided
  /** Decisions that no longer count, at most 10: a *not now* that was replaced, approvals that expired. */
  overruled: Decided[]
  /** Who said last that they look at the event. Nothing depends on it. */
  taken?: Decider & { at: number }
  azure: Azure
  reminders: Reminders
  /**
   * What people know: of which epoch, how many of its changes, and `last`, a hash of its values
   * (`hashChange`). `at`: since when, if there were many.
   */
  notified?: { epoch: number; count: number; last: string; at?: number }
  history: HistoryEntry[]
  /** Grows with every commit. A receiver may ignore a message with a smaller one. */
  sequence: number
}

/** If no rule matches, this replaces the rule's name. */
export const defaultRule = 'default'

/** How an event begins: no rule has judged it, nobody has decided, and nothing waits. */
export const fresh = {
  policy: { decide: 'ask', rule: defaultRule },
  azure: {},
  wait: {},
  overruled: [],
  reminders: { passed: [] },
} satisfies Partial<EventFields>

/** Fields that are needed only until the end of the event. */
interface Pending extends EventFields {
  ended?: undefined
  /** When the sweep must look at the event, even if no report comes. May be too early. */
  dueAt?: number | undefined
}

interface ScheduledRecord extends Pending {
  phase: 'scheduled'
  started?: undefined
}

export interface StartedRecord extends Pending {
  phase: 'started'
  started: Started
}

export interface EndedRecord extends EventFields {
  /** A lost event keeps the phase in which it was last seen. */
  phase: Phase
  ended: Ended
  started?: Started | undefined
  dueAt?: undefined
}

export type OpenRecord = ScheduledRecord | StartedRecord
export type EventRecord = OpenRecord | EndedRecord

export function isOpen(record: EventRecord): record is OpenRecord {
  return record.ended === undefined
}

/** Removes the fields that are needed only until the end. */
export function withEnd(record: EventRecord, ended: Ended): EndedRecord {
  const { dueAt: _d, unheard: _u, ...kept } = record
  const { directive: _l, ...azure } = record.azure
  const phase = ended.outcome === 'lost' ? record.phase : ended.outcome
  return { ...kept, azure, phase, ended }
}

export function withStarted(record: OpenRecord, started: Started): StartedRecord {
  return { ...record, phase: 'started', started }
}

/** This limit keeps the size of an event's row. */
const maxOverruled = 10

export function withOverruled<R extends EventRecord>(record: R, earlier: Decided): R {
  const { scope, ...decision } = earlier
  const { vms: _, ...shown } = scope ?? {}
  const kept = scope === undefined ? earlier : { ...decision, scope: shown as Scope }
  return { ...record, overruled: [...record.overruled, kept].slice(-maxOverruled) }
}

/** All decisions, oldest first. */
export function listDecisions({
  overruled,
  decided,
}: Pick<EventRecord, 'overruled' | 'decided'>): Decided[] {
  return decided === undefined ? overruled : [...overruled, decided]
}

/** The approval that expired last. */
export function lastExpired({ overruled }: Pick<EventRecord, 'overruled'>): Decided | undefined {
  return overruled.findLast(({ expiredAt }) => expiredAt !== undefined)
}

/** When an approval last expired. Later messages get new ids, so they are sent again. */
export function lastExpiry(record: Pick<EventRecord, 'overruled'>): number | undefined {
  return lastExpired(record)?.expiredAt
}

/** Whether its start surprised everybody. If a user asked for it, somebody knew. */
export function isUnannounced({ started, facts }: Pick<EventRecord, 'started' | 'facts'>) {
  return started?.kind === 'none' && facts.source !== 'User'
}
