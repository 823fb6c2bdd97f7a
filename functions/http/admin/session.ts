// The session of an admin in the console: a cookie with its end time, signed with an HMAC. It does
// not contain the admin key. Replacing the admin key or the link key ends it early.
import { fromBase64, toBase64 } from '../../../shared/signature.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { digestOf } from './admin-key.ts'

/** One shift. */
export const sessionMs = 8 * 3_600_000

/** Browsers accept `__Host-` only with https, which a relay on your own machine does not have. */
export function cookieNamed(what: 'admin' | 'form', publicUrl: string) {
  const secure = publicUrl.startsWith('https:')
  return { name: `${secure ? '__Host-' : ''}foghorn-${what}`, secure }
}

/** The signed text of a cookie. No link's content begins with these words. */
async function contentOf({ adminKey = '' }: Relay, endsAt: string) {
  const key = toBase64(await digestOf(adminKey))
  return new TextEncoder().encode(`foghorn-admin.${endsAt}.${key}`)
}

export async function createSession(relay: Relay): Promise<string> {
  const endsAt = String(relay.now() + sessionMs)
  const key = await importKey(relay.linkKeys[0]!)
  const mac = await crypto.subtle.sign('HMAC', key, await contentOf(relay, endsAt))
  return `${endsAt}.${toBase64(new Uint8Array(mac))}`
}

export async function isSession(relay: Relay, text: string | undefined): Promise<boolean> {
  const [, endsAt, mac = ''] = /^(\d{1,16})\.([^.]{1,64})$/.exec(text ?? '') ?? []
  const bytes = fromBase64(mac)
  if (relay.adminKey === undefined || endsAt === undefined || bytes === undefined) return false
  if (Number(endsAt) <= relay.now()) return false
  const content = await contentOf(relay, endsAt)
  for (const key of relay.linkKeys) {
    if (await crypto.subtle.verify('HMAC', await importKey(key), bytes, content)) return true
  }
  return false
}

function importKey(key: Uint8Array<ArrayBuffer>) {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  return crypto.subtle.importKey('raw', key, algorithm, false, ['sign', 'verify'])
}
