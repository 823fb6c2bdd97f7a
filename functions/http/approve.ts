// What a link leads to: the page of an event or of a list, its state for a page that stands open, and the
// form that decides. Only a POST from the page itself acts; machines open links before people do.
import { type Context, Hono } from 'hono'
import { type Decided, decideEvent, type Opened, openToken } from '../approve.ts'
import type { Verdict } from '../core/event.ts'
import { principalHeader } from '../identity/principal.ts'
import { type LinkToken, type ListToken, oneOf, readFormToken, readToken } from '../link.ts'
import { eventPage, messagePage } from '../pages/approve.ts'
import type { Seen } from '../pages/event.ts'
import { pageHeaders, privateHeaders } from '../pages/layout.ts'
import { listPage } from '../pages/list.ts'
import { liveOf } from '../pages/state.ts'
import type { Relay } from '../relay.ts'
import { createLinkGuard, type LinkGuard, type Use } from './link-guard.ts'
import { limit } from './problem.ts'
import { listOf, placeIn, recordsOf, seenBy, type Visitor } from './seen.ts'
import { viewerOf } from './viewer.ts'

const maxFormBytes = 4_096
const formType = 'application/x-www-form-urlencoded'

type Page = ReturnType<typeof messagePage>

export function pageRoutes(relay: Relay): Hono {
  const guard = createLinkGuard({ now: () => relay.now(), log: relay.log })
  const routes = new Hono()
  routes.get('/:token', (c) => getPage(relay, guard, c))
  routes.get('/:token/state', (c) => getState(relay, guard, c))
  routes.post('/:token', limit(maxFormBytes), (c) => postDecision(relay, guard, c))
  routes.options('/:token', (c) => c.body(null, 204, { allow: 'GET, HEAD, POST, OPTIONS' }))
  return routes
}

interface Entered {
  /** What forms of the page are bound to. */
  shownBy: string
  opened: Extract<Opened, { outcome: 'open' | 'list' }>
}

/** What the link in the path leads to, or the answer where it leads nowhere. */
async function enter(
  relay: Relay,
  guard: LinkGuard,
  c: Context,
  use: Use,
): Promise<Entered | Response> {
  const text = c.req.param('token') ?? ''
  const token = await readToken(relay.linkKeys, text)
  const turn =
    token === undefined ? guard.wrong() : guard.right(text.slice(0, text.lastIndexOf('.')), use)
  if (turn.outcome === 'busy') {
    c.header('retry-after', String(turn.waitSeconds))
    return page(c, 429, messagePage('Too many requests', 'Nothing was decided. Try again soon.'))
  }
  if (token === undefined) return deadEnd(c, 'forged')
  const place = c.req.query('event')
  if (!('events' in token) || place === undefined) return find(relay, c, token, text)
  // one of a list, on a page of its own
  return find(relay, c, oneOf(token, place), placeIn(text, place))
}

async function find(
  relay: Relay,
  c: Context,
  token: LinkToken | ListToken | undefined,
  shownBy: string,
): Promise<Entered | Response> {
  const opened: Opened = token ? await openToken(relay, token) : { outcome: 'unknown' }
  if (opened.outcome === 'open' || opened.outcome === 'list') return { shownBy, opened }
  return deadEnd(c, opened.outcome)
}

function deadEnd(c: Context, outcome: DeadLink): Promise<Response> {
  const { status, title, message } = deadLinks[outcome]
  return page(c, status, messagePage(title, message))
}

type DeadLink = 'forged' | 'expired' | 'unknown'

const deadLinks: Record<DeadLink, { status: number; title: string; message: string }> = {
  forged: {
    status: 403,
    title: 'This link is not valid',
    message:
      'It was not made by this relay, or was cut off on its way. Open it from the message again, by its button. ' +
      'If that leads here too, ask for a new message, or whoever has the admin key: they find every event under /record.',
  },
  expired: {
    status: 410,
    title: 'This link has expired',
    message: 'The event is long over. Whoever has the admin key finds its record under /record.',
  },
  unknown: {
    status: 404,
    title: 'This event is not known',
    message: 'The relay has no record of it any more.',
  },
}

async function getPage(relay: Relay, guard: LinkGuard, c: Context): Promise<Response> {
  const entered = await enter(relay, guard, c, 'look')
  if (entered instanceof Response) return entered
  const { shownBy, opened } = entered
  const now = relay.now()
  // a HEAD and a prefetch come this way too, but only from machines
  const person = c.req.method === 'GET' && !isPrefetch(c)
  if (opened.outcome === 'list') {
    const listed = await listOf(relay, shownBy, opened.token, visitorIn(relay, c))
    for (const seen of listed) if (seen && person) await relay.attention.note(seen.record, now)
    return page(c, 200, listPage(listed, now))
  }
  if (person) await relay.attention.note(opened.record, now)
  const seen = await seenBy(relay, opened.record, shownBy, opened.token, visitorIn(relay, c))
  return page(c, 200, eventPage(seen, now))
}

/** For a page that stands open: no person opens anything by it. */
async function getState(relay: Relay, guard: LinkGuard, c: Context): Promise<Response> {
  const entered = await enter(relay, guard, c, 'watch')
  if (entered instanceof Response) return entered
  const { opened } = entered
  const records = opened.outcome === 'open' ? [opened.record] : await recordsOf(relay, opened.token)
  const time = relay.now()
  const have = (c.req.query('have') ?? '').split('.')
  const events = records.map((record, i) => record && liveOf(record, time, Number(have[i] ?? 0)))
  return c.json({ time, events: events.map((live) => live ?? null) }, 200, privateHeaders)
}

