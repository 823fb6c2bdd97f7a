// Keeps the health of channels: reads it, lets the core judge, and writes it by compare-and-set. Every
// worker that finds a channel in trouble plans the alert to its fallback, under one id. An owner can
// test a channel: the test is a delivery like any other.
import { messageOf } from '../../shared/errors.ts'
import { planChannelTest, planTroubleAlert, testEveryMs, testId } from '../core/delivery/alert.ts'
import { isFresh, type SendOutcome } from '../core/delivery/attempt.ts'
import { afterAnswer, isInTrouble } from '../core/delivery/channel-health.ts'
import { type Claimed, type Delivery, noFleet, readStoredId } from '../core/delivery/delivery.ts'
import type { ChannelHealth, Troubled } from '../core/delivery/health.ts'
import { hash } from '../core/hash.ts'
import { type Access, describeAccess } from '../core/rules/access.ts'
import type { Channel } from '../core/rules/config.ts'
import { channelNamed, type Relay } from './relay.ts'

type Health = ChannelHealth | undefined

/**
 * Changes with the configuration of a channel, and does not reveal it. Of a stored channel, only the
 * address counts: a new secret repairs no endpoint.
 */
function fingerprint(name: string, channel: Channel): string {
  const known = fingerprints.get(channel)
  if (known !== undefined) return known
  const of = hash(JSON.stringify(readStoredId(name) === undefined ? channel : channel.url))
  fingerprints.set(channel, of)
  return of
}

const fingerprints = new WeakMap<Channel, string>()

/**
 * Writes and returns the health after a request. If the answer comes at once and changes nothing of
 * what the claim has read, the store is not asked. `first` is the first delivery. `overdueSince`: when
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
  const expected = decide(first.health)
  try {
    const isOk = first.health === undefined || first.health.state === 'ok'
    if (isOk && isFresh(first, relay.now()) && expected.health === first.health) return first.health
    let log = expected.log
    const health = await relay.store.changeHealth(name, (before) => {
      const after = decide(before)
      log = after.log
      return after.health
    })
    if (log === 'channel_recovered') relay.log.info(log, { channel: name })
    else if (log !== undefined) relay.log.error(log, { channel: name, note: sent.note })
    if (isInTrouble(health)) {
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
  relay.work.wake(1, { event: alert, deliveries: 1 })
}

/** Channels of the configuration that are refusing or unreachable. */
export async function channelsInTrouble(relay: Relay): Promise<Troubled[]> {
  const all = await relay.store.listHealth()
  return all.flatMap((health) => {
    const channel = channelNamed(relay, health.channel)
    if (channel === undefined || !isInTrouble(health)) return []
    return health.of === fingerprint(health.channel, channel) ? [health] : []
  })
}

type Tested = { outcome: 'planned'; delivery: Delivery } | { outcome: 'too_soon'; waitMs: number }

/** The user must see the channel. */
export async function testChannel(relay: Relay, access: Access, channel: string): Promise<Tested> {
  const { store, log } = relay
  const by = describeAccess(access)
  const key = buildKey(relay, channel)
  const existing = await store.readDeliveries(key)
  const delivery = planChannelTest(existing, noFleet, { channel, by }, relay.now())
  if (delivery === undefined) return { outcome: 'too_soon', waitMs: testEveryMs }
  await store.addDeliveries([delivery])
  relay.work.wake(1, { event: key, deliveries: 1 })
  log.info('channel_tested', { channel, by })
  return { outcome: 'planned', delivery }
}

/** The last test of this day, if there is one. */
export async function lastTest(relay: Relay, channel: string): Promise<Delivery | undefined> {
  return (await relay.store.readDeliveries(buildKey(relay, channel))).at(-1)
}

function buildKey(relay: Relay, channel: string) {
  return { fleet: noFleet, eventId: testId(channel, relay.now()) }
}
