// Puts the relay's HTTP routes together. It knows no host: each host calls its `fetch`.
import { Hono, type MiddlewareHandler } from 'hono'
import { reportPath } from '../shared/report.ts'
import { admit, admitByAddress } from './http/api/access.ts'
import { createKeyGuard } from './http/api/admin-key.ts'
import { azureEventsPath, readListAfterRefusal, shakeHands } from './http/api/azure.ts'
import { consolePages } from './http/api/console.ts'
import { createDirectReports, type DirectReports } from './http/beacons/direct.ts'
import { createTakeReport } from './http/beacons/reports.ts'
import { createDoor, inTurn, inTurnOfStrangers, throughDoor } from './http/door.ts'
import { endBodyOfHead, keepPrivate, notFound } from './http/page.ts'
import { limitRates } from './http/rate.ts'
import { createReportCounts } from './http/report-counts.ts'
import { type Caller, parseBody, type Route, routerPath, type Shared, serve } from './http/route.ts'
import { routes } from './http/routes.ts'
import { documentRoutes } from './http/schemas.ts'
import { answerThrown, createNoteBrokenOff, type NoteBrokenOff } from './http/thrown.ts'
import { createLinkGuard } from './links/guard.ts'
import { createFrequentLog } from './use-cases/frequent-log.ts'
import type { Relay } from './use-cases/relay.ts'

export function createApp(relay: Relay): Hono {
  return createParts(relay).app
}

interface Parts extends DirectReports {
  app: Hono
  noteBrokenOff: NoteBrokenOff
}

/** Makes the parts for a host that takes reports from its own server. */
export function createParts(relay: Relay): Parts {
  const app = new Hono()
  const refusals = createFrequentLog({ now: () => relay.now(), log: relay.log })
  const noteBrokenOff = createNoteBrokenOff(refusals)
  const reports = createReportCounts(relay)
  const keyGuard = createKeyGuard(relay, refusals, 'api')
  const linkGuard = createLinkGuard({ now: () => relay.now(), refusals })
  const door = createDoor(relay.host)
  const doors = { door, eventDoor: createDoor(relay.host), reportDoor: createDoor(relay.host) }
  const limited = limitRates(() => relay.now())
  const shared: Shared = { relay, keyGuard, linkGuard, refusals, reports, routes, ...doors }
  app.use('*', keepPrivate(relay))
  app.use('*', endBodyOfHead)
  app.use(reportPath, reports.count)
  app.use(azureEventsPath, shakeHands, readListAfterRefusal(relay))
  for (const route of routes) {
    const handlers = [
      admissionTo(route.caller, shared),
      route.rate === undefined ? pass : limited(route.rate),
      // a body that comes slowly keeps nobody's place
      parseBody(route),
      doorIn(route, shared),
      documents.has(route) ? inTurnOfStrangers(door) : pass,
      serve(route, shared, route.takesTurns && ((c, work) => inTurn(door, c, work))),
    ] as const
    app.on(route.method, routerPath(route), ...handlers)
  }
  app.route('/console', consolePages(shared))
  app.get('/', (c) => c.redirect(new URL(`${relay.config.publicUrl}/console`).pathname, 302))
  app.notFound(notFound)
  app.onError(answerThrown(relay.log, noteBrokenOff))
  const take = createTakeReport(shared)
  return { app, ...createDirectReports(relay, take, reports), noteBrokenOff }
}

/** The documents are large, and for everybody. */
const documents: ReadonlySet<unknown> = new Set(documentRoutes)

function doorIn({ caller, takesTurns }: Route, { door, eventDoor }: Shared): MiddlewareHandler {
  if (caller === 'decide') return throughDoor(eventDoor)
  const isHeavy = ['read', 'manage', 'admin', 'report', 'calendar'].includes(caller)
  return isHeavy && !takesTurns ? throughDoor(door) : pass
}

const pass: MiddlewareHandler = (_c, next) => next()

function admissionTo(caller: Caller, { relay, keyGuard }: Shared): MiddlewareHandler {
  switch (caller) {
    case 'anyone':
    case 'beacon':
    case 'service':
    case 'link':
      return pass
    case 'calendar':
      return admitByAddress(relay, keyGuard)
    default:
      return admit(relay, keyGuard, caller)
  }
}
