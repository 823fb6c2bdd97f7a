// Whether an event is over, and how it ended: laws 4 to 6 (docs/laws.md). Of what beacons show, three things
// prove an end: documents that lack the event, the silence of VMs that Azure takes, or 10 minutes without a
// document. `sight.ts` says who speaks for an event. Azure's word ends it in `published.ts`, doubt in
// `doubt.ts`, and the plan of a drill in `drill.ts`.
import { isAdvice } from '../../../shared/document.ts'
import { dayMs } from '../units.ts'
import { type Ended, type EventRecord, type Inference, isOpen, type OpenRecord } from './event.ts'
import {
  eventGrid,
  heardAt,
  isAffected,
  isHeard,
  isSeeing,
  type Listening,
  lastShownAt,
  listSpeakers,
  type Missing,
  resourceGraph,
  type Sight,
  seeingVms,
} from './sight.ts'

/** How long all speakers must lack an event. An IMDS hiccup must not end it. */
const settleMs = 10_000
/** How long half of all VMs must lack an event that has started or is due. */
const halfMs = 30_000
/** A Preempt or Terminate is completed if its VMs were silent for this long after its start. */
const vmGoneMs = 2 * 60_000
/** An event is lost if nobody that saw it has reported a document for this long after it may run. */
export const lostMs = 10 * 60_000
/** Or, however far NotBefore is: others may invent events of years ahead. */
const unseenMs = 7 * dayMs
/** While a VM lacks the event, look this often. */
const lookMs = 10_000

const never = Number.POSITIVE_INFINITY

/**
 * Whether the last document of every affected VM lacks the event. If none has a sight, the onlookers
 * count. Silent VMs count, too. Until its end is proven, nobody is asked and no rule approves.
 */
export function seemsOver({ facts, sights }: EventRecord): boolean {
  const affected = sights.filter((one) => isAffected(facts, one))
  const counting = affected.length > 0 ? affected : sights
  return counting.length > 0 && counting.every(({ missing }) => missing !== undefined)
}

/** Whether people are asked about the event, and nobody has decided. */
export function isUndecided(record: EventRecord): boolean {
  const { phase, policy, decided } = record
  const isAsked = isOpen(record) && phase === 'scheduled' && policy.decide === 'ask'
  return isAsked && decided === undefined && !seemsOver(record)
}

/** How soon people need an open event. */
type Need = readonly [isDecided: 0 | 1, notBeforeAt: number, ...unknown[]]

export function rankNeed({ started, decided, facts }: EventRecord): [0 | 1, number] {
  const isDecided = started !== undefined || decided !== undefined
  return [isDecided ? 1 : 0, facts.notBeforeAt ?? 0]
}

/** Undecided ones first, then by NotBefore. */
export function byNeed([one, at]: Need, [other, otherAt]: Need): number {
  return one - other || at - otherAt
}

/** How the event ended. Undefined while it goes on. */
export function findEnd(record: OpenRecord, listening: Listening): Ended | undefined {
  const { now } = listening
  if (goneProvenAt(record, listening) <= now) return endedByDocuments(record, listening)
  if (vmGoneAt(record, listening) <= now) {
    return { at: now, outcome: 'completed', inferred: 'vm_gone' }
  }
  if (lostAt(record, listening) <= now) {
    return { at: now, outcome: 'lost', inferred: 'nobody_left_to_see' }
  }
  return undefined
}

/** When `findEnd` must look again if no report arrives. The time may be too early. */
export function nextEndAt(record: OpenRecord, listening: Listening): number {
  const isMissed = record.sights.some(({ missing }) => missing !== undefined)
  const times = [lostAt(record, listening), vmGoneAt(record, listening)]
  return Math.min(...times, isMissed ? listening.now + lookMs : never)
}

