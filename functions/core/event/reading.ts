// Splits one report into news about each event, and the beacon's new row. All times are by the
// relay's clock: receipt minus reported age.
import type { ScheduledEvent } from '../../../shared/document.ts'
import type { Report, Start } from '../../../shared/report.ts'
import { isHit } from './event.ts'
import { runsOf, withRuns } from './hooks.ts'
import type { Observation } from './life.ts'
import type { Beacon, Gone, Observer, Sighting } from './observer.ts'
import { withStoredNames } from './vm-names.ts'
import { silentPaces } from './witness.ts'

export interface EventNews {
  eventId: string
  observations: Observation[]
  starts: { start: Start; at: number }[]
  inDocument: boolean
  /** The event's status in the document, if it is there. */
  status: ScheduledEvent['status'] | undefined
  /**
   * This beacon sees the event, or that the event hits its own VM, for the first time. Or the event
   * is back in its document.
   */
  firstSighting: boolean
  /** The report has a run of a hook for the event. */
  ran: boolean
  /** The sighting after this report. */
  sighting: Sighting
}

export interface Reading {
  beacon: Beacon
  news: EventNews[]
  /** As they are stored. */
  changedSightings: Sighting[]
  /** Events that unreadable entries may hide. They do not count as gone. */
  hidden: string[]
  /** The beacon before this report. */
  known: Beacon | undefined
  asObserver(news: EventNews): Observer
}

const maxRetiredBootIds = 32

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
  const changedHidden = (report.document?.hidden ?? []).filter((eventId) => ids.has(eventId))
  for (const eventId of hidden) ids.delete(eventId)
  const ofRuns = sightings.filter((one) => !ids.has(one.eventId) && runsOf(report, one.eventId)[0])
  const news = [
    ...[...ids].flatMap((eventId) => {
      const before = sightings.find((sighting) => sighting.eventId === eventId)
      return newsOf(eventId, key, report, before, known, now)
    }),
    ...ofRuns.map(newsOfRuns),
  ].map((one) => withHooks(one, report, sightings, now))
  const changedSightings = news
    .map(({ sighting }) => ({ ...sighting, event: withStoredNames(sighting.event, beacon.vm) }))
    .filter((sighting) => {
      const before = sightings.find((other) => other.eventId === sighting.eventId)
      return JSON.stringify(before) !== JSON.stringify(sighting)
    })
  return {
    // a later document may lack an event of which this one shows only a change
    beacon: { ...beacon, sees: [...new Set([...beacon.sees, ...hidden, ...changedHidden])] },
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
  const { document, hooks, goodbye } = report
  const replaced = known !== undefined && known.bootId !== bootId ? [known.bootId] : []
  const polledAt = document === null ? known?.polledAt : now - document.ageMs
  return {
    fleet,
    beacon: key,
    vm: report.vm.name,
    resourceGroup: report.vm.resourceGroup,
    scaleSet: report.vm.scaleSet,
    ...placeOf(report.vm),
    tags: report.vm.tags,
    bootId,
    bootHeardAt: known?.bootId === bootId ? known.bootHeardAt : now,
    retiredBootIds: [...(known?.retiredBootIds ?? []), ...replaced].slice(-maxRetiredBootIds),
    counter,
    heardAt: now,
    ...(polledAt === undefined ? {} : { polledAt }),
    paceMs: known?.paceMs ?? 0,
    bootedAt: now - uptimeMs,
    sees: document === null ? (known?.sees ?? []) : document.events.map((event) => event.eventId),
    version: report.beacon.version,
    ...(hooks === undefined ? {} : { hooks: hooks.available }),
    ...(goodbye === undefined ? {} : { goodbye: { reason: goodbye, at: now } }),
  }
}

function placeOf({ vmId, subscriptionId, placementGroup, zone }: Report['vm']) {
  return {
    ...(vmId && { vmId }),
    ...(subscriptionId && { subscriptionId }),
    ...(placementGroup && { placementGroup }),
    ...(zone && { zone }),
  }
}

/** For this long after a restart, unreadable entries may hide events that the beacon forgot. */
const hiddenMs = 5 * 60_000

