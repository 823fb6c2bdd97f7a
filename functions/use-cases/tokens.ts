// Makes, lists and revokes tokens of the API. The text of a token leaves the relay once, in the
// answer to the request that made it.
import { hash } from '../core/hash.ts'
import {
  type Access,
  describeAccess,
  type Grant,
  grantTo,
  seesToken,
} from '../core/rules/access.ts'
import {
  isOutdated,
  limitReached,
  type Token,
  tokenIdBytes,
  tokenSecretBytes,
  tokenText,
} from '../core/rules/token.ts'
import { signOutRows, tokenRows } from '../store/small-rows.ts'
import type { Relay } from './relay.ts'

type NotGranted = Exclude<ReturnType<typeof grantTo>, { outcome: 'granted' }>

type Created =
  | { outcome: 'created'; token: Token; text: string }
  | { outcome: 'no_room'; most: number }
  | NotGranted

/** Requests at the same moment may exceed the limits by some tokens, which does no harm. */
export async function createToken(
  relay: Relay,
  access: Access,
  { name, ...wish }: Grant & { name: string },
): Promise<Created> {
  const granted = grantTo(access, wish, Object.keys(relay.config.fleets))
  if (granted.outcome !== 'granted') return granted
  const most = limitReached(access, await keptTokens(relay))
  if (most !== undefined) return { outcome: 'no_room', most }
  const id = randomHex(tokenIdBytes)
  const text = tokenText(id, randomHex(tokenSecretBytes))
  const made = {
    ...{ createdAt: relay.now(), createdBy: describeAccess(access) },
    ...(access.by === 'token' && { first: access.first ?? access.id }),
  }
  const token = { id, name, ...granted.grant, ...made, hash: hash(text) }
  if ((await tokenRows.write(relay.store, token, 0, token.id)) === 'conflict') {
    throw new Error('two tokens have the same random id')
  }
  relay.log.info('token_created', { id, name, scopes: token.scopes, by: made.createdBy })
  return { outcome: 'created', token, text }
}

/** The newest first. */
export async function tokensFor(relay: Relay, access: Access): Promise<Token[]> {
  const tokens = (await keptTokens(relay)).filter((token) => seesToken(access, token))
  return tokens.sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1))
}

/** Undefined if there is no such token for this user. */
export async function tokenFor(
  { store }: Relay,
  access: Access,
  id: string,
): Promise<Token | undefined> {
  const token = await tokenRows.read(store, id)
  return token !== undefined && seesToken(access, token) ? token : undefined
}

/** From now on, the token is refused. */
export async function revokeToken(
  relay: Relay,
  access: Access,
  id: string,
): Promise<'revoked' | 'unknown'> {
  const token = await tokenFor(relay, access, id)
  if (token === undefined) return 'unknown'
  await removeToken(relay, id)
  relay.log.info('token_revoked', { id, name: token.name, by: describeAccess(access) })
  return 'revoked'
}

/** All tokens, after it removed those that expired long ago. */
async function keptTokens(relay: Relay): Promise<Token[]> {
  const { store } = relay
  const tokens = await tokenRows.list(store)
  const at = relay.now()
  for (const { id } of tokens.filter((token) => isOutdated(token, at))) await removeToken(relay, id)
  return tokens.filter((token) => !isOutdated(token, at))
}

async function removeToken({ store }: Relay, id: string): Promise<void> {
  await tokenRows.remove(store, id)
  await signOutRows.remove(store, id)
}

/** Each byte becomes two hexadecimal digits. */
export function randomHex(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes))
  return [...random].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
