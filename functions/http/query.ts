// The parameters of an address. One that the relay does not know is an error: ignoring a misspelt
// filter would answer with too much. A parameter whose schema is a list may be repeated.
import type { Context, MiddlewareHandler } from 'hono'
import * as z from 'zod'
import { quoted } from '../schema/checks.ts'
import { didYouMean } from '../schema/suggest.ts'
import type { RouteDescription } from './description.ts'
import { named, problem } from './problem.ts'

type Read<Schema extends z.ZodType> = { query: z.output<Schema> } | { refusal: string }

/** Reads the parameters by their schema. The refusal says what to write instead. */
export function readQuery<Schema extends z.ZodObject>(c: Context, schema: Schema): Read<Schema> {
  const { searchParams } = new URL(c.req.url)
  const unknown = refuseNames(searchParams, schema.shape)
  if (unknown !== undefined) return { refusal: unknown }
  const values = Object.fromEntries(
    [...new Set(searchParams.keys())].map((name) => [
      name,
      isList(schema.shape[name]) ? searchParams.getAll(name) : searchParams.get(name)!,
    ]),
  )
  const read = schema.safeParse(values)
  if (read.success) return { query: read.data }
  return { refusal: queryMistake(read.error, values) }
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

function refuseNames(given: URLSearchParams, shape: Shape): string | undefined {
  const allowed = Object.keys(shape)
  const names = [...new Set(given.keys())]
  const unknown = names.find((name) => !allowed.includes(name))
  if (unknown !== undefined) {
    const rest =
      allowed.length === 0 ? 'this address takes none' : `write one of ${quoted(allowed)}`
    return `there is no parameter ${named(unknown)}; ${rest}${didYouMean(unknown, allowed)}`
  }
  const twice = names.find((name) => !isList(shape[name]) && given.getAll(name).length > 1)
  return twice && `the parameter "${twice}" is there more than once; write it once`
}

/** Middleware: refuses parameters that the description of the route does not name. */
export function onlyKnownQuery(routes: readonly RouteDescription[]): MiddlewareHandler {
  const known = routes.map(({ method, path, query }) => ({
    method: method.toUpperCase(),
    path: pattern(path, '[^/]+'),
    // a proxy may have decoded the slashes of a parameter
    decoded: pattern(path, '.+'),
    shape: query === 'any' ? undefined : (query?.shape ?? {}),
  }))
  return async (c, next) => {
    // most requests have no parameters
    if (!c.req.url.includes('?')) return next()
    const method = c.req.method === 'HEAD' ? 'GET' : c.req.method
    const able = known.filter((one) => one.method === method)
    const route =
      able.find(({ path }) => path.test(c.req.path)) ??
      able.find(({ decoded }) => decoded.test(c.req.path))
    const refusal = route?.shape && refuseNames(new URL(c.req.url).searchParams, route.shape)
    return refusal === undefined ? next() : problem(c, 400, 'query_invalid', refusal)
  }
}

function pattern(path: string, parameter: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, parameter)}$`)
}
