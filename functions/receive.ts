// A report comes in: what it says of each event is joined into the committed record, and the answer
// tells the beacon what to start and when to come back. Events are written first, the beacon last, so
// that a crash in between makes the next report say it again.
import { limits } from '../shared/document.ts'
import { FoghornError, messageOf } from '../shared/errors.ts'
import type { Answer, Directive, Refused, Report } from '../shared/report.ts'
import { raiseAlert } from './alert.ts'
import { agreedOf, withoutOutgrown } from './core/agreed.ts'
import { leaseOf, withLease, withStart } from './core/approval.ts'
import { conclude, nextLookOf } from './core/conclude.ts'
import type { Delivery } from './core/delivery.ts'
import { contradictions, reconcile, withoutOutdated } from './core/dispute.ts'
import {
  type Beacon,
  type EventRecord,
  isHit,
  isOpen,
  type Moment,
  type Observer,
  type Sighting,
} from './core/event.ts'
import {
  approveByPolicy,
  holdBack,
  missed,
  tellHeldBack,
  withNotice,
  withPolicy,
  worthTelling,
} from './core/judgement.ts'
import { advance, settleMs } from './core/life.ts'
import { isDecisionNear, openPaceMs, paceFor, type Seen, watch } from './core/pace.ts'
import { remindersOf } from './core/policy.ts'
import { type EventNews, type Reading, readReport, tidyReport } from './core/reading.ts'
import { confirmedBy, openedBy, opens } from './core/share.ts'
import { asHeard, heardSince, silentPaces, withHeard } from './core/witness.ts'
import { commitOf, maxCommitAttempts, type Relay } from './relay.ts'
import { Share } from './share.ts'

/** If this many events of one report fail, the rest waits for the next report. */
const maxFailures = 50

/** Reports that come this early are taken for the ones that keep the pace. */
const punctual = 0.8

export type Received =
  | { outcome: 'answered'; answer: Answer }
  /** A newer boot of this VM has reported, or one event had too many writers at once. */
  | { outcome: 'retired' | 'busy' }

/** Takes in one report whose sender and shape were checked; `key` is what its beacon is known by. */
export async function receive(
  relay: Relay,
  fleet: string,
  key: string,
  told: Report,
): Promise<Received> {
  const report = tidyReport(told)
  const now = relay.now()
  const known = await relay.store.readBeacon(fleet, key)
  const standing = standingOf(known, report)
  if (standing === 'retired') return { outcome: 'retired' }
  if (standing === 'repeated') return { outcome: 'answered', answer: await repeat(relay, known!) }

  const ids = [...new Set([...(known?.sees ?? []), ...idsIn(report)])]
  const sightings = await relay.store.readSightings(fleet, key, ids)
  const reading = readReport(fleet, key, report, known, sightings, now)
  const { seen, directives, refused, failures } = await takeInAll(relay, reading, now)
  // the other events are stored; without a 2xx the beacon sends this event again
  if (failures.includes('busy')) return { outcome: 'busy' }
  if (failures.length > 0) throw failures[0]
  if (refused.length > 0) await raiseOverLimits(relay, fleet, reading.beacon.vm, refused)
  const usualPaceMs = paceFor(seen, reading.beacon.beacon, now)
  // there may be room soon, or a hidden event may be shown again, so the beacon reports again soon
  const isSoon = refused.length > 0 || reading.hidden.length > 0
  const paceMs = isSoon ? Math.min(usualPaceMs, openPaceMs) : usualPaceMs
  const outside = new Set(refused.map(({ eventId }) => eventId))
  const isStored = (id: string) => !outside.has(id)
  const beacon = { ...reading.beacon, paceMs, sees: reading.beacon.sees.filter(isStored) }
  const sightingsToWrite = reading.changedSightings.filter(({ eventId }) => isStored(eventId))
  // the second arrival of a report that may bring a directive must be known as one
  const counts = reading.news.some(
    ({ status, starts }) => status === 'Scheduled' || starts.length > 0,
  )
  if (counts || isWorthNoting(known, beacon, sightingsToWrite)) {
    // stale: a later report of this beacon was faster, and holds all that this one says
    await relay.store.writeBeacon(beacon, sightingsToWrite)
  }
  if (known?.bootId !== beacon.bootId) {
    const { vm, bootId } = beacon
    relay.log.info('beacon_first_heard', { fleet, vm, bootId })
  }
  return {
    outcome: 'answered',
    answer: {
      ...{ outcome: 'accepted', time: now, paceMs, directives },
      refused: refused.slice(0, limits.events),
    },
  }
}

