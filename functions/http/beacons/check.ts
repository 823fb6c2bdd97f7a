// `POST /v1/beacons/check`: authenticates as a report does, and answers what the relay knows of the
// sender. It stores nothing and retires no boot id, so a check disturbs no beacon.
import { type Context, Hono } from 'hono'
import { type CheckAnswer, checkPath, checkSchema, maxCheckBytes } from '../../../shared/check.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { incomingOf, limit, refuse } from '../problem.ts'
import type { Refusals } from '../refusals.ts'
import { nameBeacon } from './authenticate.ts'
import { readRequest } from './request.ts'

const malformedCode = 'check_malformed'

export function checkRoutes(relay: Relay, refusals: Refusals): Hono {
  const routes = new Hono()
  routes.post(checkPath, limit(maxCheckBytes), (c) => postCheck(relay, refusals, c))
  return routes
}

async function postCheck(relay: Relay, refusals: Refusals, c: Context): Promise<Response> {
  const incoming = await incomingOf(c)
  const request = await readRequest(relay, refusals, incoming, checkSchema, malformedCode)
  if ('refusal' in request) return refuse(c, request.refusal)
  const { fleet, sender } = request
  const { vm } = request.body
  const answer: CheckAnswer = { fleet, time: relay.now() }
  if (vm === null) return c.json(answer)
  const named = nameBeacon(sender, { vm })
  if ('refusal' in named) return refuse(c, request.refuse(named.refusal).refusal)
  const { beacon } = named
  const known = await relay.store.readBeacon(fleet, beacon)
  const heard = known === undefined ? {} : { heardAt: known.heardAt }
  return c.json({ ...answer, beacon, ...heard })
}
