// What one report says, event by event: observations in the order of their polls, and what is to be
// written about the beacon afterwards. Instants are the relay's: receipt minus the reported age.
import type { ScheduledEvent } from '../../../shared/document.ts'
import type { Report, Start } from '../../../shared/report.ts'
import { type Beacon, isHit, type Observer, type Sighting } from './event.ts'
import type { Observation } from './life.ts'

export interface EventNews {
  eventId: string
  observations: Observation[]
  starts: { start: Start; at: number }[]
  inDocument: boolean
  /** In the document, where it is there. */
  status: ScheduledEvent['status'] | undefined
  /** This beacon had not seen the event before, or had not seen that the event hits its own VM. */
  firstSighting: boolean
  /** What this beacon knows of it now. */
  sighting: Sighting
}

export interface Reading {
  beacon: Beacon
  news: EventNews[]
  changedSightings: Sighting[]
  /** Events that the document may hide. They do not count as gone. */
  hidden: string[]
  /** The beacon before this report. */
  known: Beacon | undefined
  asObserver(news: EventNews): Observer
}

const maxRetiredBootIds = 32
/** Beyond this no calendar goes, and `Date` says so by throwing. */
const latestTime = 8.64e15

/** Evens out what the schema lets through and neither a store's key nor a calendar can hold. */
export function tidyReport(report: Report): Report {
  const { document, beacon } = report
  return {
    ...report,
    vm: tidyVm(report.vm),
    beacon: { ...beacon, uptimeMs: Math.round(beacon.uptimeMs) },
    document: document && {
      ...document,
      ageMs: Math.round(document.ageMs),
      events: document.events.map(tidyEvent),
    },
    changes: report.changes.map(({ lastSeenAgeMs, ...change }) => ({
      ...change,
      ageMs: Math.round(change.ageMs),
      ...(lastSeenAgeMs === undefined ? {} : { lastSeenAgeMs: Math.round(lastSeenAgeMs) }),
      event: tidyEvent(change.event),
    })),
    starts: report.starts.map((start) => ({
      ...start,
      ageMs: Math.round(start.ageMs),
      eventId: start.eventId.toWellFormed(),
    })),
  }
}

/** Half a character would be refused by some that are told of it, and never be the same again. */
function tidyEvent({ notBeforeAt, ...event }: ScheduledEvent): ScheduledEvent {
  const known = notBeforeAt !== undefined && Math.abs(notBeforeAt) <= latestTime
  const { description, source } = event
  return {
    ...event,
    eventId: event.eventId.toWellFormed(),
    eventType: event.eventType.toWellFormed(),
    resources: event.resources.map((name) => name.toWellFormed()),
    ...(description === undefined ? {} : { description: description.toWellFormed() }),
    ...(source === undefined ? {} : { source: source.toWellFormed() }),
    ...(known ? { notBeforeAt } : {}),
  }
}

/** As its names are in events, which are compared with it. */
function tidyVm(vm: Report['vm']): Report['vm'] {
  const tags = Object.entries(vm.tags).map(([name, value]) => [
    name.toWellFormed(),
    value.toWellFormed(),
  ])
  return {
    ...vm,
    name: vm.name.toWellFormed(),
    resourceGroup: vm.resourceGroup.toWellFormed(),
    scaleSet: vm.scaleSet.toWellFormed(),
    tags: Object.fromEntries(tags),
  }
}

export function readReport(
  fleet: string,
  key: string,
  report: Report,
  known: Beacon | undefined,
  sightings: Sighting[],
  now: number,
): Reading {
  const beacon = beaconOf(fleet, key, report, known, now)
  const ids = new Set([
    ...report.changes.map((change) => change.event.eventId),
    ...(report.document?.events ?? []).map((event) => event.eventId),
    ...report.starts.map((start) => start.eventId),
    ...(report.document === null ? [] : (known?.sees ?? [])),
  ])
  const hidden = hiddenIn(report, beacon, known, now)
  for (const eventId of hidden) ids.delete(eventId)
  const news = [...ids].flatMap((eventId) => {
    const before = sightings.find((sighting) => sighting.eventId === eventId)
    return newsOf(eventId, key, report, before, known, now)
  })
  const changedSightings = news
    .map((one) => one.sighting)
    .filter((sighting) => {
      const before = sightings.find((other) => other.eventId === sighting.eventId)
      return JSON.stringify(before) !== JSON.stringify(sighting)
    })
  return {
    beacon: hidden.length === 0 ? beacon : { ...beacon, sees: [...beacon.sees, ...hidden] },
    news,
    changedSightings,
    hidden,
    known,
    asObserver: ({ sighting }) => ({ beacon, sighting }),
  }
}

function beaconOf(
  fleet: string,
  key: string,
  report: Report,
  known: Beacon | undefined,
  now: number,
): Beacon {
  const { bootId, counter, uptimeMs } = report.beacon
  const { document } = report
  const replaced = known !== undefined && known.bootId !== bootId ? [known.bootId] : []
  const polledAt = document === null ? known?.polledAt : now - document.ageMs
  return {
    fleet,
    beacon: key,
    vm: report.vm.name,
    resourceGroup: report.vm.resourceGroup,
    scaleSet: report.vm.scaleSet,
    tags: report.vm.tags,
    bootId,
    ...bootHeard(known, bootId, now),
    retiredBootIds: [...(known?.retiredBootIds ?? []), ...replaced].slice(-maxRetiredBootIds),
    counter,
    heardAt: now,
    ...(polledAt === undefined ? {} : { polledAt }),
    paceMs: known?.paceMs ?? 0,
    bootedAt: now - uptimeMs,
    sees: document === null ? (known?.sees ?? []) : document.events.map((event) => event.eventId),
  }
}

