// The session of an owner in the console: a cookie with its end time, signed with an HMAC. It contains
// no key. Replacing the link key, the admin key or the token that opened it ends it early.
import { fromBase64, toBase64 } from '../../../shared/signature.ts'
import { type Access, may } from '../../core/rules/access.ts'
import { accessBy, isExpired, type Token } from '../../core/rules/token.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { tokenFor } from '../../use-cases/tokens.ts'
import { digestOf } from './admin-key.ts'

/** One shift. */
export const sessionMs = 8 * 3_600_000

/** Browsers accept `__Host-` only with https, which a relay on your own machine does not have. */
export function cookieNamed(what: 'admin' | 'form', publicUrl: string) {
  const secure = publicUrl.startsWith('https:')
  return { name: `${secure ? '__Host-' : ''}foghorn-${what}`, secure }
}

/** The cookie's text after a sign-in with the admin key or a token. */
export async function createSession(relay: Relay, access: Access): Promise<string> {
  const token = access.by === 'token' ? await storedToken(relay, access.id) : undefined
  const endsAt = Math.min(relay.now() + sessionMs, token?.expiresAt ?? Number.POSITIVE_INFINITY)
  const key = await importKey(relay.linkKeys[0]!)
  const mac = await crypto.subtle.sign('HMAC', key, await contentOf(relay, String(endsAt), token))
  const whose = token === undefined ? '' : `${token.id}.`
  return `${endsAt}.${whose}${toBase64(new Uint8Array(mac))}`
}

const form = /^(\d{1,16})\.(?:([\da-f]{16})\.)?([^.]{1,64})$/

/** Who the session belongs to. Undefined if the text is no valid session. */
export async function readSession(
  relay: Relay,
  text: string | undefined,
): Promise<Access | undefined> {
  const [, endsAt, id, mac = ''] = form.exec(text ?? '') ?? []
  const bytes = fromBase64(mac)
  if (relay.adminKey === undefined || endsAt === undefined || bytes === undefined) return undefined
  if (Number(endsAt) <= relay.now()) return undefined
  const token = id === undefined ? undefined : await storedToken(relay, id)
  // a token that was revoked
  if (id !== undefined && token === undefined) return undefined
  const access: Access = token === undefined ? { by: 'admin' } : accessBy(token)
  if (!may(access, 'read')) return undefined
  const content = await contentOf(relay, endsAt, token)
  for (const key of relay.linkKeys) {
    if (await crypto.subtle.verify('HMAC', await importKey(key), bytes, content)) return access
  }
  return undefined
}

async function storedToken(relay: Relay, id: string): Promise<Token | undefined> {
  const token = await tokenFor(relay, { by: 'admin' }, id)
  return token === undefined || isExpired(token, relay.now()) ? undefined : token
}

/** The signed text of a cookie. No link's content begins with these words. */
async function contentOf({ adminKey = '' }: Relay, endsAt: string, token: Token | undefined) {
  const key = token === undefined ? toBase64(await digestOf(adminKey)) : token.hash
  const kind = token === undefined ? 'admin' : 'token'
  return new TextEncoder().encode(`foghorn-${kind}.${endsAt}.${key}`)
}

type HmacKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/** Open pages ask every few seconds, so each key is imported once. */
const imported = new WeakMap<Uint8Array<ArrayBuffer>, Promise<HmacKey>>()

function importKey(key: Uint8Array<ArrayBuffer>): Promise<HmacKey> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const known =
    imported.get(key) ?? crypto.subtle.importKey('raw', key, algorithm, false, ['sign', 'verify'])
  imported.set(key, known)
  return known
}
