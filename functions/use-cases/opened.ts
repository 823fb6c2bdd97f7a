// Whether a person has an event's page before them: a decision is near then, so the beacons of the
// event report often.
import type { EventKey, Memo, MemoKey, MemoStore } from '../store/store.ts'

/** A person who opened the page decides within this time, or opens it again. */
const openedLatelyMs = 15 * 60_000

interface Opened extends Memo {
  at: number
}

/** Notes that a person opened the event's page. A lost note costs time, never an approval. */
export async function noteOpened(
  { store, now }: { store: MemoStore; now: () => number },
  event: EventKey,
): Promise<void> {
  const known = await store.readMemo(memoOf(event))
  // in a conflict, another worker has just noted the same
  await store.writeMemo(memoOf(event), { at: now() }, known?.version ?? 0)
}

export async function isOpenedLately(store: MemoStore, event: EventKey, now: number) {
  const opened = (await store.readMemo(memoOf(event))) as Opened | undefined
  return opened !== undefined && now - opened.at < openedLatelyMs
}

function memoOf({ fleet, eventId }: EventKey): MemoKey {
  return { kind: 'opened', event: { fleet, eventId }, name: [] }
}
