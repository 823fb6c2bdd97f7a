// What a host hands to the use cases. Everything that differs between hosts or touches the world is here.
import type { Log } from '../shared/log.ts'
import type { Hmac } from '../shared/signature.ts'
import type { Attention } from './attention.ts'
import type { Channel, Config, Notifiers } from './config.ts'
import { type Delivery, plan } from './core/delivery.ts'
import { standInsOf } from './core/drill.ts'
import type { EventRecord, Moment, Observer } from './core/event.ts'
import { eventLength, fitEvent } from './core/event-size.ts'
import { heardOf } from './core/judgement.ts'
import { ends, mayHaveArrived, supersededBy } from './core/overtake.ts'
import { channelsFor } from './core/policy.ts'
import { type Rate, unlimited } from './core/rate.ts'
import { sparedBy } from './core/reach.ts'
import type { Identity } from './identity/identity.ts'
import type { Desk } from './notify/desk.ts'
import type { Send } from './notify/notifier.ts'
import type { Commit, Store } from './store/store.ts'

export interface Relay {
  config: Config
  store: Store
  notifiers: Notifiers
  /** `fetch` with the host's guard against addresses that a channel must not reach. */
  send: Send
  /** Reads what people press in Slack, and answers them. */
  slackDesk: Desk
  /** Checks the signatures of reports. */
  hmac: Hmac
  /** Checks the tokens of reports. */
  identity: Identity
  /** Signs and checks links; the first signs. */
  linkKeys: Uint8Array<ArrayBuffer>[]
  /** Events whose page somebody opened lately. */
  attention: Attention
  /** Bearer token of the events API; absent: the API is off. */
  adminKey: string | undefined
  /** Epoch ms. */
  now(): number
  /** In [0, 1). */
  random(): number
  log: Log
  /** Epoch ms; who was not heard before that may well have spoken. */
  listeningSince: number
  /**
   * A hint after every commit: so many messages are owed now, and something may be due by itself later.
   * Losing one costs time, never a message.
   */
  wake(owed: number): void
  /** What an owner should look at, as far as the host knows more than the log: sentences for `/healthz`. */
  troubles(): Promise<string[]>
}

/** Attempts to commit one event, each decided anew from what another writer committed meanwhile. */
export const maxCommitAttempts = 100

type RelayParts = Pick<Relay, 'config' | 'notifiers'>

/** Completes a decided record into one atomic write: its sequence, its deliveries, what they replace. */
export function commitOf(
  relay: RelayParts,
  before: EventRecord | undefined,
  decided: EventRecord,
  moments: Moment[],
  context: { observers: Observer[]; existing: Delivery[]; now: number },
): Commit {
  const basedOn = before?.sequence ?? 0
  const record = fitEvent({ ...decided, sequence: basedOn + 1 })
  const { existing } = context
  const observers = record.drill ? standInsOf(record) : context.observers
  const ignored = record.policy.decide === 'ignore'
  const worth = moments.filter((moment) => moment !== 'changed' || hasChangesLeft(record, existing))
  const told = ignored ? worth.filter((moment) => ends.includes(moment)) : worth
  const channels = (moment: Moment) => {
    const routed = channelsFor(relay.config.routes, record, observers, moment, existing)
    const closes = decisions.includes(moment) || ends.includes(moment)
    const standIns = stoodIn(record, existing, closes)
    const open = () => {
      const ofEvent = (other: Moment) =>
        channelsFor(relay.config.routes, record, observers, other, existing)
      return opened(relay, heardOf(record, existing), () => openers.flatMap(ofEvent))
    }
    const isLapse = moment === 'changed' && record.lapsedAt !== before?.lapsedAt
    if (isLapse || decisions.includes(moment)) return union(routed, [...open(), ...standIns])
    if (moment === 'reminder') return routed
    if (!ends.includes(moment)) return union(routed, standIns)
    // what was told before a rule said to ignore it is told to its end
    const heard = heardOf(record, existing)
    const due = ignored ? routed.filter((name) => heard.includes(name)) : routed
    return union(due, [...open(), ...standIns])
  }
  const deliveries = plan(record, told, channels, context.now, sparedBy(record, context))
  const overtakes = (name: string) => notifierOf(relay, name)?.overtakes ?? (() => true)
  const supersede = supersededBy(deliveries, told, existing, overtakes)
  return { record, basedOn, deliveries, supersede, now: context.now }
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

/** Sent if an incident is open for the event. The news that an approval lapsed is sent likewise. */
const decisions: Moment[] = ['approved', 'declined']

/** What opens an incident. */
const openers: Moment[] = ['scheduled', 'reminder', 'stuck', 'started']

/**
 * Those where something stands open for this event: it is closed, whatever the routes say of ends. One that the
 * configuration has no more may have another name by now, of those that the routes give this event.
 */
function opened(relay: RelayParts, heard: string[], ofEvent: () => string[]): string[] {
  const isGone = heard.some((name) => channelNamed(relay, name) === undefined)
  const names = isGone ? union(heard, ofEvent()) : heard
  return names.filter((name) => notifierOf(relay, name)?.opensIncidents)
}

/**
 * Whoever was asked in place of a channel hears how it goes on, but for reminders; what closes it, also whoever
 * may have been.
 */
function stoodIn({ epoch }: EventRecord, existing: Delivery[], closes: boolean): string[] {
  return existing
    .filter(({ telling }) => telling.moment !== 'notice' && telling.insteadOf !== undefined)
    .filter(({ telling }) => telling.event.epoch === epoch)
    .filter(
      (one) => ['pending', 'delivered'].includes(one.state) || (closes && mayHaveArrived(one)),
    )
    .map(({ channel }) => channel)
}

function union(some: string[], others: string[]): string[] {
  return [...new Set([...some, ...others])]
}

/** Undefined where the configuration has no such channel any more. */
export function channelNamed({ config }: Pick<Relay, 'config'>, name: string): Channel | undefined {
  return Object.hasOwn(config.channels, name) ? config.channels[name] : undefined
}

/** How fast a channel may be told; one that the configuration has no more is told nothing. */
export function rateOf(relay: RelayParts, name: string): Rate {
  return notifierOf(relay, name)?.rate ?? unlimited
}

function notifierOf(relay: RelayParts, name: string) {
  const channel = channelNamed(relay, name)
  return channel && relay.notifiers[channel.kind]
}
