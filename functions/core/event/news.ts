// Splits one report into news about each event, and the beacon's new row. Law 2. All times are by the
// relay's clock: receipt minus reported age.
import type { HookRun, Report, Start } from '../../../shared/report.ts'
import type { Beacon } from './beacon.ts'
import type { Ended } from './event.ts'
import type { ShownEvent } from './facts.ts'
import type { AzureResource } from './outside.ts'
import type { Reporter } from './sight.ts'

/** A step that the beacon saw since its last accepted report. */
interface Past {
  kind: 'seen' | 'gone'
  at: number
  event: ShownEvent
  /** The beacon had polled shortly before, and did not see the event then. */
  appeared: boolean
  /** Only for `gone`: the last poll that showed the event. */
  lastSeenAt: number
}

/** What one report says of one event. */
export interface EventNews {
  fleet: string
  eventId: string
  /** The event in the document. */
  shown?: ShownEvent
  /** There is a document, and the event is not in it. */
  isLacking: boolean
  /** Oldest first. */
  past: Past[]
  starts: { start: Start; at: number }[]
  runs: HookRun[]
  /** Azure itself says how it ended, and what it belongs to. */
  over?: { at: number; outcome: Exclude<Ended['outcome'], 'lost'> }
  /** Only with `over`: the event's last values, which stay if nobody knows the event. */
  trace?: ShownEvent
  resource?: AzureResource
  /** The relay read it in Azure's own list. */
  isListed?: true
}

export interface Reading {
  beacon: Beacon
  reporter: Reporter
  news: EventNews[]
  /** Events that unreadable entries may hide. They do not count as missing. */
  hidden: string[]
}

const maxRetiredBootIds = 32

export function readReport(
  fleet: string,
  key: string,
  report: Report,
  known: Beacon | undefined,
  now: number,
): Reading {
  const beacon = toBeacon(fleet, key, report, known, now)
  const { document } = report
  const { available, node, workloads } = report.hooks ?? {}
  const hidden = hiddenIn(report, beacon, known, now)
  const outside = new Set([...hidden, ...(document?.hidden ?? [])])
  const shown = new Map((document?.events ?? []).map((event) => [event.eventId, event]))
  const ids = new Set([
    ...report.changes.map((change) => change.event.eventId),
    ...shown.keys(),
    ...report.starts.map((start) => start.eventId),
    ...(report.hooks?.runs ?? []).map((run) => run.eventId),
    ...(known?.sees ?? []),
  ])
  const changes = Map.groupBy(report.changes, ({ event }) => event.eventId)
  const starts = Map.groupBy(report.starts, ({ eventId }) => eventId)
  const runs = Map.groupBy(report.hooks?.runs ?? [], ({ eventId }) => eventId)
  const news = [...ids].map((eventId): EventNews => {
    const past = (changes.get(eventId) ?? []).flatMap((one) => readPast(one, now))
    const last = past.at(-1)
    // the document had no room for it, so its last change is what the document shows
    const isOutside = outside.has(eventId)
    const event =
      shown.get(eventId) ?? (isOutside && last?.kind === 'seen' ? last.event : undefined)
    return {
      ...{ fleet, eventId },
      ...(event !== undefined && { shown: event }),
      isLacking: document !== null && !isOutside && event === undefined,
      past,
      starts: (starts.get(eventId) ?? []).map((start) => ({ start, at: now - start.ageMs })),
      runs: runs.get(eventId) ?? [],
    }
  })
  const isKept = new Set([...(known?.sees ?? []), ...changes.keys()])
  const kept = [...outside].filter((id) => isKept.has(id))
  return {
    // a later document may lack an event that this one hides
    beacon: { ...beacon, sees: [...new Set([...beacon.sees, ...kept])] },
    reporter: {
      ...toReporter(beacon),
      ...(available?.includes('restore') && { restores: true as const }),
      ...(node && { node }),
      ...(workloads && { workloads }),
    },
    news,
    hidden,
  }
}

function readPast(change: Report['changes'][number], now: number): Past[] {
  const { kind, ageMs, lastSeenAgeMs = ageMs, firstPoll, event } = change
  const at = now - ageMs
  const lastSeenAt = now - lastSeenAgeMs
  const appeared = kind === 'appeared' && !firstPoll
  const seen: Past = { kind: 'seen', at: lastSeenAt, event, appeared, lastSeenAt }
  return kind === 'gone' ? [seen, { kind, at, event, appeared, lastSeenAt }] : [seen]
}

function toReporter(beacon: Beacon): Reporter {
  const { vm, resourceGroup, scaleSet, tags, bootId, counter, heardAt, bootedAt, goodbye } = beacon
  const { polledAt = heardAt, vmId, subscriptionId, placementGroup, zone } = beacon
  return {
    ...{ beacon: beacon.beacon, vm, resourceGroup, scaleSet, tags },
    ...readWhereabouts({ vmId, subscriptionId, placementGroup, zone }),
    ...{ bootId, counter, heardAt, polledAt, bootedAt },
    ...(goodbye && { goodbye: goodbye.reason }),
  }
}

function toBeacon(
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
    ...readWhereabouts(report.vm),
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

type Whereabouts = 'vmId' | 'subscriptionId' | 'placementGroup' | 'zone'

function readWhereabouts(of: { [Name in Whereabouts]?: string | undefined }): {
  [Name in Whereabouts]?: string
} {
  const { vmId, subscriptionId, placementGroup, zone } = of
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
  const isShown = new Set(shown.map(({ eventId }) => eventId))
  const isHidden = new Set(document.hidden)
  return known.sees.filter((id) => (mayHideMore || isHidden.has(id)) && !isShown.has(id))
}
