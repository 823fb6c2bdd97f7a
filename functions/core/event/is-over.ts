// Decides whether an event is over, and how it ended: by documents that lack it, or by the silence of
// its VMs. One late document or one IMDS hiccup must not decide that. `witness.ts` says whose documents
// count, `drill.ts` ends drills.
import { lastPassedOn } from './agreed.ts'
import { mayBePassedOn } from './directive.ts'
import {
  type Absence,
  type Ended,
  type EventRecord,
  type Inference,
  isHit,
  type OpenRecord,
} from './event.ts'
import { confirmMsOf } from './life.ts'
import type { Witness } from './observer.ts'
import {
  freshUntil,
  goneOf,
  hasLeft,
  hasOutlier,
  isHeardWithoutPolls,
  type Missing,
  missingIn,
  polledAt,
  seeingIn,
  takesVm,
} from './witness.ts'

/** A Preempt or Terminate is completed if its VMs were silent for this long after its start. */
export const vmGoneMs = 2 * 60_000
/** An event is lost if no observer was heard for this long. */
export const lostMs = 10 * 60_000
/** Or if all observers that are heard could not poll for this long. */
export const blindMs = 60 * 60_000

/** How long most observers must miss a started event that an affected VM still shows. */
const majorityMs = 30_000
/** How long to wait for a silent affected VM. Its uptime shows whether it restarted. */
const uptimeWaitMs = 3 * 60_000

/** While few VMs miss the event, look this often whether the others show it. */
const minorityLookMs = 60_000
/** How often to look whether an affected VM has restarted since the event is open again. */
const restartLookMs = 30_000

type Span = Omit<Absence, 'denied'>

/** These types restart or remove the VM, which its uptime shows. */
const restarting = ['Reboot', 'Redeploy', 'Preempt', 'Terminate']

/** The end, and the record with the absence that shows it. Undefined while the event goes on. */
export function overIn(
  record: OpenRecord,
  witnesses: Witness[],
  now: number,
): { record: OpenRecord; ended: Ended } | undefined {
  const confirmed = confirmedSpan(record, witnesses, now)
  if (confirmed !== undefined) {
    const ended = endingOf(record, witnesses, confirmed, now)
    return { record: { ...record, gone: confirmed }, ended }
  }
  const ended = endedBySilence(record, witnesses, now)
  if (ended === undefined) return undefined
  const { gone, ...rest } = record
  return { record: gone?.denied ? rest : record, ended }
}

/**
 * When the event disappeared: between the last document with it and the first without it. Undefined
 * until its absence is confirmed.
 */
function confirmedSpan(record: EventRecord, witnesses: Witness[], now: number): Span | undefined {
  const confirmAt = confirmsAt(record, witnesses, now)
  if (confirmAt > now) return undefined
  return { ...spanOf(record, missingIn(record, witnesses)), confirmAt }
}

/** When the absence is confirmed if no report arrives. Infinity if too few VMs miss the event. */
function confirmsAt(record: EventRecord, witnesses: Witness[], now: number): number {
  const missing = missingIn(record, witnesses)
  if (missing.length === 0) return Number.POSITIVE_INFINITY
  const agreedAt = agreesAt(record, missing, seeingIn(record, witnesses, now))
  const uptimeKnownAt = uptimeAwaitedUntil(record, witnesses, spanOf(record, missing))
  return Math.max(agreedAt, uptimeKnownAt, record.gone?.confirmAt ?? 0)
}

/**
 * Scheduled: all affected VMs and most observers must miss it for `confirmMsOf`. Started: all
 * affected VMs or most observers must.
 */
function agreesAt(record: EventRecord, missing: Missing[], seeing: Witness[]): number {
  const isHitVm = ({ beacon }: Witness) => isHit(record.facts, beacon.vm)
  const hitMissing = missing.filter(isHitVm)
  const hitSees = seeing.some(isHitVm)
  // a document that lacked the event before the start says nothing about its end
  const since = (one: Missing) => Math.max(goneOf(one).firstAt, record.startedAt ?? 0)
  const times = missing.map(since).sort((a, b) => a - b)
  const majority = Math.floor((missing.length + seeing.length) / 2)
  const mostSince = times[majority] ?? Number.POSITIVE_INFINITY
  const hitSince =
    hitSees || hitMissing.length === 0
      ? Number.POSITIVE_INFINITY
      : Math.max(...hitMissing.map(since))
  const confirmMs = confirmMsOf(record)
  if (record.phase === 'started') {
    const mostMs = hitSees ? Math.max(majorityMs, confirmMs) : confirmMs
    return Math.min(hitSince + confirmMs, mostSince + mostMs)
  }
  if (hitSees) return Number.POSITIVE_INFINITY
  return Math.max(hitMissing.length === 0 ? 0 : hitSince, mostSince) + confirmMs
}

