// Keeps the health of channels: reads it, lets the core judge, and writes it by compare-and-set. If
// several workers find the same trouble at once, one of them notifies the fallback.
import { messageOf } from '../../shared/errors.ts'
import type { SendOutcome } from '../core/delivery/attempt.ts'
import {
  afterAlert,
  afterAnswer,
  beforeRequest,
  type ChannelHealth,
  type Passage,
  type Refusing,
  tryNow,
  type Unreachable,
} from '../core/delivery/channel-health.ts'
import { type Claimed, subscriptionOf } from '../core/delivery/delivery.ts'
import { hash } from '../core/hash.ts'
import type { Channel } from '../core/rules/config.ts'
import { readHealth, readHealthRows, writeHealth } from '../store/memos.ts'
import { channelNamed, type Relay } from './relay.ts'

type Health = ChannelHealth | undefined

/** Each attempt loses to another worker that writes the same channel's health. */
const maxAttempts = 20

/**
 * Changes with the configuration of a channel, and does not reveal it. Of a subscription, only the
 * address counts: a new secret repairs no endpoint.
 */
function fingerprint(name: string, channel: Channel): string {
  const known = fingerprints.get(channel)
  if (known !== undefined) return known
  const of = hash(JSON.stringify(subscriptionOf(name) === undefined ? channel : channel.url))
  fingerprints.set(channel, of)
  return of
}

const fingerprints = new WeakMap<Channel, string>()

/** A channel's health as it was read. `version` is 0 if there is no row. */
interface Read {
  version: number
  health?: Health
}

interface Gate {
  passage: Passage
  /** The fingerprint of the channel. */
  of: string
  /** The request runs under the lease of this delivery. */
  first: Claimed
  read: Read
}

/** Whether this channel may get a request now. Never throws: if the health can't be read, wait. */
export async function passGate(relay: Relay, channel: Channel, first: Claimed): Promise<Gate> {
  const of = fingerprint(first.channel, channel)
  const decide = (before: Health) => beforeRequest(before, of, first, relay.now())
  try {
    const { passage, read } = await change(relay, first.channel, decide)
    return { passage, of, first, read }
  } catch (error) {
    relay.log.error('channel_health_failed', { channel: first.channel, error: messageOf(error) })
    const note = 'the health of the channel could not be read; see the log'
    return { passage: { go: 'wait', note }, of, first, read: { version: 0 } }
  }
}

/**
 * Writes and returns the health after a request. `sent` is undefined if nothing was sent.
 * `overdueSince` is when the message was planned that has waited too long. Never throws: if the
 * health can't be written, the channel is only tried once more.
 */
export async function noteAnswer(
  relay: Relay,
  { of, first, read }: Gate,
  sent: SendOutcome | undefined,
  overdueSince: number | undefined,
): Promise<Health> {
  const { channel, id, lease, leaseUntil } = first
  const answer = { channel, of, id, lease, leaseUntil, sent, overdueSince }
  const decide = (before: Health) => afterAnswer(before, answer, relay.now())
  try {
    const { health, log } = await change(relay, channel, decide, read)
    if (log === 'channel_recovered') relay.log.info(log, { channel })
    else if (log !== undefined) relay.log.error(log, { channel, note: sent?.note })
    return health
  } catch (error) {
    relay.log.error('channel_health_failed', { channel, error: messageOf(error) })
    return read.health?.of === of ? read.health : undefined
  }
}

/** Call this once the fallback knows of the trouble, or if the channel has no fallback. */
export async function noteNotified(relay: Relay, channel: string): Promise<void> {
  await change(relay, channel, (known) => ({ health: known && afterAlert(known, relay.now()) }))
}

/** After an owner fixed these channels, or all of them, the next message tries them. */
export async function tryAgain(relay: Relay, channels?: string[]): Promise<void> {
  const names = channels ?? (await readHealthRows(relay.store)).map(({ channel }) => channel)
  for (const name of names) {
    await change(relay, name, (known) => ({ health: known && tryNow(known, relay.now()) }))
  }
}

/** Channels of the configuration that are refusing or unreachable. */
export async function channelsInTrouble(relay: Relay): Promise<(Refusing | Unreachable)[]> {
  const rows = await readHealthRows(relay.store)
  return rows.flatMap(({ channel: name, health }) => {
    const channel = channelNamed(relay, name)
    if (channel === undefined || health.state === 'ok') return []
    return health.of === fingerprint(name, channel) ? [health] : []
  })
}

/** Decides again each time another worker has written the health in the meantime. */
async function change<After extends { health: Health }>(
  relay: Relay,
  channel: string,
  decide: (before: Health) => After,
  known?: Read,
): Promise<After & { read: Read }> {
  let read: Read = known ?? (await readHealth(relay.store, channel)) ?? { version: 0 }
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const { version } = read
    const after = decide(read.health)
    const { health } = after
    if (health === undefined || health === read.health) return { ...after, read }
    if ((await writeHealth(relay.store, channel, health, version)) === 'written') {
      return { ...after, read: { health, version: version + 1 } }
    }
    read = (await readHealth(relay.store, channel)) ?? { version: 0 }
  }
  throw new Error(`too many workers write the health of channel "${channel}" at once`)
}
