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
import { nextDueAt } from './deliver.ts'
import { outagesOf } from './outage.ts'
import { pageRoutes } from './pages-http.ts'
import { limit, parseJson, problem, type Refusal } from './problem.ts'
import { receive } from './receive.ts'
import { recordPages } from './record-pages.ts'
import type { Relay } from './relay.ts'
import { nameBeacon, signIn } from './sign-in.ts'
import { interactionRoutes } from './slack-interactions.ts'

const maxIssues = 10

export function createApp(relay: Relay): Hono {
  const app = new Hono()
  app.post(reportPath, limit(maxReportBytes), (c) => postReport(relay, c))
  app.route('/approve', pageRoutes(relay))
  app.route('/', interactionRoutes(relay))
  app.route('/v1', adminRoutes(relay))
  app.route('/record', recordPages(relay))
  app.get('/healthz', async (c) => {
    await nextDueAt(relay)
    const troubles = [...(await relay.troubles()), ...(await channelTroubles(relay))]
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

/** Anybody may read them: what the channel answered is for the log and the events API. */
async function channelTroubles(relay: Relay): Promise<string[]> {
  return (await outagesOf(relay)).map(({ channel, since }) => {
    const from = new Date(since).toISOString()
    return `channel "${channel}" refuses messages since ${from}; the log says what it answers`
  })
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

function own<Value>(record: Record<string, Value>, key: string): Value | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined
}
