// Whether a person has an event's page before them: a decision is near then, so the beacons of the
// event report often.
import type { EventKey, SmallRow, SmallRowKey, SmallRowStore } from '../store/store.ts'

/** A person who opened the page decides within this time, or opens it again. */
const openedLatelyMs = 15 * 60_000

interface Opened extends SmallRow {
  at: number
}

/** Notes that a person opened the event's page. A lost note costs time, never an approval. */
export async function noteOpened(
  { store, now }: { store: SmallRowStore; now: () => number },
  event: EventKey,
): Promise<void> {
  const known = await store.readSmallRow(openedKey(event))
  // in a conflict, another worker has just noted the same
  await store.writeSmallRow(openedKey(event), { at: now() }, known?.version ?? 0)
}

export async function isOpenedLately(store: SmallRowStore, event: EventKey, now: number) {
  const opened = (await store.readSmallRow(openedKey(event))) as Opened | undefined
  return opened !== undefined && now - opened.at < openedLatelyMs
}

function openedKey({ fleet, eventId }: EventKey): SmallRowKey {
  return { kind: 'opened', event: { fleet, eventId }, name: [] }
}
