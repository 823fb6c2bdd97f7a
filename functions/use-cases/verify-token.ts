// Finds the token of a request by its id, and notes its use. While many wrong tokens arrive, it
// looks up only ids that exist, so that strangers cannot load the store.
import { messageOf } from '../../shared/errors.ts'
import { maxTokens } from '../core/limits.ts'
import { setNewest } from '../core/newest.ts'
import type { Access } from '../core/rules/access.ts'
import {
  accessBy,
  isExpired,
  isTokenText,
  type Token,
  tokenIdIn,
  useNotedMs,
} from '../core/rules/token.ts'
import { tokenRows } from '../store/small-rows.ts'
import type { Relay } from './relay.ts'

/** How old the list of existing ids may be. A newer token is refused until then. */
const idsMs = 5_000

export type Verified =
  | { outcome: 'right'; access: Access }
  | { outcome: 'unknown' }
  | { outcome: 'expired'; token: Token }

interface TokenVerifier {
  /** `isFlooded`: many wrong tokens have arrived lately. */
  verify(text: string, isFlooded: boolean): Promise<Verified>
}

export function createTokenVerifier(relay: Relay): TokenVerifier {
  const noted = new Map<string, number>()
  let listed: { at: number; ids: Promise<Set<string>> } | undefined

  const exists = async (id: string): Promise<boolean> => {
    if (listed === undefined || Math.abs(relay.now() - listed.at) >= idsMs) {
      const ids = tokenRows.list(relay.store).then((all) => new Set(all.map((one) => one.id)))
      listed = { at: relay.now(), ids }
      ids.catch(() => {
        listed = undefined
      })
    }
    return (await listed.ids).has(id)
  }

  /** Nothing waits for this, and a failure costs only the note. */
  const noteUse = (token: Token & { version: number }): void => {
    const { id, lastUsedAt = Number.NEGATIVE_INFINITY } = token
    const at = relay.now()
    if (at - Math.max(lastUsedAt, noted.get(id) ?? lastUsedAt) < useNotedMs) return
    setNewest(noted, id, at, maxTokens)
    // a conflict means that another worker noted it, or that the token was revoked
    tokenRows
      .write(relay.store, { ...token, lastUsedAt: at }, token.version, token.id)
      .catch((error) => {
        relay.log.warn('token_use_failed', { id, error: messageOf(error) })
      })
  }

  return {
    async verify(text, isFlooded) {
      const id = tokenIdIn(text)
      if (id === undefined || (isFlooded && !(await exists(id)))) return { outcome: 'unknown' }
      const token = await tokenRows.read(relay.store, id)
      if (token === undefined || !isTokenText(token, text)) return { outcome: 'unknown' }
      if (isExpired(token, relay.now())) return { outcome: 'expired', token }
      noteUse(token)
      return { outcome: 'right', access: accessBy(token) }
    },
  }
}

/** Whether a request that goes on may still do so: its token was not revoked and has not expired. */
export async function stillHolds(
  { store, now }: Pick<Relay, 'store' | 'now'>,
  access: Access,
): Promise<boolean> {
  if (access.by !== 'token') return true
  const token = await tokenRows.read(store, access.id)
  return token !== undefined && !isExpired(token, now())
}
