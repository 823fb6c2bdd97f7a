// Joins a report into the committed events. The answer says what to start and when to report again.
// Events are written before the beacon: after a crash in between, the next report repeats them.
import { limits } from '../../shared/document.ts'
import type { Answer, Report } from '../../shared/report.ts'
import { untilHeartbeat } from '../core/event/heartbeat.ts'
import type { Beacon, Sighting } from '../core/event/observer.ts'
import { holdFor, openPaceMs, paceFor } from '../core/event/pace.ts'
import { preparationFor } from '../core/event/preparation.ts'
import { readReport } from '../core/event/reading.ts'
import { isBack, withReport } from '../core/event/silence.ts'
import { tidyReport } from '../core/event/tidy.ts'
import { isAheadOfRow } from '../core/event/witness.ts'
import { isOutage, joinEvents } from './join-events.ts'
import { queued } from './large-reports.ts'
import { raiseAlert } from './raise-alert.ts'
import type { Relay } from './relay.ts'

/** A report that comes after this part of the pace counts as on time. */
const punctual = 0.8

export type Received =
  | { outcome: 'answered'; answer: Answer }
  /** `retired`: a newer boot of this VM has reported. `busy`: other writers were always faster. */
  | { outcome: 'retired' | 'busy' }
  /** The fleet has too many beacons, and this one is new. */
  | { outcome: 'full'; reason: string }

/** The report's sender and shape were checked. `key` identifies its beacon. */
export async function receive(
  relay: Relay,
  fleet: string,
  key: string,
  received: Report,
): Promise<Received> {
  try {
    const joined = await queued(relay, { fleet, report: received }, () =>
      join(relay, fleet, key, received),
    )
    return joined === 'busy' ? { outcome: 'busy' } : joined
  } catch (error) {
    // a report that cannot be stored must not make its beacon silent
    if (isOutage(error)) relay.listeningSince = relay.now()
    throw error
  }
}

async function join(relay: Relay, fleet: string, key: string, received: Report): Promise<Received> {
  const report = tidyReport(received)
  const now = relay.now()
  const known = await relay.store.readBeacon(fleet, key)
  const freshness = freshnessOf(known, report)
  if (freshness === 'retired') return { outcome: 'retired' }
  if (freshness === 'repeated') return { outcome: 'answered', answer: repeat(relay, known!) }

  if (known === undefined) {
    const reason = await relay.shares.takeBeacon(relay, fleet)
    if (reason !== undefined) {
      await raiseOverLimits(relay, fleet, report.vm.name, reason)
      return { outcome: 'full', reason }
    }
  }

  const ids = [...new Set([...(known?.sees ?? []), ...idsIn(report)])]
  // a beacon without a row has no sightings
  const sightings = known ? await relay.store.readSightings(fleet, key, ids, known) : []
  const reading = readReport(fleet, key, report, known, sightings, now)
  const { seen, directives, refused, unstored, failures } = await joinEvents(relay, reading, now)
  // the other events are stored; without a 2xx the beacon sends this event again
  if (failures.includes('busy')) return { outcome: 'busy' }
  if (failures.length > 0) throw failures[0]
  if (refused.length > 0) {
    const { vm } = reading.beacon
    relay.log.debug('events_refused', {
      fleet,
      vm,
      count: refused.length,
      reason: refused[0]!.reason,
    })
    await raiseOverLimits(relay, fleet, vm, refused[0]!.reason)
  }
  const leftOut = [...refused, ...unstored]
  // a host may replace them while the row is written, and row and answer must agree
  const { heartbeats } = relay
  const usualPaceMs = paceFor(seen, key, now, heartbeats.paceMs)
  // there may be room soon, or a hidden event may be shown again, so the beacon reports again soon
  const isSoon = leftOut.length > 0 || reading.hidden.length > 0
  const paceMs = isSoon ? Math.min(usualPaceMs, openPaceMs) : usualPaceMs
  const isIdle = seen.length === 0 && !isSoon
  const own = { vm: reading.beacon.vm, document: report.document?.events ?? [] }
  const preparations = seen.flatMap(({ record }) => {
    const when = preparationFor(record, own, now)
    return when === undefined ? [] : [{ eventId: record.eventId, when }]
  })
  const mayHold = preparations.length === 0 && relay.holds.hasRoom(fleet, key)
  const waitMs = mayHold ? holdFor(seen, usualPaceMs) : undefined
  const isHeld = waitMs !== undefined && report.waitMs !== undefined
  const outside = new Set(leftOut.map(({ eventId }) => eventId))
  const isStored = (id: string) => !outside.has(id)
  // if a stored event cannot be updated now, the next report tells again whether it is gone
  const kept = known?.sees.filter((id) => outside.has(id)) ?? []
  const sees = [...reading.beacon.sees.filter(isStored), ...kept]
  const beacon = withReport(
    { ...reading.beacon, paceMs: isHeld ? paceMs + waitMs : paceMs, sees },
    known,
  )
  const sightingsToWrite = reading.changedSightings.filter(({ eventId }) => isStored(eventId))
  // store the counter: a repeat of a report that may get a directive must be recognized
  const counts = reading.news.some(
    ({ status, starts }) => status === 'Scheduled' || starts.length > 0,
  )
  // after a crash, an event may keep a report that the row lacks, and this report may take it back
  const isAhead = known && seen.some(({ record }) => isAheadOfRow(record, known))
  if (counts || isAhead || isWorthNoting(known, beacon, sightingsToWrite)) {
    // `stale` is fine: a later report of this beacon was faster, and contains all of this one
    await relay.store.writeBeacon(beacon, sightingsToWrite, known)
  }
  if (known?.bootId !== beacon.bootId) {
    const { vm, bootId } = beacon
    relay.log.info('beacon_first_heard', { fleet, vm, bootId })
  }
  const listed = leftOut.slice(0, limits.events)
  const answer: Answer = {
    outcome: 'accepted',
    time: now,
    directives,
    refused: listed,
    preparations,
    // silence is judged by the pace in the beacon's row, not by this one wait
    paceMs: isIdle ? untilHeartbeat(heartbeats, fleet, key, now) : paceMs,
    ...(waitMs !== undefined && { waitMs }),
  }
  return { outcome: 'answered', answer }
}