/** A restarted beacon does not name hidden events that it saw before its restart. */
function hiddenIn(
  { document, changes }: Report,
  { bootHeardAt }: Beacon,
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

type SeenNews = Omit<EventNews, 'ran'>

/** A hook ran for an event that is no longer in the document. That says nothing about the event. */
function newsOfRuns(sighting: Sighting): SeenNews {
  const { eventId } = sighting
  const unseen = { inDocument: false, status: undefined, firstSighting: false }
  return { eventId, observations: [], starts: [], ...unseen, sighting }
}

function withHooks(news: SeenNews, report: Report, sightings: Sighting[], now: number): EventNews {
  const { eventId, inDocument } = news
  const before = sightings.find((sighting) => sighting.eventId === eventId)
  const runs = runsOf(report, eventId)
  const sighting = withRuns(news.sighting, runs, before, inDocument, now)
  return { ...news, ran: runs.length > 0, sighting }
}

function isSameText(one: ScheduledEvent | undefined, other: ScheduledEvent): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** Empty if the report has a start of the event, but this beacon never saw the event. */
function newsOf(
  eventId: string,
  beacon: string,
  report: Report,
  before: Sighting | undefined,
  known: Beacon | undefined,
  now: number,
): SeenNews[] {
  const { name: vm } = report.vm
  const observations: Observation[] = []
  const missedBefore = missesBefore(eventId, report, before, now - (known?.polledAt ?? now))
  // even if the event was gone for a while, a difference is a change
  let last = before?.event
  let lastSeenAt = known?.polledAt ?? now
  const shown = report.document?.events.find((event) => event.eventId === eventId)
  const isShown = shown !== undefined
  for (const change of report.changes) {
    if (change.event.eventId !== eventId) continue
    const at = now - change.ageMs
    const seenAt = change.kind === 'gone' ? now - (change.lastSeenAgeMs ?? change.ageMs) : at
    const previous = last === undefined ? {} : { previous: last }
    const { event } = change
    const appeared = change.kind === 'appeared' && !change.firstPoll
    observations.push({
      kind: 'seen',
      at: seenAt,
      vm,
      live: false,
      event,
      appeared,
      missedBefore,
      since: before?.firstSeenAt ?? seenAt,
      ...previous,
      isShown,
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
  const event = shown ?? last ?? before?.event
  if (event === undefined) return []
  const at = now - (report.document?.ageMs ?? 0)
  const firstSighting = before === undefined
  // the first observation is from the first poll that showed the event
  const firstSeenAt = firstSighting ? (observations[0]?.at ?? at) : before.firstSeenAt
  const sighting: Sighting = { eventId, beacon, firstSeenAt, event }
  const hitsNow = before !== undefined && !isHit(before.event, vm) && isHit(event, vm)
  // what its first report brought was not sent if its document lacked the event
  const isBack = shown !== undefined && before?.gone !== undefined
  const isFirst = firstSighting || hitsNow || isBack
  const common = { eventId, observations, starts, firstSighting: isFirst }
  if (report.document === null || report.document.hidden.includes(eventId)) {
    // only its changes show what became of it
    const isChanged = observations.at(-1)?.kind === 'seen'
    const known = isChanged ? sighting : (before ?? sighting)
    return [{ ...common, inDocument: false, status: undefined, sighting: known }]
  }
  if (shown !== undefined) {
    // a beacon's first document of an event is in its changes, too, but there was none before it
    const isFirstDocument = firstSighting && isSameText(last, shown)
    const previous = last === undefined || isFirstDocument ? {} : { previous: last }
    observations.push({
      kind: 'seen',
      at,
      vm,
      live: true,
      event,
      appeared: false,
      missedBefore,
      since: firstSeenAt,
      ...previous,
      reported: before?.event,
    })
    return [{ ...common, inDocument: true, status: shown.status, sighting }]
  }
  const noted = goneOf(observations, before, { firstAt: at, lastSeenAt }, known)
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

/** Two reports may give slightly different times for one poll, because each took time to arrive. */
const underWayMs = 10_000

/**
 * Whether this beacon saw the event, and later had a document without it. A beacon's first sight
 * proves nothing, as a late document may show an event that is over. If the answer to a report was
 * lost, the next one repeats its changes: they are older than the document that is stored.
 */
function missesBefore(
  eventId: string,
  { changes }: Report,
  before: Sighting | undefined,
  storedAgeMs: number,
): boolean {
  const own = changes.filter(({ event }) => event.eventId === eventId)
  if (before?.gone !== undefined || own.some(({ kind }) => kind === 'gone')) return true
  const appeared = own.findLast(({ kind }) => kind === 'appeared')
  if (before === undefined || appeared === undefined || appeared.firstPoll) return false
  return appeared.ageMs < storedAgeMs - underWayMs
}

/** First gone and last seen by the beacon's changes, or else by its documents. */
function goneOf(
  observations: Observation[],
  before: Sighting | undefined,
  { firstAt, lastSeenAt }: Gone,
  known: Beacon | undefined,
): Gone {
  const last = observations.at(-1)
  if (last?.kind !== 'gone' && before?.gone !== undefined) return before.gone
  const gone =
    last?.kind === 'gone'
      ? { firstAt: last.at, lastSeenAt: last.lastSeenAt }
      : { firstAt, lastSeenAt: Math.min(lastSeenAt, firstAt) }
  return {
    ...gone,
    ...(known !== undefined && hasPaused(gone, known) && { paused: true as const }),
  }
}

/** A beacon whose polls fail still reports, so a gap between its polls alone shows no pause. */
function hasPaused({ firstAt, lastSeenAt }: Gone, { heardAt, paceMs }: Beacon): boolean {
  return firstAt - Math.max(lastSeenAt, heardAt) > silentPaces * paceMs
}
