// Sends failed messages again, because an owner asked for it.
import { type Access, isBound, nameOf } from '../core/rules/access.ts'
import type { Relay } from './relay.ts'

const maxReplayed = 1_000

/** One message, or those since a time. */
type Which = { id: string } | { since: number; channel?: string; fleets?: string[] }

/** Those of events that this user may see. Returns how many. */
export function replayFor(relay: Relay, access: Access, which: Which): Promise<number> {
  const own = isBound(access) ? { ...which, fleets: access.fleets } : which
  return replay(relay, access, own)
}

/** Returns how many. */
export async function replay(relay: Relay, access: Access, which: Which): Promise<number> {
  const replayed = await relay.store.replay(which, relay.now(), maxReplayed)
  if (replayed === 0) return 0
  relay.log.info('replayed', { deliveries: replayed, by: nameOf(access) })
  relay.wake(replayed)
  return replayed
}
