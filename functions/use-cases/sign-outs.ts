// Sessions of the console that ended by a sign-out, until they would have ended anyway: a row for each credential.
import { type EndedSession, isSignedOut, withSignOut } from '../core/rules/sign-outs.ts'
import { signOutRows } from '../store/small-rows.ts'
import type { SmallRowStore } from '../store/store.ts'

/** Somebody else may sign out with the same credential at the same moment. */
const maxAttempts = 20

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
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const before = await signOutRows.read(store, credential)
    if (isSignedOut(before, session)) return
    const row = withSignOut(before, credential, session, now)
    const outcome = await signOutRows.write(store, row, before?.version ?? 0, credential)
    if (outcome === 'written') return
  }
  throw new Error('the sign-out was not noted: others changed the same row each time')
}
