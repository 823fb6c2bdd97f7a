// Building blocks of the configuration's schema: shapes and checks whose errors say what to write.
import * as z from 'zod'
import { FoghornError } from '../../shared/errors.ts'
import { isPresentable, notShown } from '../../shared/presentable.ts'
import { secretBytes } from '../../shared/signature.ts'
import { didYouMean, nearest } from './suggest.ts'

/** The most values of a key that takes one value or a list. */
export const maxListed = 100

export const time = z.iso.datetime().describe('ISO 8601 in UTC.')

/** An object that rejects unknown keys and lists the allowed ones. */
export function object<Shape extends z.ZodRawShape>(shape: Shape) {
  const allowed = Object.keys(shape)
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return undefined
      const keys = issue.keys as string[]
      const meant = keys.slice(0, maxQuoted).find((key) => nearest(key, allowed) !== undefined)
      const unknown = `unknown key ${quoted(keys)}; allowed are ${quoted(allowed)}`
      return unknown + didYouMean(meant, allowed)
    },
  })
}

export function listChoices<const Values extends readonly [string, ...string[]]>(values: Values) {
  return z.enum(values, {
    error: ({ input }) => `write one of ${quoted(values)}${didYouMean(input, values)}`,
  })
}

/** Accepts one value or a list of 1 to 100. Always returns a list. */
export function list<Item extends z.ZodType>(item: Item, error: string) {
  return z
    .union([item, z.array(item).min(1, error).max(maxListed, error)], error)
    .transform((value) => (Array.isArray(value) ? value : [value]) as z.output<Item>[])
}

export function guid(error: string) {
  return z.guid({ error }).transform((id) => id.toLowerCase())
}

const nouns: Record<string, string> = {
  string: 'text in quotes',
  number: 'a number, without quotes',
  int: 'a whole number, without quotes',
  boolean: 'true or false, without quotes',
  array: 'a list in [ ]',
  object: 'an object in { }',
  record: 'an object in { }, with a name for each entry',
}

/** What to write, for checks that have no error text of their own. */
export function describeRemedy(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    const remedy = `write ${nouns[issue.expected] ?? issue.expected}`
    return issue.input === undefined ? `missing; ${remedy}` : remedy
  }
  if (issue.code === 'too_small') return `write at least ${counted(issue.minimum, issue.origin)}`
  if (issue.code === 'too_big') return `write at most ${counted(issue.maximum, issue.origin)}`
  // the rule of the key itself
  return issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? nameRule) : undefined
}

const units: Record<string, [one: string, many: string]> = {
  string: [' character', ' characters'],
  array: [' entry', ' entries'],
}

function counted(count: number | bigint, of: string): string {
  const [one, many] = units[of] ?? ['', '']
  return `${count}${count === 1 ? one : many}`
}

/** A whole number in a parameter of an address, which is a text. */
export function wholeNumber(least: number, most: number) {
  const rule = `write a whole number from ${least} to ${most}`
  return z
    .string()
    .regex(/^\d{1,15}$/, rule)
    .transform(Number)
    .pipe(z.int(rule).min(least, rule).max(most, rule))
}

/** A text whose error states the rule, also if the text is missing. */
export function textBy(rule: string) {
  return z.string({ error: ({ input }) => (input === undefined ? `missing; ${rule}` : rule) })
}

const nameRule =
  'a name has 1 to 64 letters, digits, "_" or "-", begins with a letter or digit, and is not a secret'
/** Messages, pages and logs show names. */
const nameForm = /^(?!whsec_|xox[a-z]-)[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/
export const identifier = z.string().regex(nameForm, nameRule)

/** The most names that one sentence lists. */
const maxQuoted = 100

/** The names in quotes. A name that may be a secret is hidden. */
export function quoted(names: readonly string[]): string {
  const shown = names
    .slice(0, maxQuoted)
    .map((name) => (isPresentable(name) ? `"${name}"` : notShown))
  const more = names.length - shown.length
  return `${shown.join(', ')}${more === 0 ? '' : ` and ${more} more`}`
}

export function atLeastOne(what: string): [(record: object) => boolean, { error: string }] {
  return [(record) => Object.keys(record).length > 0, { error: `add at least one ${what}` }]
}

export function isWebUrl(text: string): boolean {
  // URL rewrites spaces, backslashes and a missing "//". Then the log's mask would not match.
  if (!/^https?:\/\/[^\s\\]+$/i.test(text) || !URL.canParse(text)) return false
  const { username, password } = new URL(text)
  // fetch refuses an address with a user or a password
  return username + password === ''
}

export const webRule =
  'write an absolute https:// address without spaces or backslashes (http:// only within allowNetworks)'
export const webUrl = textBy(webRule).refine(isWebUrl, { error: webRule })

export function isPublicUrl(text: string): boolean {
  if (!isWebUrl(text)) return false
  // Links append a path, so "?" and "#" are not allowed. A "%" must encode a character.
  if (/[?#]|%(?![\da-f]{2})/i.test(text)) return false
  const { protocol } = new URL(text)
  return protocol === 'https:' || isLoopback(text)
}

/** An origin from which the relay reads a tenant's keys. */
export function isAuthority(text: string): boolean {
  if (!isPublicUrl(text)) return false
  return new URL(text).pathname === '/'
}

export function isLoopback(url: string): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(new URL(url).hostname)
}

function isSecret(value: string): boolean {
  try {
    return secretBytes(value).length > 0
  } catch (error) {
    if (error instanceof FoghornError) return false
    throw error
  }
}

export const secretRule = 'write "whsec_" followed by the base64 of 24 to 64 random bytes'
const secretsRule = `${secretRule}, or a list of 1 to 4 of these`
const secret = z.string().refine(isSecret, { error: secretRule })
export const secrets = z
  .union([secret, z.array(secret).min(1, secretsRule).max(4, secretsRule)], { error: secretsRule })
  .transform((value) => (Array.isArray(value) ? value : [value]))