function standingOf(known: Beacon | undefined, report: Report): 'new' | 'repeated' | 'retired' {
  const { bootId, counter } = report.beacon
  if (known === undefined) return 'new'
  if (known.retiredBootIds.includes(bootId)) return 'retired'
  return known.bootId === bootId && counter <= known.counter ? 'repeated' : 'new'
}

/** A report that brings nothing new is noted once a pace, as a sign of life. */
function isWorthNoting(known: Beacon | undefined, beacon: Beacon, changed: Sighting[]): boolean {
  if (known === undefined || changed.length > 0) return true
  const same = JSON.stringify(lasting(known)) === JSON.stringify(lasting(beacon))
  return !same || beacon.heardAt - known.heardAt >= beacon.paceMs * punctual
}

/** What does not differ from report to report. */
function lasting({ counter: _c, heardAt: _h, polledAt, bootedAt: _b, ...rest }: Beacon) {
  return { ...rest, polled: polledAt !== undefined }
}

/** The answer that was missed, from the committed state; nothing changes and no directive is given. */
async function repeat(relay: Relay, known: Beacon): Promise<Answer> {
  const { paceMs } = known
  return { outcome: 'repeated', time: relay.now(), paceMs, directives: [], refused: [] }
}

function idsIn(report: Report): string[] {
  const changes = report.changes.map((change) => change.event.eventId)
  const starts = report.starts.map((start) => start.eventId)
  return [...(report.document?.events ?? []).map((event) => event.eventId), ...changes, ...starts]
}

/**
 * Includes what was approved. The beacon starts an event only if its own document shows no more.
 */
function directiveOf(record: EventRecord): Directive {
  const { eventId, verdict } = record
  return { eventId, ...(verdict?.agreed ?? agreedOf(record, false)) }
}

/** The results for the events of one report. */
interface Taken {
  seen: Seen[]
  directives: Directive[]
  refused: Refused[]
  failures: unknown[]
}

async function takeInAll(relay: Relay, reading: Reading, now: number): Promise<Taken> {
  const { fleet, beacon } = reading.beacon
  const share = new Share(relay, fleet, beacon)
  const taken: Taken = { seen: [], directives: [], refused: [], failures: [] }
  for (const news of reading.news) {
    const { eventId } = news
    const outcome = await takeInOrFail(relay, reading, news, now, share)
    if ('failure' in outcome) {
      taken.failures.push(outcome.failure)
      if (taken.failures.length >= maxFailures || isOutage(outcome.failure)) break
    } else if ('refusal' in outcome) {
      taken.refused.push({ eventId, reason: outcome.refusal })
    } else {
      const { record, watched } = outcome
      if (record !== undefined && news.inDocument) taken.seen.push({ record, watched })
      if (outcome.directed && record !== undefined) taken.directives.push(directiveOf(record))
    }
  }
  return taken
}

interface TakenIn {
  record: EventRecord | undefined
  directed: boolean
  /** Its page was opened lately, and that matters. */
  watched: boolean
}

/** If the storage itself fails, the next event would fail as well, after the same wait. */
function isOutage(failure: unknown): boolean {
  const codes = ['storage_unavailable', 'storage_forbidden']
  return failure instanceof FoghornError && codes.includes(failure.code)
}

type Outcome = TakenIn | { refusal: string } | { failure: unknown }

/** A failure of one event does not keep the others from being stored. */
async function takeInOrFail(
  relay: Relay,
  reading: Reading,
  news: EventNews,
  now: number,
  share: Share,
): Promise<Outcome> {
  try {
    return await takeIn(relay, reading, news, now, share)
  } catch (failure) {
    const { eventId } = news
    const { fleet, vm } = reading.beacon
    relay.log.error('event_failed', { fleet, eventId, vm, error: messageOf(failure) })
    // a further attempt would fail as well
    if (failure instanceof FoghornError && failure.code === 'row_too_large') {
      return { refusal: 'the event is too large to store' }
    }
    return { failure }
  }
}

async function raiseOverLimits(
  relay: Relay,
  fleet: string,
  vm: string,
  refused: Refused[],
): Promise<void> {
  const [first] = refused
  relay.log.debug('events_refused', { fleet, vm, count: refused.length, reason: first!.reason })
  await raiseAlert(relay, fleet, { kind: 'over_limits', vm, reason: first!.reason })
}

