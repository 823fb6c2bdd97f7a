// Sessions of the console that ended by a sign-out, until they would have ended anyway.
import { signOutRows } from '../store/small-rows.ts'
import type { SmallRowStore } from '../store/store.ts'

export async function hasSignedOut(store: SmallRowStore, id: string): Promise<boolean> {
  return (await signOutRows.read(store, id)) !== undefined
}

/** Notes that a session was ended. Removes the notes of sessions that are over. */
export async function noteSignOut(
  store: SmallRowStore,
  { id, endsAt }: { id: string; endsAt: number },
  now: number,
): Promise<void> {
  await signOutRows.write(store, { id, endsAt }, 0, id)
  for (const one of await signOutRows.list(store)) {
    if (one.endsAt <= now) await signOutRows.remove(store, one.id)
  }
}
