// The HTTP face of the relay. Knows no host: a host calls its `fetch`.
import { type Context, Hono } from 'hono'
import type { z } from 'zod'
import { cut } from '../shared/document.ts'
import { describeIssues, messageOf } from '../shared/errors.ts'
import {
  fleetHeader,
  maxReportBytes,
  reportPath,
  reportSchema,
  retiredCode,
} from '../shared/report.ts'
import { adminRoutes } from './admin.ts'
import { type Decided, decideEvent, type Opened, open } from './approve.ts'
import { nextDueAt } from './deliver.ts'
import { principalHeader } from './identity/principal.ts'
import { eventPage, messagePage } from './pages/approve.ts'
import { pageHeaders } from './pages/layout.ts'
import { limit, parseJson, problem, type Refusal } from './problem.ts'
import { receive } from './receive.ts'
import { recordPages } from './record-pages.ts'
import type { Relay } from './relay.ts'
import { nameBeacon, signIn } from './sign-in.ts'
import { type Visit, viewerOf } from './viewer.ts'

const maxFormBytes = 4_096
const maxIssues = 10

export function createApp(relay: Relay): Hono {
  const app = new Hono()
  app.post(reportPath, limit(maxReportBytes), (c) => postReport(relay, c))
  app.get('/approve/:token', async (c) => {
    const opened = await open(relay, tokenOf(c))
    // a HEAD comes this way too, but only from machines
    const person = c.req.method === 'GET' && opened.outcome === 'open'
    if (person) await relay.attention.note(opened.record, relay.now())
    return showEvent(relay, c, opened)
  })
  app.post('/approve/:token', limit(maxFormBytes), (c) => postDecision(relay, c))
  app.options('/approve/:token', (c) => c.body(null, 204, { allow: 'GET, HEAD, POST, OPTIONS' }))
  app.route('/v1', adminRoutes(relay))
  app.route('/record', recordPages(relay, isOwnForm))
  app.get('/healthz', async (c) => {
    await nextDueAt(relay)
    const troubles = await relay.troubles()
    const status = troubles.length === 0 ? 'ok' : 'troubled'
    return c.json({
      status,
      time: new Date(relay.now()).toISOString(),
      ...(troubles[0] && { troubles }),
    })
  })
  app.notFound((c) => problem(c, 404, 'not_found', 'there is nothing here; see the README'))
  app.onError((error, c) => {
    relay.log.error('request_failed', { method: c.req.method, error: messageOf(error) })
    return problem(c, 500, 'internal', 'the relay failed; its log says why')
  })
  return app
}

async function postReport(relay: Relay, c: Context): Promise<Response> {
  const name = c.req.header(fleetHeader)
  const fleet = name === undefined ? undefined : own(relay.config.fleets, name)
  if (name === undefined || fleet === undefined) return refuseReport(relay, c, unknownFleet(name))
  const body = await c.req.text()
  const signedIn = await signIn(relay, fleet, (header) => c.req.header(header), body)
  if ('refusal' in signedIn) return refuseReport(relay, c, signedIn.refusal, name)
  const json = parseJson(body)
  const report = reportSchema.safeParse(json)
  if (!report.success) {
    const detail = json === undefined ? 'the body is not JSON' : firstOf(report.error, json)
    return refuseReport(relay, c, { status: 400, code: 'report_malformed', detail }, name)
  }
  const named = nameBeacon(signedIn, report.data)
  if ('refusal' in named) return refuseReport(relay, c, named.refusal, name)
  const received = await receive(relay, name, named.beacon, report.data)
  if (received.outcome === 'answered') return c.json(received.answer)
  return refuseReport(relay, c, refusals[received.outcome], name)
}

/** Enough to mend the first mistakes; a body of 256 KB can hold thousands. */
function firstOf(error: z.ZodError, json: unknown): string {
  const issues = describeIssues(error, json)
  const more = issues.length - maxIssues
  return [...issues.slice(0, maxIssues), ...(more > 0 ? [`and ${more} more`] : [])].join('\n')
}

const refusals: Record<'retired' | 'busy', Refusal> = {
  retired: {
    status: 409,
    code: retiredCode,
    detail: 'a newer boot id of this VM has reported; take a new boot id',
  },
  busy: { status: 503, code: 'busy', detail: 'too many writers at one event; send a report again' },
}

function unknownFleet(name: string | undefined): Refusal {
  const detail =
    name === undefined
      ? `the header ${fleetHeader} is missing; it names the fleet`
      : `there is no fleet ${JSON.stringify(cut(name, 64))} in the configuration; see FOGHORN_FLEET`
  return { status: 401, code: 'fleet_unknown', detail }
}

