// Reads an event beside others: one that is damaged stops none of them.

import { FoghornError } from '../../shared/errors.ts'
import type { EventRecord } from '../core/event/event.ts'
import type { EventKey, EventStore } from '../store/store.ts'

export async function readWhole(
  store: Pick<EventStore, 'readEvent'>,
  key: EventKey,
): Promise<EventRecord | 'damaged' | undefined> {
  try {
    return await store.readEvent(key)
  } catch (error) {
    if (error instanceof FoghornError && error.code === 'data_damaged') return 'damaged'
    throw error
  }
}
