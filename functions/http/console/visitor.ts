// Who opens a page of the console: the holder of the admin key or of a token, who signed in with it, or
// a person whom the host signed in and `viewers` lists.
import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { type Access, accessOfPerson, hasViewers, listFleets } from '../../core/rules/access.ts'
import { principalHeader, readPrincipal } from '../../identity/principal.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { cookieNamed, createSession, readSession, signOut } from '../api/session.ts'

export interface Visitor {
  access: Access
  /** The configured fleets that exist for the visitor. */
  fleets: string[]
}

/** Undefined if nobody signed in who may see the console. */
export async function visitorIn(relay: Relay, c: Context): Promise<Visitor | undefined> {
  const access =
    (await readSession(relay, getCookie(c, readCookie(relay).name))) ?? personIn(relay, c)
  if (access === undefined) return undefined
  return { access, fleets: listFleets(access, Object.keys(relay.config.fleets)) }
}

function personIn({ config }: Relay, c: Context): Access | undefined {
  const read = readPrincipal(config.signIn, c.req.header(principalHeader))
  return read.outcome === 'signed_in' ? accessOfPerson(config, read.principal) : undefined
}

/** The name of a person who signed in at the host but may not see the console. */
export function strangerIn(relay: Relay, c: Context): string | undefined {
  const read = readPrincipal(relay.config.signIn, c.req.header(principalHeader))
  if (read.outcome !== 'signed_in' || personIn(relay, c) !== undefined) return undefined
  return read.principal.name ?? 'somebody without a name'
}

/** Whether people can open the console with the host's sign-in. */
export function letsPeopleIn({ config }: Relay): boolean {
  return config.signIn !== undefined && hasViewers(config)
}

/** The name of the visitor, for the page. */
export function nameOfVisitor({ access }: Visitor): string {
  if (access.by === 'admin') return 'Admin key'
  return access.by === 'token' ? `Token ${access.name}` : (access.name ?? 'Signed in')
}

export async function keepSession(relay: Relay, c: Context, access: Access): Promise<void> {
  const { name, options } = readCookie(relay)
  const { text, lastsMs } = await createSession(relay, access)
  setCookie(c, name, text, { ...options, maxAge: Math.floor(lastsMs / 1_000) })
}

export async function endSession(relay: Relay, c: Context): Promise<void> {
  await signOut(relay, getCookie(c, readCookie(relay).name))
  deleteCookie(c, readCookie(relay).name, readCookie(relay).options)
}

function readCookie({ config }: Relay) {
  const { name, secure } = cookieNamed('admin', config.publicUrl)
  return { name, options: { path: '/', httpOnly: true, secure, sameSite: 'Strict' } } as const
}
