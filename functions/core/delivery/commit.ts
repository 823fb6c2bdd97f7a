// Turns a decision into one atomic write: the record, and the deliveries that it plans.
import { knownOf } from '../event/drill.ts'
import type { EventRecord } from '../event/event.ts'
import { eventLength, fitEvent } from '../event/event-size.ts'
import { maxMessageVmBytes } from '../event/hit-vms.ts'
import { isEnd, type Moment } from '../event/moment.ts'
import type { Observer } from '../event/observer.ts'
import { extentOf } from '../event/reach.ts'
import { viewOf } from '../event/view.ts'
import type { Route } from '../rules/routes.ts'
import { audienceOf, type ChannelFacts, isIgnored } from './audience.ts'
import { changeOf, type Delivery, plan } from './delivery.ts'
import { entriesFor, type MomentEntry } from './moment-log.ts'
import { planForSubscriptions, type Subscription } from './subscription.ts'

interface CommitContext {
  observers: Observer[]
  /** All deliveries of the event so far. */
  deliveries: Delivery[]
  now: number
  /** Before this time, the relay could hear no beacon. */
  listeningSince: number
  subscriptions: Subscription[]
}

/** One atomic write. */
export interface Commit {
  record: EventRecord
  /** `sequence` of the record this was decided from; 0 if there was none. */
  basedOn: number
  /**
   * New deliveries of this event. An earlier one of the same channel that waits for its next attempt
   * becomes due at once, as the new one waits for it.
   */
  deliveries: Delivery[]
  /** Deliveries to remove, by their ids. One that is pending by now stays. */
  forget?: string[]
  /** For the log of moments. */
  moments: MomentEntry[]
  now: number
}

export function commitPlan(
  routes: Route[],
  channels: ChannelFacts,
  before: EventRecord | undefined,
  decided: { record: EventRecord; moments: Moment[]; routed?: Moment[] },
  { observers: seen, deliveries: existing, now, listeningSince, subscriptions }: CommitContext,
): Commit {
  const basedOn = before?.sequence ?? 0
  const logged = withinChanges(decided.moments, decided.record)
  const record = fitEvent({ ...withChanges(decided.record, logged), sequence: basedOn + 1 })
  const observers = knownOf(record, seen)
  const isLapse = record.lapsedAt !== before?.lapsedAt
  const { routed = [] } = decided
  const told = [...logged, ...routed]
  const step = { record, moments: told, isLapse, observers, existing }
  const channelsOf = audienceOf(routes, channels, step)
  const notified = isIgnored(record) ? told.filter(isEnd) : told
  // also if the change itself is not sent: other channels may be concerned now
  const mayBeNew = decided.moments.includes('changed') && record.phase === 'scheduled'
  const isNews = mayBeNew && !isIgnored(record) && channelsOf('scheduled').length > 0
  const sent: Moment[] = isNews ? [...notified, 'scheduled'] : notified
  const listening = { now, listeningSince }
  const isNotified = told.length > 0 || isNews
  const extent = isNotified ? extentOf(record, seen, listening, maxMessageVmBytes) : {}
  const event = { ...viewOf(record), ...extent }
  const planned = plan(record, sent, channelsOf, now, event)
  const fresh = planned.filter((one) => existing.every(({ id }) => id !== one.id))
  const entries = entriesFor(record, logged, event, now)
  const deliveries = [...fresh, ...planForSubscriptions(subscriptions, entries, now)]
  return { record, basedOn, deliveries, moments: entries, now }
}

/** At most this many changes are sent in one epoch. Azure makes a few, an attacker any number. */
const maxChangesSent = 50
/** Every further step reads all changes that were sent. */
const maxSentLength = 5_000_000

/** A late report may change values and change them back, so nothing is new. */
function withinChanges(moments: Moment[], record: EventRecord): Moment[] {
  const isNew = changesOf(record).last !== changeOf(record) && hasChangesLeft(record)
  return moments.filter((moment) => moment !== 'changed' || isNew)
}

function hasChangesLeft(record: EventRecord): boolean {
  const { count } = changesOf(record)
  return count < maxChangesSent && (count < 2 || count * eventLength(record) < maxSentLength)
}

function changesOf({ epoch, changes }: EventRecord): NonNullable<EventRecord['changes']> {
  return changes?.epoch === epoch ? changes : { epoch, count: 0 }
}

function withChanges(record: EventRecord, moments: Moment[]): EventRecord {
  if (!moments.includes('changed')) return record
  const { epoch, count } = changesOf(record)
  return { ...record, changes: { epoch, count: count + 1, last: changeOf(record) } }
}
