// Checks requests in front of a relay that is one object elsewhere. Refuses a wrong credential or
// address as the relay would, so that junk does not reach the object. It has no store.
// The relay checks each request again. The surprise: it counts no wrong keys and links, as each
// request may come to another process; the relay counts those that reach it.
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { readToken } from '../links/link.ts'
import type { Relay } from '../use-cases/relay.ts'
import { refuseKeyless } from './admin/access.ts'
import { readSigned } from './beacons/request.ts'
import type { RouteDescription } from './description.ts'
import { descriptions } from './descriptions.ts'
import { keepPrivate, limitForm, notFound } from './page.ts'
import { deadEnd } from './people/entry.ts'
import { refusePress } from './people/slack.ts'
import { incomingOf, limit, refuse } from './problem.ts'
import { onlyKnownQuery } from './query.ts'
import { createRefusals, type Refusals } from './refusals.ts'
import { schemaDescriptions, schemaRoutes } from './schemas.ts'
import { answerThrown, createNoteBrokenOff } from './thrown.ts'

type FrontParts = Pick<
  Relay,
  'config' | 'adminKey' | 'linkKeys' | 'hmac' | 'identity' | 'slackDesk' | 'now' | 'log'
>

/** `forward` sends a request to the relay. */
export function createFront(
  relay: FrontParts,
  forward: (request: Request) => Promise<Response>,
): Hono {
  const front = new Hono()
  const refusals = createRefusals(relay)
  const checks = checksOf(relay, refusals)
  front.use('*', keepPrivate(relay))
  front.use('*', onlyKnownQuery(descriptions))
  front.route('/', schemaRoutes(relay, descriptions))
  for (const route of descriptions) {
    if (schemaDescriptions.includes(route)) continue
    const { caller, method, body } = route
    const path = honoPath(route)
    // first the body: signatures cover it
    if (body !== undefined) front.on(method, path, limitOf(caller)(body.maxBytes))
    front.on(method, path, checks[caller], async (c) => forward(await unread(c)))
  }
  for (const path of ['/', '/console', '/console/*']) front.all(path, (c) => forward(c.req.raw))
  front.notFound(notFound)
  // the relay's object may be restarting
  front.onError(answerThrown(relay.log, createNoteBrokenOff(refusals)))
  return front
}

type Caller = RouteDescription['caller']

/** The answer to a request whose credential is wrong. All others go on to the relay. */
function checksOf(relay: FrontParts, refusals: Refusals): Record<Caller, MiddlewareHandler> {
  return {
    anyone: (_c, next) => next(),
    admin: async (c, next) => refuseKeyless(relay, c) ?? next(),
    async beacon(c, next) {
      const read = await readSigned(relay, refusals, await incomingOf(c))
      return 'refusal' in read ? refuse(c, read.refusal) : next()
    },
    slack: async (c, next) => (await refusePress(relay, refusals, c)) ?? next(),
    async link(c, next) {
      const token = await readToken(relay.linkKeys, c.req.param('token') ?? '')
      return token === undefined ? deadEnd(c, 'forged') : next()
    },
  }
}

function limitOf(caller: Caller): (maxBytes: number) => MiddlewareHandler {
  return caller === 'link' ? limitForm : limit
}

/** An id in the API may contain slashes, and a proxy may have decoded them. */
function honoPath({ path, caller }: RouteDescription): string {
  const last = caller === 'admin' ? '{.+}' : ''
  return path.replace(/\{(\w+)\}$/, `:$1${last}`).replace(/\{(\w+)\}/g, ':$1')
}

/** The request with its body, which `limit` has read. */
async function unread(c: Context): Promise<Request> {
  const { url, method, headers } = c.req.raw
  if (!c.req.raw.bodyUsed) return c.req.raw
  return new Request(url, { method, headers, body: await c.req.text() })
}
