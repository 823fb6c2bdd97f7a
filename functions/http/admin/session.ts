// The session of an owner in the console: a cookie with its end time, signed with an HMAC. It contains
// no key. Replacing the link key, the admin key or the token that opened it ends it early.
import { isSame, toBase64 } from '../../../shared/signature.ts'
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
  const mac = await relay.hmac(relay.linkKeys[0]!, await contentOf(relay, String(endsAt), token))
  const whose = token === undefined ? '' : `${token.id}.`
  return `${endsAt}.${whose}${toBase64(mac)}`
}

const form = /^(\d{1,16})\.(?:([\da-f]{16})\.)?([^.]{1,64})$/

/** Who the session belongs to. Undefined if the text is no valid session. */
export async function readSession(
  relay: Relay,
  text: string | undefined,
): Promise<Access | undefined> {
  const [, endsAt, id, mac = ''] = form.exec(text ?? '') ?? []
  if (relay.adminKey === undefined || endsAt === undefined) return undefined
  if (Number(endsAt) <= relay.now()) return undefined
  const token = id === undefined ? undefined : await storedToken(relay, id)
  // a token that was revoked
  if (id !== undefined && token === undefined) return undefined
  const access: Access = token === undefined ? { by: 'admin' } : accessBy(token)
  if (!may(access, 'read')) return undefined
  const content = await contentOf(relay, endsAt, token)
  for (const key of relay.linkKeys) {
    if (isSame(mac, toBase64(await relay.hmac(key, content)))) return access
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
  return `foghorn-${kind}.${endsAt}.${key}`
}