function spanOf(record: EventRecord, missing: Missing[]): Omit<Span, 'confirmAt'> {
  const hit = missing.filter(({ beacon }) => isHit(record.facts, beacon.vm))
  const gone = (hit.length > 0 ? hit : missing).map(goneOf)
  const lastSeenAt = Math.max(...gone.map((one) => one.lastSeenAt))
  const after = gone.filter((one) => one.firstAt >= lastSeenAt)
  return { lastSeenAt, firstAt: Math.min(...after.map((one) => one.firstAt)) }
}

/**
 * Until when to wait for silent affected VMs, if the event disappeared early and Foghorn did not
 * start it. The wait begins at their last poll: a beacon whose polls fail is still heard.
 */
function uptimeAwaitedUntil(
  record: EventRecord,
  witnesses: Witness[],
  { firstAt }: Omit<Span, 'confirmAt'>,
): number {
  if (record.phase !== 'scheduled' || knownReason(record, firstAt) !== undefined) return 0
  const silent = witnesses.filter(
    ({ beacon, sighting: { gone } }) =>
      isHit(record.facts, beacon.vm) && gone === undefined && beacon.goodbye?.reason !== 'removed',
  )
  if (silent.length === 0) return 0
  return Math.max(firstAt, ...silent.map(({ beacon }) => polledAt(beacon))) + uptimeWaitMs
}

/**
 * The next time when the absence may be confirmed, or when a document with the event becomes stale.
 */
export function nextAbsenceLook(record: EventRecord, witnesses: Witness[], now: number): number {
  const missing = missingIn(record, witnesses)
  const hitMissed = witnesses.some(
    ({ beacon, sighting: { gone } }) => isHit(record.facts, beacon.vm) && gone !== undefined,
  )
  const restartAt = hitMissed ? nextRestartLook(record, now) : Number.POSITIVE_INFINITY
  const hiccupEndsAt = record.gone?.confirmAt ?? Number.POSITIVE_INFINITY
  if (missing.length === 0) {
    const isToCome = hiccupEndsAt > now || !hasOutlier(witnesses)
    return Math.min(isToCome ? hiccupEndsAt : now + uptimeWaitMs, restartAt)
  }
  const staleAt = seeingIn(record, witnesses, now).map((one) => freshUntil(one) + 1)
  const minorityAt = hiccupEndsAt > now ? Number.POSITIVE_INFINITY : now + minorityLookMs
  return Math.min(confirmsAt(record, witnesses, now), restartAt, minorityAt, ...staleAt)
}

/** If an affected VM was down when the event reopened, only its restart shows that it is over. */
export function nextRestartLook({ phase, reopenedAt }: EventRecord, now: number): number {
  const isAwaited = phase === 'started' && reopenedAt !== undefined
  return isAwaited ? now + restartLookMs : Number.POSITIVE_INFINITY
}

/** How the event ended, judged by the span of the absence and not by the time of this call. */
function endingOf(record: EventRecord, witnesses: Witness[], span: Span, now: number): Ended {
  const { firstAt } = span
  // a late document may show the start after another one showed the end
  const { startedAt = firstAt } = record
  if (record.phase === 'started') {
    return { at: Math.max(firstAt, startedAt), outcome: 'completed' }
  }
  const hit = witnesses.filter(({ beacon }) => isHit(record.facts, beacon.vm))
  const why = hit.some((one) => wasInterrupted(record, one, now))
    ? 'start_not_seen_vm_rebooted'
    : knownReason(record, firstAt)
  return why === undefined
    ? { at: firstAt, outcome: 'cancelled', inferred: 'gone_before_its_time' }
    : { at: firstAt, outcome: 'completed', inferred: why }
}

