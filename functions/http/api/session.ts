// The session of an owner in the console: a cookie with its id and its end time, signed with an HMAC. It
// contains no key. Signing out, or replacing the link key, the admin key or the token that opened it,
// ends it early, also in a browser that copied the cookie.
import { isSame, toBase64 } from '../../../shared/signature.ts'
import { type Access, may } from '../../core/rules/access.ts'
import { accessBy, isExpired, type Token } from '../../core/rules/token.ts'
import { dayMs } from '../../core/units.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { hasSignedOut, noteSignOut } from '../../use-cases/sign-outs.ts'
import { randomHex, tokenFor } from '../../use-cases/tokens.ts'
import { computeDigest } from './admin-key.ts'

/** One shift. */
const shiftMs = 8 * 3_600_000
/** A session that only reads, such as on a wall screen, lasts this long. Browsers keep no cookie longer. */
const longestMs = 400 * dayMs
const idBytes = 8

/** Browsers accept `__Host-` only with https, which a relay on your own machine does not have. */
export function cookieNamed(what: 'admin' | 'form', publicUrl: string) {
  const secure = publicUrl.startsWith('https:')
  return { name: `${secure ? '__Host-' : ''}foghorn-${what}`, secure }
}

/** The cookie's text after a sign-in with the admin key or a token, and how long it is valid. */
export async function createSession(
  relay: Relay,
  access: Access,
): Promise<{ text: string; lastsMs: number }> {
  const token = access.by === 'token' ? await storedToken(relay, access.id) : undefined
  const onlyReads = !may(access, 'decide') && !may(access, 'manage')
  const now = relay.now()
  // also with a token that expires before: sign-outs are told apart by this time
  const endsAt = now + (onlyReads ? longestMs : shiftMs)
  const session = { id: randomHex(idBytes), endsAt }
  const mac = await relay.credentials.hmac(
    relay.credentials.linkKeys[0]!,
    await parseContent(relay, session, token),
  )
  const whose = token === undefined ? '' : `${token.id}.`
  return {
    text: `${session.id}.${endsAt}.${whose}${toBase64(mac)}`,
    lastsMs: Math.min(endsAt, token?.expiresAt ?? endsAt) - now,
  }
}

interface Session {
  id: string
  /** Epoch ms. */
  endsAt: number
}

const form = /^([\da-f]{16})\.(\d{1,16})\.(?:([\da-f]{16})\.)?([^.]{1,64})$/

/** Who the session belongs to. Undefined if the text is no valid session. */
export async function readSession(
  relay: Relay,
  text: string | undefined,
): Promise<Access | undefined> {
  const valid = await validSession(relay, text)
  if (valid === undefined) return undefined
  const { session, access } = valid
  const isOver = await hasSignedOut(relay.store, nameCredential(access), session)
  return isOver ? undefined : access
}

async function validSession(
  relay: Relay,
  text: string | undefined,
): Promise<{ session: Session; access: Access } | undefined> {
  const [, id, end, tokenId, mac = ''] = form.exec(text ?? '') ?? []
  if (relay.credentials.adminKey === undefined || id === undefined) return undefined
  const session = { id, endsAt: Number(end) }
  if (session.endsAt <= relay.now()) return undefined
  const token = tokenId === undefined ? undefined : await storedToken(relay, tokenId)
  // a token that was revoked
  if (tokenId !== undefined && token === undefined) return undefined
  const access: Access = token === undefined ? { by: 'admin' } : accessBy(token)
  if (!may(access, 'read')) return undefined
  const content = await parseContent(relay, session, token)
  for (const key of relay.credentials.linkKeys) {
    if (isSame(mac, toBase64(await relay.credentials.hmac(key, content))))
      return { session, access }
  }
  return undefined
}

/** Ends a session: from now on its text is not valid. */
export async function signOut(relay: Relay, text: string | undefined): Promise<void> {
  const valid = await validSession(relay, text)
  if (valid === undefined) return
  await noteSignOut(relay.store, nameCredential(valid.access), valid.session, relay.now())
}

function nameCredential(access: Access): string {
  return access.by === 'token' ? access.id : access.by
}

async function storedToken(relay: Relay, id: string): Promise<Token | undefined> {
  const token = await tokenFor(relay, { by: 'admin' }, id)
  return token === undefined || isExpired(token, relay.now()) ? undefined : token
}

/** The signed text of a cookie. No link's content begins with these words. */
async function parseContent(
  { credentials: { adminKey = '' } }: Relay,
  { id, endsAt }: Session,
  token: Token | undefined,
) {
  const key = token === undefined ? toBase64(await computeDigest(adminKey)) : token.hash
  const kind = token === undefined ? 'admin' : 'token'
  return `foghorn-${kind}.${id}.${endsAt}.${key}`
}
