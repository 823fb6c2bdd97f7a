// Keeps the health of channels: reads it, lets the core judge, and writes it by compare-and-set. Every
// worker that finds a channel in trouble plans the alert to its fallback, under one id.
import { messageOf } from '../../shared/errors.ts'
import type { SendOutcome } from '../core/delivery/attempt.ts'
import { afterAnswer, type ChannelHealth, type Troubled } from '../core/delivery/channel-health.ts'
import { type Claimed, planTroubleAlert, subscriptionOf } from '../core/delivery/delivery.ts'
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

/**
 * Writes and returns the health after a request. `first` is its first delivery; `overdueSince` is when
 * the message was planned that has waited too long. Never throws: if the health can't be read or
 * written, the channel counts as ok.
 */
export async function noteAnswer(
  relay: Relay,
  channel: Channel,
  first: Claimed,
  sent: SendOutcome,
  overdueSince: number | undefined,
): Promise<Health> {
  const { channel: name, leaseUntil } = first
  const of = fingerprint(name, channel)
  const answer = { channel: name, of, leaseUntil, sent, overdueSince }
  const decide = (before: Health) => afterAnswer(before, answer, relay.now())
  try {
    const { health, log } = await change(relay, name, decide)
    if (log === 'channel_recovered') relay.log.info(log, { channel: name })
    else if (log !== undefined) relay.log.error(log, { channel: name, note: sent.note })
    if (health !== undefined && health.state !== 'ok') {
      await alertFallback(relay, channel, first, health)
    }
    return health
  } catch (error) {
    relay.log.error('channel_health_failed', { channel: name, error: messageOf(error) })
    return undefined
  }
}

async function alertFallback(
  relay: Relay,
  { fallback }: Channel,
  first: Claimed,
  health: Troubled,
): Promise<void> {
  if (fallback === undefined) return
  const alert = planTroubleAlert(first, fallback, health, relay.now())
  if ((await relay.store.addDeliveries([alert])) === 'known') return
  relay.wake(1, { event: alert, deliveries: 1 })
}

/** Channels of the configuration that are refusing or unreachable. */
export async function channelsInTrouble(relay: Relay): Promise<Troubled[]> {
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
): Promise<After> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const read: Read = (await readHealth(relay.store, channel)) ?? { version: 0 }
    const after = decide(read.health)
    const { health } = after
    if (health === undefined || health === read.health) return after
    const written = await writeHealth(relay.store, channel, health, read.version)
    if (written === 'written') return after
  }
  throw new Error(`too many workers write the health of channel "${channel}" at once`)
}
