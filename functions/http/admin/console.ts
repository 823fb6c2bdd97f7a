// The console: an admin reads events in a browser, and decides nothing. Its path does not begin
// with /admin, which the host of Azure Functions reserves.
import { type Context, Hono } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { publicDelivery } from '../../core/event/public-view.ts'
import { viewOf } from '../../core/event/view.ts'
import { messagePage } from '../../pages/approve.ts'
import { listPage, recordPage, signInPage } from '../../pages/console.ts'
import { readPage, readRecord } from '../../use-cases/read-events.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { limitForm, page } from '../page.ts'
import type { Refusals } from '../refusals.ts'
import { createKeyGuard } from './admin-key.ts'
import { readForm, tokenFor } from './console-form.ts'
import { cookieNamed, createSession, isSession, sessionMs } from './session.ts'

const maxFormBytes = 4_096

export function consolePages(relay: Relay, refusals: Refusals): Hono {
  const pages = new Hono()
  const guard = createKeyGuard(relay, refusals, 'page')
  pages.use('*', async (c, next) => {
    if (relay.adminKey !== undefined) return next()
    const text = 'The relay was started without FOGHORN_ADMIN_KEY. Set it and restart the relay.'
    return page(c, 403, messagePage('The console is off', text))
  })
  pages.get('/', async (c) =>
    (await isAdmin(relay, c)) ? goTo(c, relay, '/events') : showSignIn(relay, c, 200),
  )
  pages.post('/sign-in', limitForm(maxFormBytes), async (c) => {
    const fields = await readForm(relay, c, 'sign-in')
    if (fields === undefined) return signInAgain(relay, refusals, c)
    const checked = await guard.check(fields.get('key') ?? '')
    if (checked.outcome === 'right') {
      relay.log.info('admin_signed_in')
      setCookie(c, cookieOf(relay).name, await createSession(relay), cookieOf(relay).options)
      return goTo(c, relay, '/events')
    }
    if (checked.outcome === 'busy') {
      c.header('retry-after', String(checked.waitSeconds))
      return showSignIn(relay, c, 429, 'Too many wrong keys. Wait a minute.')
    }
    return showSignIn(relay, c, 403, 'This is not the admin key.')
  })
  pages.post('/sign-out', limitForm(maxFormBytes), async (c) => {
    const fields = await readForm(relay, c, 'sign-out')
    if (fields === undefined) return refuseForm(relay, refusals, c)
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

async function showSignIn(relay: Relay, c: Context, status: number, message?: string) {
  const form = await tokenFor(relay, c, 'sign-in')
  return page(c, status, signInPage({ base: baseOf(relay), form }, message))
}

async function showList(relay: Relay, c: Context): Promise<Response> {
  // An empty parameter is no filter.
  const query = (name: string) => c.req.query(name) || undefined
  const read = await readPage(relay, query)
  if (read.outcome === 'refused')
    return page(c, 400, messagePage('There is no such page', read.reason))
  const list = {
    base: baseOf(relay),
    form: await tokenFor(relay, c, 'sign-out'),
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
    const text = `The relay has no such event. It removes events some time after their end.`
    return page(c, 404, messagePage('Unknown event', text))
  }
  const { record, seenBy } = whole
  const deliveries = whole.deliveries.map(publicDelivery)
  const content = recordPage({ base: baseOf(relay), record, deliveries, seenBy }, relay.now())
  return page(c, 200, content)
}

function isAdmin(relay: Relay, c: Context): Promise<boolean> {
  return isSession(relay, getCookie(c, cookieOf(relay).name))
}

function cookieOf({ config }: Relay) {
  const { name, secure } = cookieNamed('admin', config.publicUrl)
  const lasting = { maxAge: sessionMs / 1_000, sameSite: 'Strict' } as const
  return { name, options: { path: '/', httpOnly: true, secure, ...lasting } } as const
}

/** Where the pages are, as browsers see it. */
function baseOf({ config }: Relay): string {
  return new URL(`${config.publicUrl}/console`).pathname
}

/** Another tab may have replaced the browser's cookie, so the page offers a new form. */
function signInAgain(relay: Relay, refusals: Refusals, c: Context): Promise<Response> {
  refusals.note('forms_refused')
  const text =
    'You are not signed in: another tab opened a newer form, or the browser keeps no cookies. ' +
    'Enter the key again.'
  return showSignIn(relay, c, 403, text)
}

function refuseForm(relay: Relay, refusals: Refusals, c: Context): Promise<Response> {
  refusals.note('forms_refused')
  const text =
    'The relay accepts this form only from its own page, in the browser that opened it. ' +
    `Open ${baseOf(relay)} again and repeat what you did. The browser must keep cookies for that.`
  return page(c, 403, messagePage('Nothing was done', text))
}

function goTo(c: Context, relay: Relay, path: string): Response {
  return c.redirect(baseOf(relay) + path, 303)
}
