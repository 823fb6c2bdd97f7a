// The record's forms, filled in like a browser: it opens the page, keeps its cookies, and sends
// both back.
import { fieldsOf, formType } from './form.ts'
import { adminKey, type World } from './world.ts'

type Asked = Pick<World, 'app'>

/** A page with a form, and the browser's cookies by then. */
export interface Opened {
  fields: Record<string, string>
  cookie: string
}

/** `cookie`: the cookies that the browser already has. */
export async function openForm({ app }: Asked, path: string, cookie = ''): Promise<Opened> {
  const page = await app.request(path, { headers: { cookie } })
  return { fields: fieldsOf(await page.text()), cookie: withCookies(cookie, page) }
}

export function withCookies(cookie: string, { headers }: Response): string {
  const set = headers.getSetCookie().map((one) => one.split(';')[0]!)
  return [...(cookie === '' ? [] : [cookie]), ...set].join('; ')
}

export function sendForm(
  { app }: Asked,
  path: string,
  { fields, cookie }: Opened,
  headers: Record<string, string> = {},
): Response | Promise<Response> {
  const body = new URLSearchParams(fields).toString()
  const own = { 'content-type': formType, cookie }
  return app.request(path, { method: 'POST', body, headers: { ...own, ...headers } })
}

/** Opens the sign-in page and sends its form with this key. */
export async function signIn(
  world: Asked,
  key = adminKey,
  headers: Record<string, string> = {},
): Promise<Response> {
  const { fields, cookie } = await openForm(world, '/console')
  return sendForm(world, '/console/sign-in', { fields: { ...fields, key }, cookie }, headers)
}
