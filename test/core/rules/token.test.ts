// The text of a token, its time, and how many there may be.
import { describe, expect, test } from 'vitest'
import { hash } from '../../../functions/core/hash.ts'
import { maxTokens, maxTokensOfBound } from '../../../functions/core/limits.ts'
import type { Access } from '../../../functions/core/rules/access.ts'
import {
  expiredKeptMs,
  isExpired,
  isOutdated,
  isTokenText,
  limitReached,
  tokenIdIn,
  tokenText,
} from '../../../functions/core/rules/token.ts'

const id = '0a1b2c3d4e5f6071'
const text = tokenText(id, 'ab'.repeat(32))
const token = { id, name: 'robot', scopes: [], createdAt: 0, createdBy: 'admin', hash: hash(text) }

describe('the text', () => {
  test('contains the id', () => {
    expect(tokenIdIn(text)).toBe(id)
  })

  test.each(['', 'fht_', `fht_${id}`, ` ${text}`, `${text}\n`, `${text}0`, text.toUpperCase()])(
    'not "%s"',
    (other) => {
      expect(tokenIdIn(other)).toBeUndefined()
    },
  )

  test('matches its own hash only', () => {
    expect(isTokenText(token, text)).toBe(true)
    expect(isTokenText(token, tokenText(id, 'ac'.repeat(32)))).toBe(false)
    expect(isTokenText({ ...token, hash: text }, text)).toBe(false)
  })
})

test.each([
  [undefined, 1e15, false, false],
  [10, 9, false, false],
  [10, 10, true, false],
  [10, 9 + expiredKeptMs, true, false],
  [10, 10 + expiredKeptMs, true, true],
])('with the end %s, at %i: expired %s, removed %s', (expiresAt, now, expired, outdated) => {
  expect(isExpired({ expiresAt }, now)).toBe(expired)
  expect(isOutdated({ expiresAt }, now)).toBe(outdated)
})

test('tokens of a maker that is bound to fleets leave room for others', () => {
  const admin: Access = { by: 'admin' }
  const bound: Access = { by: 'token', ...token, scopes: ['manage'], fleets: ['prod', 'lab'] }
  const many = (count: number, fleets?: string[]) => Array(count).fill({ fleets })
  const own = many(maxTokensOfBound, ['prod'])
  expect(limitReached(bound, own.slice(1))).toBeUndefined()
  expect(limitReached(bound, own)).toBe(maxTokensOfBound)
  expect(limitReached(admin, own)).toBeUndefined()
  expect(limitReached(bound, many(900, ['prod', 'test']))).toBeUndefined()
  expect(limitReached(bound, many(900))).toBeUndefined()
  for (const maker of [admin, bound]) {
    expect(limitReached(maker, many(maxTokens - 1))).toBeUndefined()
    expect(limitReached(maker, many(maxTokens))).toBe(maxTokens)
  }
})
