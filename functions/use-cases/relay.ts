// What a host hands to the use cases. Everything that differs between hosts or touches the world is here.
import type { Log } from '../../shared/log.ts'
import type { Hmac } from '../../shared/signature.ts'
import type { ChannelFacts } from '../core/delivery/commit.ts'
import { type Rate, unlimited } from '../core/delivery/rate.ts'
import type { Channel, Config } from '../core/rules/config.ts'
import type { Identity } from '../identity/identity.ts'
import type { Desk } from '../notify/desk.ts'
import type { Notifier, Send } from '../notify/notifier.ts'
import type { Attention } from '../store/attention.ts'
import type { Store } from '../store/store.ts'

export interface Relay {
  config: Config
  store: Store
  /** By the kind of the channel. */
  notifiers: Record<string, Notifier<never>>
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

type RelayParts = Pick<Relay, 'config' | 'notifiers'>

/** Undefined where the configuration has no such channel any more. */
export function channelNamed({ config }: Pick<Relay, 'config'>, name: string): Channel | undefined {
  return Object.hasOwn(config.channels, name) ? config.channels[name] : undefined
}

/** How fast a channel may be told; one that the configuration has no more is told nothing. */
export function rateOf(relay: RelayParts, name: string): Rate {
  return notifierNamed(relay, name)?.rate ?? unlimited
}

/** What the configuration and the kinds say of channels. */
export function channelFacts(relay: RelayParts): ChannelFacts {
  return {
    exists: (name) => channelNamed(relay, name) !== undefined,
    opensIncidents: (name) => notifierNamed(relay, name)?.opensIncidents ?? false,
    overtakes: (name) => notifierNamed(relay, name)?.overtakes ?? (() => true),
  }
}

/** The configuration has no channel whose kind lacks a notifier. */
export function notifierOf({ notifiers }: Pick<Relay, 'notifiers'>, { kind }: Channel) {
  return notifiers[kind]!
}

function notifierNamed(relay: RelayParts, name: string): Notifier<never> | undefined {
  const channel = channelNamed(relay, name)
  return channel && notifierOf(relay, channel)
}
