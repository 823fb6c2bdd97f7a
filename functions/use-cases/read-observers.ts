// The beacons that have seen an event, as decisions and pages need them.
import type { EventRecord } from '../core/event/event.ts'
import type { Observer } from '../core/event/observer.ts'
import { withoutReplaced } from '../core/event/silence.ts'
import type { EventKey, Store } from '../store/store.ts'

/** Nobody has seen an event that is not stored. */
export async function readObservers(
  store: Pick<Store, 'readObservers'>,
  key: EventKey,
  before: EventRecord | undefined,
): Promise<Observer[]> {
  return before === undefined ? [] : withoutReplaced(await store.readObservers(key))
}
