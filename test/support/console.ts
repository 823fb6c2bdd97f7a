// Visitors of the console: how each signs in, and the requests of their browsers.
import type { Scope } from '../../functions/core/rules/access.ts'
import { createToken } from '../../functions/use-cases/tokens.ts'
import { formsOf, formType } from './form.ts'
import { signedIn } from './principals.ts'
import { openForm, sendForm, withCookies } from './record-form.ts'
import { adminKey, type World } from './world.ts'

export interface Visit {
  get(path: string, headers?: Record<string, string>): Promise<Response>
  /** Opens the page and sends the form in which `pick` finds its button. */
  press(path: string, decision: string, change?: Change): Promise<Response>
  post(
    path: string,
    fields: Record<string, string>,
    headers?: Record<string, string>,
  ): Promise<Response>
}

interface Change {
  /** Which of the forms that decide. Default: the first. */
  place?: number
  fields?: Record<string, string>
  headers?: Record<string, string>
}

/** A browser with these cookies and headers of its host. */
function browser(world: World, cookie: string, own: Record<string, string> = {}): Visit {
  let cookies = cookie
  const ask = async (path: string, init: RequestInit = {}) => {
    const headers = { cookie: cookies, ...own, ...(init.headers as Record<string, string>) }
    const response = await world.app.request(path, { ...init, headers })
    cookies = withCookies(cookies, response)
    return response
  }
  const post: Visit['post'] = (path, fields, headers = {}) =>
    ask(path, {
      method: 'POST',
      headers: { 'content-type': formType, ...headers },
      body: new URLSearchParams(fields).toString(),
    })
  return {
    get: (path, headers = {}) => ask(path, { headers }),
    post,
    async press(path, decision, { place = 0, fields = {}, headers = {} } = {}) {
      const html = await (await ask(path)).text()
      const form = formsOf(html).filter((one) => one.event !== undefined)[place] ?? {}
      return post(path, { ...form, ...fields, decision }, headers)
    },
  }
}

async function signInWith(world: World, key: string): Promise<Visit> {
  const { fields, cookie } = await openForm(world, '/console')
  const response = await sendForm(world, '/console/sign-in', { fields: { ...fields, key }, cookie })
  return browser(world, withCookies(cookie, response))
}

export const asAdmin = (world: World): Promise<Visit> => signInWith(world, adminKey)

export async function asToken(world: World, scopes: Scope[], fleets?: string[]): Promise<Visit> {
  const wish = { name: 'wall', scopes, ...(fleets && { fleets }) }
  const created = await createToken(world.relay, { by: 'admin' }, wish)
  if (created.outcome !== 'created') throw new Error(created.outcome)
  return signInWith(world, created.text)
}

export function asPerson(world: World, ...of: Parameters<typeof signedIn>): Visit {
  return browser(world, '', signedIn(...of))
}

/** The forms by which a page offers to send again what failed. */
export async function resendForms(visit: Visit, path: string) {
  const html = await (await visit.get(`${path}?resend=1`)).text()
  return formsOf(html).filter(({ name, id }) => name !== undefined && id === undefined)
}
