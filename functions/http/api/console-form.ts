// The token in each form of the console. It is valid for one form and for the browser that was
// shown the form. The browser keeps a cookie for this, which forms of other sites do not send.
// The sign-in form has a token, too: another site must not be able to sign a browser in.
import type { Context } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { createFormToken, type FormToken, readFormToken } from '../../links/link.ts'
import type { EventKey } from '../../store/store.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { isOwnForm, parseFields } from '../form.ts'
import { cookieNamed } from './session.ts'

type ConsoleForm = 'sign-in' | 'sign-out' | 'send'

declare module 'hono' {
  interface ContextVariableMap {
    browser: string
  }
}

/** Makes the token for the hidden field `form`. Sets the browser's cookie if it has none. */
export function tokenFor(relay: Relay, c: Context, form: ConsoleForm): Promise<string> {
  return createFormToken(relay.credentials.linkKeys, boundTo(readBrowser(relay, c)), form)
}

/** Makes a token as `tokenFor` does, for the form that decides one event in the state `stamp`. */
export function decisionTokenFor(
  relay: Relay,
  c: Context,
  key: EventKey,
  { stamp, countsAt }: FormToken,
): Promise<string> {
  const bound = boundTo(readBrowser(relay, c), key)
  return createFormToken(relay.credentials.linkKeys, bound, stamp, countsAt)
}

/** The fields of a form that our page showed this browser. Undefined for any other form. */
export async function readForm(
  relay: Relay,
  c: Context,
  form: ConsoleForm,
): Promise<URLSearchParams | undefined> {
  const browser = browserIn(relay, c)
  if (browser === undefined || !isOwnForm(relay, c)) return undefined
  const fields = parseFields(await c.req.text())
  const token = await readFormToken(
    relay.credentials.linkKeys,
    boundTo(browser),
    fields.get('form') ?? '',
  )
  return token?.stamp === form ? fields : undefined
}

/** Reads a form as `readForm` does. The form decides the events that it names: one, or a group. */
export async function readDecision(
  relay: Relay,
  c: Context,
): Promise<{ events: { key: EventKey; seen: FormToken }[]; fields: URLSearchParams } | undefined> {
  const browser = browserIn(relay, c)
  if (browser === undefined || !isOwnForm(relay, c)) return undefined
  const fields = parseFields(await c.req.text())
  const [names, tokens] = [fields.getAll('event'), fields.getAll('form')]
  const events: { key: EventKey; seen: FormToken }[] = []
  for (const [i, name] of names.entries()) {
    const key = importKey(name)
    if (key === undefined) return undefined
    const seen = await readFormToken(
      relay.credentials.linkKeys,
      boundTo(browser, key),
      tokens[i] ?? '',
    )
    if (seen === undefined) return undefined
    events.push({ key, seen })
  }
  return events.length === 0 ? undefined : { events, fields }
}

/** Names an event in a form. */
export function chooseName({ fleet, eventId }: EventKey): string {
  return `${encodeURIComponent(fleet)}/${encodeURIComponent(eventId)}`
}

/** Reads what `chooseName` wrote. */
function importKey(name: string): EventKey | undefined {
  const [fleet = '', eventId = '', ...rest] = name.split('/')
  try {
    const key = { fleet: decodeURIComponent(fleet), eventId: decodeURIComponent(eventId) }
    return rest.length === 0 && eventId !== '' ? key : undefined
  } catch {
    // a text that is not from our page
    return undefined
  }
}

/** Gives the browser a cookie if it has none. All forms of one page share it. */
function readBrowser(relay: Relay, c: Context): string {
  const { name, options } = readCookie(relay)
  const kept = browserIn(relay, c) ?? (c.get('browser') as string | undefined)
  const browser = kept ?? crypto.randomUUID()
  if (kept === undefined) setCookie(c, name, browser, options)
  c.set('browser', browser)
  return browser
}

function browserIn(relay: Relay, c: Context): string | undefined {
  const kept = getCookie(c, readCookie(relay).name)
  return kept !== undefined && /^[\da-f-]{36}$/.test(kept) ? kept : undefined
}

/** Links contain no blank, so the token of a link's form is not valid here. */
function boundTo(browser: string, key?: EventKey): string {
  return key === undefined ? `console ${browser}` : `console ${browser} ${chooseName(key)}`
}

/** `Lax`: after a visit through a link on another site, the forms in other tabs must still work. */
function readCookie({ config }: Relay) {
  const { name, secure } = cookieNamed('form', config.publicUrl)
  return { name, options: { path: '/', httpOnly: true, secure, sameSite: 'Lax' } } as const
}
