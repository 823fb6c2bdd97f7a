// Who is notified: each route that matches adds its channels, until one stops.
import type { Delivery } from '../delivery/delivery.ts'
import type { EventRecord, Moment, Proof } from '../event/event.ts'
import type { Observer } from '../event/observer.ts'
import { type Match, matchEvent } from './match.ts'

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
  /** If it is a proof, messages have buttons that decide, and pressing one gives this proof. */
  approveIn?: 'page' | Proof | undefined
}

/**
 * The channels to notify of this moment, in the order of the configuration. `existing`: the event's
 * deliveries so far.
 */
export function channelsFor(
  routes: Route[],
  record: EventRecord,
  observers: Observer[],
  moment: Moment,
  existing: Delivery[] = [],
): string[] {
  const { reached, hidden } = split(routes, record, observers, moment)
  const isHidden = (name: string, from: Moment) =>
    split(routes, record, observers, from).hidden.includes(name)
  // a channel that was notified before a route stopped it receives all further messages
  const before = existing.filter(({ telling }) => telling.event.epoch === record.epoch)
  const further = hidden.filter((name) =>
    before.some(
      ({ channel, telling }) =>
        channel === name && telling.moment !== 'alert' && isHidden(name, telling.moment),
    ),
  )
  const channels = new Set([...reached, ...further])
  if (moment === 'reminder' && record.reminder?.late) {
    // channels that were just asked need no reminder, but an escalation does
    const asked = channelsFor(routes, record, observers, 'scheduled', existing)
    for (const name of asked) channels.delete(name)
  }
  return [...channels]
}

/**
 * The channels that routes name for a moment, and those that a route with `continue: false` stops.
 */
function split(
  routes: Route[],
  record: EventRecord,
  observers: Observer[],
  moment: Moment,
): { reached: string[]; hidden: string[] } {
  const matching = routes
    .filter(({ moments }) => moments?.includes(moment) ?? true)
    .map((route) => ({
      route,
      extent: matchEvent(route.match, record.fleet, record.facts, observers),
    }))
    .filter(({ extent }) => extent !== 'none')
  // judge each distance by itself, so that other due distances change nothing
  const turns =
    moment === 'reminder'
      ? (record.reminder?.due ?? []).map((seconds) =>
          matching.filter(({ route }) => route.remindBeforeSeconds?.includes(seconds)),
        )
      : [matching]
  const wanting = matching.filter((one) => turns.some((turn) => turn.includes(one)))
  const unstopped = new Set(
    turns.flatMap((turn) => {
      // like an approval, a stop needs known values of every hit VM
      const stop = turn.findIndex(
        ({ route, extent }) => route.continue === false && extent === 'every',
      )
      return stop === -1 ? turn : turn.slice(0, stop + 1)
    }),
  )
  const reached = wanting.filter((one) => unstopped.has(one)).flatMap(({ route }) => route.channels)
  const all = wanting.flatMap(({ route }) => route.channels)
  return { reached, hidden: all.filter((name) => !reached.includes(name)) }
}

/** The channels that routes may notify of events of these fleets, and their fallbacks. */
export function channelsRouted(
  routes: Route[],
  channels: Record<string, { fallback?: string | undefined }>,
  fleets: string[],
): string[] {
  const found = new Set(
    routes
      .filter(
        ({ match }) => match.fleet?.some((name) => fleets.includes(name)) ?? fleets.length > 0,
      )
      .flatMap((route) => route.channels),
  )
  // a set also yields what is added while it is read, so this follows fallbacks of fallbacks
  for (const name of found) {
    const fallback = channels[name]?.fallback
    if (fallback !== undefined) found.add(fallback)
  }
  return [...found]
}

/** All distances from NotBefore at which any route reminds, the farthest first. */
export function remindersOf(routes: Route[]): number[] {
  const all = new Set(routes.flatMap((route) => route.remindBeforeSeconds ?? []))
  return [...all].sort((a, b) => b - a)
}
