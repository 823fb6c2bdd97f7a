// How the HTTP face answers people, and what every answer carries: nobody keeps it, indexes it, frames it or is
// told its address. Pages bring a policy that lets them run their own script; all else runs nothing.
import type { Context, MiddlewareHandler } from 'hono'
import { messagePage } from '../pages/approve.ts'
import { isSecure, pagePolicy, privateHeaders, secureHeaders } from '../pages/layout.ts'
import type { Relay } from '../use-cases/relay.ts'
import { limit, problem } from './problem.ts'

export type Page = ReturnType<typeof messagePage>

export async function page(c: Context, status: number, content: Page): Promise<Response> {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': await pagePolicy(),
  }
  return c.body(String(await content), status as 200, headers)
}

/** Middleware: the headers of everything; what an answer says for itself stays. */
export function keepPrivate({ config }: Pick<Relay, 'config'>): MiddlewareHandler {
  const isPublicSecure = isSecure(config.publicUrl)
  return async (c, next) => {
    await next()
    const headers =
      isPublicSecure || isSecure(c.req.url)
        ? { ...privateHeaders, ...secureHeaders }
        : privateHeaders
    for (const [name, value] of Object.entries(headers)) {
      if (!c.res.headers.has(name)) c.res.headers.set(name, value)
    }
  }
}

/** Middleware: a longer form is refused before it is read whole, with a page. */
export function limitForm(maxSize: number): MiddlewareHandler {
  const text = `The form is longer than ${maxSize} bytes. Open the page again, and use its own form.`
  return limit(maxSize, (c) => page(c, 413, messagePage('Nothing was done', text)))
}

export function notFound(c: Context): Response | Promise<Response> {
  if (!isForPeople(c)) return problem(c, 404, 'not_found', 'there is nothing here; see the README')
  return page(c, 404, messagePage('There is no such page', 'Open the link of the message again.'))
}

export function failed(c: Context): Response | Promise<Response> {
  if (!isForPeople(c)) return problem(c, 500, 'internal', 'the relay failed; its log says why')
  // it may have failed after a decision was on record
  const text = 'Its log says why. Open the page again to see how it stands.'
  return page(c, 500, messagePage('The relay failed', text))
}

function isForPeople(c: Context): boolean {
  return /^\/(approve|console)(\/|$)/.test(c.req.path)
}
