// Answers with a page of the console. A page that stays open names its content by an ETag, so that
// asking again costs next to nothing while nothing changes.
import type { Context } from 'hono'
import {
  consoleLayout,
  consoleMessage,
  consolePolicy,
  type Frame,
} from '../../pages/console/frame.ts'
import type { Html } from '../../pages/event.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { tokenFor } from '../api/console-form.ts'
import { buildEtag, notModified } from '../page.ts'
import { nameOfVisitor, type Visitor } from './visitor.ts'

interface Shown extends Pick<Frame, 'tab' | 'refreshSeconds' | 'undecided' | 'wall'> {
  title: string
  body: Html
  /** Default: 200 */
  status?: number
  /** Identifies the content, if that is cheaper to find than the content. */
  etag?: string
}

/** Where the pages are, as browsers see it. */
export function buildBase({ config }: Pick<Relay, 'config'>): string {
  return new URL(`${config.publicUrl}/console`).pathname
}

export async function answerPage(
  relay: Relay,
  c: Context,
  visitor: Visitor,
  { title, body, status = 200, ...shown }: Shown,
): Promise<Response> {
  const frame = await buildFrame(relay, c, visitor)
  const text = String(await body)
  const isLive = shown.refreshSeconds !== undefined && c.req.method === 'GET'
  const etag = isLive ? (shown.etag ?? (await buildEtag(text))) : undefined
  if (etag !== undefined && etag === c.req.header('if-none-match'))
    return notModified(c, etag, relay.now())
  const whole = { ...frame, ...shown, ...(etag === undefined ? {} : { etag }) }
  return answer(c, status, consoleLayout(whole, title, body), etag)
}

export async function answerMessage(
  relay: Relay,
  c: Context,
  visitor: Visitor,
  { status, title, text }: { status: number; title: string; text: string },
): Promise<Response> {
  return answer(c, status, consoleMessage(await buildFrame(relay, c, visitor), title, text))
}

export function wrongAddress(relay: Relay, c: Context, visitor: Visitor, why: string) {
  const shown = { status: 400, title: 'There is no such page', text: `${why}.` }
  return answerMessage(relay, c, visitor, shown)
}

const refusals = {
  not_ours: {
    status: 403,
    text: 'The relay accepts this form only from its own page, in the browser that opened it. Open the page again and repeat what you did.',
  },
  unknown: { status: 404, text: 'The relay has no such event.' },
  not_allowed: { status: 403, text: 'This token can read, but not decide.' },
  busy: {
    status: 429,
    text: 'Too many requests with this credential wait already. Try again in a few seconds.',
  },
  busy_midway: {
    status: 429,
    title: 'Not everything was decided',
    text: 'Too many requests with this credential wait already. Open the page again and see what is left.',
  },
  answered_late: {
    status: 429,
    title: 'Your answer arrived',
    text: 'Too many requests with this credential wait, so the relay cannot show the events now. Open the page again.',
  },
} as const

export function refuse(
  relay: Relay,
  c: Context,
  visitor: Visitor,
  why: keyof typeof refusals,
): Promise<Response> {
  return answerMessage(relay, c, visitor, { title: 'Nothing was decided', ...refusals[why] })
}

export async function answer(
  c: Context,
  status: number,
  content: Html,
  etag?: string,
): Promise<Response> {
  return c.body(String(await content), status as 200, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': await consolePolicy(),
    ...(etag === undefined ? {} : { etag }),
  })
}

async function buildFrame(relay: Relay, c: Context, visitor: Visitor): Promise<Frame> {
  // people who signed in at the host must sign out there
  const isPerson = visitor.access.by === 'entra'
  return {
    base: buildBase(relay),
    who: nameOfVisitor(visitor),
    now: relay.now(),
    ...(isPerson ? {} : { signOut: await tokenFor(relay, c, 'sign-out') }),
  }
}
