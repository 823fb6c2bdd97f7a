// A report comes in: what it says of each event is joined into the committed record, and the answer
// tells the beacon what to start and when to come back. Events are written first, the beacon last, so
// that a crash in between makes the next report say it again.
import { limits } from '../../shared/document.ts'
import { FoghornError, messageOf } from '../../shared/errors.ts'
import type { Answer, Directive, Refused, Report } from '../../shared/report.ts'
import { agreedOf } from '../core/event/agreed.ts'
import { type Context, decideReport } from '../core/event/decide.ts'
import type { Beacon, EventRecord, Observer, Sighting } from '../core/event/event.ts'
import { openPaceMs, paceFor, type Seen } from '../core/event/pace.ts'
import { type EventNews, type Reading, readReport, tidyReport } from '../core/event/reading.ts'
import { remindersOf } from '../core/rules/policy.ts'
import type { EventKey } from '../store/store.ts'
import { commitEvent } from './commit-event.ts'
import { raiseAlert } from './raise-alert.ts'
import type { Relay } from './relay.ts'
import { Share } from './share.ts'

/** If this many events of one report fail, the rest waits for the next report. */
const maxFailures = 50

/** Reports that come this early are taken for the ones that keep the pace. */
const punctual = 0.8

type Received =
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

/** Joins one event's news into the committed record. */
async function takeIn(
  relay: Relay,
  reading: Reading,
  news: EventNews,
  now: number,
  share: Share,
): Promise<Outcome> {
  const { beacon } = reading
  const key = { fleet: beacon.fleet, eventId: news.eventId }
  const context = contextOf(relay)
  const committed = await commitEvent(relay, key, {
    decide: (before, known) => decideReport(before, { reading, news }, known, context, now),
    now: () => now,
    load: {
      observers: () => observersWith(relay, key, reading.asObserver(news)),
      room: async () => ({ refusal: await share.refusal() }),
    },
    log: { event: 'event_stepped', fields: () => ({ vm: beacon.vm }) },
  })
  if (committed.outcome === 'busy') return { failure: 'busy' }
  const { decision, record } = committed
  if (decision.refusal !== undefined) return { refusal: decision.refusal }
  if (committed.outcome === 'committed' && decision.isOpening) share.use()
  const { isDirected: directed, isWatched: watched } = decision
  return { record, directed, watched }
}

function contextOf({ config, listeningSince }: Relay): Context {
  return { rules: config, reminders: remindersOf(config.routes), listeningSince }
}

/** The committed observers, with what this report says of its own beacon. */
async function observersWith({ store }: Relay, key: EventKey, self: Observer): Promise<Observer[]> {
  const committed = await store.readObservers(key)
  return [...committed.filter((one) => one.beacon.beacon !== self.beacon.beacon), self]
}
