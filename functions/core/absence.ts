// An event that some beacons miss: whose word counts, when its absence counts as its end, and what kind
// of end it was. A lagging document, or one IMDS hiccup, must not decide that.
import { type Ended, type EventRecord, type Inference, isHit, type Witness } from './event.ts'
import { settleMs } from './life.ts'
import {
  freshUntil,
  goneOf,
  isHeardWithoutPolls,
  type Missing,
  missingIn,
  polledAt,
  seeingIn,
  silentPaces,
} from './witness.ts'

/** Most observers end a started event after this time, where a VM that it hits still shows it. */
export const majorityMs = 30_000
/** How long a silent VM that was hit may take to come back: its uptime says whether it restarted. */
export const uptimeWaitMs = 3 * 60_000

export type Span = NonNullable<EventRecord['gone']>

/** These end with the VM's restart or removal: its uptime shows it. Any other type may only pause it. */
const restarting = ['Reboot', 'Redeploy', 'Preempt', 'Terminate']

/**
 * The span in which the event went: from the last sight of it to the first document without it, among
 * the VMs that it hits, or else among all. Undefined until its absence counts.
 */
export function settledSpan(
  record: EventRecord,
  witnesses: Witness[],
  now: number,
): Span | undefined {
  const settleAt = settlesAt(record, witnesses, now)
  if (settleAt > now) return undefined
  return { ...spanOf(record, missingIn(record, witnesses)), settleAt }
}

/** When the absence counts, if nobody reports anything else until then; Infinity where too few miss it. */
export function settlesAt(record: EventRecord, witnesses: Witness[], now: number): number {
  const missing = missingIn(record, witnesses)
  if (missing.length === 0) return Number.POSITIVE_INFINITY
  const agreedAt = agreesAt(record, missing, seeingIn(record, witnesses, now))
  const uptimeKnownAt = uptimeAwaitedUntil(record, witnesses, spanOf(record, missing))
  return Math.max(agreedAt, uptimeKnownAt, record.gone?.settleAt ?? 0)
}

/**
 * Scheduled: the VMs it hits and most observers must miss it. Started: the VMs it hits, or most
 * observers. Either for the settle time, as two hiccups are not one absence.
 */
function agreesAt(record: EventRecord, missing: Missing[], seeing: Witness[]): number {
  const isHitVm = ({ beacon }: Witness) => isHit(record.facts, beacon.vm)
  const hitMissing = missing.filter(isHitVm)
  const hitSees = seeing.some(isHitVm)
  // a document that lacked the event before it started says nothing about its end
  const since = (one: Missing) => Math.max(goneOf(one).firstAt, record.startedAt ?? 0)
  const times = missing.map(since).sort((a, b) => a - b)
  const majority = Math.floor((missing.length + seeing.length) / 2)
  const mostSince = times[majority] ?? Number.POSITIVE_INFINITY
  const hitSince =
    hitSees || hitMissing.length === 0
      ? Number.POSITIVE_INFINITY
      : Math.max(...hitMissing.map(since))
  if (record.phase === 'started') {
    return Math.min(hitSince + settleMs, mostSince + (hitSees ? majorityMs : settleMs))
  }
  if (hitSees) return Number.POSITIVE_INFINITY
  return Math.max(hitMissing.length === 0 ? 0 : hitSince, mostSince) + settleMs
}

function spanOf(record: EventRecord, missing: Missing[]): Omit<Span, 'settleAt'> {
  const hit = missing.filter(({ beacon }) => isHit(record.facts, beacon.vm))
  const gone = (hit.length > 0 ? hit : missing).map(goneOf)
  const lastSeenAt = Math.max(...gone.map((one) => one.lastSeenAt))
  const after = gone.filter((one) => one.firstAt >= lastSeenAt)
  return { lastSeenAt, firstAt: Math.min(...after.map((one) => one.firstAt)) }
}

/**
 * Gone early, not started by us, and VMs that it hits say nothing of it: until when they may still speak. It counts
 * from their last poll, as a beacon whose polls fail is heard for as long as they do.
 */
function uptimeAwaitedUntil(
  record: EventRecord,
  witnesses: Witness[],
  { firstAt }: Omit<Span, 'settleAt'>,
): number {
  if (record.phase !== 'scheduled' || knownReason(record, firstAt) !== undefined) return 0
  const silent = witnesses.filter((one) => isHit(record.facts, one.beacon.vm) && !misses(one))
  if (silent.length === 0) return 0
  return Math.max(firstAt, ...silent.map(({ beacon }) => polledAt(beacon))) + uptimeWaitMs
}

function misses({ sighting }: Witness): boolean {
  return sighting.gone !== undefined
}

/** The absence looks again when somebody whose document still shows the event is not fresh any more. */
export function nextAbsenceLook(record: EventRecord, witnesses: Witness[], now: number): number {
  const missing = missingIn(record, witnesses)
  const hiccupEndsAt = record.gone?.settleAt ?? Number.POSITIVE_INFINITY
  if (missing.length === 0) return hiccupEndsAt
  const staleAt = seeingIn(record, witnesses, now).map((one) => freshUntil(one) + 1)
  return Math.min(settlesAt(record, witnesses, now), ...staleAt)
}

/** What the absence means, judged on its span, never on when we concluded. */
export function judge(record: EventRecord, witnesses: Witness[], span: Span, now: number): Ended {
  const { firstAt } = span
  // a document that lags may show the start after another one showed the end
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

/** What says without the VM's own word that the event ran, though nobody saw it Started. */
function knownReason(record: EventRecord, firstAt: number): Inference | undefined {
  if (record.verdict?.decision === 'approved' && wasPassedOn(record)) {
    return 'start_not_seen_approved'
  }
  const { notBeforeAt } = record.facts
  if (notBeforeAt !== undefined && notBeforeAt <= firstAt) return 'start_not_seen_not_before_passed'
  return undefined
}

/** Confirmed, or handed to a beacon that may not have lived to say so. */
function wasPassedOn(record: EventRecord): boolean {
  return record.passedOn !== undefined || record.directive !== undefined
}

/**
 * The VM restarted between its last sight of the event and its first miss, or is still silent. A pause
 * shows as a gap between those polls, unless the beacon itself was restarted in the gap. Of a VM that is
 * heard while its polls fail, the uptime alone counts.
 */
function wasInterrupted(record: EventRecord, one: Witness, now: number): boolean {
  const {
    beacon,
    sighting: { gone },
  } = one
  if (gone === undefined) {
    return !isHeardWithoutPolls(one, now) || beacon.bootedAt > polledAt(beacon)
  }
  const { bootedAt, bootHeardAt, paceMs } = beacon
  if (bootedAt > gone.lastSeenAt && bootedAt <= gone.firstAt) return true
  if (restarting.includes(record.facts.eventType)) return false
  const beaconRestarted = bootHeardAt !== undefined && bootHeardAt > gone.lastSeenAt
  return !beaconRestarted && gone.firstAt - gone.lastSeenAt > silentPaces * paceMs
}
