// The parameters of an address. One that the relay does not know is an error: ignoring a misspelt
// filter would answer with too much.
import type { Context, MiddlewareHandler } from 'hono'
import type { z } from 'zod'
import { quoted } from '../schema/checks.ts'
import { didYouMean } from '../schema/suggest.ts'
import type { RouteDescription } from './description.ts'
import { named, problem } from './problem.ts'

type Read<Schema extends z.ZodType> = { query: z.output<Schema> } | { refusal: string }

/** Reads the parameters by their schema. The refusal says what to write instead. */
export function readQuery<Schema extends z.ZodObject>(c: Context, schema: Schema): Read<Schema> {
  const { searchParams } = new URL(c.req.url)
  const unknown = refuseNames(searchParams, Object.keys(schema.shape))
  if (unknown !== undefined) return { refusal: unknown }
  const values = Object.fromEntries(searchParams)
  const read = schema.safeParse(values)
  if (read.success) return { query: read.data }
  return { refusal: queryMistake(read.error, values) }
}

/** The first mistake. The schema says what to write. */
function queryMistake(error: z.ZodError, values: Record<string, string>) {
  const [{ path, message }] = error.issues as [z.core.$ZodIssue]
  const name = String(path[0])
  const value = values[name]
  return value === undefined
    ? `the parameter "${name}" is missing`
    : `${name} is ${named(value)}; ${message}`
}

function refuseNames(given: URLSearchParams, allowed: string[]): string | undefined {
  const names = [...given.keys()]
  const unknown = names.find((name) => !allowed.includes(name))
  if (unknown !== undefined) {
    const rest =
      allowed.length === 0 ? 'this address takes none' : `write one of ${quoted(allowed)}`
    return `there is no parameter ${named(unknown)}; ${rest}${didYouMean(unknown, allowed)}`
  }
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  return twice && `the parameter "${twice}" is there more than once; write it once`
}

/** Middleware: refuses parameters that the description of the route does not name. */
export function onlyKnownQuery(routes: readonly RouteDescription[]): MiddlewareHandler {
  const known = routes.map(({ method, path, query }) => ({
    method: method.toUpperCase(),
    path: pattern(path, '[^/]+'),
    // a proxy may have decoded the slashes of a parameter
    decoded: pattern(path, '.+'),
    names: query === 'any' ? undefined : Object.keys(query?.shape ?? {}),
  }))
  return async (c, next) => {
    // most requests have no parameters
    if (!c.req.url.includes('?')) return next()
    const method = c.req.method === 'HEAD' ? 'GET' : c.req.method
    const able = known.filter((one) => one.method === method)
    const route =
      able.find(({ path }) => path.test(c.req.path)) ??
      able.find(({ decoded }) => decoded.test(c.req.path))
    const refusal = route?.names && refuseNames(new URL(c.req.url).searchParams, route.names)
    return refusal === undefined ? next() : problem(c, 400, 'query_invalid', refusal)
  }
}

function pattern(path: string, parameter: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, parameter)}$`)
}