/** Joins one event's news into the committed record, again where another writer was faster. */
async function takeIn(
  relay: Relay,
  reading: Reading,
  news: EventNews,
  now: number,
  share: Share,
): Promise<Outcome> {
  const key = { fleet: reading.beacon.fleet, eventId: news.eventId }
  for (let attempt = 0; attempt < maxCommitAttempts; attempt++) {
    const before = await relay.store.readEvent(key)
    // the relay's own: what somebody says of it changes nothing
    if (before?.drill || before?.alert) {
      return { record: undefined, directed: false, watched: false }
    }
    // check this before other reads: the beacon reports a refused event again and again
    const isNew = before === undefined && news.observations.some(({ kind }) => kind === 'seen')
    const full = isNew ? await share.refusal() : undefined
    if (full !== undefined) return { refusal: full }
    const decided = await decideOn(relay, before, reading, news, now)
    const isOpening = decided.record !== undefined && opens(before, decided.record)
    const late = isOpening && !isNew ? await share.refusal() : undefined
    if (late !== undefined) return { refusal: late }
    const { beacon } = reading.beacon
    const record = isOpening ? openedBy(decided.record!, beacon) : decided.record
    const idle = record === before && decided.moments.length === 0
    const { directed, watched } = decided
    if (record === undefined || idle) return { record, directed, watched }
    const existing =
      decided.moments.length > 0 && before !== undefined
        ? (decided.existing ?? (await relay.store.readDeliveries(key)))
        : []
    const context = { observers: decided.observers, existing, now }
    const commit = commitOf(relay, before, record, decided.moments, context)
    if ((await relay.store.commit(commit)) === 'committed') {
      relay.wake(commit.deliveries.length)
      if (isOpening) share.use()
      logStep(relay, commit.record, decided.moments, reading.beacon.vm)
      return { record: commit.record, directed, watched }
    }
  }
  return { failure: 'busy' }
}

interface DecidedOn extends TakenIn {
  moments: Moment[]
  observers: Observer[]
  /** Where it took them to decide. */
  existing?: Delivery[]
}

/** Everything that one beacon's news of one event brings, in the order in which it may matter. */
async function decideOn(
  relay: Relay,
  before: EventRecord | undefined,
  reading: Reading,
  news: EventNews,
  now: number,
): Promise<DecidedOn> {
  const { beacon } = reading
  let record = before
  const moments: Moment[] = []
  let told = false
  for (const observation of news.observations) {
    const step = advance(record, observation, now, { fleet: beacon.fleet, eventId: news.eventId })
    told ||= step.record !== record
    // what this report said of the epoch before is no news any more
    if (step.reason === 'reopened') moments.length = 0
    record = step.record
    moments.push(...step.moments)
  }
  if (record === undefined) {
    return { record, moments, observers: [], directed: false, watched: false }
  }
  record = withNotice(record, moments)
  if (news.inDocument) record = confirmedBy(tellHeldBack(record, moments), beacon.beacon)
  for (const { start, at } of news.starts) {
    record = withStart(record, beacon.beacon, start, at) ?? record
  }
  const self = reading.asObserver(news)
  let observers = [self]
  if (isDisputable(record, news)) {
    observers = await observersWith(relay, record, self)
    const reconciled = reconcile(record, observers, now)
    told ||= reconciled.record !== record
    record = reconciled.record
    moments.push(...reconciled.moments)
  }
  const covered = withoutOutgrown(record, withoutOutdated(record, self), now)
  // people must decide again, even if only this beacon's own document shows more
  if (covered !== record) moments.push('changed')
  record = covered
  const settling = record.gone !== undefined && record.gone.settleAt <= now && !news.inDocument
  // in a later epoch, a beacon may have reported the event before it was open again
  const isNew = news.firstSighting || record.reopenedAt !== undefined
  const newcomer = isOpen(record) && isNew && isHit(record.facts, beacon.vm)
  const lately = told || newcomer || (news.inDocument && isHit(record.facts, beacon.vm))
  const undecided = isOpen(record) && record.verdict === undefined
  const judged = undecided && (lately || (news.inDocument && record.policy.decide === 'approve'))
  // who is hit, is known anew
  const grown = told && before?.facts.resources !== record.facts.resources
  if (settling || judged || newcomer || grown || moments.length > 0) {
    observers = await observersWith(relay, record, self)
  }
  const untold = (newcomer || grown) && before !== undefined && moments.length === 0
  const existing = untold ? await relay.store.readDeliveries(record) : undefined
  if (judged) record = withPolicy(relay.config, record, observers)
  if (judged && news.inDocument) record = approveByPolicy(record, observers, moments, now)
  if (existing) moments.push(...missed(relay.config, record, observers, existing))
  if (settling) record = settle(relay, record, observers, moments, now)
  let directed = false
  let watched = false
  if (news.inDocument && news.status === 'Scheduled') {
    watched = await isWatched(relay, record, now)
    record = watch(record, beacon.beacon, now, watched)
    const lease = leaseOf(record, beacon, self.sighting.event, now)
    directed = lease !== 'not_due'
    if (lease === 'granted') record = withLease(record, beacon.beacon, beacon.vm, now)
  }
  const contradicts = news.inDocument && isAboutToClose(record, reading, news, now)
  record =
    record !== before || contradicts ? withDue(relay, record, self, now) : withAbsence(record, self)
  const worth = worthTelling(moments, record, news.inDocument)
  record = holdBack(record, moments, worth)
  return { record, moments: worth, observers, directed, watched, ...(existing && { existing }) }
}

