// An owner's word that a beacon has left. If it reports again, it is heard again.
import type { Beacon } from '../core/event/beacon.ts'
import type { BeaconKey } from '../store/store.ts'
import { depart } from './notice-silence.ts'
import type { Relay } from './relay.ts'

/** Each attempt loses to a report, or to the sweep. */
const maxAttempts = 5

export async function dismissBeacon(
  relay: Relay,
  { fleet, beacon }: BeaconKey,
): Promise<Beacon | 'unknown' | 'busy'> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const known = await relay.store.readBeacon(fleet, beacon)
    if (known === undefined) return 'unknown'
    if (known.left !== undefined) return known
    await depart(relay, known, 'owner', relay.now())
  }
  return 'busy'
}
