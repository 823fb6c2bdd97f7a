// `POST /v1/reports`: who it is from, by key or token; what it says, by its schema; then the use case.
import { type Context, Hono } from 'hono'
import type { z } from 'zod'
import { cut } from '../../shared/document.ts'
import { describeIssues } from '../../shared/errors.ts'
import {
  fleetHeader,
  maxReportBytes,
  reportPath,
  reportSchema,
  retiredCode,
} from '../../shared/report.ts'
import { receive } from '../receive.ts'
import type { Relay } from '../relay.ts'
import { limit, parseJson, problem, type Refusal } from './problem.ts'
import type { Refusals } from './refusals.ts'
import { nameBeacon, signIn } from './sign-in.ts'

const maxIssues = 10

export function reportRoutes(relay: Relay, refusals: Refusals): Hono {
  const routes = new Hono()
  routes.post(reportPath, limit(maxReportBytes), (c) => postReport(relay, refusals, c))
  return routes
}

async function postReport(relay: Relay, refusals: Refusals, c: Context): Promise<Response> {
  const refuse = (refusal: Refusal, of?: string) => refuseReport(refusals, c, refusal, of)
  const name = c.req.header(fleetHeader)
  const fleet = name === undefined ? undefined : own(relay.config.fleets, name)
  if (name === undefined || fleet === undefined) return refuse(unknownFleet(name))
  const body = await c.req.text()
  const signedIn = await signIn(relay, fleet, (header) => c.req.header(header), body)
  if ('refusal' in signedIn) return refuse(signedIn.refusal, name)
  const json = parseJson(body)
  const report = reportSchema.safeParse(json)
  if (!report.success) {
    const detail = json === undefined ? 'the body is not JSON' : firstOf(report.error, json)
    return refuse({ status: 400, code: 'report_malformed', detail }, name)
  }
  const named = nameBeacon(signedIn, report.data)
  if ('refusal' in named) return refuse(named.refusal, name)
  const received = await receive(relay, name, named.beacon, report.data)
  if (received.outcome === 'answered') return c.json(received.answer)
  return refuse(outcomes[received.outcome], name)
}

/** Enough to mend the first mistakes; a body of 256 KB can hold thousands. */
function firstOf(error: z.ZodError, json: unknown): string {
  const issues = describeIssues(error, json)
  const more = issues.length - maxIssues
  return [...issues.slice(0, maxIssues), ...(more > 0 ? [`and ${more} more`] : [])].join('\n')
}

const outcomes: Record<'retired' | 'busy', Refusal> = {
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

function refuseReport(refusals: Refusals, c: Context, refusal: Refusal, fleet = ''): Response {
  const { status, code, detail, time } = refusal
  refusals.note('report_refused', { status, code, detail, fleet }, `${fleet} ${code}`)
  return problem(c, status, code, detail, time)
}

function own<Value>(record: Record<string, Value>, key: string): Value | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined
}
