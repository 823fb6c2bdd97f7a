// Who may use an address of the API. `admit` finds out who sends a request, and refuses those who
// lack a scope. A handler asks `readAccess` for the fleets that the sender may see.
import type { Context, MiddlewareHandler } from 'hono'
import { type Access, isForAddress, listFleets, may, type Scope } from '../../core/rules/access.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { problem } from '../problem.ts'
import type { KeyGuard } from './admin-key.ts'

declare module 'hono' {
  interface ContextVariableMap {
    access: Access
  }
}

/** The key in the request. Empty if there is none. */
export function authorizationIn(c: Context): string {
  return (c.req.header('authorization') ?? '').replace(/^Bearer( |$)/i, '')
}

/** Middleware: refuses a sender whose key does not allow the route. The admin key has all scopes. */
export function admit(relay: Relay, guard: KeyGuard, caller: 'admin' | Scope): MiddlewareHandler {
  return async (c, next) => {
    const found = await findAccess(relay, guard, c)
    if (found instanceof Response) return found
    c.set('access', found)
    if (caller === 'admin') {
      if (found.by === 'admin') return next()
      return problem(c, 403, 'admin_only', 'a token may not do this; use the admin key')
    }
    if (may(found, caller)) return next()
    const detail = `this token lacks the scope "${caller}"; use a token that has it`
    return problem(c, 403, 'scope_missing', detail)
  }
}

/** Who sends the request. Only behind `admit`. */
export function readAccess(c: Context): Access {
  const access = c.get('access') as Access | undefined
  if (access === undefined) throw new Error(`${c.req.path} is not behind admit`)
  return access
}

/** The configured fleets that exist for the sender. */
export function fleetsFor({ config }: Relay, c: Context): string[] {
  return listFleets(readAccess(c), Object.keys(config.fleets))
}

/** Who sends the request, or the answer if it has no valid key. */
export async function findAccess(
  relay: Relay,
  guard: KeyGuard,
  c: Context,
): Promise<Access | Response> {
  return accessBy(relay, guard, c, authorizationIn(c))
}

/** Who has this key. `remedy`: what to send if there is none. */
async function accessBy(
  relay: Relay,
  guard: KeyGuard,
  c: Context,
  given: string,
  remedy?: string,
): Promise<Access | Response> {
  const keyless = refuseKeyless(relay, c, given, remedy)
  if (keyless !== undefined) return keyless
  const checked = await guard.check(given)
  if (checked.outcome === 'right') return checked.access
  if (checked.outcome === 'busy') {
    c.header('retry-after', String(checked.waitSeconds))
    const detail = 'the relay got too many wrong keys in the last minute; a right one still works'
    return problem(c, 429, 'too_many_wrong_keys', detail)
  }
  const { expiredAt } = checked
  const detail =
    expiredAt === undefined
      ? 'this is neither a valid token nor the admin key of the relay'
      : `this token expired at ${new Date(expiredAt).toISOString()}; use a new one`
  return problem(c, 401, 'unauthorized', detail)
}

const usualRemedy = 'send "Authorization: Bearer …" with a token or FOGHORN_ADMIN_KEY'

/** The answer to a request without a key. Such a request is not a failed attempt. */
export function refuseKeyless(
  { credentials }: Pick<Relay, 'credentials'>,
  c: Context,
  given = authorizationIn(c),
  remedy = usualRemedy,
): Response | undefined {
  if (credentials.adminKey === undefined) {
    const detail =
      'the API is off because the relay was started without FOGHORN_ADMIN_KEY; set it and restart'
    return problem(c, 403, 'api_off', detail)
  }
  return given === '' ? problem(c, 401, 'unauthorized', `the key is missing; ${remedy}`) : undefined
}

/** Middleware: refuses a sender without a token in the address that may be there. */
export function admitByAddress(relay: Relay, guard: KeyGuard): MiddlewareHandler {
  return async (c, next) => {
    const token = new URL(c.req.url).searchParams.get('token') ?? ''
    const remedy = 'add ?token=… with a token that has the scope "calendar"'
    const access = await accessBy(relay, guard, c, token, remedy)
    if (access instanceof Response) return access
    c.set('access', access)
    if (isForAddress(access)) return next()
    const detail =
      'others may see this address, so it takes only a token with the one scope "calendar"; ' +
      'make one with POST /v1/tokens, and revoke the one that you sent'
    return problem(c, 403, 'calendar_only', detail)
  }
}
