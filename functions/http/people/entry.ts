// Opens a link: reads its token, counts its use and finds its event, or answers why it leads
// nowhere. A signed-in person has a separate budget, which other holders of the link cannot use up.
import type { Context } from 'hono'
import { principalHeader, readPrincipal } from '../../identity/principal.ts'
import type { Admission, LinkGuard, Use } from '../../links/guard.ts'
import { type LinkToken, type ListToken, readOne, readToken } from '../../links/link.ts'
import { messagePage } from '../../pages/approve.ts'
import { type Opened, openToken } from '../../use-cases/decide-event.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { page } from '../page.ts'
import { placeIn } from './seen.ts'
import { signInUrl } from './viewer.ts'

export interface Link {
  /** The signed part. Another spelling of the same signature is the same link. */
  name: string
  /** What forms of the page are bound to. */
  shownBy: string
  /** Undefined: the list does not contain the event that the query names. */
  token: LinkToken | ListToken | undefined
}

export type Found = Extract<Opened, { outcome: 'open' | 'list' }>

/** The link in the path, or the answer if no key of ours signed it. */
export async function readLink(
  relay: Relay,
  guard: LinkGuard,
  c: Context,
): Promise<Link | Response> {
  const text = c.req.param('token') ?? ''
  const token = await readToken(relay.credentials.linkKeys, text)
  if (token === undefined) {
    const admission = guard.wrong()
    return admission.outcome === 'busy' ? tooMany(c, admission) : deadEnd(c, 'forged')
  }
  const name = text.slice(0, text.lastIndexOf('.'))
  const place = c.req.query('event')
  if (!('events' in token) || place === undefined) return { name, shownBy: text, token }
  // One event of a list, on its own page.
  return { name, shownBy: placeIn(text, place), token: readOne(token, place) }
}

/** The answer if the link was used too often in the last seconds. */
export function charge(
  relay: Relay,
  guard: LinkGuard,
  c: Context,
  { name }: Link,
  use: Use,
): Promise<Response> | undefined {
  const { outcome } = readPrincipal(relay.config.signIn, c.req.header(principalHeader))
  if (outcome === 'malformed' || outcome === 'other_tenant') guard.unproven(outcome)
  const admission = guard.right(signedInAs(relay, c) ?? name, use)
  if (admission.outcome !== 'busy') return undefined
  // Signing in helps, as it gives the person a separate budget.
  const helps = relay.config.signIn !== undefined && outcome !== 'signed_in'
  return tooMany(c, admission, helps ? signInUrl(pathIn(relay, c)) : undefined)
}

/** Undefined if the person is not signed in. Only a host that signs people in says so. */
export function signedInAs({ config }: Relay, c: Context): string | undefined {
  const read = readPrincipal(config.signIn, c.req.header(principalHeader))
  if (read.outcome !== 'signed_in') return undefined
  return `entra:${read.principal.tenant}/${read.principal.user}`
}

/** The path of the page as browsers see it. */
export function pathIn({ config }: Relay, c: Context): string {
  const { pathname } = new URL(`${config.publicUrl}/approve/${c.req.param('token')}`)
  return pathname + new URL(c.req.url).search
}

function tooMany(
  c: Context,
  admission: Extract<Admission, { outcome: 'busy' }>,
  signInUrl?: string,
) {
  c.header('retry-after', String(admission.waitSeconds))
  return page(c, 429, busyPage(signInUrl))
}

export function busyPage(signInUrl?: string) {
  const text = 'Nothing was decided. Try again in a few seconds.'
  // the same address again
  const again = { href: '', label: 'Try again' }
  return messagePage('Too many requests', text, signInUrl, again)
}

export async function find(
  relay: Relay,
  c: Context,
  token: LinkToken | ListToken | undefined,
): Promise<Found | Response> {
  const opened: Opened = token ? await openToken(relay, token) : { outcome: 'unknown' }
  if (opened.outcome === 'open' || opened.outcome === 'list') return opened
  return deadEnd(c, opened.outcome)
}

export function deadEnd(c: Context, outcome: DeadLink): Promise<Response> {
  return page(c, deadLinks[outcome].status, deadPage(outcome))
}

export function deadPage(outcome: DeadLink) {
  const { title, message } = deadLinks[outcome]
  // beside `/approve/…`, also behind a proxy that adds a path
  const next = { href: '../console', label: 'Open the console' }
  return messagePage(title, message, undefined, next)
}

export type DeadLink = Exclude<Opened['outcome'], 'open' | 'list'>

export const deadLinks: Record<DeadLink, { status: number; title: string; message: string }> = {
  forged: {
    status: 403,
    title: 'This link is not valid',
    message:
      'Another relay made it, or a part of it is missing. Use the button in the message. If you see ' +
      'this page again, ask an owner: owners find every event in the console.',
  },
  expired: {
    status: 410,
    title: 'This link has expired',
    message: 'The event ended long ago. An owner finds it in the console.',
  },
  channel_gone: {
    status: 410,
    title: 'This link no longer works',
    message:
      'The channel that it was sent to is no longer in the configuration. Open the link in a message of another channel.',
  },
  unknown: {
    status: 404,
    title: 'Unknown event',
    message:
      'The relay has no such event. It removes events some time after their end. ' +
      'An owner finds all others in the console.',
  },
}
