// The console: its pages, and who gets in. Its path does not begin with /admin, which the host of
// Azure Functions reserves.
import { type Context, Hono } from 'hono'
import { describeAccess, may } from '../../core/rules/access.ts'
import { messagePage } from '../../pages/approve.ts'
import { signInPage } from '../../pages/console/frame.ts'
import type { FrequentLog } from '../../use-cases/frequent-log.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { answer, buildBase } from '../console/answer.ts'
import { consoleRoutes } from '../console/routes.ts'
import {
  endSession,
  keepSession,
  letsPeopleIn,
  strangerIn,
  type Visitor,
  visitorIn,
} from '../console/visitor.ts'
import { refuseBusy } from '../door.ts'
import { limitForm, page } from '../page.ts'
import { signInUrl } from '../people/viewer.ts'
import type { Shared } from '../route.ts'
import { createKeyGuard, type KeyGuard } from './admin-key.ts'
import { readForm, tokenFor } from './console-form.ts'

const maxFormBytes = 4_096
/** A form that decides a group of events has a token for each. */
const maxDecisionBytes = 32_768

type Show = (c: Context, visitor: Visitor) => Promise<Response>

export function consolePages({
  relay,
  refusals,
  door,
  eventDoor,
}: Pick<Shared, 'relay' | 'refusals' | 'door' | 'eventDoor'>): Hono {
  const pages = new Hono()
  const guard = createKeyGuard(relay, refusals, 'page')
  pages.use('*', async (c, next) => {
    if (relay.credentials.adminKey !== undefined || letsPeopleIn(relay)) return next()
    const text = 'The relay was started without FOGHORN_ADMIN_KEY. Set it and restart the relay.'
    return page(c, 403, messagePage('The console is off', text))
  })
  pages.post('/sign-in', limitForm(maxFormBytes), (c) => signIn(relay, refusals, guard, c))
  pages.post('/sign-out', limitForm(maxFormBytes), async (c) => {
    const fields = await readForm(relay, c, 'sign-out')
    if (fields === undefined) return refuseForm(relay, refusals, c)
    await endSession(relay, c)
    return goTo(c, relay, '')
  })
  const inTurn =
    (handle: Show): Show =>
    async (c, visitor) => {
      const answered = await door.pass(visitor.access, () => handle(c, visitor))
      return answered === 'full' ? refuseBusy(c) : answered
    }
  const shown = (handle: Show, isPage: boolean) => async (c: Context) => {
    const visitor = await visitorIn(relay, c)
    if (visitor !== undefined) return handle(c, visitor)
    // after the sign-in, only a page can be shown again
    const to = isPage ? c.req.path.replace(/^\/console/, '') : ''
    const search = c.req.method === 'GET' ? new URL(c.req.url).search : ''
    if (to === '' || to === '/')
      return showSignIn(relay, c, { status: 200, to: chooseStart(c, search) })
    return goTo(c, relay, `?${new URLSearchParams({ to: to + search })}`)
  }
  const { gets, decisions, posts } = consoleRoutes(relay, { door, eventDoor })
  for (const [path, show] of Object.entries(gets)) pages.get(path, shown(inTurn(show), true))
  const limited = limitForm(maxDecisionBytes)
  for (const [path, decide] of Object.entries(decisions)) {
    pages.post(path, limited, shown(decide, true))
  }
  for (const [path, send] of Object.entries(posts)) {
    pages.post(path, limited, shown(inTurn(send), false))
  }
  return pages
}

/** The wall and a filter of the first page stay. Without either, the page may be told where to go next. */
function chooseStart(c: Context, search: string): string {
  return c.req.query('to') === undefined ? search : ''
}

async function signIn(
  relay: Relay,
  refusals: FrequentLog,
  guard: KeyGuard,
  c: Context,
): Promise<Response> {
  const fields = await readForm(relay, c, 'sign-in')
  if (fields === undefined) return signInAgain(relay, refusals, c)
  const to = pathWithin(fields.get('to'))
  const checked = await guard.check(fields.get('key') ?? '')
  if (checked.outcome === 'right') {
    const { access } = checked
    if (!may(access, 'read')) {
      const message = 'This token lacks the scope "read". Use one that has it.'
      return showSignIn(relay, c, { status: 403, to, message })
    }
    if (access.by === 'admin') relay.log.info('admin_signed_in')
    else
      refusals.note(
        'token_signed_in',
        { token: describeAccess(access) },
        describeAccess(access),
        'info',
      )
    await keepSession(relay, c, access)
    return goTo(c, relay, to)
  }
  if (checked.outcome === 'busy') {
    c.header('retry-after', String(checked.waitSeconds))
    const message = 'Too many wrong keys. Wait a minute.'
    return showSignIn(relay, c, { status: 429, to, message })
  }
  const message =
    checked.expiredAt === undefined
      ? 'This is neither the admin key nor a valid token.'
      : 'This token has expired. Use a new one.'
  return showSignIn(relay, c, { status: 403, to, message })
}

interface Asked {
  status: number
  /** Where to go after the sign-in, within the console. */
  to: string
  message?: string
}

async function showSignIn(relay: Relay, c: Context, { status, ...asked }: Asked) {
  const base = buildBase(relay)
  const to = pathWithin(asked.to || (c.req.query('to') ?? ''))
  const stranger = strangerIn(relay, c)
  const content = signInPage({
    ...asked,
    base,
    to,
    ...(relay.credentials.adminKey === undefined
      ? {}
      : { form: await tokenFor(relay, c, 'sign-in') }),
    ...(letsPeopleIn(relay) ? { signInUrl: signInUrl(base + to) } : {}),
    ...(stranger === undefined ? {} : { stranger }),
  })
  return answer(c, status, content)
}

/** A path of ours, or none: nobody may send people to another site by a link to this one. */
function pathWithin(text: string | null): string {
  return text !== null && /^[/?][\w\-./%?=&+]{0,500}$/.test(text) && !text.includes('//')
    ? text
    : ''
}

/** Another tab may have replaced the browser's cookie, so the page offers a new form. */
function signInAgain(relay: Relay, refusals: FrequentLog, c: Context): Promise<Response> {
  refusals.note('forms_refused')
  const text =
    'You are not signed in: another tab opened a newer form, or the browser keeps no cookies. ' +
    'Enter the key again.'
  return showSignIn(relay, c, { status: 403, to: '', message: text })
}

function refuseForm(relay: Relay, refusals: FrequentLog, c: Context): Promise<Response> {
  refusals.note('forms_refused')
  const text =
    'The relay accepts this form only from its own page, in the browser that opened it. ' +
    `Open ${buildBase(relay)} again and repeat what you did. The browser must keep cookies for that.`
  return page(c, 403, messagePage('Nothing was done', text))
}

function goTo(c: Context, relay: Relay, path: string): Response {
  return c.redirect(buildBase(relay) + path, 303)
}
