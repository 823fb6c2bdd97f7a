// Sessions of the console that ended by a sign-out, until they would have ended anyway: a row for each credential.
import { type EndedSession, isSignedOut, withSignOut } from '../core/rules/sign-outs.ts'
import { signOutRows } from '../store/small-rows.ts'
import type { SmallRowStore } from '../store/store.ts'

export async function hasSignedOut(
  store: SmallRowStore,
  credential: string,
  session: EndedSession,
): Promise<boolean> {
  return isSignedOut(await signOutRows.read(store, credential), session)
}

/** Notes that a session was ended. */
export async function noteSignOut(
  store: SmallRowStore,
  credential: string,
  session: EndedSession,
  now: number,
): Promise<void> {
  await signOutRows.edit(store, credential, (before) =>
    isSignedOut(before, session) ? before : withSignOut(before, credential, session, now),
  )
}
