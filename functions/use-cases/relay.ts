// What a host gives to the use cases: everything that differs between hosts or does I/O.
import type { Log } from '../../shared/log.ts'
import type { Hmac } from '../../shared/signature.ts'
import type { ChannelFacts } from '../core/delivery/audience.ts'
import { isSink, readStoredId } from '../core/delivery/delivery.ts'
import type { RemovedChannel } from '../core/delivery/health.ts'
import { type Rate, storedRate, unlimited } from '../core/delivery/rate.ts'
import type { ArmResult } from '../core/event/arm.ts'
import type { Heartbeats } from '../core/event/heartbeat.ts'
import type { AzureResource } from '../core/event/outside.ts'
import type { Published } from '../core/event/published.ts'
import type { Context } from '../core/event/stage.ts'
import type { Channel, Config } from '../core/rules/config.ts'
import { listOwners } from '../core/rules/owners.ts'
import { listReminders } from '../core/rules/routes.ts'
import type { Identity } from '../identity/identity.ts'
import type { AzureTokens, Named, Notifier, Send } from '../notify/notifier.ts'
import type { Presses } from '../notify/presses.ts'
import type { EventKey, Store } from '../store/store.ts'
import type { Changes } from './changes.ts'
import type { ClockWatch } from './clock-watch.ts'
import type { FrequentLog } from './frequent-log.ts'
import type { OpenLimits } from './open-limits.ts'

export interface Relay {
  config: Config
  store: Store
  log: Log
  /** Epoch ms. */
  now(): number
  /** Returns a number in [0, 1). */
  random(): number
  /** Resolves after this time. For moments: what waits longer has a due time in the store. */
  wait(ms: number): Promise<void>
  /** Epoch ms. Before this time the relay may have missed reports. */
  listeningSince: number
  host: Host
  credentials: Credentials
  presses: Presses
  sending: Sending
  work: Work
  outside: Outside
  /** Whether this relay's clock is wrong. */
  clockWatch: ClockWatch
}

/** What differs from host to host. */
interface Host {
  name: HostName
  /** When beacons that see no event report. It decides what an idle fleet costs. */
  heartbeats: Heartbeats
  /** Whether the host can keep an answer open for minutes. */
  holdsConnections: boolean
  /** Other relays use the same store. When this one read its configuration, epoch ms. */
  sharedSince?: number
  /** Lets what came in meanwhile go first: also a request on a new connection, up to its answer. */
  pause(): Promise<void>
  /** Reads in work at a time. One, unless the storage is far away: then some wait for it meanwhile. */
  readPlaces: number
  /** What the host does for features. */
  abilities: Abilities
  /** Problems of the host that an owner should look at: sentences for `/healthz`. */
  troubles(): Promise<string[]>
}

/** What proves who sends a report, opens a link or asks the API. */
interface Credentials {
  /** Checks the signatures of reports, and signs webhooks. */
  hmac: Hmac
  /** Checks the tokens of reports. */
  identity: Identity
  /** The keys sign and check links. The first key signs, all keys are valid. */
  linkKeys: Uint8Array<ArrayBuffer>[]
  /** Opens the API and the console. If it is undefined, the API is off. */
  adminKey: string | undefined
}

/** How messages leave the relay. */
interface Sending {
  /** Notifiers by channel kind. */
  notifiers: Record<string, Named<Notifier<never>>>
  /** Makes one request, with the host's guard against addresses that a channel must not reach. */
  send: Send
  /** Makes one request to a stored channel whose maker is bound to fleets, with the guard for such makers. */
  sendForBound: Send
  /** Lines about attempts that failed. */
  retryLog: FrequentLog
  /** See reroute.ts. */
  removedChannels: RemovedChannel[]
}

/** What this process is doing now. */
interface Work {
  /**
   * A hint after every commit: this many messages are pending, and the event may be due later.
   * `about`: the event that was committed; if it is absent, it can be anything. A lost hint costs
   * time, never a message.
   */
  wake(messages: number, about?: Planned): void
  /** Raised after each commit of this process that has moments. */
  commitSignal: CommitSignal
  /** Answers that wait for a decision. It has no places on a host that bills waiting requests. */
  holds: Holds
  /** Changes of events that this process is writing. */
  changes: Changes
  /** Whether a fleet has room for more events and beacons. */
  openLimits: OpenLimits
}

/** Azure, outside the VMs. */
interface Outside {
  /** Tokens for channels that are services of Azure. */
  tokens: AzureTokens
  /** Reads Azure, and tells it. Absent: only beacons do. */
  azure?: AzureApis
  /** When to look whether to read Azure's list of events, see published.ts. */
  lookAt?: number
  /** When this worker last tried to read it, and when it last noted that Event Grid said something. Epoch ms. */
  listed?: { at: number; isRead: Promise<boolean> }
  doubtAt?: number
}

export type HostName = 'node' | 'azure' | 'cloudflare'

