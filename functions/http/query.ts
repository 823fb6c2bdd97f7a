// The parameters of an address. One that the relay does not know is an error: ignoring a misspelt
// filter would answer with too much. A parameter whose schema is a list may be repeated.
import type { Context } from 'hono'
import * as z from 'zod'
import { quoted } from '../schema/checks.ts'
import { didYouMean } from '../schema/suggest.ts'
import { named } from './problem.ts'

type Read<Schema extends z.ZodObject> = { query: z.output<Schema> } | { refusal: string }

const none = z.strictObject({})

/** Reads the parameters by their schema. The refusal says what to write instead. */
export function readQuery<Schema extends z.ZodObject>(
  c: Context,
  schema: Schema | 'any' = none as unknown as Schema,
): Read<Schema> {
  const refusal = refuseNames(c, schema)
  if (refusal !== undefined) return { refusal }
  if (schema === 'any') return { query: {} as z.output<Schema> }
  const { searchParams } = new URL(c.req.url)
  const values = Object.fromEntries(
    [...new Set(searchParams.keys())].map((name) => [
      name,
      isList(schema.shape[name]) ? searchParams.getAll(name) : searchParams.get(name)!,
    ]),
  )
  const read = schema.safeParse(values)
  return read.success ? { query: read.data } : { refusal: queryMistake(read.error, values) }
}

/** The first mistake. The schema says what to write. */
function queryMistake(error: z.ZodError, values: Record<string, string | string[]>) {
  const [{ path, message }] = error.issues as [z.core.$ZodIssue]
  const [name = '', place = 0] = path as [string?, number?]
  const given = values[name]
  const value = Array.isArray(given) ? given[place] : given
  return value === undefined
    ? `the parameter "${name}" is missing`
    : `${name} is ${named(value)}; ${message}`
}

type Shape = z.ZodObject['shape']

function isList(schema: Shape[string] | undefined): boolean {
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema
  return inner instanceof z.ZodArray
}

/** Why the names of the parameters are refused, or undefined. */
export function refuseNames(c: Context, schema: z.ZodObject | 'any' = none): string | undefined {
  // most requests have no parameters
  if (schema === 'any' || !c.req.url.includes('?')) return undefined
  const { searchParams: given } = new URL(c.req.url)
  const allowed = Object.keys(schema.shape)
  const names = [...new Set(given.keys())]
  const unknown = names.find((name) => !allowed.includes(name))
  if (unknown !== undefined) {
    const rest =
      allowed.length === 0 ? 'this address takes none' : `write one of ${quoted(allowed)}`
    return `there is no parameter ${named(unknown)}; ${rest}${didYouMean(unknown, allowed)}`
  }
  const twice = names.find((name) => !isList(schema.shape[name]) && given.getAll(name).length > 1)
  return twice && `the parameter "${twice}" is there more than once; write it once`
}
