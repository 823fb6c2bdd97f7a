// The record, readable in a browser for who has the admin key. Nothing is decided here. The paths do not begin
// with /admin: on Azure Functions the host keeps those to itself.
import { type Context, Hono } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { viewOf } from '../core/delivery.ts'
import { publicDelivery } from '../core/public-view.ts'
import { messagePage } from '../pages/approve.ts'
import { listPage, recordPage, signInPage } from '../pages/record.ts'
import { readPage, readRecord } from '../record.ts'
import type { Relay } from '../relay.ts'
import { createKeyGuard } from './admin-key.ts'
import { isOwnForm } from './form.ts'
import { limitForm, page } from './page.ts'
import type { Refusals } from './refusals.ts'
import { createSession, isSession, sessionMs } from './session.ts'

const maxFormBytes = 4_096

export function recordPages(relay: Relay, refusals: Refusals): Hono {
  const pages = new Hono()
  const guard = createKeyGuard(relay, refusals, 'page')
  pages.use('*', async (c, next) => {
    if (relay.adminKey !== undefined) return next()
    const text = 'The relay was started without FOGHORN_ADMIN_KEY.'
    return page(c, 403, messagePage('The record is not shown here', text))
  })
  pages.get('/', async (c) =>
    (await isAdmin(relay, c)) ? goTo(c, relay, '/events') : page(c, 200, signInPage(baseOf(relay))),
  )
  pages.post('/sign-in', limitForm(maxFormBytes), async (c) => {
    if (!isOwnForm(relay, c)) return foreign(c)
    const key = new URLSearchParams(await c.req.text()).get('key') ?? ''
    const { outcome } = await guard.check(key)
    if (outcome === 'right') {
      relay.log.info('admin_signed_in')
      setCookie(c, cookieOf(relay).name, await createSession(relay), cookieOf(relay).options)
      return goTo(c, relay, '/events')
    }
    if (outcome === 'busy') {
      return page(c, 429, signInPage(baseOf(relay), 'Too many wrong keys. Wait a minute.'))
    }
    return page(c, 403, signInPage(baseOf(relay), 'That is not the admin key.'))
  })
  pages.post('/sign-out', limitForm(maxFormBytes), (c) => {
    if (!isOwnForm(relay, c)) return foreign(c)
    deleteCookie(c, cookieOf(relay).name, cookieOf(relay).options)
    return goTo(c, relay, '')
  })
  pages.use('/events/*', async (c, next) =>
    (await isAdmin(relay, c)) ? next() : goTo(c, relay, ''),
  )
  pages.get('/events', (c) => showList(relay, c))
  pages.get('/events/:fleet/:eventId', (c) => showRecord(relay, c))
  return pages
}

async function showList(relay: Relay, c: Context): Promise<Response> {
  // an empty field of a form is no wish
  const query = (name: string) => c.req.query(name) || undefined
  const read = await readPage(relay, query)
  if (read.outcome === 'refused')
    return page(c, 400, messagePage('There is no such page', read.reason))
  const list = {
    base: baseOf(relay),
    events: read.records.map(viewOf),
    fleets: Object.keys(relay.config.fleets),
    fleet: query('fleet'),
    isFirst: query('before') === undefined,
    more: read.more,
  }
  return page(c, 200, listPage(list, relay.now()))
}

async function showRecord(relay: Relay, c: Context): Promise<Response> {
  const key = { fleet: c.req.param('fleet')!, eventId: c.req.param('eventId')! }
  const whole = await readRecord(relay, key)
  if (whole === undefined) {
    return page(c, 404, messagePage('This event is not known', 'There is no record of it.'))
  }
  const { record, seenBy } = whole
  const deliveries = whole.deliveries.map(publicDelivery)
  const content = recordPage({ base: baseOf(relay), record, deliveries, seenBy }, relay.now())
  return page(c, 200, content)
}

function isAdmin(relay: Relay, c: Context): Promise<boolean> {
  return isSession(relay, getCookie(c, cookieOf(relay).name))
}

/** Browsers keep `__Host-` for https; a relay on the own machine has none. */
function cookieOf({ config }: Relay) {
  const secure = config.publicUrl.startsWith('https:')
  return {
    name: secure ? '__Host-foghorn-admin' : 'foghorn-admin',
    options: { path: '/', httpOnly: true, secure, sameSite: 'Strict', maxAge: sessionMs / 1_000 },
  } as const
}

/** Where the pages are, as browsers see it. */
function baseOf({ config }: Relay): string {
  return new URL(`${config.publicUrl}/record`).pathname
}

function foreign(c: Context): Promise<Response> {
  const text = 'Forms are taken only from the page itself. Open it again.'
  return page(c, 403, messagePage('Nothing was done', text))
}

function goTo(c: Context, relay: Relay, path: string): Response {
  return c.redirect(baseOf(relay) + path, 303)
}
