// What `npm test` runs of a table that has much of the same, and what only `npm run test:all` runs.
import { hosts } from './relay-hosts.ts'

/** Set by test/vitest.config.ts. */
export const isWhole = process.env.FOGHORN_TESTS === 'all'

/** Of cases that one mechanism answers, `npm test` tries each third. `from`: so that several tables share them. */
export function someOf<Case>(cases: Case[], from = 0): Case[] {
  return isWhole ? cases : cases.filter((_, i) => (i + from) % 3 === 0)
}

/** Each host has its own tests. What is the same on all is tried on Node, and on the others in `test:all`. */
export const hostsToTry = isWhole ? hosts : (['node'] as const)