/** When the documents that lack the event prove its end. */
function goneProvenAt(record: OpenRecord, listening: Listening): number {
  const { phase, started: { at: startedAt } = { at: 0 }, facts, backAt = 0 } = record
  // a document from before the event came back says nothing of its end
  const since = listSpeakers(record, listening).map(({ lacksSince = never }) =>
    Math.max(lacksSince, backAt),
  )
  if (since.length === 0) return never
  const allProvenAt = Math.max(...since) + settleMs
  const isBegun = phase === 'started' || (facts.notBeforeAt ?? never) <= listening.now
  // until then, half of the VMs are not enough: a document that lags must not cancel the event. A VM
  // that fell silent speaks for three more minutes, so its report of a restart comes before the end
  if (!isBegun) return allProvenAt
  // a document from before the start says nothing about the end
  const recent = record.sights.filter(
    ({ beacon, polledAt }) => polledAt >= startedAt && beacon !== eventGrid,
  )
  const affected = record.sights.filter((one) => isAffected(facts, one))
  // onlookers that were wrong once outvote no affected VM
  const isDoubted = record.backAt !== undefined && affected.some((one) => isSeeing(one, listening))
  const sights = isDoubted ? recent.filter((one) => affected.includes(one)) : recent
  const from = Math.max(startedAt, backAt)
  const lackTimes = seeingVms(sights, listening).map(({ lacksSince = never }) =>
    Math.max(lacksSince, from),
  )
  // where no affected VM is heard, as many onlookers say the one as the other
  const isHeard = affected.some((one) => isSeeing(one, listening))
  const needed = isHeard ? Math.ceil(lackTimes.length / 2) : Math.floor(lackTimes.length / 2) + 1
  const half = lackTimes.sort((a, b) => a - b)[needed - 1] ?? never
  return Math.min(allProvenAt, half + halfMs)
}

/** No affected VM lacks it: none has spoken yet, or it restarts. Nor does Azure's list lack it. */
function isOnlookersWord({ facts, sights }: OpenRecord): boolean {
  const knows = (one: Sight) => one.beacon === resourceGraph || isAffected(facts, one)
  return !sights.some((one) => knows(one) && one.missing !== undefined)
}

function endedByDocuments(record: OpenRecord, listening: Listening): Ended {
  const missing = missingIn(record)
  const since = goneAt(missing)
  const at = Math.max(since, ...lastShownAt(record))
  const isDoubtful =
    isShownByAffected(record, listening) ||
    isOnlookersWord(record) ||
    isStillScheduled(record, listening) ||
    isShownBySelfNamed(record, listening)
  const doubt = isDoubtful ? { by: 'doubt' as const } : {}
  if (record.phase === 'started') {
    return { at: Math.max(at, record.started.at), outcome: 'completed', ...doubt }
  }
  if (isAdvice(record.facts)) return { at, outcome: 'cancelled', ...doubt }
  const inferred = whyCompleted(record, since, listening)
  return inferred === undefined
    ? { at, outcome: 'cancelled', inferred: 'gone_before_its_time', ...doubt }
    : { at, outcome: 'completed', inferred, ...doubt }
}

/** Onlookers alone lack it. If an affected VM that still shows it is heard again, the event is back. */
function isShownByAffected({ facts, sights }: OpenRecord, listening: Listening): boolean {
  const affected = sights.filter((one) => isAffected(facts, one))
  const seeing = seeingVms(affected, listening)
  return seeing.length > 0 && seeing.every(({ lacksSince }) => lacksSince === undefined)
}

/**
 * The last document of a VM that has shown it as its own has it as Scheduled: those that lack it may have named
 * themselves. From NotBefore on, such a document lags.
 */
function isStillScheduled({ facts, sights }: OpenRecord, { now }: Listening): boolean {
  if ((facts.notBeforeAt ?? never) <= now) return false
  return sights.some(
    ({ isHit, missing, shows }) =>
      isHit === true && missing === undefined && shows.status === 'Scheduled',
  )
}