function refuseReport(relay: Relay, c: Context, refusal: Refusal, fleet = ''): Response {
  const { status, code, detail, time } = refusal
  relay.log.warn('report_refused', { status, code, detail, fleet })
  return problem(c, status, code, detail, time)
}

type Shown = Extract<Opened, { outcome: 'open' }>

async function showEvent(relay: Relay, c: Context, opened: Opened): Promise<Response> {
  if (opened.outcome === 'open') {
    const viewer = await viewerOf(relay, opened.record, visitOf(relay, c, opened))
    return page(c, 200, eventPage(opened.record, relay.now(), viewer))
  }
  const { status, title, text } = deadLinks[opened.outcome]
  return page(c, status, messagePage(title, text))
}

const deadLinks: Record<
  Exclude<Opened, Shown>['outcome'],
  { status: number; title: string; text: string }
> = {
  forged: {
    status: 403,
    title: 'This link is not valid',
    text: 'It was not made by this relay, or it was cut off. Open it again from the message.',
  },
  expired: {
    status: 410,
    title: 'This link has expired',
    text: 'The event is long over. The events API still has its record.',
  },
  unknown: {
    status: 404,
    title: 'This event is not known',
    text: 'The relay has no record of it any more.',
  },
}

const formType = 'application/x-www-form-urlencoded'

async function postDecision(relay: Relay, c: Context): Promise<Response> {
  if (!isOwnForm(relay, c)) {
    const text = 'Decisions are taken only from the page itself. Open the link again.'
    return page(c, 403, messagePage('Nothing was decided', text))
  }
  const opened = await open(relay, tokenOf(c))
  if (opened.outcome !== 'open') return showEvent(relay, c, opened)
  const wish = new URLSearchParams(await c.req.text()).get('decision')
  if (wish !== 'approve' && wish !== 'not_now') {
    const text = 'The form field "decision" is "approve" or "not_now".'
    return page(c, 400, messagePage('Nothing was decided', text))
  }
  const decision = wish === 'approve' ? 'approved' : 'declined'
  const visit = visitOf(relay, c, opened)
  const { by } = await viewerOf(relay, opened.record, visit)
  // a browser sends the cookie of a sign-in along with forms of other sites, too
  if (by.how === 'entra' && !isSurelyOwn(relay, c)) {
    const text = 'Your browser does not say that the form is of this site. Use a newer one.'
    return page(c, 403, messagePage('Nothing was decided', text))
  }
  const { outcome, record } = await decideEvent(relay, opened.record, { decision, by })
  const viewer = await viewerOf(relay, record, visit)
  const content = eventPage(record, relay.now(), viewer, answers[outcome])
  return page(c, outcome === 'busy' ? 503 : 200, content)
}

function visitOf(relay: Relay, c: Context, { token }: Shown): Visit {
  const { pathname } = new URL(`${relay.config.publicUrl}/approve/${tokenOf(c)}`)
  return { header: c.req.header(principalHeader), channel: token.channel, path: pathname }
}

/** As far as browsers say it: old ones send no `sec-fetch-site`, and under our referrer policy `null`. */
function isSurelyOwn(relay: Relay, c: Context): boolean {
  const own = new URL(relay.config.publicUrl).origin
  return c.req.header('sec-fetch-site') === 'same-origin' || c.req.header('origin') === own
}

const answers: Record<Decided['outcome'], string> = {
  decided: 'Your decision is on record.',
  already_approved: 'It had been approved before; nothing changed.',
  already_declined: 'Somebody chose "not now" before; nothing changed.',
  started: 'Too late to decide: it has started.',
  ended: 'Too late to decide: it is over.',
  identity_needed: 'Nothing was decided: a link alone does not say who you are.',
  not_listed: 'Nothing was decided: you are not among those who may.',
  moved_on: 'Nothing was decided: the event has changed since you opened this page. Look again.',
  busy: 'Too many decisions at once. Nothing changed; try again.',
}

/** A form of ours, sent by a browser from our page. Its Origin is `null` under our referrer policy. */
function isOwnForm(relay: Relay, c: Context): boolean {
  const site = c.req.header('sec-fetch-site')
  const origin = c.req.header('origin')
  const own = new URL(relay.config.publicUrl).origin
  const sameSite =
    site === undefined
      ? origin === undefined || origin === 'null' || origin === own
      : site === 'same-origin' || site === 'none'
  return sameSite && (c.req.header('content-type') ?? '').split(';', 1)[0]?.trim() === formType
}

async function page(c: Context, status: number, content: ReturnType<typeof messagePage>) {
  const headers = { ...(await pageHeaders()), 'content-type': 'text/html; charset=utf-8' }
  return c.body(String(await content), status as 200, headers)
}

function tokenOf(c: Context): string {
  return c.req.param('token') ?? ''
}

function own<Value>(record: Record<string, Value>, key: string): Value | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined
}
