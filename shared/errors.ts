// Errors: a code for programs and a sentence for people.
import { en } from 'zod/locales'
import * as z from 'zod/mini'
import { looksSecret, shownName } from './presentable.ts'

// The small form of the schema library has no messages of its own.
z.config(en())

/** An error for people: what is wrong, with the value, where, and what to write instead. */
export class FoghornError extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'FoghornError'
    this.code = code
  }
}

/** The body of an HTTP error, RFC 9457 (`application/problem+json`). */
export interface Problem {
  /** A stable word for programs, e.g. `signature_invalid`. */
  code: string
  title: string
  status: number
  /** What is wrong, with the value, where, and what to send instead. */
  detail: string
  /** The relay's clock, epoch ms; present where a beacon's clock may be the fault. */
  time?: number
}

export const problemContentType = 'application/problem+json'

const longestValue = 80
/** How many issues an answer describes. The first ones show what to fix. */
export const maxDescribed = 10

/**
 * The first issues of a failed parse, one sentence each: path, problem and value. The value is left
 * out if it looks like a secret or `isSecret` says so. If there are more than `atMost`, the last
 * line counts the others.
 */
export function describeIssues(
  error: Pick<z.core.$ZodError, 'issues'>,
  input: unknown,
  isSecret: (path: PropertyKey[], value: unknown) => boolean = () => false,
  atMost = maxDescribed,
): string[] {
  // describing an issue searches its value and key, so the other issues are only counted
  const described = error.issues.slice(0, atMost).map((issue) => {
    const where = describePath(issue.path, input)
    const value = valueAt(input, issue.path)
    // JSON.stringify would write Infinity as null
    const text = value === Number.POSITIVE_INFINITY ? 'Infinity' : (JSON.stringify(value) ?? '')
    const hidden = text === '' || looksSecret(text) || isSecret(issue.path, value)
    const shown = hidden ? '' : ` (found ${shorten(text)})`
    return `${where}: ${issue.message}${shown}`
  })
  const more = error.issues.length - described.length
  return more === 0 ? described : [...described, `and ${more} more`]
}

/**
 * `routes[0].channels[1]` for a path of keys; the document itself is `(top level)`. A key that may
 * be a secret is not shown; `within` says which of its object's keys it is.
 */
export function describePath(path: readonly PropertyKey[], within?: unknown): string {
  if (path.length === 0) return '(top level)'
  return path
    .map((key, i) => {
      if (typeof key === 'number') return `[${key}]`
      const place = () => describePlace(String(key), partAt(within, path.slice(0, i)))
      return `${i === 0 ? '' : '.'}${shownName(String(key), place)}`
    })
    .join('')
}

/** The message of any thrown value, with its code and its causes, never with its stack. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const cause = error.cause === undefined ? '' : ` (${messageOf(error.cause)})`
  const text = error.message === '' ? error.name : error.message
  return text.includes(code) ? `${text}${cause}` : `${code}: ${text}${cause}`
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  const value = partAt(input, path)
  return typeof value === 'object' && value !== null ? undefined : value
}

function describePlace(key: string, parent: unknown): number | undefined {
  if (typeof parent !== 'object' || parent === null) return undefined
  const place = listKeys(parent).indexOf(key)
  return place === -1 ? undefined : place + 1
}

/** Cached: listing the keys of a large object for each of its issues would take seconds. */
const listed = new WeakMap<object, string[]>()

function listKeys(parent: object): string[] {
  const keys = listed.get(parent) ?? Object.keys(parent)
  listed.set(parent, keys)
  return keys
}

function partAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Record<PropertyKey, unknown>)[key]
  }
  return value
}

function shorten(text: string): string {
  // a character has at most two code units
  const points = [...text.slice(0, 2 * longestValue + 2)]
  return points.length <= longestValue ? text : `${points.slice(0, longestValue).join('')}…`
}
