// An admin's visit to the pages of the record: a cookie that says until when, under an HMAC. It holds no key,
// and ends with the admin key that it was given for, or with the link key that signed it.
import { fromBase64, toBase64 } from '../../../shared/signature.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { digestOf } from './admin-key.ts'

/** A shift. */
export const sessionMs = 8 * 3_600_000

/** Browsers accept `__Host-` only by https. A relay on your own machine goes without. */
export function cookieNamed(what: 'admin' | 'form', publicUrl: string) {
  const secure = publicUrl.startsWith('https:')
  return { name: `${secure ? '__Host-' : ''}foghorn-${what}`, secure }
}

/** What both a new and a shown cookie are signed over; no link's content begins like this. */
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