async function postDecision(relay: Relay, guard: LinkGuard, c: Context): Promise<Response> {
  const entered = await enter(relay, guard, c, 'decide')
  if (entered instanceof Response) return entered
  if (!isOwnForm(relay, c)) return page(c, 403, notFromHere)
  const fields = new URLSearchParams(await c.req.text())
  if (entered.opened.outcome === 'open') {
    return decide(relay, c, fields, { ...entered, opened: entered.opened })
  }
  const { token: list } = entered.opened
  const place = fields.get('event') ?? ''
  const own = oneOf(list, place)
  if (own === undefined) return page(c, 403, notFromHere)
  const one = await find(relay, c, own, placeIn(entered.shownBy, place))
  if (one instanceof Response) return one
  if (one.opened.outcome === 'list') return page(c, 403, notFromHere)
  return decide(relay, c, fields, { ...one, opened: one.opened }, async (shown) => {
    const listed = await listOf(relay, entered.shownBy, list, visitorIn(relay, c))
    return listPage(listed.with(Number(place), shown), relay.now())
  })
}

/** `show`: the page that the person comes back to. */
async function decide(
  relay: Relay,
  c: Context,
  fields: URLSearchParams,
  { shownBy, opened }: { shownBy: string; opened: Extract<Opened, { outcome: 'open' }> },
  show = async (shown: Seen): Promise<Page> => eventPage(shown, relay.now()),
): Promise<Response> {
  const wish = fields.get('decision')
  if (wish !== 'approve' && wish !== 'not_now') {
    const message = 'The form field "decision" is "approve" or "not_now".'
    return page(c, 400, messagePage('Nothing was decided', message))
  }
  const form = await readFormToken(relay.linkKeys, shownBy, fields.get('form') ?? '')
  if (form === undefined) return page(c, 403, notFromHere)
  const decision: Verdict['decision'] = wish === 'approve' ? 'approved' : 'declined'
  const visitor = visitorIn(relay, c)
  const { by } = await viewerOf(relay, opened.record, { ...visitor, ...opened.token })
  // a browser sends the cookie of a sign-in along with forms of other sites, too
  if (by.how === 'entra' && !isSurelyOwn(relay, c)) return page(c, 403, notFromHere)
  const { outcome, record } =
    relay.now() < form.countsAt
      ? { outcome: 'too_quick' as const, record: opened.record }
      : await decideEvent(relay, opened.record, { decision, by, seen: form.stamp })
  const { said, status = 200 } =
    outcome === 'decided' ? { said: onRecord[decision] } : answers[outcome]
  const shown = await seenBy(relay, record, shownBy, opened.token, visitor)
  const mine = outcome === 'decided' ? { mine: decision } : {}
  return page(c, status, await show({ ...shown, said, ...mine }))
}

const notFromHere = messagePage(
  'Nothing was decided',
  'Decisions are taken only from the page itself. Open the link again.',
)

const onRecord = {
  approved: 'Your approval is on record.',
  declined: 'Your "not now" is on record.',
}

type Undecided = Exclude<Decided['outcome'], 'decided'> | 'too_quick'

const answers: Record<Undecided, { said: string; status?: number }> = {
  too_quick: { said: 'That was too quick to be meant: press again.', status: 409 },
  already_approved: { said: 'It had been approved before; nothing changed.' },
  already_declined: { said: '"Not now" was on record before; nothing changed.' },
  started: { said: 'Too late to decide: it has started.' },
  ended: { said: 'Too late to decide: it is over.' },
  identity_needed: {
    said: 'Nothing was decided: a link alone does not say who you are.',
    status: 403,
  },
  not_listed: { said: 'Nothing was decided: you are not among those who may.', status: 403 },
  moved_on: {
    said: 'Nothing was decided: the event has changed since you opened this page. Look again.',
    status: 409,
  },
  busy: { said: 'Too many decisions at once. Nothing changed; try again.', status: 503 },
}

/** A form of ours, sent by a browser from our page. Its Origin is `null` under our referrer policy. */
export function isOwnForm(relay: Relay, c: Context): boolean {
  const site = c.req.header('sec-fetch-site')
  const origin = c.req.header('origin')
  const own = new URL(relay.config.publicUrl).origin
  const sameSite =
    site === undefined
      ? origin === undefined || origin === 'null' || origin === own
      : site === 'same-origin' || site === 'none'
  const type = (c.req.header('content-type') ?? '').split(';', 1)[0]?.trim()
  return sameSite && !isPrefetch(c) && type === formType
}

/** As far as browsers say it: old ones send no `sec-fetch-site`, and under our referrer policy `null`. */
function isSurelyOwn(relay: Relay, c: Context): boolean {
  const own = new URL(relay.config.publicUrl).origin
  return c.req.header('sec-fetch-site') === 'same-origin' || c.req.header('origin') === own
}

function visitorIn({ config }: Relay, c: Context): Visitor {
  const { pathname } = new URL(`${config.publicUrl}/approve/${c.req.param('token')}`)
  const { search } = new URL(c.req.url)
  const pressed = c.req.method === 'POST' || c.req.header('sec-fetch-site') === 'same-origin'
  return { header: c.req.header(principalHeader), path: pathname + search, pressed }
}

/** A browser that loads what somebody may open next. */
function isPrefetch(c: Context): boolean {
  const names = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz']
  return names.some((name) => /prefetch|preview|prerender/i.test(c.req.header(name) ?? ''))
}

export async function page(c: Context, status: number, content: Page): Promise<Response> {
  const headers = { ...(await pageHeaders()), 'content-type': 'text/html; charset=utf-8' }
  return c.body(String(await content), status as 200, headers)
}
