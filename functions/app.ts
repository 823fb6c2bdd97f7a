// Puts the relay's HTTP routes together. It knows no host: each host calls its `fetch`.
import { Hono } from 'hono'
import { reportPath } from '../shared/report.ts'
import { createKeyGuard } from './http/admin/admin-key.ts'
import { adminRoutes } from './http/admin/api.ts'
import { calendarRoutes } from './http/admin/calendar.ts'
import { consolePages } from './http/admin/console.ts'
import { metricsRoutes } from './http/admin/metrics.ts'
import { createDirectReports, type DirectReports } from './http/beacons/direct.ts'
import { checkRoutes, createTakeReport, reportRoutes } from './http/beacons/reports.ts'
import { descriptions } from './http/descriptions.ts'
import { healthRoute } from './http/health.ts'
import { endBodyOfHead, keepPrivate, notFound } from './http/page.ts'
import { pageRoutes } from './http/people/approve.ts'
import { interactionRoutes } from './http/people/slack.ts'
import { onlyKnownQuery } from './http/query.ts'
import { createRefusals } from './http/refusals.ts'
import { createReportCounts } from './http/report-counts.ts'
import { schemaRoutes } from './http/schemas.ts'
import { answerThrown, createNoteBrokenOff, type NoteBrokenOff } from './http/thrown.ts'
import type { Relay } from './use-cases/relay.ts'

export function createApp(relay: Relay): Hono {
  return createParts(relay).app
}

interface Parts extends DirectReports {
  app: Hono
  noteBrokenOff: NoteBrokenOff
}

/** For a host that takes reports from its own server. */
export function createParts(relay: Relay): Parts {
  const app = new Hono()
  const refusals = createRefusals({ now: () => relay.now(), log: relay.log })
  const noteBrokenOff = createNoteBrokenOff(refusals)
  const guard = createKeyGuard(relay, refusals, 'api')
  app.use('*', keepPrivate(relay))
  app.use('*', endBodyOfHead)
  app.use('*', onlyKnownQuery(descriptions))
  const reports = createReportCounts(relay)
  const take = createTakeReport(relay, refusals)
  app.use(reportPath, reports.count)
  app.route('/', reportRoutes(take))
  app.route('/', checkRoutes(relay, refusals))
  app.route('/approve', pageRoutes(relay, refusals))
  app.route('/', interactionRoutes(relay, refusals))
  app.route('/v1', adminRoutes(relay, guard))
  app.route('/', metricsRoutes(relay, guard, reports))
  app.route('/', calendarRoutes(relay, guard))
  app.route('/console', consolePages(relay, refusals))
  app.get('/', (c) => c.redirect(new URL(`${relay.config.publicUrl}/console`).pathname, 302))
  app.route('/', schemaRoutes(relay, descriptions))
  app.get('/healthz', healthRoute(relay, guard))
  app.notFound(notFound)
  app.onError(answerThrown(relay.log, noteBrokenOff))
  return { app, ...createDirectReports(relay, take, reports), noteBrokenOff }
}