/** Why the event must have run, if no beacon saw it Started. Needs no report of the VM. */
function knownReason(record: EventRecord, firstAt: number): Inference | undefined {
  if (wasPassedOn(record, firstAt)) return 'start_not_seen_approved'
  const { notBeforeAt } = record.facts
  if (notBeforeAt !== undefined && notBeforeAt <= firstAt) return 'start_not_seen_not_before_passed'
  return undefined
}

/**
 * Azure confirmed a start, even if the approval lapsed while the request was under way. Or a beacon
 * had the directive and may have died before it could confirm. If Azure refused, nothing started. An
 * absence that began before the approval has another cause.
 */
function wasPassedOn(record: EventRecord, firstAt: number): boolean {
  const { verdict, passedOnBefore, passedOn } = record
  // people may approve again after Azure was told
  const approvedAt = Math.min(
    ...[passedOnBefore, passedOn, verdict].map((one) => one?.at ?? Infinity),
  )
  if (firstAt < approvedAt) return false
  return (
    lastPassedOn(record) !== undefined ||
    (verdict?.decision === 'approved' && mayBePassedOn(record))
  )
}

/**
 * The VM restarted between its last sight of the event and its first miss, or is still silent. A
 * silence between those polls shows a pause, unless the beacon itself restarted in it. If the VM is
 * heard while its polls fail, only its uptime counts.
 */
function wasInterrupted(record: EventRecord, one: Witness, now: number): boolean {
  const {
    beacon,
    sighting: { gone },
  } = one
  if (gone === undefined) {
    const isSilent = !isHeardWithoutPolls(one, now) && !hasLeft(one)
    return isSilent || beacon.bootedAt > polledAt(beacon)
  }
  const { bootedAt, bootHeardAt } = beacon
  if (bootedAt > gone.lastSeenAt && bootedAt <= gone.firstAt) return true
  if (restarting.includes(record.facts.eventType)) return false
  const beaconRestarted = bootHeardAt > gone.lastSeenAt
  return !beaconRestarted && gone.paused === true
}

function endedBySilence(record: EventRecord, witnesses: Witness[], now: number): Ended | undefined {
  if (vmGoneAt(record, witnesses, now) <= now) {
    return { at: now, outcome: 'completed', inferred: 'vm_gone' }
  }
  if (lostAt(record, witnesses) <= now) {
    return { at: now, outcome: 'lost', inferred: 'nobody_left_to_see' }
  }
  return undefined
}

/**
 * When the silence of the hit VMs proves the end of a Preempt or Terminate. Infinity if it does
 * not.
 */
export function vmGoneAt(record: EventRecord, witnesses: Witness[], now: number): number {
  const isSeen = seeingIn(record, witnesses, now).length > 0
  const from = removalAt(record, isSeen)
  const hit = witnesses.filter((one) => isHit(record.facts, one.beacon.vm) && !hasLeft(one))
  // a VM without a beacon is always silent, so the documents of others decide
  if (hit.length === 0 && isSeen) return Number.POSITIVE_INFINITY
  // its beacon may be about to report for the first time
  const heard = hit.length === 0 ? witnesses : hit
  return Math.max(from, ...heard.map(({ beacon }) => beacon.heardAt)) + vmGoneMs
}

/**
 * When a Preempt or Terminate begins to remove its VM. Infinity for other events. Once Azure was
 * told, it may begin at any time, unless a VM still sees it Scheduled.
 */
export function removalAt(record: EventRecord, isSeen = false): number {
  const passedOnAt = isSeen ? undefined : lastPassedOn(record)?.at
  const beganAt = record.startedAt ?? passedOnAt ?? record.facts.notBeforeAt
  return takesVm(record) && beganAt !== undefined ? beganAt : Number.POSITIVE_INFINITY
}

export function lostAt(record: EventRecord, witnesses: Witness[]): number {
  const decided = record.verdict?.decision === 'approved' ? record.verdict.at : undefined
  const expectedAt = record.startedAt ?? decided ?? record.facts.notBeforeAt ?? record.firstSeenAt
  return Math.max(expectedAt, ...witnesses.map(({ beacon }) => watchedAt(beacon))) + lostMs
}

/** A beacon that reports may be able to poll again soon. */
function watchedAt(beacon: Witness['beacon']): number {
  return Math.min(beacon.heardAt, polledAt(beacon) + blindMs)
}
