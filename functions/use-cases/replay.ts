// Sends one failed message again, because an owner asked for it.
import { channelIn } from '../core/delivery/delivery.ts'
import { type Access, isBound, nameOf } from '../core/rules/access.ts'
import { tryAgain } from './channel-health.ts'
import type { Relay } from './relay.ts'

/** Of a fleet that this user sees. `unchanged`: there is no such message, or it did not fail. */
export async function replayOne(
  relay: Relay,
  access: Access,
  id: string,
): Promise<'replayed' | 'unchanged'> {
  const own = isBound(access) ? { fleets: access.fleets } : {}
  const replayed = await relay.store.replay({ id, ...own }, relay.now(), 1)
  if (replayed === 0) return 'unchanged'
  // the owner may have repaired the channel
  await tryAgain(relay, [channelIn(id)])
  relay.log.info('replayed', { deliveries: replayed, by: nameOf(access) })
  relay.wake(replayed)
  return 'replayed'
}
