// Answers for people, and the headers of every answer: browsers neither cache, index nor frame it,
// and send its address to no other site. A page's policy allows its own script only.
import type { Context, MiddlewareHandler } from 'hono'
import { messagePage } from '../pages/approve.ts'
import { isSecure, pagePolicy } from '../pages/layout.ts'
import type { Relay } from '../use-cases/relay.ts'
import { isBearer, limit, named, problem, refusalFor, refuse, usualHeaders } from './problem.ts'

/** The relay's time, epoch ms. */
const timeHeader = 'x-foghorn-time'

export type Page = ReturnType<typeof messagePage>

export async function page(c: Context, status: number, content: Page): Promise<Response> {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': await pagePolicy(),
  }
  return c.body(String(await content), status as 200, headers)
}

/** Identifies the content of a page, so that an open page gets no answer that it has. */
export async function buildEtag(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  const hex = [...new Uint8Array(digest, 0, 12)].map((byte) => byte.toString(16).padStart(2, '0'))
  return `"${hex.join('')}"`
}

/** Answers an open page that shows this content. Its machine may have slept, so it gets the time again. */
export function notModified(c: Context, etag: string, now: number): Response {
  return c.body(null, 304, { etag, [timeHeader]: String(now) })
}

/** Middleware: adds the headers that the answer does not set itself. */
export function keepPrivate({ config }: Pick<Relay, 'config'>): MiddlewareHandler {
  const isPublicSecure = isSecure(config.publicUrl)
  return async (c, next) => {
    await next()
    const hadToken = isBearer(c.req.header('authorization')) || c.req.query('token') !== undefined
    const headers = usualHeaders(c.res.status, isPublicSecure || isSecure(c.req.url), hadToken)
    for (const [name, value] of Object.entries(headers)) {
      if (!c.res.headers.has(name)) c.res.headers.set(name, value)
    }
  }
}

/** Middleware: ends the body that a HEAD leaves behind. An unread stream would stay open for ever. */
export const endBodyOfHead: MiddlewareHandler = async (c, next) => {
  await next()
  if (c.req.method === 'HEAD') await c.res.body?.cancel()
}

/** Middleware: refuses a longer form with a page, before the whole form is read. */
export function limitForm(maxSize: number): MiddlewareHandler {
  const text = `The form is longer than ${maxSize} bytes. Open the page again, and use its own form.`
  return limit(maxSize, (c) => page(c, 413, messagePage('Nothing was done', text)))
}

export function notFound(c: Context): Response | Promise<Response> {
  if (isForPeople(c)) {
    const isConsole = c.req.path.startsWith('/console/')
    const up = '../'.repeat(c.req.path.split('/').length - 2)
    const text = isConsole
      ? 'The console has no page at this address.'
      : 'Open the link in the message again.'
    const next = isConsole ? { href: `${up}console`, label: 'Open the console' } : undefined
    return page(c, 404, messagePage('There is no such page', text, undefined, next))
  }
  const address = named(`${c.req.method} ${c.req.path}`)
  const detail = `there is no ${address}; GET /openapi.json describes the addresses`
  return problem(c, 404, 'not_found', detail)
}

export function failed(c: Context, error: unknown): Response | Promise<Response> {
  const refusal = refusalFor(error)
  if (!isForPeople(c)) return refuse(c, refusal)
  // The relay may have failed after it stored a decision.
  const text = 'The log says why. Open the page again to see whether your decision was stored.'
  return page(c, refusal.status as 500, messagePage('The relay failed', text))
}

function isForPeople(c: Context): boolean {
  return /^\/(approve|console)(\/|$)/.test(c.req.path)
}
