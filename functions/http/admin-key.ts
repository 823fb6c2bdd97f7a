// The admin key: who has it is an admin. Bearer token of the API, and what the pages of the record ask for.
import type { Relay } from '../relay.ts'
import type { Refusals } from './refusals.ts'

/** Wrong keys in a minute that are answered as such; the right one always is. */
const maxWrongKeys = 10
const wrongKeysMs = 60_000

export interface KeyGuard {
  /** `busy`: not the key either, after too many wrong ones; `waitSeconds` for Retry-After. */
  check(given: string): Promise<Checked>
}

export type Checked = { outcome: 'right' | 'wrong' } | { outcome: 'busy'; waitSeconds: number }

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
