// The admin key: its holder is an admin. The API takes it as a bearer token, the console in a form.
import type { Context } from 'hono'
import type { Relay } from '../../use-cases/relay.ts'
import { problem } from '../problem.ts'
import type { Refusals } from '../refusals.ts'

/** In each minute, further wrong keys get 429. The right key always works. */
const maxWrongKeys = 10
const wrongKeysMs = 60_000

export interface KeyGuard {
  /** `busy`: a wrong key after too many others. `waitSeconds` is for Retry-After. */
  check(given: string): Promise<Checked>
}

type Checked = { outcome: 'right' | 'wrong' } | { outcome: 'busy'; waitSeconds: number }

/** `where` the key was sent. Each has its own limit: API scripts must not lock the form. */
export function createKeyGuard(relay: Relay, refusals: Refusals, where: 'api' | 'page'): KeyGuard {
  let since = Number.NEGATIVE_INFINITY
  let count = 0
  return {
    async check(given) {
      if (await isAdminKey(relay, given)) return { outcome: 'right' }
      refusals.note('admin_key_wrong', { where }, where)
      const now = relay.now()
      if (now - since >= wrongKeysMs) {
        since = now
        count = 0
      }
      if (++count <= maxWrongKeys) return { outcome: 'wrong' }
      return { outcome: 'busy', waitSeconds: Math.ceil((since + wrongKeysMs - now) / 1_000) }
    },
  }
}

/** The key in the request. Empty if there is none. */
export function authorizationIn(c: Context): string {
  return (c.req.header('authorization') ?? '').replace(/^Bearer( |$)/i, '')
}

/** The answer to a request without the admin key, or undefined if the request has it. */
export async function refuseAdmin(
  relay: Relay,
  guard: KeyGuard,
  c: Context,
): Promise<Response | undefined> {
  if (relay.adminKey === undefined) {
    const detail =
      'the API is off because the relay was started without FOGHORN_ADMIN_KEY; set it and restart'
    return problem(c, 403, 'api_off', detail)
  }
  const given = authorizationIn(c)
  // A request without a key is not a failed attempt.
  if (given === '') {
    const detail = 'the admin key is missing; send "Authorization: Bearer <FOGHORN_ADMIN_KEY>"'
    return problem(c, 401, 'unauthorized', detail)
  }
  const checked = await guard.check(given)
  if (checked.outcome === 'right') return undefined
  if (checked.outcome === 'busy') {
    c.header('retry-after', String(checked.waitSeconds))
    const detail = 'too many wrong keys in a minute; the right key still works'
    return problem(c, 429, 'too_many_wrong_keys', detail)
  }
  const detail = 'this is not the admin key; send the one that the relay was started with'
  return problem(c, 401, 'unauthorized', detail)
}

/** Compares digests, so that the time it takes does not reveal where the texts differ. */
async function isAdminKey({ adminKey }: Relay, given: string): Promise<boolean> {
  if (adminKey === undefined) return false
  const [a, b] = await Promise.all([digestOf(given), digestOf(adminKey)])
  return a.every((byte, i) => byte === b[i])
}

export async function digestOf(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
}
