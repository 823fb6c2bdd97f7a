// Error answers as problem+json, and the middleware that reads bodies.
import type { Context, MiddlewareHandler, Next } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { FoghornError, type Problem, problemContentType } from '../../shared/errors.ts'
import { maskTokens } from '../../shared/mask.ts'
import { cut } from '../../shared/text.ts'
import { privateHeaders, secureHeaders } from '../pages/layout.ts'
import { quoted } from '../schema/checks.ts'
import { didYouMean } from '../schema/suggest.ts'
import { isOutage } from '../use-cases/join-events.ts'

/** A problem before it is answered. */
export type Refusal = Omit<Problem, 'title'>

export function problem(c: Context, status: number, code: string, detail: string): Response {
  return refuse(c, { status, code, detail })
}

export function refuse(c: Context, refusal: Refusal): Response {
  const headers = { 'content-type': problemContentType }
  return c.body(problemText(refusal), refusal.status as 400, headers)
}

export function problemText({ code, status, detail, time }: Refusal): string {
  const title = code.replaceAll('_', ' ')
  const body: Problem = { code, title, status, detail, ...(time === undefined ? {} : { time }) }
  return JSON.stringify(body)
}

/**
 * Clients wait this long after a 503. Most such faults last a moment, and an approval may have only
 * seconds left.
 */
const retryAfterSeconds = 2

/** The headers of every answer, wherever it is made. `hadToken`: the request had one. */
export function usualHeaders(
  status: number,
  isSecure: boolean,
  hadToken = false,
): Record<string, string> {
  const challenge = hadToken ? 'Bearer error="invalid_token"' : 'Bearer'
  return {
    ...privateHeaders,
    ...(isSecure ? secureHeaders : {}),
    ...(status === 503 ? { 'retry-after': String(retryAfterSeconds) } : {}),
    // RFC 9110, section 15.5.2, and RFC 6750, section 3
    ...(status === 401 ? { 'www-authenticate': challenge } : {}),
  }
}

export function isBearer(authorization = ''): boolean {
  return /^bearer /i.test(authorization)
}

/** The headers of a problem that a host answers itself. */
export function problemHeaders(
  status: number,
  isSecure: boolean,
  hadToken = false,
): Record<string, string> {
  return { ...usualHeaders(status, isSecure, hadToken), 'content-type': problemContentType }
}

/** The answer to a request that met an unexpected error. */
const relayFailed: Refusal = {
  status: 500,
  code: 'internal',
  detail: 'the relay failed; its log says why',
}

/** The answer to a request that threw this. */
export function refusalFor(error: unknown): Refusal {
  if (error instanceof FoghornError && error.code === 'data_damaged') return dataDamaged
  return isOutage(error) ? storageAway : relayFailed
}

const dataDamaged: Refusal = {
  status: 500,
  code: 'data_damaged',
  detail: 'this part of the database is damaged; restore a backup (docs/backup.md)',
}

export const storageAway: Refusal = {
  status: 503,
  code: 'storage_unavailable',
  detail: 'the storage of the relay fails now, and its log says why; send the request again',
}

/** A request whose body `limit` has read. */
export async function readIncoming(c: Context) {
  return { header: (name: string) => c.req.header(name), text: await c.req.text() }
}

/** The answer if the configuration has no such fleet. */
export function fleetUnknown(c: Context, fleet: string, fleets: string[], status = 404) {
  const meant = didYouMean(fleet, fleets)
  const detail = `there is no fleet ${named(fleet)}; write one of ${quoted(fleets)}${meant}`
  return problem(c, status, 'fleet_unknown', detail)
}

/** Quotes and shortens a text of the sender, which may be as long as the body, or a token. */
export function named(name: string): string {
  // the masks take milliseconds for some thousand escapes, and know the beginning of a token
  return JSON.stringify(cut(maskTokens(cut(name, 2 * maxNamed)), maxNamed))
}

const maxNamed = 300

/** The sender closed the connection in the middle of its body. This is no error of the relay. */
export class BodyBrokenOff extends Error {}

/**
 * Middleware: reads the body, which handlers get by `c.req.text()`. If the body is too large, it
 * answers with `tooLarge` and does not read the rest. Throws BodyBrokenOff.
 */
export function limit(
  maxSize: number,
  tooLarge: (c: Context) => Response | Promise<Response> = (c) => bodyTooLarge(c, maxSize),
): MiddlewareHandler {
  const counted = bodyLimit({ maxSize, onError: tooLarge })
  const read = async (c: Context, hasLength: boolean): Promise<Response | undefined> => {
    const refused = hasLength ? undefined : await counted(c, async () => {})
    if (refused) return refused
    await c.req.text()
    return undefined
  }
  return async (c: Context, next: Next) => {
    // Servers read no more than Content-Length says. Without it, the bytes have to be counted.
    const length = c.req.header('content-length')
    const hasLength = length !== undefined && !c.req.header('transfer-encoding')
    if (hasLength && !(Number(length) <= maxSize)) return tooLarge(c)
    const refused = await read(c, hasLength).catch((cause: unknown) => {
      throw new BodyBrokenOff('the body broke off', { cause })
    })
    return refused ?? next()
  }
}

function bodyTooLarge(c: Context, maxSize: number): Response {
  const detail = `the body is larger than ${maxSize} bytes; send less at a time`
  return problem(c, 413, 'body_too_large', detail)
}