/** What a host does for features. Each adds its own by declaration merging. What a host cannot do is absent. */
// biome-ignore lint/suspicious/noEmptyInterface: features add to it
export interface Abilities {}

export interface AzureApis {
  manager: ResourceManager
  graph: ResourceGraph
  /** The ids are in lower case. */
  subscriptions: string[]
}

/** A VM, or a set of VMs, in Azure's inventory. */
export interface Machine extends AzureResource {
  tags: Record<string, string>
  /** The set that a VM is in, which decides whether Azure publishes its events. Empty: none. */
  scaleSet: string
  availabilitySet: string
  /** Azure publishes its events outside the VMs. */
  publishes: boolean
}

/** Who asks for the inventory. Neither uses up the quota that approvals need. */
export type Asker = 'people' | 'rules'

/**
 * Its methods throw FoghornError `azure_graph_failed`, `azure_graph_forbidden`, `azure_no_answer` and
 * `azure_token_missing`.
 */
export interface ResourceGraph {
  /** The events as they were two minutes ago at the latest. */
  listEvents(subscriptions: string[]): Promise<Published[]>
  /**
   * Lists the subscriptions that the identity may read. Azure leaves the others out of each list
   * silently.
   */
  listReadable(subscriptions: string[]): Promise<string[]>
  /** The inventory as it was a minute ago at the latest; for rules, 10 s. Each query waits at most 10 s. */
  listMachines(subscriptions: string[], asker: Asker): Promise<Machine[]>
}

export interface ResourceManager {
  /** Tells Azure that the event may start. */
  acknowledge(resource: AzureResource, eventId: string): Promise<ArmResult>
}

/** An event with new deliveries, or with a new due time. */
export interface Planned {
  event: EventKey
  /** How many deliveries to configured channels were planned. */
  deliveries: number
  dueAt?: number | undefined
}

export interface CommitSignal {
  /** How often it rang. */
  readonly raised: number
  /** The host stops, or takes a new configuration, so readers must end. */
  readonly isClosed: boolean
  raise(): void
  /** What still raises this one raises `next` instead. */
  close(next?: CommitSignal): void
  /** Resolves once it has raised more than `seen` times or is closed, at the latest after `ms`. */
  next(seen: number, ms: number): Promise<void>
}

/** Holding an answer is only a hint: a beacon whose answer is not held reports every 2 s. */
export interface Holds {
  /** Whether `take` would hold the answer to this beacon. */
  hasRoom(fleet: string, beacon: string): boolean
  /**
   * Holds the answer to a report that shows these events. A beacon has one hold: the answer that it
   * had is released. Undefined if the fleet or the process has no room for more.
   */
  take(fleet: string, beacon: string, eventIds: string[]): Hold | undefined
  /** Ends the waits of beacons that see the event, also those that begin later in a hold of now. */
  wake(event: EventKey): void
  /** Releases all answers, and holds no more. What still wakes this one wakes `next` instead. */
  close(next?: Holds): void
}

export interface Hold {
  /** Waits at most `ms`. `released`: the beacon must not wait again at once. */
  wait(ms: number): Promise<'over' | 'released'>
  leave(): void
}

/** What is known of channels without sending anything. */
export interface ChannelParts extends Pick<Relay, 'config'> {
  sending: Pick<Sending, 'notifiers'>
}

/** Undefined if the configuration no longer has the channel. */
export function channelNamed({ config }: Pick<Relay, 'config'>, name: string): Channel | undefined {
  return Object.hasOwn(config.channels, name) ? config.channels[name] : undefined
}

/** A removed channel has no rate: nothing is sent to it. */
export function findRate(relay: ChannelParts, name: string): Rate {
  if (readStoredId(name) !== undefined) return storedRate
  return notifierNamed(relay, name)?.rate ?? unlimited
}

export function channelFacts(relay: ChannelParts): ChannelFacts {
  return {
    takes: (name) => notifierNamed(relay, name)?.takes,
    fallbackOf: (name) => channelNamed(relay, name)?.fallback,
    sinks: Object.keys(relay.config.channels).filter(isSink),
  }
}

/** The configuration accepts only kinds that have a notifier. */
export function findNotifier({ sending }: Pick<ChannelParts, 'sending'>, { kind }: Channel) {
  return sending.notifiers[kind]!
}

/** What people call the service of a channel. */
export function nameService(parts: Pick<ChannelParts, 'sending'>, channel: Channel): string {
  return channel.service ?? findNotifier(parts, channel).service
}

function notifierNamed(relay: ChannelParts, name: string): Notifier<never> | undefined {
  const channel = channelNamed(relay, name)
  return channel && findNotifier(relay, channel)
}

/** What decisions about events need of the configuration. */
export function buildContext({ config, listeningSince }: Relay): Context {
  return { rules: config.policy, reminders: listReminders(config.routes), listeningSince }
}

/** The owners of a fleet that the configuration still has as channels. */
export function ownersNow(relay: Relay, fleet: string): string[] {
  return listOwners(relay.config, fleet).filter((name) => channelNamed(relay, name))
}
