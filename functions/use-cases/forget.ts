// Removes what ended long ago, in bounded steps, so that the store does not grow for ever.
import type { Relay } from './relay.ts'

const dayMs = 86_400_000
const maxPerStep = 500
/** A deleted VM stays silent. A VM that was only switched off comes back under the same name. */
const beaconDays = 7

/** Takes one step. Returns whether there is more to remove. */
export async function forgetOld(relay: Relay): Promise<boolean> {
  const now = relay.now()
  const before = now - relay.config.retentionDays * dayMs
  const forgotten = await relay.store.forget(before, maxPerStep, now - beaconDays * dayMs)
  if (forgotten > 0) relay.log.info('forgotten', { rows: forgotten })
  return forgotten >= maxPerStep
}
