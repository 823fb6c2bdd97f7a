// Who is notified of a decision: completes it into one atomic write, with the deliveries that it plans
// and those that it supersedes.

import { knownOf } from '../event/drill.ts'
import type { EventRecord, Moment, Observer } from '../event/event.ts'
import { eventLength, fitEvent } from '../event/event-size.ts'
import { sparedBy } from '../event/reach.ts'
import { channelsFor, type Route } from '../rules/policy.ts'
import { type Delivery, plan } from './delivery.ts'
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
  /** All messages of the event so far. */
  deliveries: Delivery[]
  now: number
}

/** One atomic write. */
export interface Commit {
  record: EventRecord
  /** `sequence` of the record this was decided from; 0 if there was none. */
  basedOn: number
  /**
   * New deliveries of this event. One whose id exists already is left as it is. What waits for a later
   * attempt on the same event and channel is due at once, so that it holds nothing up.
   */
  deliveries: Delivery[]
  /** What shall not be sent any more, and why. One under a lease or finished is left as it is. */
  supersede: Superseded[]
  now: number
}

/** Who hears of a moment, besides the channels that the routes name. */
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
  reminder: { fallbacks: 'none', incidents: false },
  approved: closing,
  declined: closing,
  stuck: step,
  started: step,
  completed: closing,
  cancelled: closing,
  lost: closing,
}

/** These open an incident. */
const openers: Moment[] = ['scheduled', 'reminder', 'stuck', 'started']

export function commitPlan(
  routes: Route[],
  channels: ChannelFacts,
  before: EventRecord | undefined,
  decided: { record: EventRecord; moments: Moment[] },
  { observers: seen, deliveries: existing, now }: CommitContext,
): Commit {
  const basedOn = before?.sequence ?? 0
  const record = fitEvent({ ...decided.record, sequence: basedOn + 1 })
  const observers = knownOf(record, seen)
  const isIgnored = record.policy.decide === 'ignore'
  const hasHeard = heardOf(record, existing)
  const routed = (moment: Moment) => channelsFor(routes, record, observers, moment, existing)
  const isLapse = record.lapsedAt !== before?.lapsedAt

  const hearers = (moment: Moment): string[] => {
    const { fallbacks, incidents } = isLapse && moment === 'changed' ? lapse : audiences[moment]
    const named = routed(moment)
    // channels that heard of an event before a rule ignored it also hear of its end
    const due = isIgnored ? named.filter((name) => hasHeard.includes(name)) : named
    const open = incidents ? withIncident(channels, hasHeard, () => openers.flatMap(routed)) : []
    return [...new Set([...due, ...open, ...fallbacksOf(record, existing, fallbacks)])]
  }
  const moments = worthSending(decided.moments, record, existing)
  const deliveries = plan(record, moments, hearers, now, sparedBy(record, { observers: seen, now }))
  const supersede = supersededBy(deliveries, moments, existing, (name) => channels.overtakes(name))
  return { record, basedOn, deliveries, supersede, now }
}

function worthSending(moments: Moment[], record: EventRecord, existing: Delivery[]): Moment[] {
  if (record.policy.decide === 'ignore') return moments.filter((moment) => ends.includes(moment))
  return moments.filter((moment) => moment !== 'changed' || hasChangesLeft(record, existing))
}

/** People are notified of this many changes in one epoch. Azure makes a few, a liar any number. */
const maxChangesSent = 50
/** Each change is kept as it was sent, and every further step reads all of them. */
const maxSentLength = 5_000_000

function hasChangesLeft(record: EventRecord, existing: Delivery[]): boolean {
  const { epoch } = record
  const steps = existing
    .filter(({ telling }) => telling.moment === 'changed' && telling.event.epoch === epoch)
    .map(({ telling }) => telling.event.sequence)
  const { size } = new Set(steps)
  return size < maxChangesSent && (size < 2 || size * eventLength(record) < maxSentLength)
}

/** Channels that a message of this epoch was planned for. */
export function heardOf({ epoch }: EventRecord, existing: Delivery[]): string[] {
  return existing
    .filter(({ telling }) => telling.event.epoch === epoch && telling.moment !== 'alert')
    .map(({ channel }) => channel)
}

/**
 * Channels that may have an open incident. One that the configuration no longer has may have a new
 * name, so all that the routes name now count, too.
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
