import type { Counts } from '../core/counts.ts'
import type { Relay } from './relay.ts'

/** How much there is of everything. `maxAgeMs`: see the store. */
export function countAll({ store, config, now }: Relay, maxAgeMs?: number): Promise<Counts> {
  const age = maxAgeMs === undefined ? {} : { maxAgeMs }
  return store.readCounts({ now: now(), fleets: Object.keys(config.fleets), ...age })
}