function freshnessOf(known: Beacon | undefined, report: Report): 'new' | 'repeated' | 'retired' {
  const { bootId, counter } = report.beacon
  if (known === undefined) return 'new'
  if (known.retiredBootIds.includes(bootId)) return 'retired'
  return known.bootId === bootId && counter <= known.counter ? 'repeated' : 'new'
}

/** If a report has nothing new, its beacon is written once a pace, to show that it is alive. */
function isWorthNoting(known: Beacon | undefined, beacon: Beacon, changed: Sighting[]): boolean {
  if (known === undefined || changed.length > 0) return true
  // the first report after a silence ends it
  if (known.silence !== undefined && !isBack(known)) return true
  const same = JSON.stringify(lasting(known)) === JSON.stringify(lasting(beacon))
  return !same || beacon.heardAt - known.heardAt >= beacon.paceMs * punctual
}

/** Without the fields that differ in each report. */
function lasting({ counter: _c, heardAt: _h, polledAt, bootedAt: _b, ...others }: Beacon) {
  const { silentAt: _s, ...rest } = others
  return { ...rest, polled: polledAt !== undefined }
}

/** Answers from the committed state. Changes nothing and gives no directive. */
function repeat(relay: Relay, { paceMs }: Beacon): Answer {
  const nothing = { directives: [], preparations: [], refused: [] }
  return { outcome: 'repeated', time: relay.now(), paceMs, ...nothing }
}

function idsIn(report: Report): string[] {
  const changes = report.changes.map((change) => change.event.eventId)
  const starts = report.starts.map((start) => start.eventId)
  const runs = (report.hooks?.runs ?? []).map((run) => run.eventId)
  const events = (report.document?.events ?? []).map((event) => event.eventId)
  return [...events, ...changes, ...starts, ...runs]
}

async function raiseOverLimits(
  relay: Relay,
  fleet: string,
  vm: string,
  reason: string,
): Promise<void> {
  await raiseAlert(relay, fleet, { kind: 'over_limits', vm, reason })
}
