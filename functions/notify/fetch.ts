// The guarded `send` on a runtime that has only `fetch`: it checks addresses, `localhost`, ports and
// plain http. It cannot check what a name resolves to, so it is only for runtimes whose network has
// no private addresses, such as Cloudflare Workers.
import { FoghornError } from '../../shared/errors.ts'
import { whyRefused } from '../core/rules/address.ts'
import type { Send } from './notifier.ts'

export function createGuardedFetch(allowNetworks: string[]): Send {
  return async (url, init) => {
    const why = whyRefused(url, allowNetworks)
    if (why !== undefined) throw new FoghornError('address_forbidden', why)
    // a redirect would bypass the check
    return fetch(url, { ...init, redirect: 'manual' })
  }
}
