// A token of the API: `fht_`, its id, and its secret. The relay stores a hash of the whole text.
// The id leads to the stored token, so that checking a token needs one read.
import { isSame } from '../../../shared/signature.ts'
import { hash } from '../hash.ts'
import { maxTokens, maxTokensOfBound } from '../limits.ts'
import { dayMs } from '../units.ts'
import { type Access, type Grant, isBound, seesToken } from './access.ts'

/** A token as it is stored. Times are epoch ms. */
export interface Token extends Grant {
  id: string
  name: string
  createdAt: number
  /** `describeAccess` its maker. */
  createdBy: string
  /** If a token made it: the id of the first of the tokens that made each other. */
  first?: string | undefined
  /** When the token was last used, to `useNotedMs`. Absent: never. */
  lastUsedAt?: number | undefined
  /** The hash of the token's whole text. */
  hash: string
}

export const tokenIdBytes = 8
export const tokenSecretBytes = 32
export const maxTokenDays = 3_650
/** An expired token is listed this long, so that its owner sees why it is refused. */
export const expiredKeptMs = 7 * dayMs
/** The use of a token is noted at most this often. */
export const useNotedMs = 5 * 60_000

const form = /^fht_([0-9a-f]{16})_[0-9a-f]{64}$/

export function tokenText(id: string, secret: string): string {
  return `fht_${id}_${secret}`
}

/** Undefined if the text is no token. */
export function tokenIdIn(text: string): string | undefined {
  return form.exec(text)?.[1]
}

/** Whether the text is that of the stored token. The time it takes reveals nothing. */
export function isTokenText(token: Token, text: string): boolean {
  return isSame(token.hash, hash(text))
}

export function isExpired({ expiresAt }: Pick<Token, 'expiresAt'>, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now
}

/** Whether the token expired so long ago that it is removed. */
export function isOutdated({ expiresAt }: Pick<Token, 'expiresAt'>, now: number): boolean {
  return expiresAt !== undefined && expiresAt + expiredKeptMs <= now
}

export function accessBy({ id, name, first, scopes, fleets, expiresAt }: Token): Access {
  return { by: 'token', id, name, first, scopes, fleets, expiresAt }
}

/**
 * The limit that one more token would exceed, if any. A maker that is bound to fleets learns
 * nothing of tokens that it does not see.
 */
export function limitReached(maker: Access, tokens: Pick<Grant, 'fleets'>[]): number | undefined {
  if (tokens.length >= maxTokens) return maxTokens
  const seen = tokens.filter((token) => seesToken(maker, token))
  return isBound(maker) && seen.length >= maxTokensOfBound ? maxTokensOfBound : undefined
}
