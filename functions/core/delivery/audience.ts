// Who is notified of a moment: the channels of the routes (`rules/routes.ts`), and those that got
// earlier messages (`traits` in `event/moment.ts`). `commit.ts` chooses the moments. Who gets deliveries
// beside the routes: `planner.ts`. If a channel fails: `follow-up.ts`.
import { isAdvice } from '../../../shared/document.ts'
import type { EventRecord } from '../event/event.ts'
import { type Fallbacks, type Moment, moments, opensIncident, traits } from '../event/moment.ts'
import type { KnownVm } from '../event/sight.ts'
import { stages } from '../event/stages.ts'
import { channelsFor, type Route, withFallbacks } from '../rules/routes.ts'
import { type Delivery, hearsByItself, tellsOfEvent } from './delivery.ts'
import { mayHaveArrived, type Takes } from './overtake.ts'

/** What planning needs to know about channels. */
export interface ChannelFacts {
  /** Undefined if the configuration no longer has the channel. */
  takes(channel: string): Takes | undefined
  fallbackOf(channel: string): string | undefined
  /** The channels of the configuration that get every event. */
  sinks: string[]
}

interface Step {
  record: EventRecord
  moments: Moment[]
  /** Whether an approval expires with this step. */
  isExpiry: boolean
  vms: KnownVm[]
  /** All deliveries of the event so far. */
  existing: Delivery[]
  now: number
}

interface Audience {
  /** The channels that get a moment of this step. */
  of(moment: Moment): string[]
  /** Channels that routes name only now and that have heard nothing. They get the newest moment. */
  joining(): string[]
}

export function findAudience(
  routes: Route[],
  channels: ChannelFacts,
  { record, moments: logged, isExpiry, vms, existing, now }: Step,
): Audience {
  const notified = plannedFor(record, existing)
  /** People are told of advice once. It ends silently, and is no incident. Machines get every step. */
  const isAdvised = (name: string, moment: Moment) =>
    channels.takes(name) === 'every' ||
    (moment === findNewest(record) && channels.takes(name) !== 'incident')
  const routed = (moment: Moment) => {
    const named = channelsFor(routes, record, vms, moment, now, existing)
    return isAdvice(record.facts) ? named.filter((name) => isAdvised(name, moment)) : named
  }

  const mayNotify = (name: string, moment: Moment) => {
    const notice = {
      ...{ moment, takes: channels.takes(name), isExpiry, isKnown: notified.includes(name) },
    }
    return stages.every((stage) => stage.mayNotify(record, notice))
  }

  const of = (moment: Moment): string[] => {
    const { fallbacks } = traits[moment]
    // an expired approval concerns everyone who may think that the event is decided
    const incidents = !opensIncident(moment) || (isExpiry && moment === 'changed')
    const named = routed(moment)
    // if a rule ignores the event, only channels that already know of it are notified of its end
    const due = isIgnored(record) ? named.filter((name) => notified.includes(name)) : named
    if (isAdvice(record.facts)) return due.filter((name) => mayNotify(name, moment))
    const open = incidents
      ? withIncident(channels, notified, () => moments.filter(opensIncident).flatMap(routed))
      : []
    const all = [
      ...new Set([...due, ...open, ...listFallbacks(record, existing, fallbacks)]),
    ].filter((name) => mayNotify(name, moment))
    // the first message also says why a rule asks people. Machines get every step
    if (moment !== 'not_ready' || !logged.includes('scheduled')) return all
    const first = of('scheduled')
    return all.filter((name) => channels.takes(name) === 'every' || !first.includes(name))
  }
  const joining = () => {
    const known = [...notified, ...logged.flatMap(of)]
    const newest = findNewest(record)
    return routed(newest).filter((name) => !known.includes(name) && mayNotify(name, newest))
  }
  return { of, joining }
}

/** The moment that says where the event stands. */
export function findNewest({ phase }: EventRecord): Moment {
  return phase === 'started' ? 'started' : 'scheduled'
}

export function isIgnored({ policy }: EventRecord): boolean {
  return policy.decide === 'ignore'
}

/** Channels of routes that a message of this epoch was planned for. */
function plannedFor({ epoch }: EventRecord, existing: Delivery[]): string[] {
  return existing
    .filter(
      ({ channel, notification }) =>
        notification.event.epoch === epoch && tellsOfEvent(notification) && !hearsByItself(channel),
    )
    .map(({ channel }) => channel)
}

/**
 * Channels that may have an open incident. If one is no longer configured, it may have a new name.
 * Then the channels that routes name now, and the fallbacks, count as well.
 */
function withIncident(
  channels: ChannelFacts,
  notified: string[],
  routed: () => string[],
): string[] {
  const isGone = notified.some((name) => channels.takes(name) === undefined)
  const names = isGone
    ? withFallbacks([...notified, ...routed()], channels.fallbackOf)
    : [...new Set(notified)]
  return names.filter((name) => channels.takes(name) === 'incident')
}

function listFallbacks({ epoch }: EventRecord, existing: Delivery[], which: Fallbacks): string[] {
  if (which === 'none') return []
  return existing
    .filter(
      ({ notification }) => tellsOfEvent(notification) && notification.insteadOf !== undefined,
    )
    .filter(({ notification }) => notification.event.epoch === epoch)
    .filter(
      (one) =>
        ['pending', 'delivered'].includes(one.state) ||
        (which === 'possibly_reached' && mayHaveArrived(one)),
    )
    .map(({ channel }) => channel)
}
