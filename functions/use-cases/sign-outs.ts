// Sessions of the console that ended by a sign-out, until they would have ended anyway.
import { listSignOuts, readSignOut, removeSignOut, writeSignOut } from '../store/small-rows.ts'
import type { SmallRowStore } from '../store/store.ts'

export async function hasSignedOut(store: SmallRowStore, id: string): Promise<boolean> {
  return (await readSignOut(store, id)) !== undefined
}

/** Also removes those whose sessions are over. */
export async function noteSignOut(
  store: SmallRowStore,
  { id, endsAt }: { id: string; endsAt: number },
  now: number,
): Promise<void> {
  await writeSignOut(store, id, endsAt)
  for (const one of await listSignOuts(store)) {
    if (one.endsAt <= now) await removeSignOut(store, one.id)
  }
}