/** Whether a VM that only itself names goes on showing the event, which may have become that VM's. */
function isShownBySelfNamed({ facts, sights }: OpenRecord, listening: Listening): boolean {
  const own = sights.filter(
    ({ vm, isHit }) => isHit === true && facts.selfNamed?.includes(vm.toLowerCase()),
  )
  return own.some((one) => one.missing === undefined && isSeeing(one, listening))
}

/** Reads when affected VMs lost the event. If no affected VM lacks it, the onlookers count. */
function missingIn({ facts, sights }: EventRecord): Missing[] {
  const lacking = sights.filter(({ missing }) => missing !== undefined)
  const affected = lacking.filter((one) => isAffected(facts, one))
  return (affected.length > 0 ? affected : lacking).map(({ missing }) => missing!)
}

/** When the event disappeared: the first poll without it, after the last one with it. */
export function goneAt(missing: Missing[]): number {
  const lastSeenAt = Math.max(...missing.map((one) => one.lastSeenAt))
  const after = missing.map(({ firstAt }) => firstAt).filter((at) => at >= lastSeenAt)
  return Math.min(...(after.length > 0 ? after : missing.map(({ firstAt }) => firstAt)))
}

/** Why an event ran, although no beacon saw it Started. */
export function whyCompleted(
  { facts, sights, azure }: EventRecord,
  at: number,
  listening: Listening,
): Inference | undefined {
  const affected = sights.filter((one) => isAffected(facts, one))
  if (affected.some((one) => hasRestarted(one, listening))) return 'start_not_seen_vm_rebooted'
  // from the earliest acceptance on, Azure could start it
  if (((azure.acceptedBefore ?? azure.accepted)?.at ?? never) <= at)
    return 'start_not_seen_approved'
  if ((facts.notBeforeAt ?? never) <= at) return 'start_not_seen_not_before_passed'
  return undefined
}

/**
 * Whether the VM restarted since its last document with the event. If it is silent, and said no goodbye,
 * it may be restarting.
 */
function hasRestarted(sight: Sight, listening: Listening): boolean {
  const { missing, bootedAt, polledAt, goodbye } = sight
  if (missing !== undefined) return missing.restarted === true
  return bootedAt > polledAt || (goodbye === undefined && !isHeard(sight, listening))
}

export function takesVm({ facts: { eventType } }: Pick<EventRecord, 'facts'>): boolean {
  return eventType === 'Preempt' || eventType === 'Terminate'
}

/** When the silence of its VMs proves that Preempt or Terminate took them. */
function vmGoneAt(record: OpenRecord, listening: Listening): number {
  if (!takesVm(record)) return never
  const affected = record.sights.filter(
    (one) =>
      isAffected(record.facts, one) && one.goodbye !== 'removed' && one.goodbye !== 'upgrade',
  )
  if (affected.length === 0) return never
  const heard = affected.map((one) => heardAt(one, listening))
  // an onlooker that still sees it Scheduled knows more than Azure's answer
  const onlookers = record.sights.filter((one) => !isAffected(record.facts, one))
  const isSeen = seeingVms(onlookers, listening).some(({ lacksSince }) => lacksSince === undefined)
  const from = isSeen ? (record.started?.at ?? record.facts.notBeforeAt) : mayRunFrom(record)
  return Math.max(from ?? never, ...heard) + vmGoneMs
}

/** From when on the event may be running. Undefined if nobody knows. */
function mayRunFrom({ started, azure, facts }: OpenRecord): number | undefined {
  return started?.at ?? azure.accepted?.at ?? facts.notBeforeAt
}

function lostAt(record: OpenRecord, listening: Listening): number {
  const seenAt = record.sights.map((one) => Math.max(one.polledAt, listening.listeningSince))
  const lastSeenAt = Math.max(record.firstSeenAt, ...seenAt)
  const runsAt = mayRunFrom(record) ?? record.firstSeenAt
  return Math.min(Math.max(runsAt, lastSeenAt) + lostMs, lastSeenAt + unseenMs)
}
