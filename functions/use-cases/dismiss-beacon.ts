// A beacon that will not come back: an owner says so, or what is known of its VM.
import type { Beacon, Departure } from '../core/event/beacon.ts'
import type { BeaconKey } from '../store/store.ts'
import type { Relay } from './relay.ts'

/**
 * The beacon will not come back. If it was silent, it stays due until the alert knows. Undefined: another
 * write was faster.
 */
export async function depart(
  relay: Pick<Relay, 'store' | 'log'>,
  beacon: Beacon,
  why: Departure,
  now: number,
): Promise<Beacon | undefined> {
  const { silentAt: _, explainedBy: _e, ...rest } = beacon
  const due = beacon.silence === undefined ? {} : { silentAt: now }
  const gone: Beacon = { ...rest, ...due, left: { why, at: now } }
  if ((await relay.store.replaceBeacon(beacon, gone)) !== 'written') return undefined
  relay.log.info('beacon_left', { fleet: beacon.fleet, vm: beacon.vm, why })
  return gone
}

/** Each attempt loses to a report, or to the sweep. */
const maxAttempts = 5

/** An owner's word that a beacon has left. If it reports again, it is heard again. */
export async function dismissBeacon(
  relay: Relay,
  { fleet, beacon }: BeaconKey,
): Promise<Beacon | 'unknown' | 'busy'> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const known = await relay.store.readBeacon(fleet, beacon)
    if (known === undefined) return 'unknown'
    if (known.left !== undefined) return known
    const gone = await depart(relay, known, 'owner', relay.now())
    if (gone !== undefined) return gone
  }
  return 'busy'
}
