// Whether a person has an event's page before them: a decision is near then, so the beacons of the
// event report often.
import { openedRows } from '../store/small-rows.ts'
import type { EventKey, SmallRowStore } from '../store/store.ts'

/** A person who opened the page decides within this time, or opens it again. */
const openedLatelyMs = 15 * 60_000

/** Notes that a person opened the event's page. A lost note costs time, never an approval. */
export async function noteOpened(
  { store, now }: { store: SmallRowStore; now: () => number },
  event: EventKey,
): Promise<void> {
  const known = await openedRows.read(store, event)
  // in a conflict, another worker has just noted the same
  await openedRows.write(store, { at: now() }, known?.version ?? 0, event)
}

export async function isOpenedLately(store: SmallRowStore, event: EventKey, now: number) {
  const opened = await openedRows.read(store, event)
  return opened !== undefined && now - opened.at < openedLatelyMs
}
