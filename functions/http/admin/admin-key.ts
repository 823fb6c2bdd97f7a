// The admin key: who has it is an admin. Bearer token of the API, and what the pages of the record ask for.
import type { Context } from 'hono'
import type { Relay } from '../../use-cases/relay.ts'
import { problem } from '../problem.ts'
import type { Refusals } from '../refusals.ts'

/** Wrong keys in a minute that are answered as such; the right one always is. */
const maxWrongKeys = 10
const wrongKeysMs = 60_000

export interface KeyGuard {
  /** `busy`: not the key either, after too many wrong ones; `waitSeconds` for Retry-After. */
  check(given: string): Promise<Checked>
}

type Checked = { outcome: 'right' | 'wrong' } | { outcome: 'busy'; waitSeconds: number }

/** `where` it is shown; each place has a bound of its own, so that a script closes no form. */
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

/** The key that a request brings. Empty if it brings none. */
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
    const detail = 'the events API is off: the relay was started without FOGHORN_ADMIN_KEY'
    return problem(c, 403, 'api_off', detail)
  }
  const given = authorizationIn(c)
  // a request without a key is not a failed attempt
  if (given === '') {
    return problem(c, 401, 'unauthorized', 'send "Authorization: Bearer <FOGHORN_ADMIN_KEY>"')
  }
  const checked = await guard.check(given)
  if (checked.outcome === 'right') return undefined
  if (checked.outcome === 'busy') {
    c.header('retry-after', String(checked.waitSeconds))
    const detail = 'too many wrong keys in a minute; the right key still works'
    return problem(c, 429, 'too_many_wrong_keys', detail)
  }
  const detail = 'that is not the admin key; send the one that the relay was started with'
  return problem(c, 401, 'unauthorized', detail)
}

async function isAdminKey({ adminKey }: Relay, given: string): Promise<boolean> {
  return adminKey !== undefined && (await isSame(given, adminKey))
}

/** Compares digests, so that the time taken says nothing about where two texts differ. */
async function isSame(given: string, expected: string): Promise<boolean> {
  const [a, b] = await Promise.all([digestOf(given), digestOf(expected)])
  return a.every((byte, i) => byte === b[i])
}

export async function digestOf(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
}