/** Asks only where the answer makes a difference. */
async function isWatched(relay: Relay, record: EventRecord, now: number): Promise<boolean> {
  if (isDecisionNear(record, now, false) || !isDecisionNear(record, now, true)) return false
  return relay.attention.isOn(record, now)
}

/** Whether this beacon may contradict the others about the event, as long as that matters. */
function isDisputable(record: EventRecord, { inDocument, sighting }: EventNews): boolean {
  const matters = inDocument && isOpen(record) && record.phase === 'scheduled'
  if (!matters || record.passedOn !== undefined) return false
  // a rule that is not carried out may wait for a silent beacon that saw something else
  const waits = record.policy.decide === 'approve' && record.verdict === undefined
  const contradicts = contradictions(record.facts, sighting.event).length > 0
  return waits || contradicts || record.disputed !== undefined
}

function settle(
  relay: Relay,
  record: EventRecord,
  observers: Observer[],
  moments: Moment[],
  now: number,
): EventRecord {
  const witnesses = heardSince(withHeard(record, observers), relay.listeningSince)
  const concluded = conclude(record, witnesses, now, remindersOf(relay.config.routes))
  moments.push(...concluded.moments)
  return concluded.changed ? concluded.record : record
}

/** The committed observers, with what this report says of its own beacon. */
async function observersWith(relay: Relay, record: EventRecord, self: Observer) {
  const committed = await relay.store.readObservers(record)
  return [...committed.filter((o) => o.beacon.beacon !== self.beacon.beacon), self]
}

/** Adds the reporting beacon, whose own row is written later, and the time of the next look. */
function withDue(relay: Relay, record: EventRecord, self: Observer, now: number): EventRecord {
  if (!isOpen(record)) return record
  const heard = { ...record, heard: asHeard(self) }
  return { ...heard, dueAt: nextLookOf(heard, now, remindersOf(relay.config.routes)) }
}

/** If a conclusion is this near, it must take the report into account. */
const aboutToCloseMs = 5_000

/** Whether a conclusion is near that would ignore a beacon which was not heard before. */
function isAboutToClose(
  record: EventRecord,
  { known }: Reading,
  { firstSighting }: EventNews,
  now: number,
): boolean {
  if (!isOpen(record) || record.dueAt === undefined) return false
  const wasHeard = known !== undefined && now - known.heardAt <= silentPaces * known.paceMs
  return record.dueAt <= now + aboutToCloseMs && (firstSighting || !wasHeard)
}

/** One more beacon misses the event, so the conclusion may come before the planned look. */
function withAbsence(record: EventRecord, { sighting: { gone } }: Observer): EventRecord {
  if (gone === undefined || !isOpen(record) || record.gone === undefined) return record
  const dueAt = Math.max(record.gone.settleAt, gone.firstAt + settleMs)
  return record.dueAt !== undefined && record.dueAt > dueAt ? { ...record, dueAt } : record
}

function logStep(relay: Relay, record: EventRecord, moments: Moment[], vm: string): void {
  if (moments.length === 0) return
  const { fleet, eventId, phase, epoch, policy } = record
  const fields = { fleet, eventId, phase, epoch, moments, vm, policy: policy.rule }
  relay.log.info('event_stepped', fields)
}
