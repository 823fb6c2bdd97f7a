// Joins a report into the committed events. The answer says what to start and when to report again.
// Events are written before the beacon: after a crash in between, the next report repeats them.
import { limits } from '../../shared/document.ts'
import type { Answer, Refused, Report } from '../../shared/report.ts'
import type { Beacon } from '../core/event/beacon.ts'
import { isHeardAgain, withReport } from '../core/event/beacon-state.ts'
import { untilHeartbeat } from '../core/event/heartbeat.ts'
import { type Reading, readReport } from '../core/event/news.ts'
import { holdFor, openPaceMs, paceFor } from '../core/event/pace.ts'
import { tidyReport } from '../core/event/tidy.ts'
import { atOnce, type InTurn, isOutage, type Joined, joinEvents } from './join-events.ts'
import type { Relay } from './relay.ts'
import { raiseTrouble } from './trouble.ts'

/** Events that a beacon sees: those of a document, and those that it has no room for. */
const maxSeen = 600

/** A report that comes after this part of the pace counts as on time. */
const punctual = 0.8

type Received =
  | { outcome: 'answered'; answer: Answer }
  /** `retired`: a newer boot of this VM has reported. `busy`: other writers were always faster. */
  | { outcome: 'retired' | 'busy' }
  /** The fleet has too many beacons, and this one is new. */
  | { outcome: 'full'; reason: string }

/**
 * The report's sender and shape were checked. `key` identifies its beacon. `hasOldKey`: it is signed by a key of
 * the fleet that is about to be replaced. `inTurn`: joins one event, in its turn.
 */
export async function receive(
  relay: Relay,
  fleet: string,
  key: string,
  received: Report,
  hasOldKey = false,
  inTurn = atOnce,
): Promise<Received> {
  try {
    return await handle(relay, fleet, key, received, hasOldKey, inTurn)
  } catch (error) {
    // a report that cannot be stored must not make its beacon silent
    if (isOutage(error)) relay.listeningSince = relay.now()
    throw error
  }
}

async function handle(
  relay: Relay,
  fleet: string,
  key: string,
  received: Report,
  hasOldKey: boolean,
  inTurn: InTurn,
): Promise<Received> {
  const report = tidyReport(received)
  const now = relay.now()
  const { clock } = report.beacon
  if (clock !== undefined) relay.clockWatch.note(fleet, key, clock)
  const known = await relay.store.readBeacon(fleet, key)
  const freshness = judgeFreshness(known, report)
  if (freshness === 'retired') return { outcome: 'retired' }
  if (freshness === 'repeated') return { outcome: 'answered', answer: repeat(relay, known!) }
  if (known === undefined) {
    const reason = await relay.work.openLimits.forBeacon(fleet, now)
    if (reason !== undefined) {
      await raiseOverLimits(relay, fleet, report.vm.name, reason)
      return { outcome: 'full', reason }
    }
  }
  const reading = readReport(fleet, key, report, known, now)
  const joined = await joinEvents(relay, reading, now, inTurn)
  // the other events are stored; without a 2xx the beacon sends this event again
  if (joined === 'busy') return { outcome: 'busy' }
  const { refused, directives, preparations } = joined
  if (refused.length > 0) await noteRefused(relay, reading.beacon, refused)
  const { beacon: row, pace } = rowAndPace(relay, reading, known, joined, report, now)
  const beacon = { ...row, ...(hasOldKey && { oldKey: true as const }) }
  // store the counter: if this report comes again, it must get no second directive
  const mayBeDirected = reading.news.some(
    ({ shown, starts }) => shown?.status === 'Scheduled' || starts.length > 0,
  )
  if (mayBeDirected || isWorthNoting(known, beacon)) {
    // `stale` means that a later report of this beacon was faster. It contains all of this one
    await relay.store.writeBeacon(beacon, known)
  }
  if (known?.bootId !== beacon.bootId) {
    const { vm, bootId } = beacon
    relay.log.info('beacon_first_heard', { fleet, vm, bootId })
  }
  const answer: Answer = {
    outcome: 'accepted',
    time: now,
    directives,
    refused: refused.slice(0, limits.events),
    preparations,
    ...pace,
  }
  return { outcome: 'answered', answer }
}

async function noteRefused(relay: Relay, { fleet, vm }: Beacon, refused: Refused[]): Promise<void> {
  const { reason } = refused[0]!
  relay.log.debug('events_refused', { fleet, vm, count: refused.length, reason })
  await raiseOverLimits(relay, fleet, vm, reason)
}

