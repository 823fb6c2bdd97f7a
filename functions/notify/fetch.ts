// The guarded `send` on a runtime that has only `fetch`: it checks addresses, `localhost`, ports and
// plain http. It cannot check what a name resolves to, so it is only for runtimes whose network has
// no private addresses, such as Cloudflare Workers.
import { FoghornError } from '../../shared/errors.ts'
import { whyRefused } from '../core/rules/address.ts'
import type { Send } from './notifier.ts'

const noSmtp =
  'this host cannot speak SMTP; write "endpoint" and "accessKey" of Azure Communication Services'

export function createGuardedFetch(allowNetworks: string[]): Send {
  return async (url, init) => {
    if (/^smtps?:/.test(url)) throw new FoghornError('address_forbidden', noSmtp)
    const why = whyRefused(url, allowNetworks)
    if (why !== undefined) throw new FoghornError('address_forbidden', why)
    // a redirect would bypass the check
    return fetch(url, { ...init, redirect: 'manual' })
  }
}
