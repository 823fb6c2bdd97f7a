// Turns a decision into one atomic write: the record, the deliveries that it plans and those that
// it supersedes.
import { knownOf } from '../event/drill.ts'
import type { EventRecord, Moment } from '../event/event.ts'
import { eventLength, fitEvent } from '../event/event-size.ts'
import { maxMessageVmBytes } from '../event/hit-vms.ts'
import type { Observer } from '../event/observer.ts'
import { extentOf } from '../event/reach.ts'
import { viewOf } from '../event/view.ts'
import { channelsFor, type Route } from '../rules/routes.ts'
import { type Delivery, plan } from './delivery.ts'
import { entriesFor, type MomentEntry } from './moment-log.ts'
import { ends, mayHaveArrived, type Overtakes, type Superseded, supersededBy } from './overtake.ts'

/** What a commit needs to know about channels. */
export interface ChannelFacts {
  /** Whether the configuration still has the channel. */
  exists(channel: string): boolean
  opensIncidents(channel: string): boolean
  overtakes(channel: string): Overtakes
}

interface CommitContext {
  observers: Observer[]
  /** All deliveries of the event so far. */
  deliveries: Delivery[]
  now: number
  /** Before this time, the relay could hear no beacon. */
  listeningSince: number
}

/** One atomic write. */
export interface Commit {
  record: EventRecord
  /** `sequence` of the record this was decided from; 0 if there was none. */
  basedOn: number
  /**
   * New deliveries of this event. If an id exists already, its delivery stays as it is. Earlier
   * pending deliveries of the same event and channel become due at once, as new ones wait for them.
   */
  deliveries: Delivery[]
  /** Deliveries that need not be sent any more. One that is leased or finished stays as it is. */
  supersede: Superseded[]
  /** For the log of moments. If an id exists already, its entry stays as it is. */
  moments: MomentEntry[]
  now: number
}

/** Which channels are notified of a moment, besides those of the routes. */
interface Audience {
  /**
   * Channels that got an earlier message as another one's fallback. `reached`: it is pending or
   * delivered. `possibly_reached`: it may have arrived.
   */
  fallbacks: 'none' | 'reached' | 'possibly_reached'
  /** Channels with an open incident for the event. */
  incidents: boolean
}

const step: Audience = { fallbacks: 'reached', incidents: false }
const lapse: Audience = { fallbacks: 'reached', incidents: true }
const closing: Audience = { fallbacks: 'possibly_reached', incidents: true }

const audiences: Record<Moment, Audience> = {
  scheduled: step,
  changed: step,
  not_ready: step,
  reminder: { fallbacks: 'none', incidents: false },
  approved: closing,
  declined: closing,
  stuck: step,
  started: step,
  completed: closing,
  cancelled: closing,
  lost: closing,
}

const incidentOpeners: Moment[] = ['scheduled', 'not_ready', 'reminder', 'stuck', 'started']

export function commitPlan(
  routes: Route[],
  channels: ChannelFacts,
  before: EventRecord | undefined,
  decided: { record: EventRecord; moments: Moment[] },
  { observers: seen, deliveries: existing, now, listeningSince }: CommitContext,
): Commit {
  const basedOn = before?.sequence ?? 0
  const logged = withinChanges(decided.moments, decided.record)
  const record = fitEvent({ ...withChanges(decided.record, logged), sequence: basedOn + 1 })
  const observers = knownOf(record, seen)
  const isIgnored = record.policy.decide === 'ignore'
  const heard = heardOf(record, existing)
  const routed = (moment: Moment) => channelsFor(routes, record, observers, moment, existing)
  const isLapse = record.lapsedAt !== before?.lapsedAt

  const hearers = (moment: Moment): string[] => {
    if (moment === 'scheduled' && logged.includes('changed')) return newlyRouted()
    const { fallbacks, incidents } = isLapse && moment === 'changed' ? lapse : audiences[moment]
    const named = routed(moment)
    // if a rule ignores the event, only channels that already know of it are notified of its end
    const due = isIgnored ? named.filter((name) => heard.includes(name)) : named
    const open = incidents
      ? withIncident(channels, heard, () => incidentOpeners.flatMap(routed))
      : []
    return [...new Set([...due, ...open, ...fallbacksOf(record, existing, fallbacks)])]
  }
  // a changed event may match other routes, and these need not name *changed*
  const newlyRouted = () => {
    const known = [...heard, ...hearers('changed')]
    return routed('scheduled').filter((name) => !known.includes(name))
  }
  const moments = isIgnored ? logged.filter((moment) => ends.includes(moment)) : logged
  const listening = { now, listeningSince }
  const extent = logged.length > 0 ? extentOf(record, seen, listening, maxMessageVmBytes) : {}
  const event = { ...viewOf(record), ...extent }
  const mayBeNew = moments.includes('changed') && record.phase === 'scheduled'
  const sent: Moment[] = mayBeNew ? [...moments, 'scheduled'] : moments
  const deliveries = plan(record, sent, hearers, now, event)
  const supersede = supersededBy(deliveries, moments, existing, (name) => channels.overtakes(name))
  const entries = entriesFor(record, logged, event, now)
  return { record, basedOn, deliveries, supersede, moments: entries, now }
}

/** At most this many changes are sent in one epoch. Azure makes a few, an attacker any number. */
const maxChangesSent = 50
/** Every further step reads all changes that were sent. */
const maxSentLength = 5_000_000

function withinChanges(moments: Moment[], record: EventRecord): Moment[] {
  return moments.filter((moment) => moment !== 'changed' || hasChangesLeft(record))
}

function hasChangesLeft(record: EventRecord): boolean {
  const { count } = changesOf(record)
  return count < maxChangesSent && (count < 2 || count * eventLength(record) < maxSentLength)
}

function changesOf({ epoch, changes }: EventRecord) {
  return changes?.epoch === epoch ? changes : { epoch, count: 0 }
}

function withChanges(record: EventRecord, moments: Moment[]): EventRecord {
  if (!moments.includes('changed')) return record
  const { epoch, count } = changesOf(record)
  return { ...record, changes: { epoch, count: count + 1 } }
}

/** Channels that a message of this epoch was planned for. */
export function heardOf({ epoch }: EventRecord, existing: Delivery[]): string[] {
  return existing
    .filter(({ telling }) => telling.event.epoch === epoch && telling.moment !== 'alert')
    .map(({ channel }) => channel)
}

/**
 * Channels that may have an open incident. If one is gone, it may have got one of the current
 * names.
 */
function withIncident(channels: ChannelFacts, heard: string[], routed: () => string[]): string[] {
  const isGone = heard.some((name) => !channels.exists(name))
  const names = isGone ? [...heard, ...routed()] : heard
  return names.filter((name) => channels.opensIncidents(name))
}

function fallbacksOf(
  { epoch }: EventRecord,
  existing: Delivery[],
  which: Audience['fallbacks'],
): string[] {
  if (which === 'none') return []
  return existing
    .filter(({ telling }) => telling.moment !== 'alert' && telling.insteadOf !== undefined)
    .filter(({ telling }) => telling.event.epoch === epoch)
    .filter(
      (one) =>
        ['pending', 'delivered'].includes(one.state) ||
        (which === 'possibly_reached' && mayHaveArrived(one)),
    )
    .map(({ channel }) => channel)
}
