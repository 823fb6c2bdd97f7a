// What the relay keeps of one event: facts from Azure, and what people and beacons did about it.
import { cut, type ScheduledEvent } from '../../../shared/document.ts'
import type { Start } from '../../../shared/report.ts'

export type Phase = 'scheduled' | 'cancelled' | 'started' | 'completed'

/** Steps worth telling, in the order of an event's life. */
export const moments = [
  'scheduled',
  'changed',
  'reminder',
  'approved',
  'declined',
  'stuck',
  'started',
  'completed',
  'cancelled',
  'lost',
] as const
export type Moment = (typeof moments)[number]

/** How the policy wants an event handled: approve at once, ask people, only tell, or ignore. */
export const decisions = ['approve', 'ask', 'notify', 'ignore'] as const
export type Decide = (typeof decisions)[number]

/** Values that Azure may change while the event is scheduled. */
export type Values = Pick<
  ScheduledEvent,
  'eventType' | 'source' | 'resources' | 'notBeforeAt' | 'durationSeconds' | 'description'
>

/** Values that rules read. A lie about one of them could cause an approval. */
export const disputable = ['eventType', 'resources', 'source', 'durationSeconds'] as const
export type Disputable = (typeof disputable)[number]

/** What Azure says of the event, merged over all beacons: a known value is never replaced by none. */
export type Facts = Omit<ScheduledEvent, 'eventId' | 'status'>

/** How it came that an event was first seen as Started. */
export type StartKind = 'none' | 'already_running' | 'reported_late'

/** Why an end is a conclusion rather than a fact. */
export type Inference =
  | 'start_not_seen_vm_rebooted'
  | 'start_not_seen_approved'
  | 'start_not_seen_not_before_passed'
  | 'gone_before_its_time'
  | 'vm_gone'
  | 'nobody_left_to_see'
  | 'drill_overdue'

export interface Ended {
  at: number
  outcome: 'completed' | 'cancelled' | 'lost'
  /** Absent where a beacon saw it Started and then gone. */
  inferred?: Inference
}

/** How we know who decided. */
export type Proof = 'link' | 'slack' | 'entra' | 'admin' | 'policy'

/** Who decides, and how we know. */
export interface Decider {
  /**
   * `link`: whoever held it. `slack`: a signed payload. `entra`: the host's own sign-in. `admin`: the
   * admin key. `policy`: a rule of the configuration.
   */
  how: Proof
  /** In that order: the channel whose link it was, `team/user`, `tenant/object id`, `admin`, the rule. */
  who: string
}

/** What an approval covers; agreed.ts compares. */
export interface Agreed {
  eventType: string
  /** In lower case and order. */
  resources: string[]
  /** Absent if nobody knew who requested the event. */
  source?: string
  /** Of what a rule approved: it may have asked for no more than this. */
  durationSeconds?: number
}

export interface Verdict extends Decider {
  decision: 'approved' | 'declined'
  at: number
  /** What was approved. */
  agreed?: Agreed
  /** When the event outgrew that, before Azure was told. */
  lapsedAt?: number
}

