// Takes what a report shows of one event into the record, and checks whether beacons agree on it.
import { type Approved, isCovered, lapse, mayLapse, withoutOutgrown } from './agreed.ts'
import { heldBackNews } from './apply-policy.ts'
import { type EventReport, follow, type Loaded, type Needs, type Step } from './decision.ts'
import { withStart } from './directive.ts'
import { changeLagMs, differs, reconcile, withoutOutdated } from './dispute.ts'
import { type EventRecord, isHit, isOpen } from './event.ts'
import { advance, type StepReason } from './life.ts'
import type { Moment } from './moment.ts'
import type { Observer } from './observer.ts'
import { confirmedBy } from './open-limits.ts'
import type { EventNews } from './reading.ts'
import { freshUntil, polledAt } from './witness.ts'

/** `isNews`: the report changed the record. */
export type Observed = Step & { isNews: boolean }

/** Applies what the beacon saw, and the results of its directives. */
export function observe(
  before: EventRecord | undefined,
  { reading: { beacon }, news }: EventReport,
  now: number,
): Observed | undefined {
  const key = { fleet: beacon.fleet, eventId: news.eventId }
  let seen: { record: EventRecord | undefined; moments: Moment[]; reason: StepReason } = {
    record: before,
    moments: [],
    reason: 'nothing_new',
  }
  for (const observation of news.observations) {
    const step = advance(seen.record, observation, now, key)
    const isNews = step.record !== seen.record
    // moments of the earlier epoch are no longer news
    const moments = step.reason === 'reopened' ? [] : seen.moments
    seen = {
      record: step.record,
      moments: [...moments, ...step.moments],
      reason: isNews ? step.reason : seen.reason,
    }
  }
  if (seen.record === undefined) return undefined
  const { moments, reason } = seen
  let step: Step = { record: withStartKind(seen.record, moments), moments, reason }
  if (news.inDocument) {
    const held = heldBackNews(step.record)
    step = follow(step, held.record, 'seen_again', held.moments)
    step = follow(step, confirmedBy(step.record, beacon.beacon), 'seen_by_another')
  }
  for (const { start, at } of news.starts) {
    const started = withStart(step.record, beacon.beacon, start, at) ?? step.record
    step = follow(step, started, 'start_reported')
  }
  return { ...step, isNews: seen.record !== before }
}

/** If one report shows Scheduled and Started, the event was announced, but reported late. */
function withStartKind(record: EventRecord, moments: Moment[]): EventRecord {
  const late = moments.includes('scheduled') && moments.includes('started')
  return late && record.phase === 'started' ? { ...record, startKind: 'reported_late' } : record
}

/** Compares the beacons' documents, and ends an approval that no longer covers the event. */
export function agree(
  before: EventRecord | undefined,
  seen: Observed,
  report: EventReport,
  { observers }: Loaded,
  now: number,
): Observed | Needs {
  const { reading, news } = report
  const observed = withoutFlips(before, seen, report, observers, now)
  if ('needs' in observed) return observed
  let step: Step = observed
  if (isDisputable(step.record, news)) {
    if (observers === undefined) return { needs: 'observers' }
    const reconciled = reconcile(step.record, observers, now)
    step = follow(step, reconciled.record, 'disputed', reconciled.moments)
  }
  const { record } = step
  const isNews = observed.isNews || record !== observed.record
  const self = reading.asObserver(news)
  // if the relay died before it wrote the beacon's row, the state that it knows is from before the approval
  const isShownUnready = news.inDocument && isUnready(record, self)
  const lapses = (mayLapse(record) && isShownUnready) || isOutgrownUnstarted(record, self, news)
  const covered = lapses
    ? lapse(record, now)
    : withoutOutgrown(record, withoutOutdated(record, self), now)
  // people must decide again, even if only this beacon's document exceeds the approval
  const outgrown = covered === record ? step : follow(step, covered, 'lapsed', ['changed'])
  return { ...outgrown, isNews }
}

/** A rule waited for this VM's hook and approved, but its own beacon says that the hook is not done. */
function isUnready(
  { verdict, policy, facts }: EventRecord,
  { beacon, sighting }: Observer,
): boolean {
  const state = sighting.hooks?.prepare?.state
  const isWaitedFor = verdict?.how === 'policy' && policy.whenReady === true
  return isWaitedFor && isHit(facts, beacon.vm) && state !== undefined && state !== 'succeeded'
}

/** Azure makes fewer changes, and affected VMs see all of them. A liar could make any number. */
const maxChangesByOthers = 3

/** After these changes, only affected VMs change values, as long as one of them reports. */
function withoutFlips(
  before: EventRecord | undefined,
  seen: Observed,
  { reading: { beacon } }: EventReport,
  observers: Observer[] | undefined,
  now: number,
): Observed | Needs {
  const { record } = seen
  const isChange = seen.moments.length === 1 && seen.moments[0] === 'changed'
  if (before === undefined || !isChange || isHit(before.facts, beacon.vm)) return seen
  if (before.epoch !== record.epoch || (before.changes?.count ?? 0) < maxChangesByOthers)
    return seen
  if (observers === undefined) return { needs: 'observers' }
  const isFresh = (one: Observer) => one.sighting.gone === undefined && freshUntil(one) >= now
  if (!observers.some((one) => isHit(before.facts, one.beacon.vm) && isFresh(one))) return seen
  return { record: before, moments: [], reason: 'nothing_new', isNews: false }
}

/**
 * Azure starts an event within seconds of being told. If a document still shows it as Scheduled
 * after a minute, and the approval no longer covers it, the approval lapses: no beacon would tell
 * Azure again. The same holds if a VM reports that its hook is not done. A rule's approval must also
 * cover this document, because the beacon that claims to have told Azure may have lied.
 */
function isOutgrownUnstarted(
  record: EventRecord,
  self: Observer,
  { inDocument, status }: EventNews,
): record is Approved {
  const { passedOn, verdict, phase } = record
  const isWaiting = phase === 'scheduled' && isOpen(record) && verdict?.decision === 'approved'
  if (!isWaiting || passedOn === undefined || !inDocument || status !== 'Scheduled') return false
  if (polledAt(self.beacon) < passedOn.at + changeLagMs) return false
  return !isCovered(record, withoutOutdated(record, self)) || isUnready(record, self)
}

/** Whether a contradiction between beacons still matters, and this report can change it. */
function isDisputable(record: EventRecord, { inDocument, sighting }: EventNews): boolean {
  const matters = inDocument && isOpen(record) && record.phase === 'scheduled'
  if (!matters || record.passedOn !== undefined) return false
  // a rule that has not approved yet may wait for a silent beacon that saw other values
  const waits = record.policy.decide === 'approve' && record.verdict === undefined
  return waits || differs(record.facts, sighting.event) || record.disputed !== undefined
}
