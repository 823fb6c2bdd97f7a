// The token in each form of the console. It is valid for one form and for the browser that was
// shown the form. The browser keeps a cookie for this, which forms of other sites do not send.
// The sign-in form has a token, too: another site must not be able to sign a browser in.
import type { Context } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { createFormToken, readFormToken } from '../../links/link.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { isOwnForm } from '../form.ts'
import { cookieNamed } from './session.ts'

type ConsoleForm = 'sign-in' | 'sign-out'

/** For the hidden field `form`. Sets the browser's cookie if it has none. */
export function tokenFor(relay: Relay, c: Context, form: ConsoleForm): Promise<string> {
  const { name, options } = cookieOf(relay)
  const kept = browserIn(relay, c)
  const browser = kept ?? crypto.randomUUID()
  if (kept === undefined) setCookie(c, name, browser, options)
  return createFormToken(relay.linkKeys, boundTo(browser), form)
}

/** The fields of a form that our page showed this browser. Undefined for any other form. */
export async function readForm(
  relay: Relay,
  c: Context,
  form: ConsoleForm,
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

/** Links contain no blank, so the token of a link's form is not valid here. */
function boundTo(browser: string): string {
  return `console ${browser}`
}

/** `Lax`: after a visit through a link on another site, the forms in other tabs must still work. */
function cookieOf({ config }: Relay) {
  const { name, secure } = cookieNamed('form', config.publicUrl)
  return { name, options: { path: '/', httpOnly: true, secure, sameSite: 'Lax' } } as const
}