/** The lease on telling Azure: one beacon at a time has it. */
interface Directive {
  beacon: string
  vm: string
  until: number
  /** The beacon said that it could not, so anybody else may have it at once. */
  failed: boolean
  /** Azure had been told before, and did not start it. */
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

/** What stands for Azure and the VMs in a drill. */
export interface DrillPlan {
  /** From its start to its end. */
  impactSeconds: number
  /** When NotBefore moves; absent where it does not, or did. */
  changesAt?: number
  /** What is taken as known of the VMs it pretends to hit; of others only the name is. */
  vms: KnownVm[]
}

const alertKinds = ['over_limits'] as const

/** A problem of Foghorn itself, as long as it lasts. There is one for each fleet and kind. */
export interface Alert {
  kind: (typeof alertKinds)[number]
  since: number
  /** When it last occurred, to the minute. */
  lastAt: number
  /** The first VMs with the problem; alert.ts limits how many. */
  vms: string[]
  /** One sentence each. */
  reasons: string[]
}

/** What is kept of an event in every state. */
interface Kept {
  fleet: string
  eventId: string
  /** Grows when a concluded event turns out to be alive. */
  epoch: number
  facts: Facts
  firstSeenAt: number
  /** An event of the relay's own, to prove the set-up: it never reaches a beacon. */
  drill?: true
  /** Only in the row of an alert. */
  alert?: Alert
  /** Poll time of each value's last change: what an earlier poll saw of that value is outdated. */
  changedAt?: Partial<Record<keyof Values, number>>
  /** The values that the newest change replaced, as far as they were known. */
  changedFrom?: Partial<Values>
  /** Values on which the beacons disagree. Then no rule approves, and people are asked. */
  disputed?: Disputable[]
  /** First poll that no longer showed it, the last one that did, and when the settle time is over. */
  gone?: { firstAt: number; lastSeenAt: number; confirmAt: number }
  /** The poll that began this epoch, if an event that had ended was seen again. */
  reopenedAt?: number
  /** What nobody was told, as the event seemed over when the news of it came. */
  heldBack?: 'scheduled' | 'changed'
  policy: { decide: Decide; rule: string }
  /** What was decided last; approved is final. */
  verdict?: Verdict
  /** The *not now* that a later approval replaced, or an approval that the event outgrew. */
  overruled?: Verdict
  /** When an approval last lapsed. Later steps have ids of their own, so they are sent again. */
  lapsedAt?: number
  /** Removed when Azure accepts. */
  startFailure?: StartFailure
  /** Azure's 200 to a StartRequests of ours. */
  passedOn?: { vm: string; at: number }
  stuckAt?: number
  /** Distances from NotBefore at which people were reminded, or need not be any more. */
  remindedBeforeSeconds?: number[]
  /**
   * The last reminder, which stands for all distances that were due. `late`: their time had passed when
   * the event was first seen, or moved.
   */
  reminder?: { beforeSeconds: number; due: number[]; late: boolean }
  /** Observers asked to come back fast, with the end of that favour. */
  watchers: { beacon: string; until: number }[]
  history: HistoryEntry[]
  /** Grows with every commit; receivers may drop what is older than what they know. */
  sequence: number
}

/** What the relay needs only until the end of the event. */
interface Pending extends Kept {
  ended?: undefined
  /** There for a drill, and only then. */
  drillPlan?: DrillPlan
  /** The beacon whose report this commit holds. Its own row is written after the event's. */
  heard?: Witness | undefined
  directive?: Directive | undefined
  /** The only beacon that reports it. Absent once another one has reported it. */
  onlyBeacon?: string | undefined
  /** When time alone may bring a conclusion; the sweep asks then. */
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
  dueAt?: undefined
}

export type OpenRecord = ScheduledRecord | StartedRecord
export type EventRecord = OpenRecord | EndedRecord

/** One beacon, as far as judging events needs it. */
export interface Beacon {
  fleet: string
  /** What it is known by: sign-in.ts says why; lower case. */
  beacon: string
  vm: string
  resourceGroup: string
  scaleSet: string
  tags: Record<string, string>
  bootId: string
  retiredBootIds: string[]
  /** When the first report of this boot was received. Absent in older rows. */
  bootHeardAt?: number
  counter: number
  /** Receipt of its last report that was written down, at most one pace old. */
  heardAt: number
  /** Poll time of the document in that report. */
  polledAt?: number
  paceMs: number
  /** When its operating system started, by the relay's clock. */
  bootedAt: number
  /** Ids of the events in its last document. */
  sees: string[]
}

/** What a VM's own beacon says of it, as far as rules ask for it. */
export type KnownVm = Pick<Beacon, 'vm' | 'resourceGroup' | 'scaleSet' | 'tags'>

/** What one beacon last saw of one event. */
export interface Sighting {
  eventId: string
  beacon: string
  /** First poll that showed it; absent in what was written before this was noted. */
  firstSeenAt?: number
  /** As in the last document that held it. */
  event: ScheduledEvent
  /** Set while the beacon's document lacks the event. */
  gone?: { firstAt: number; lastSeenAt: number }
}

/** A beacon that has seen an event, and its sighting. */
export interface Observer {
  beacon: Beacon
  sighting: Sighting
}

/**
 * The part of an observer that conclusions need: whether it is heard, and since when it misses the
 * event.
 */
export interface Witness {
  beacon: Pick<
    Beacon,
    'beacon' | 'vm' | 'heardAt' | 'polledAt' | 'paceMs' | 'bootedAt' | 'bootHeardAt'
  >
  sighting: Pick<Sighting, 'gone'>
}

export function isOpen(record: EventRecord): record is OpenRecord {
  return record.ended === undefined
}

/** The record without what matters only until its end. */
export function withEnd(record: EventRecord, ended: Ended): EndedRecord {
  const { heard: _h, directive: _l, onlyBeacon: _o, dueAt: _d, ...kept } = record
  const phase = ended.outcome === 'lost' ? record.phase : ended.outcome
  return { ...kept, phase, ended, watchers: [] }
}

export function withStarted(record: OpenRecord, startedAt: number): StartedRecord {
  return { ...record, phase: 'started', startedAt }
}

export function isHit(facts: Pick<Facts, 'resources'>, vm: string): boolean {
  const lower = vm.toLowerCase()
  return facts.resources.some((resource) => resource.toLowerCase() === lower)
}

const maxHistory = 200
/** Characters. The facts hold long lists of VMs, once. */
export const maxNoteLength = 300
/** What repeats while an approval is stuck or a VM flickers. */
const repetitive: HistoryEntry['what'][] = ['directed', 'start_failed', 'gone', 'seen_again']
const decisive: HistoryEntry['what'][] = ['approved', 'declined', 'lapsed', 'passed_on']
const byRule = 'policy: '

/** How much an entry would be missed. */
function weightOf({ what, note }: HistoryEntry): number {
  if (repetitive.includes(what)) return 0
  if (!decisive.includes(what)) return 1
  return note?.startsWith(byRule) ? 2 : 3
}

/** The entry to cut next: the oldest of the least important ones, but never the first. */
export function leastValuable(
  history: HistoryEntry[],
  decisions: 'keep_decisions' | 'cut_decisions',
): number | undefined {
  const weights = history.slice(1).map(weightOf)
  const least = Math.min(...weights)
  const none = weights.length === 0 || (decisions === 'keep_decisions' && least > 1)
  return none ? undefined : 1 + weights.indexOf(least)
}

export function shortNote(entry: HistoryEntry): HistoryEntry {
  const { note } = entry
  return note === undefined ? entry : { ...entry, note: cut(note, maxNoteLength) }
}

/**
 * Appends. Where the record is full, the oldest of what is missed least makes room: first what repeats, last
 * what people decided. The first entry never does.
 */
export function addHistory<State extends EventRecord>(record: State, entry: HistoryEntry): State {
  const history = [...record.history, shortNote(entry)]
  while (history.length > maxHistory) history.splice(leastValuable(history, 'cut_decisions')!, 1)
  return { ...record, history }
}
