// The token in each form of the record's pages: it fits one form, and the browser that was shown it. The browser keeps
// a cookie for that, which other sites' forms do not bring. The surprise: the sign-in form has one, too, as a browser
// must not be signed in by another site either.
import type { Context } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { createFormToken, readFormToken } from '../link.ts'
import type { Relay } from '../relay.ts'
import { isOwnForm } from './form.ts'
import { cookieNamed } from './session.ts'

export type RecordForm = 'sign-in' | 'sign-out'

/** For the hidden field `form`; gives the browser a cookie where it has none. */
export function tokenFor(relay: Relay, c: Context, form: RecordForm): Promise<string> {
  const { name, options } = cookieOf(relay)
  const kept = browserIn(relay, c)
  const browser = kept ?? crypto.randomUUID()
  if (kept === undefined) setCookie(c, name, browser, options)
  return createFormToken(relay.linkKeys, boundTo(browser), form)
}

/** The fields of a form that a page of ours showed this browser; undefined for any other. */
export async function readForm(
  relay: Relay,
  c: Context,
  form: RecordForm,
): Promise<URLSearchParams | undefined> {
  const browser = browserIn(relay, c)
  if (browser === undefined || !isOwnForm(relay, c)) return undefined
  const fields = new URLSearchParams(await c.req.text())
  const token = await readFormToken(relay.linkKeys, boundTo(browser), fields.get('form') ?? '')
  return token?.stamp === form ? fields : undefined
}

function browserIn(relay: Relay, c: Context): string | undefined {
  const kept = getCookie(c, cookieOf(relay).name)
  return kept !== undefined && /^[\da-f-]{36}$/.test(kept) ? kept : undefined
}

/** A link has no blank, so that no form of a link fits. */
function boundTo(browser: string): string {
  return `record ${browser}`
}

/** `Lax`: a link elsewhere to the record must not make the forms of other tabs useless. */
function cookieOf({ config }: Relay) {
  const { name, secure } = cookieNamed('form', config.publicUrl)
  return { name, options: { path: '/', httpOnly: true, secure, sameSite: 'Lax' } } as const
}
