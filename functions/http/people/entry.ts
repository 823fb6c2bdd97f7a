// The way in by a link: what it says, how often it may be used, and where it leads; or the answer where it leads
// nowhere. Whoever is signed in has a budget of their own, so that nobody who only holds the link uses it up.
import type { Context } from 'hono'
import { principalHeader, readPrincipal } from '../../identity/principal.ts'
import type { LinkGuard, Turn, Use } from '../../links/guard.ts'
import { type LinkToken, type ListToken, oneOf, readToken } from '../../links/link.ts'
import { messagePage } from '../../pages/approve.ts'
import { type Opened, openToken } from '../../use-cases/decide-event.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { page } from '../page.ts'
import { placeIn } from './seen.ts'
import { signInUrl } from './viewer.ts'

export interface Link {
  /** What is signed of it: another writing of the same signature is no other link. */
  name: string
  /** What forms of the page are bound to. */
  shownBy: string
  /** Undefined: of a list, an event that it does not have. */
  token: LinkToken | ListToken | undefined
}

export type Found = Extract<Opened, { outcome: 'open' | 'list' }>

/** What the path says, or the answer where no key of ours signed it. */
export async function readLink(
  relay: Relay,
  guard: LinkGuard,
  c: Context,
): Promise<Link | Response> {
  const text = c.req.param('token') ?? ''
  const token = await readToken(relay.linkKeys, text)
  if (token === undefined) {
    const turn = guard.wrong()
    return turn.outcome === 'busy' ? tooMany(c, turn) : deadEnd(c, 'forged')
  }
  const name = text.slice(0, text.lastIndexOf('.'))
  const place = c.req.query('event')
  if (!('events' in token) || place === undefined) return { name, shownBy: text, token }
  // one of a list, on a page of its own
  return { name, shownBy: placeIn(text, place), token: oneOf(token, place) }
}

/** The answer where the link was used too often of late. */
export function charge(
  relay: Relay,
  guard: LinkGuard,
  c: Context,
  { name }: Link,
  use: Use,
): Promise<Response> | undefined {
  const { outcome } = readPrincipal(relay.config.signIn, c.req.header(principalHeader))
  if (outcome === 'malformed' || outcome === 'other_tenant') guard.unproven(outcome)
  const turn = guard.right(signedInAs(relay, c) ?? name, use)
  if (turn.outcome !== 'busy') return undefined
  // who is signed in has a budget that others can't use up
  const helps = relay.config.signIn !== undefined && outcome !== 'signed_in'
  return tooMany(c, turn, helps ? signInUrl(pathIn(relay, c)) : undefined)
}

/** Undefined where nobody is; the host says so, and only where it signs people in. */
export function signedInAs({ config }: Relay, c: Context): string | undefined {
  const read = readPrincipal(config.signIn, c.req.header(principalHeader))
  if (read.outcome !== 'signed_in') return undefined
  return `entra:${read.principal.tenant}/${read.principal.user}`
}

/** Of the page, as browsers know it. */
export function pathIn({ config }: Relay, c: Context): string {
  const { pathname } = new URL(`${config.publicUrl}/approve/${c.req.param('token')}`)
  return pathname + new URL(c.req.url).search
}

function tooMany(c: Context, turn: Extract<Turn, { outcome: 'busy' }>, signInUrl?: string) {
  c.header('retry-after', String(turn.waitSeconds))
  const text = 'Nothing was decided. Try again in a few seconds.'
  return page(c, 429, messagePage('Too many requests', text, signInUrl))
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

function deadEnd(c: Context, outcome: DeadLink): Promise<Response> {
  const { status, title, message } = deadLinks[outcome]
  return page(c, status, messagePage(title, message))
}

type DeadLink = Exclude<Opened['outcome'], 'open' | 'list'>

export const deadLinks: Record<DeadLink, { status: number; title: string; message: string }> = {
  forged: {
    status: 403,
    title: 'This link is not valid',
    message:
      'It was not made by this relay, or was cut off on its way. Open it from the message again, by its button. ' +
      'If that leads here too, ask for a new message, or whoever has the admin key: they find every event under /console.',
  },
  expired: {
    status: 410,
    title: 'This link has expired',
    message: 'The event is long over. Whoever has the admin key finds its record under /console.',
  },
  channel_gone: {
    status: 410,
    title: 'This link has ended',
    message:
      'The channel that it was sent to is not in the configuration any more. Open the link in a message of another channel.',
  },
  unknown: {
    status: 404,
    title: 'This event is not known',
    message:
      'The relay has no record of it any more: it forgets events some time after their end. ' +
      'Whoever has the admin key finds what it remembers under /console.',
  },
}
