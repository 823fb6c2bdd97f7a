// Who signs out ends their session, and fills no disk.
import { expect, test } from 'vitest'
import {
  isSignedOut,
  maxSessions,
  type SignOuts,
  withSignOut,
} from '../../../functions/core/rules/sign-outs.ts'

const session = (n: number) => ({ id: `s${n}`, endsAt: 1_000 + n })

function after(count: number, now = 0): SignOuts {
  let row: SignOuts | undefined
  for (let n = 1; n <= count; n++) row = withSignOut(row, 'admin', session(n), now)
  return row!
}

test('a session that was signed out is over, others are not', () => {
  const row = after(2)
  expect([1, 2, 3].map((n) => isSignedOut(row, session(n)))).toEqual([true, true, false])
  expect(isSignedOut(undefined, session(1))).toBe(false)
})

test('those that would have ended are left out', () => {
  const row = withSignOut(after(5), 'admin', session(6), 1_004)
  expect(row.sessions.map(({ id }) => id)).toEqual(['s5', 's6'])
  expect(row.before).toBe(0)
})

test('of very many, the first to end are over together, with all that end by then', () => {
  const row = after(maxSessions + 40)
  expect(row.sessions).toHaveLength(maxSessions)
  expect(row.before).toBe(1_040)
  expect([1, 40, 41, maxSessions + 40].map((n) => isSignedOut(row, session(n)))).toEqual([
    true,
    true,
    true,
    true,
  ])
  expect(isSignedOut(row, { id: 'other', endsAt: 1_040 })).toBe(true)
  expect(isSignedOut(row, { id: 'other', endsAt: 1_041 })).toBe(false)
  // what is over stays so
  expect(withSignOut(row, 'admin', session(600), 1_400).before).toBe(1_040)
})
