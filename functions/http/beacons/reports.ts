// `POST /v1/reports`: reads the report of a beacon, and calls the use case.
import { type Context, Hono } from 'hono'
import { maxReportBytes, reportPath, reportSchema, retiredCode } from '../../../shared/report.ts'
import { receive } from '../../use-cases/receive-report.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { limit, type Refusal } from '../problem.ts'
import type { Refusals } from '../refusals.ts'
import { nameBeacon } from './authenticate.ts'
import { readRequest } from './request.ts'

const malformedCode = 'report_malformed'

export function reportRoutes(relay: Relay, refusals: Refusals): Hono {
  const routes = new Hono()
  routes.post(reportPath, limit(maxReportBytes), (c) => postReport(relay, refusals, c))
  return routes
}

async function postReport(relay: Relay, refusals: Refusals, c: Context): Promise<Response> {
  const request = await readRequest(relay, refusals, c, reportSchema, malformedCode)
  if (request instanceof Response) return request
  const { fleet, sender, body, refuse } = request
  const named = nameBeacon(sender, body)
  if ('refusal' in named) return refuse(named.refusal)
  const received = await receive(relay, fleet, named.beacon, body)
  return received.outcome === 'answered'
    ? c.json(received.answer)
    : refuse(outcomes[received.outcome])
}

const outcomes: Record<'retired' | 'busy', Refusal> = {
  retired: {
    status: 409,
    code: retiredCode,
    detail: 'a newer boot id of this VM has reported; take a new boot id',
  },
  busy: {
    status: 503,
    code: 'busy',
    detail: 'too many reports changed one event at once; report again',
  },
}
