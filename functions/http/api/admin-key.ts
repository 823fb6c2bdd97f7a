// The key of a request: the admin key or a token. The API takes it as a bearer token, and the console
// in a form.
import { type Access, describeAccess } from '../../core/rules/access.ts'
import { accessBy } from '../../core/rules/token.ts'
import type { FrequentLog } from '../../use-cases/frequent-log.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { createTokenVerifier, type Verified } from '../../use-cases/verify-token.ts'

/** After this many wrong keys in a minute, further ones get 429. A right key always works. */
const maxWrongKeys = 10
const wrongKeysMs = 60_000

export interface KeyGuard {
  /** `busy`: a wrong key after too many others. `waitSeconds` is for Retry-After. */
  check(given: string): Promise<Checked>
}

type Checked =
  | { outcome: 'right'; access: Access }
  /** `expiredAt`: the text of a token is right, but its time is over. */
  | { outcome: 'wrong'; expiredAt?: number | undefined }
  | { outcome: 'busy'; waitSeconds: number }

/** `where` the key was sent. Each has its own limit: API scripts must not lock the form. */
export function createKeyGuard(
  relay: Relay,
  refusals: FrequentLog,
  where: 'api' | 'page',
): KeyGuard {
  const tokens = createTokenVerifier(relay)
  let since = Number.NEGATIVE_INFINITY
  let count = 0
  const begin = () => {
    const now = relay.now()
    if (Math.abs(now - since) < wrongKeysMs) return
    since = now
    count = 0
  }
  return {
    async check(given) {
      if (await isAdminKey(relay, given)) return { outcome: 'right', access: { by: 'admin' } }
      begin()
      const isFlooded = count >= maxWrongKeys
      const found = await tokens.verify(given, isFlooded)
      if (found.outcome === 'right') return found
      note(refusals, where, given, found)
      if (++count <= maxWrongKeys) {
        const expiredAt = found.outcome === 'expired' ? found.token.expiresAt : undefined
        return { outcome: 'wrong', expiredAt }
      }
      const waitSeconds = Math.ceil((since + wrongKeysMs - relay.now()) / 1_000)
      return { outcome: 'busy', waitSeconds: Math.max(1, waitSeconds) }
    },
  }
}

function note(
  refusals: FrequentLog,
  where: 'api' | 'page',
  given: string,
  found: Exclude<Verified, { outcome: 'right' }>,
): void {
  if (found.outcome === 'expired') {
    // only its holder knows its text, so its name may be logged
    const token = describeAccess(accessBy(found.token))
    refusals.note('token_refused', { reason: 'expired', token }, 'expired')
  } else if (given.startsWith('fht_')) {
    refusals.note('token_refused', { reason: 'unknown', where }, `unknown ${where}`)
  } else {
    refusals.note('admin_key_wrong', { where }, where)
  }
}

/** Compares digests, so that the time it takes does not reveal where the texts differ. */
async function isAdminKey({ credentials }: Relay, given: string): Promise<boolean> {
  const { adminKey } = credentials
  if (adminKey === undefined) return false
  const [a, b] = await Promise.all([computeDigest(given), computeDigest(adminKey)])
  return a.every((byte, i) => byte === b[i])
}

export async function computeDigest(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
}
