// Sends failed messages again, because an owner asked for it.
import { channelIn, subscriptionOf } from '../core/delivery/delivery.ts'
import { type Access, isBound, nameOf } from '../core/rules/access.ts'
import { channelNamed, type Relay } from './relay.ts'
import { subscriptionFor } from './subscriptions.ts'

/**
 * Sends one message again, if this user sees the fleet of its event. `unchanged`: there is no such
 * message, it did not fail, or its subscription is not active.
 */
export async function replayOne(
  relay: Relay,
  access: Access,
  id: string,
): Promise<'replayed' | 'unchanged'> {
  const own = isBound(access) ? { fleets: access.fleets } : {}
  const subscription = subscriptionOf(channelIn(id))
  // a subscription may belong to another team, whatever fleet the event is of
  if (subscription !== undefined && !(await isActive(relay, access, subscription)))
    return 'unchanged'
  const replayed = await relay.store.replay({ id, ...own }, relay.now(), 1)
  if (replayed === 0) return 'unchanged'
  relay.log.info('replayed', { deliveries: replayed, by: nameOf(access) })
  relay.wake(replayed)
  return 'replayed'
}

/** One that is not active keeps its messages. */
async function isActive(relay: Relay, access: Access, id: string): Promise<boolean> {
  return (await subscriptionFor(relay, access, id))?.state === 'active'
}

const maxReplayed = 1_000

/** Everything of a channel that failed since a time. Returns how many. */
export async function replayChannel(
  relay: Relay,
  access: Access,
  channel: string,
  since: number,
): Promise<number> {
  const own = isBound(access) ? { fleets: access.fleets } : {}
  if (channelNamed(relay, channel) === undefined) return 0
  const which = { since, channel, ...own }
  const replayed = await relay.store.replay(which, relay.now(), maxReplayed)
  if (replayed === 0) return 0
  relay.log.info('replayed', { deliveries: replayed, by: nameOf(access) })
  relay.wake(replayed)
  return replayed
}
