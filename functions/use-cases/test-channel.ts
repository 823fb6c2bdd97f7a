// Sends a test message to a configured channel, because an owner asked for it. It is a delivery like
// any other: it has attempts, keeps the channel's rate, and shows whether the channel works.
import { planChannelTest, testEveryMs, testRowId } from '../core/delivery/alert.ts'
import { type Delivery, noFleet } from '../core/delivery/delivery.ts'
import type { EventRecord } from '../core/event/event.ts'
import { type Access, nameOf } from '../core/rules/access.ts'
import { commitEvent } from './commit-event.ts'
import type { Relay } from './relay.ts'

type Tested = { outcome: 'planned'; delivery: Delivery } | { outcome: 'too_soon'; waitMs: number }

/** The user must see the channel. */
export async function testChannel(relay: Relay, access: Access, channel: string): Promise<Tested> {
  const key = keyOf(relay, channel)
  const by = nameOf(access)
  let planned: Delivery[] = []
  const decide = (before: EventRecord | undefined, now: number) => {
    const plan = planChannelTest(before, channel, by, now)
    planned = plan?.deliveries ?? []
    const { record = before, deliveries = [] } = plan ?? {}
    return { record, moments: [], reason: 'asked', deliveries }
  }
  const { outcome } = await commitEvent(relay, key, { decide })
  const [delivery] = planned
  if (outcome !== 'committed' || delivery === undefined) {
    return { outcome: 'too_soon', waitMs: testEveryMs }
  }
  relay.log.info('channel_tested', { channel, by })
  return { outcome: 'planned', delivery }
}

/** The last test of this day, if there is one. */
export async function lastTest(relay: Relay, channel: string): Promise<Delivery | undefined> {
  return (await relay.store.readDeliveries(keyOf(relay, channel))).at(-1)
}

function keyOf(relay: Relay, channel: string) {
  return { fleet: noFleet, eventId: testRowId(channel, relay.now()) }
}
