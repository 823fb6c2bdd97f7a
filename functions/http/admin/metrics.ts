// `GET /metrics`: what monitoring reads, in Prometheus' text format.
import { Hono } from 'hono'
import * as z from 'zod'
import { metricsText, metricsType } from '../../core/metrics/text.ts'
import { createMetricsReader } from '../../use-cases/read-metrics.ts'
import type { Relay } from '../../use-cases/relay.ts'
import type { RouteDescription } from '../description.ts'
import type { ReportCounts } from '../report-counts.ts'
import { accessOf, authenticate, need } from './access.ts'
import type { KeyGuard } from './admin-key.ts'

export const metricsDescription: RouteDescription = {
  method: 'get',
  path: '/metrics',
  name: 'getMetrics',
  summary: 'Metrics in the text format of Prometheus. At most 5 s older than the counts they show.',
  about: 'A token that is bound to fleets sees its own fleets and their channels.',
  group: 'Relay',
  caller: 'admin',
  answers: { 200: { about: 'All metrics.', schema: z.string(), type: 'text/plain' } },
}

export function metricsRoutes(relay: Relay, guard: KeyGuard, reports: ReportCounts): Hono {
  const routes = new Hono()
  const read = createMetricsReader(relay)
  routes.get('/metrics', authenticate(relay, guard), need('read'), async (c) => {
    const source = { ...(await read(accessOf(c))), reports: reports.read() }
    return c.body(metricsText(source), 200, { 'content-type': metricsType })
  })
  return routes
}