/** The beacon as its row is written, and when it is to report again. */
function rowAndPace(
  relay: Relay,
  { beacon, hidden }: Reading,
  known: Beacon | undefined,
  { seen, preparations, lacking, refused }: Joined,
  report: Report,
  now: number,
): { beacon: Beacon; pace: Pick<Answer, 'paceMs' | 'waitMs'> } {
  // read once: a host may replace it meanwhile, and row and answer must agree
  const { heartbeats } = relay.host
  const { fleet, beacon: key, sees } = beacon
  const usualMs = paceFor(seen, heartbeats.paceMs)
  // the relay refused an event, unreadable entries may hide one, or the beacon lacks an open one
  const isSoon = refused.length + hidden.length + lacking.length > 0
  const paceMs = isSoon ? Math.min(usualMs, openPaceMs) : usualMs
  const mayHold = preparations.length === 0
  const waitMs =
    mayHold && relay.work.holds.hasRoom(fleet, key) ? holdFor(seen, usualMs) : undefined
  const isHeld = waitMs !== undefined && report.waitMs !== undefined
  const refusedIds = new Set(refused.map(({ eventId }) => eventId))
  const stored = [...sees, ...lacking].filter((id) => !refusedIds.has(id))
  const next = {
    ...beacon,
    paceMs: isHeld ? paceMs + waitMs : paceMs,
    sees: [...new Set(stored)].slice(0, maxSeen),
  }
  const isIdle = seen.length === 0 && !isSoon
  return {
    beacon: withReport(next, known),
    pace: {
      // silence is judged by the pace in the beacon's row, not by this one wait
      paceMs: isIdle ? untilHeartbeat(heartbeats, fleet, key, now) : paceMs,
      ...(waitMs !== undefined && { waitMs }),
    },
  }
}

function judgeFreshness(known: Beacon | undefined, report: Report): 'new' | 'repeated' | 'retired' {
  const { bootId, counter } = report.beacon
  if (known === undefined) return 'new'
  if (known.retiredBootIds.includes(bootId)) return 'retired'
  return known.bootId === bootId && counter <= known.counter ? 'repeated' : 'new'
}

/** If a report has nothing new, its beacon is written once a pace, to show that it is alive. */
function isWorthNoting(known: Beacon | undefined, beacon: Beacon): boolean {
  if (known === undefined) return true
  // the first report after a silence ends it
  if (known.silence !== undefined && !isHeardAgain(known)) return true
  const same = JSON.stringify(lasting(known)) === JSON.stringify(lasting(beacon))
  return !same || beacon.heardAt - known.heardAt >= beacon.paceMs * punctual
}

/** Leaves out the fields that differ in each report. */
function lasting({ counter: _c, heardAt: _h, polledAt, bootedAt: _b, ...others }: Beacon) {
  const { silentAt: _s, ...rest } = others
  return { ...rest, polled: polledAt !== undefined }
}

/** Answers from the committed state. Changes nothing and gives no directive. */
function repeat(relay: Relay, { paceMs }: Beacon): Answer {
  const nothing = { directives: [], preparations: [], refused: [] }
  return { outcome: 'repeated', time: relay.now(), paceMs, ...nothing }
}

export function raiseOverLimits(
  relay: Relay,
  fleet: string,
  vm: string,
  reason: string,
): Promise<void> {
  return raiseTrouble(relay, fleet, { kind: 'over_limits', name: vm, reason })
}

/**
 * Receives a report from a beacon that may wait. The relay holds the answer while people may be deciding,
 * so that an approval reaches a beacon at once. The report is stored before the wait. A held answer never
 * has a directive: it only makes the beacon report again, so a connection that broke meanwhile loses
 * nothing.
 */
export async function receiveAndHold(
  relay: Relay,
  fleet: string,
  key: string,
  report: Report,
  hasOldKey = false,
  inTurn = atOnce,
): Promise<Received> {
  if (report.waitMs === undefined) return receive(relay, fleet, key, report, hasOldKey, inTurn)
  // take it before the events are read: a decision after that ends the wait
  const place = relay.work.holds.take(fleet, key, idsIn(report))
  try {
    const received = await receive(relay, fleet, key, report, hasOldKey, inTurn)
    if (place === undefined || received.outcome !== 'answered') return received
    const { waitMs, ...answer } = received.answer
    if (waitMs === undefined) return received
    const ended = await place.wait(Math.min(waitMs, report.waitMs))
    const again = ended === 'over' ? { waitMs } : {}
    return { outcome: 'answered', answer: { ...answer, ...again } }
  } finally {
    place?.leave()
  }
}

function idsIn({ document }: Report): string[] {
  return (document?.events ?? []).map(({ eventId }) => eventId)
}