/** How long unreadable entries may hide events that a restarted beacon no longer remembers. */
const hiddenMs = 5 * 60_000

/** A restarted beacon does not name the events that its earlier boot saw. */
function hiddenIn(
  { document, changes }: Report,
  { bootHeardAt = 0 }: Beacon,
  known: Beacon | undefined,
  now: number,
): string[] {
  if (document === null || known === undefined) return []
  const mayHideMore = document.unreadable > 0 && now - bootHeardAt <= hiddenMs
  const shown = [...document.events, ...changes.map(({ event }) => event)]
  return known.sees.filter(
    (eventId) =>
      (mayHideMore || document.hidden.includes(eventId)) &&
      !shown.some((event) => event.eventId === eventId),
  )
}

function bootHeard(known: Beacon | undefined, bootId: string, now: number) {
  if (known?.bootId !== bootId) return { bootHeardAt: now }
  const { bootHeardAt } = known
  return bootHeardAt === undefined ? {} : { bootHeardAt }
}

/** Nothing where the report only mentions an event that this beacon cannot speak of. */
function newsOf(
  eventId: string,
  beacon: string,
  report: Report,
  before: Sighting | undefined,
  known: Beacon | undefined,
  now: number,
): EventNews[] {
  const { name: vm } = report.vm
  const observations: Observation[] = []
  const missedBefore = missesBefore(eventId, report, before)
  // also over a moment without it: what changed in that time is a change
  let last = before?.event
  let lastSeenAt = known?.polledAt ?? now
  for (const change of report.changes) {
    if (change.event.eventId !== eventId) continue
    const at = now - change.ageMs
    const seenAt = change.kind === 'gone' ? now - (change.lastSeenAgeMs ?? change.ageMs) : at
    const previous = last === undefined ? {} : { previous: last }
    const { event, firstPoll } = change
    observations.push({
      ...{ kind: 'seen', at: seenAt, vm, live: false, event, firstPoll },
      ...{ missedBefore, since: before?.firstSeenAt ?? seenAt, ...previous },
    })
    if (change.kind === 'gone') {
      observations.push({ kind: 'gone', at, vm, live: false, lastSeenAt: seenAt })
    }
    last = event
    lastSeenAt = seenAt
  }
  const starts = report.starts
    .filter((start) => start.eventId === eventId)
    .map((start) => ({ start, at: now - start.ageMs }))
  const shown = report.document?.events.find((event) => event.eventId === eventId)
  const event = shown ?? last ?? before?.event
  if (event === undefined) return []
  const at = now - (report.document?.ageMs ?? 0)
  const firstSighting = before === undefined
  // each of its changes begins with the poll that showed it
  const firstSeenAt = firstSighting ? (observations[0]?.at ?? at) : before.firstSeenAt
  const sighting: Sighting = {
    eventId,
    beacon,
    ...(firstSeenAt === undefined ? {} : { firstSeenAt }),
    event,
  }
  const hitsNow = before !== undefined && !isHit(before.event, vm) && isHit(event, vm)
  const common = { eventId, observations, starts, firstSighting: firstSighting || hitsNow }
  if (report.document === null || report.document.hidden.includes(eventId)) {
    return [{ ...common, inDocument: false, status: undefined, sighting: before ?? sighting }]
  }
  if (shown !== undefined) {
    const firstPoll = report.changes.length === 0 && known?.polledAt === undefined
    const previous = last === undefined ? {} : { previous: last }
    observations.push({
      ...{ kind: 'seen', at, vm, live: true, event, firstPoll },
      ...{ missedBefore, since: firstSeenAt ?? at, ...previous },
    })
    return [{ ...common, inDocument: true, status: shown.status, sighting }]
  }
  const noted = goneOf(observations, before, at, lastSeenAt)
  observations.push({
    kind: 'gone',
    at: noted.firstAt,
    vm,
    live: true,
    lastSeenAt: noted.lastSeenAt,
  })
  return [
    { ...common, inDocument: false, status: undefined, sighting: { ...sighting, gone: noted } },
  ]
}

/**
 * Whether this beacon saw the event, and then a document of it lacked the event. A first sight does
 * not count: a late document may show what is over elsewhere.
 */
function missesBefore(eventId: string, { changes }: Report, before: Sighting | undefined): boolean {
  const own = changes.filter(({ event }) => event.eventId === eventId)
  if (before?.gone !== undefined || own.some(({ kind }) => kind === 'gone')) return true
  const appeared = own.findLast(({ kind }) => kind === 'appeared')
  return before !== undefined && appeared !== undefined && !appeared.firstPoll
}

/** First gone and last seen as precisely as the beacon told, else by its documents. */
function goneOf(
  observations: Observation[],
  before: Sighting | undefined,
  at: number,
  lastSeenAt: number,
): NonNullable<Sighting['gone']> {
  const last = observations.at(-1)
  if (last?.kind === 'gone') return { firstAt: last.at, lastSeenAt: last.lastSeenAt }
  return before?.gone ?? { firstAt: at, lastSeenAt: Math.min(lastSeenAt, at) }
}
