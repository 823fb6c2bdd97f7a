// Sends a test message to a configured channel, because an owner asked for it. It is a delivery like
// any other: it has attempts, keeps the channel's rate, and shows whether the channel works.

import { planChannelTest, testEveryMs, testId } from '../core/delivery/alert.ts'
import { type Delivery, noFleet } from '../core/delivery/delivery.ts'
import { type Access, nameOf } from '../core/rules/access.ts'
import type { Relay } from './relay.ts'

type Tested = { outcome: 'planned'; delivery: Delivery } | { outcome: 'too_soon'; waitMs: number }

/** The user must see the channel. */
export async function testChannel(relay: Relay, access: Access, channel: string): Promise<Tested> {
  const { store, log } = relay
  const by = nameOf(access)
  const key = keyOf(relay, channel)
  const existing = await store.readDeliveries(key)
  const delivery = planChannelTest(existing, noFleet, { channel, by }, relay.now())
  if (delivery === undefined) return { outcome: 'too_soon', waitMs: testEveryMs }
  await store.addDeliveries([delivery])
  relay.wake(1, { event: key, deliveries: 1 })
  log.info('channel_tested', { channel, by })
  return { outcome: 'planned', delivery }
}

/** The last test of this day, if there is one. */
export async function lastTest(relay: Relay, channel: string): Promise<Delivery | undefined> {
  return (await relay.store.readDeliveries(keyOf(relay, channel))).at(-1)
}

function keyOf(relay: Relay, channel: string) {
  return { fleet: noFleet, eventId: testId(channel, relay.now()) }
}
