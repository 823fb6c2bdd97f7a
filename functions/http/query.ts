// Checks the names of the parameters in an address. A parameter that is unknown or repeated is an
// error, because ignoring it would give an answer to another question.
import type { Context } from 'hono'
import { quoted } from '../schema/checks.ts'
import { didYouMean } from '../schema/suggest.ts'
import { named } from './problem.ts'

/** What is wrong with the parameters, if anything. */
export function wrongParameter(c: Context, allowed: readonly string[]): string | undefined {
  const given = [...new URL(c.req.url).searchParams.keys()]
  const unknown = given.find((name) => !allowed.includes(name))
  if (unknown !== undefined) {
    const remedy = allowed.length === 0 ? 'write none' : `write one of ${quoted(allowed)}`
    return `there is no parameter ${named(unknown)}; ${remedy}${didYouMean(unknown, allowed)}`
  }
  const repeated = given.find((name, i) => given.indexOf(name) !== i)
  return repeated && `the parameter "${repeated}" is there more than once; write it once`
}
