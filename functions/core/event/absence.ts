// An event that some beacons no longer see. Decides which beacons count, when the absence counts as
// its end, and what kind of end it was. One late document or one IMDS hiccup must not decide that.
import { type Ended, type EventRecord, type Inference, isHit, type Witness } from './event.ts'
import { confirmMs } from './life.ts'
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

/** If a hit VM still shows a started event, most observers end it after this time. */
const majorityMs = 30_000
/** How long to wait for a silent hit VM. Its uptime says whether it restarted. */
const uptimeWaitMs = 3 * 60_000

type Span = NonNullable<EventRecord['gone']>

/**
 * These types end with a restart or removal of the VM, which its uptime shows. Others may only
 * pause it.
 */
const restarting = ['Reboot', 'Redeploy', 'Preempt', 'Terminate']

/**
 * When the event disappeared: from the last document that shows it to the first without it. Counts
 * the hit VMs, or all VMs if no hit VM misses it. Undefined until the absence counts.
 */
export function confirmedSpan(
  record: EventRecord,
  witnesses: Witness[],
  now: number,
): Span | undefined {
  const confirmAt = confirmsAt(record, witnesses, now)
  if (confirmAt > now) return undefined
  return { ...spanOf(record, missingIn(record, witnesses)), confirmAt }
}

/** When the absence counts if no further report arrives. Infinity if too few VMs miss the event. */
function confirmsAt(record: EventRecord, witnesses: Witness[], now: number): number {
  const missing = missingIn(record, witnesses)
  if (missing.length === 0) return Number.POSITIVE_INFINITY
  const agreedAt = agreesAt(record, missing, seeingIn(record, witnesses, now))
  const uptimeKnownAt = uptimeAwaitedUntil(record, witnesses, spanOf(record, missing))
  return Math.max(agreedAt, uptimeKnownAt, record.gone?.confirmAt ?? 0)
}

/**
 * Scheduled: all hit VMs and most observers must miss it. Started: all hit VMs, or most observers.
 * They must miss it for the settle time, since two hiccups are not an absence.
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
  if (record.phase === 'started') {
    return Math.min(hitSince + confirmMs, mostSince + (hitSees ? majorityMs : confirmMs))
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
 * How long to wait for silent hit VMs, if the event disappeared early and we did not start it. The
 * wait begins at their last poll: a beacon whose polls fail is still heard.
 */
function uptimeAwaitedUntil(
  record: EventRecord,
  witnesses: Witness[],
  { firstAt }: Omit<Span, 'confirmAt'>,
): number {
  if (record.phase !== 'scheduled' || knownReason(record, firstAt) !== undefined) return 0
  const silent = witnesses.filter((one) => isHit(record.facts, one.beacon.vm) && !misses(one))
  if (silent.length === 0) return 0
  return Math.max(firstAt, ...silent.map(({ beacon }) => polledAt(beacon))) + uptimeWaitMs
}

function misses({ sighting }: Witness): boolean {
  return sighting.gone !== undefined
}

/** Look again when a document that still shows the event becomes stale. */
export function nextAbsenceLook(record: EventRecord, witnesses: Witness[], now: number): number {
  const missing = missingIn(record, witnesses)
  const hiccupEndsAt = record.gone?.confirmAt ?? Number.POSITIVE_INFINITY
  if (missing.length === 0) return hiccupEndsAt
  const staleAt = seeingIn(record, witnesses, now).map((one) => freshUntil(one) + 1)
  return Math.min(confirmsAt(record, witnesses, now), ...staleAt)
}

/** What the absence means. Judged by its span, not by the time of our conclusion. */
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

/** Evidence without the VM's own report that the event ran, though nobody saw it Started. */
function knownReason(record: EventRecord, firstAt: number): Inference | undefined {
  if (wasPassedOn(record)) return 'start_not_seen_approved'
  const { notBeforeAt } = record.facts
  if (notBeforeAt !== undefined && notBeforeAt <= firstAt) return 'start_not_seen_not_before_passed'
  return undefined
}

/**
 * Azure confirmed a start, even if the approval lapsed while the request was under way. Or a beacon
 * had the directive and may have died before it could confirm.
 */
function wasPassedOn({ passedOn, directive, verdict }: EventRecord): boolean {
  if (passedOn !== undefined) return true
  return directive !== undefined && verdict?.decision === 'approved'
}

/**
 * The VM restarted between its last sight of the event and its first miss, or is still silent. A gap
 * between those polls shows a pause, unless the beacon itself restarted in the gap. If the VM is heard
 * while its polls fail, only its uptime counts.
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
