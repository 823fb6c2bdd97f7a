// The channels that the routes name: each route that matches adds its channels, until one stops.
// `audience.ts` adds further ones.
import { type Delivery, tellsOfEvent } from '../delivery/delivery.ts'
import type { EventRecord } from '../event/event.ts'
import { type Moment, opensIncident } from '../event/moment.ts'
import type { KnownVm } from '../event/sight.ts'
import { type Match, matchEvent } from './match.ts'
import { activeAt } from './time.ts'

export interface Route {
  match: Match
  /** Absent: all. */
  moments?: Moment[] | undefined
  channels: string[]
  /** Its channels get reminders at these distances from NotBefore while nobody has decided. */
  remindBeforeSeconds?: number[] | undefined
  /** False: if it matches every hit VM, later routes do not get that moment. */
  continue?: boolean | undefined
  /** Who may decide, each as `how:who` of a `Decider`. Absent: everyone who has the link. */
  approvers?: string[] | undefined
  /** `page`, or a service whose messages get buttons that decide. Absent: on the page alone. */
  approveIn?: string | undefined
  /** An address for people, as a rule may have one. Only for the channels of this route. */
  runbook?: string | undefined
}

/**
 * The channels to notify of this moment, in the order of the configuration. `existing`: the event's
 * deliveries so far.
 */
export function channelsFor(
  routes: Route[],
  record: EventRecord,
  vms: KnownVm[],
  moment: Moment,
  now: number,
  existing: Delivery[] = [],
): string[] {
  const reachedAt = memoized((at: number, one: Moment) =>
    reachedBy(activeAt(routes, at), record, vms, one),
  )
  const known = existing.filter((one) => comesByRoute(one, record))
  // the routes that brought an event to a channel also bring what follows, after their time
  const later = known.filter((one) => reachedAt(one.notification.at, moment).includes(one.channel))
  const kept = keptBy(known, reachedAt)
  const further = routes
    .filter((route) => isFleet(route, record.fleet) && namesMoment(route, moment, record))
    .flatMap((route) => route.channels.filter((name) => kept.has(name)))
  const channels = new Set([
    ...reachedAt(now, moment),
    ...later.map(({ channel }) => channel),
    ...further,
  ])
  if (moment === 'reminder' && record.reminders.last?.late) {
    // channels that were just asked need no reminder, but an escalation does
    const { askedBy = 'scheduled' } = record.reminders.last
    const asked = channelsFor(routes, record, vms, askedBy, now, existing)
    for (const name of asked) channels.delete(name)
  }
  return [...channels]
}

/** The first of the routes that send this event to the channel. Undefined: that of the rule. */
export function runbookFor(
  routes: Route[],
  record: EventRecord,
  vms: KnownVm[],
  channel: string,
): string | undefined {
  return routes.find(
    ({ match, channels, runbook }) =>
      runbook !== undefined &&
      channels.includes(channel) &&
      matchEvent(match, record.fleet, record.facts, vms) !== 'none',
  )?.runbook
}

/** The channels of the routes that match, until one stops. */
function reachedBy(routes: Route[], record: EventRecord, vms: KnownVm[], moment: Moment): string[] {
  const matching = routes
    .filter(({ moments }) => moments?.includes(moment) ?? true)
    .map((route) => ({
      route,
      extent: matchEvent(route.match, record.fleet, record.facts, vms),
    }))
    .filter(({ extent }) => extent !== 'none')
  // judge each distance by itself, so that other due distances change nothing
  const turns =
    moment === 'reminder'
      ? (record.reminders.last?.due ?? []).map((seconds) =>
          matching.filter(({ route }) => route.remindBeforeSeconds?.includes(seconds)),
        )
      : [matching]
  const unstopped = new Set(
    turns.flatMap((turn) => {
      // like an approval, a stop needs known values of every hit VM
      const stop = turn.findIndex(
        ({ route, extent }) => route.continue === false && extent === 'every',
      )
      return stop === -1 ? turn : turn.slice(0, stop + 1)
    }),
  )
  return matching.filter((one) => unstopped.has(one)).flatMap(({ route }) => route.channels)
}

/**
 * If a channel got this, a route brought it. PagerDuty gets decisions and ends without a route, and
 * reminders depend on their distance. PagerDuty also gets *changed* if an approval expires: then it
 * merely gets more messages of its own routes.
 */
function comesByRoute({ notification }: Delivery, { epoch }: EventRecord): boolean {
  if (!tellsOfEvent(notification)) return false
  const { moment, event, insteadOf } = notification
  const isOwn = event.epoch === epoch && insteadOf === undefined
  return isOwn && opensIncident(moment) && moment !== 'reminder'
}

/**
 * Channels that a route has notified, and would not notify now: it does not match any more, or another
 * route stops it. The event changed, or something else is known of its VMs. These channels get all
 * further messages of their routes. Otherwise people would be asked, and not get the end.
 */
function keptBy(
  known: Delivery[],
  reachedAt: (at: number, moment: Moment) => string[],
): Set<string> {
  const kept = known.filter(({ channel, notification }) => {
    if (!tellsOfEvent(notification)) return false
    return !reachedAt(notification.at, notification.moment).includes(channel)
  })
  return new Set(kept.map(({ channel }) => channel))
}

/** Events have few moments, and routes may be many. */
function memoized(reach: (at: number, moment: Moment) => string[]) {
  const known = new Map<string, string[]>()
  return (at: number, moment: Moment) => {
    const key = `${at} ${moment}`
    const channels = known.get(key) ?? reach(at, moment)
    known.set(key, channels)
    return channels
  }
}

function isFleet({ match }: Route, fleet: string): boolean {
  return match.fleet?.includes(fleet) ?? true
}

function namesMoment(route: Route, moment: Moment, { reminders }: EventRecord): boolean {
  if (!(route.moments?.includes(moment) ?? true)) return false
  return (
    moment !== 'reminder' ||
    (reminders.last?.due.some((seconds) => route.remindBeforeSeconds?.includes(seconds)) ?? false)
  )
}

/** The channels that routes may notify of events of these fleets, and their fallbacks. */
export function channelsRouted(
  routes: Route[],
  channels: Record<string, { fallback?: string | undefined }>,
  fleets: string[],
): string[] {
  const found = routes
    .filter(({ match }) => match.fleet?.some((name) => fleets.includes(name)) ?? fleets.length > 0)
    .flatMap((route) => route.channels)
  return withFallbacks(found, (name) => channels[name]?.fallback)
}

/** These channels, their fallbacks, and the fallbacks of those. */
export function withFallbacks(
  channels: string[],
  fallbackOf: (channel: string) => string | undefined,
): string[] {
  const all = new Set(channels)
  // a set also yields what is added while it is read
  for (const name of all) {
    const fallback = fallbackOf(name)
    if (fallback !== undefined) all.add(fallback)
  }
  return [...all]
}

/** All distances from NotBefore at which any route reminds, the farthest first. */
export function listReminders(routes: Route[]): number[] {
  const all = new Set(routes.flatMap((route) => route.remindBeforeSeconds ?? []))
  return [...all].sort((a, b) => b - a)
}
