// Checks requests in front of a relay that is one object elsewhere. Refuses a wrong credential or
// address as the relay would, so that junk does not reach the object. It has no store.
// The relay checks each request again. The front counts no wrong keys and links, as each request may
// come to another process; the relay counts those that reach it.
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { readToken } from '../links/link.ts'
import { createFrequentLog, type FrequentLog } from '../use-cases/frequent-log.ts'
import type { Relay } from '../use-cases/relay.ts'
import { refuseKeyless } from './api/access.ts'
import { azureEventsPath, shakeHands } from './api/azure.ts'
import { readSigned } from './beacons/request.ts'
import { keepPrivate, notFound } from './page.ts'
import { deadEnd } from './people/entry.ts'
import { problem, readIncoming, refuse } from './problem.ts'
import { refuseNames } from './query.ts'
import { type Caller, parseBody, routerPath, serve } from './route.ts'
import { routes } from './routes.ts'
import { documentRoutes } from './schemas.ts'
import { answerThrown, createNoteBrokenOff } from './thrown.ts'

type FrontParts = Pick<Relay, 'config' | 'credentials' | 'presses' | 'now' | 'log'>

const signing: Caller[] = ['beacon', 'service']

/** `forward` sends a request to the relay. */
export function createFront(
  relay: FrontParts,
  forward: (request: Request) => Promise<Response>,
): Hono {
  const front = new Hono()
  const refusals = createFrequentLog(relay)
  const checks = listChecks(relay, refusals)
  front.use('*', keepPrivate(relay))
  front.use(azureEventsPath, shakeHands)
  for (const route of documentRoutes) {
    front.on(route.method, routerPath(route), serve(route, { relay, routes }))
  }
  for (const route of routes.filter(
    ({ name }) => !documentRoutes.some((one) => one.name === name),
  )) {
    const names: MiddlewareHandler = async (c, next) => {
      const refusal = refuseNames(c, route.query)
      return refusal === undefined ? next() : problem(c, 400, 'query_invalid', refusal)
    }
    const { sender } = route
    const check: MiddlewareHandler = sender
      ? async (c, next) => (await sender.refuse(relay, refusals, c)) ?? next()
      : checks[route.caller]
    const body = parseBody(route)
    // a signature covers the body; a key comes before it
    const inOrder = signing.includes(route.caller)
      ? ([body, check] as const)
      : ([check, body] as const)
    const handlers = [names, ...inOrder] as const
    front.on(route.method, routerPath(route), ...handlers, async (c) => forward(await unread(c)))
  }
  for (const path of ['/', '/console', '/console/*']) front.all(path, (c) => forward(c.req.raw))
  front.notFound(notFound)
  // the relay's object may be restarting
  front.onError(answerThrown(relay.log, createNoteBrokenOff(refusals)))
  return front
}

/** The answer to a request whose credential is wrong. All others go on to the relay. */
function listChecks(relay: FrontParts, refusals: FrequentLog): Record<Caller, MiddlewareHandler> {
  const withKey: MiddlewareHandler = async (c, next) => refuseKeyless(relay, c) ?? next()
  return {
    anyone: (_c, next) => next(),
    admin: withKey,
    read: withKey,
    decide: withKey,
    manage: withKey,
    report: withKey,
    // the relay checks the token in the address
    calendar: (_c, next) => next(),
    async beacon(c, next) {
      const read = await readSigned(relay, refusals, await readIncoming(c))
      return 'refusal' in read ? refuse(c, read.refusal) : next()
    },
    service: (_c, next) => next(),
    async link(c, next) {
      const token = await readToken(relay.credentials.linkKeys, c.req.param('token') ?? '')
      return token === undefined ? deadEnd(c, 'forged') : next()
    },
  }
}

/** The request with its body, which `parseBody` has read. */
async function unread(c: Context): Promise<Request> {
  const { url, method, headers } = c.req.raw
  if (!c.req.raw.bodyUsed) return c.req.raw
  return new Request(url, { method, headers, body: await c.req.text() })
}
