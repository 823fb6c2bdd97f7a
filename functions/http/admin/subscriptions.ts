// `/v1/subscriptions`: webhooks that other systems make for themselves. A token that is bound to
// fleets sees and makes only subscriptions that are bound to these fleets.
import type { Context, Hono, MiddlewareHandler } from 'hono'
import { channelIn, subscriptionChannel } from '../../core/delivery/delivery.ts'
import type { Subscription } from '../../core/delivery/subscription.ts'
import type { Relay } from '../../use-cases/relay.ts'
import {
  changeWish,
  createSubscription,
  deleteSubscription,
  deliveriesTo,
  healthOf,
  pause,
  replayTo,
  resume,
  rotateSecret,
  subscriptionFor,
  subscriptionsFor,
  testSubscription,
} from '../../use-cases/subscriptions.ts'
import { fleetUnknown, limit, named, problem } from '../problem.ts'
import { readQuery } from '../query.ts'
import { accessOf, fleetsFor } from './access.ts'
import {
  changeIn,
  publicDeliveryTo,
  publicHealth,
  publicSubscription,
  replayIn,
  testIn,
  wishIn,
} from './subscription-body.ts'
import { maxSubscriptionBytes, pageQuery } from './subscription-description.ts'

const usualPage = 50
const cursorForm = /^\d{1,16}-[0-9a-f]{16}$/
const keyForm = /^[\x21-\x7e]{1,255}$/

/** All need the scope `manage`. */
export function subscriptionRoutes(relay: Relay, routes: Hono, manages: MiddlewareHandler): void {
  const body = limit(maxSubscriptionBytes)
  const one = '/subscriptions/:id'
  routes.get('/subscriptions', manages, (c) => getSubscriptions(relay, c))
  routes.post('/subscriptions', manages, body, (c) => postSubscription(relay, c))
  routes.get(one, manages, (c) => getSubscription(relay, c))
  routes.patch(one, manages, body, (c) => patchSubscription(relay, c))
  routes.delete(one, manages, (c) => remove(relay, c))
  routes.get(`${one}/deliveries`, manages, (c) => getDeliveries(relay, c))
  routes.post(`${one}/test`, manages, body, (c) => postTest(relay, c))
  routes.post(`${one}/pause`, manages, (c) => act(relay, c, pause))
  routes.post(`${one}/resume`, manages, (c) => act(relay, c, resume))
  routes.post(`${one}/rotate-secret`, manages, (c) => postRotation(relay, c))
  routes.post(`${one}/replay`, manages, body, (c) => postReplay(relay, c))
}

async function getSubscriptions(relay: Relay, c: Context): Promise<Response> {
  const page = pageIn(c)
  if (page instanceof Response) return page
  if (page.cursor !== undefined && !cursorForm.test(page.cursor)) return cursorWrong(c)
  const all = await subscriptionsFor(relay, accessOf(c))
  const from = page.cursor === undefined ? 0 : all.findIndex((one) => isAfter(one, page.cursor!))
  const rest = from === -1 ? [] : all.slice(from)
  const subscriptions = rest.slice(0, page.limit)
  const more = rest.length > page.limit
  const last = subscriptions.at(-1)
  return c.json({
    subscriptions: subscriptions.map((one) => publicSubscription(one, relay.now())),
    more,
    ...(more && last && { cursor: `${last.createdAt}-${last.id}` }),
  })
}

/** In the order of `subscriptionsFor`. The subscription of the cursor may be deleted. */
function isAfter({ createdAt, id }: Subscription, cursor: string): boolean {
  const [at = '', last = ''] = cursor.split('-')
  return createdAt < Number(at) || (createdAt === Number(at) && id > last)
}

interface Page {
  limit: number
  cursor?: string | undefined
}

function pageIn(c: Context): Page | Response {
  const read = readQuery(c, pageQuery)
  if ('refusal' in read) return problem(c, 400, 'query_invalid', read.refusal)
  const { limit: count = usualPage, cursor } = read.query
  return { limit: count, cursor }
}

function cursorWrong(c: Context): Response {
  const detail = 'cursor is not one of this list; leave it out to begin with the first page'
  return problem(c, 400, 'query_invalid', detail)
}

async function postSubscription(relay: Relay, c: Context): Promise<Response> {
  const key = c.req.header('idempotency-key')
  if (key !== undefined && !keyForm.test(key)) {
    const detail = 'Idempotency-Key must have 1 to 255 visible ASCII characters'
    return problem(c, 400, 'idempotency_key_malformed', detail)
  }
  const wish = await wishIn(c)
  if (wish instanceof Response) return wish
  const unknown = unknownFleet(relay, c, wish.filter.fleets)
  if (unknown !== undefined) return unknown
  const created = await createSubscription(relay, accessOf(c), wish, key)
  switch (created.outcome) {
    case 'created': {
      const { subscription, secret } = created
      const shown = publicSubscription(subscription, relay.now())
      return c.json({ ...shown, ...(secret === undefined ? {} : { secret }) }, 201)
    }
    case 'address_refused':
      return addressRefused(c, created.why)
    case 'key_reused': {
      const detail = 'another request with this Idempotency-Key had another body; use a new key'
      return problem(c, 422, 'idempotency_key_reused', detail)
    }
    case 'no_room': {
      const detail = `there are ${created.most} subscriptions, which is the limit; delete those that no system uses`
      return problem(c, 409, 'too_many_subscriptions', detail)
    }
  }
}

function unknownFleet(relay: Relay, c: Context, fleets: string[] | undefined) {
  const seen = fleetsFor(relay, c)
  const unknown = fleets?.find((name) => !seen.includes(name))
  return unknown === undefined ? undefined : fleetUnknown(c, unknown, seen, 422)
}

function addressRefused(c: Context, why: string): Response {
  return problem(c, 422, 'address_refused', `url: ${why}`)
}

async function getSubscription(relay: Relay, c: Context): Promise<Response> {
  const found = await subscriptionFor(relay, accessOf(c), idIn(c))
  if (found === undefined) return unknown(c)
  const health = await healthOf(relay, found)
  return c.json({ ...publicSubscription(found, relay.now()), health: publicHealth(health) })
}

function idIn(c: Context): string {
  return c.req.param('id')!
}

/** It may exist, but the sender must not know. */
function unknown(c: Context): Response {
  const detail = `there is no subscription ${named(idIn(c))}; GET /v1/subscriptions lists all`
  return problem(c, 404, 'subscription_unknown', detail)
}

async function patchSubscription(relay: Relay, c: Context): Promise<Response> {
  const access = accessOf(c)
  if ((await subscriptionFor(relay, access, idIn(c))) === undefined) return unknown(c)
  const change = await changeIn(c)
  if (change instanceof Response) return change
  const refused = unknownFleet(relay, c, change.filter?.fleets)
  if (refused !== undefined) return refused
  const done = await changeWish(relay, access, idIn(c), change)
  if (done === undefined) return unknown(c)
  if ('outcome' in done) return addressRefused(c, done.why)
  return c.json(publicSubscription(done, relay.now()))
}

async function remove(relay: Relay, c: Context): Promise<Response> {
  const outcome = await deleteSubscription(relay, accessOf(c), idIn(c))
  return outcome === 'unknown' ? unknown(c) : c.body(null, 204)
}

async function getDeliveries(relay: Relay, c: Context): Promise<Response> {
  const page = pageIn(c)
  if (page instanceof Response) return page
  const found = await subscriptionFor(relay, accessOf(c), idIn(c))
  if (found === undefined) return unknown(c)
  const { limit: count, cursor: before } = page
  const { deliveries, next } = await deliveriesTo(relay, found, {
    limit: count,
    ...(before === undefined ? {} : { before }),
  })
  const more = next !== undefined
  const cursor = more ? { cursor: next } : {}
  return c.json({ deliveries: deliveries.map(publicDeliveryTo), more, ...cursor })
}

async function act(relay: Relay, c: Context, action: typeof pause): Promise<Response> {
  const done = await action(relay, accessOf(c), idIn(c))
  return done === undefined ? unknown(c) : c.json(publicSubscription(done, relay.now()))
}

async function postTest(relay: Relay, c: Context): Promise<Response> {
  const access = accessOf(c)
  if ((await subscriptionFor(relay, access, idIn(c))) === undefined) return unknown(c)
  const wish = await testIn(c)
  if (wish instanceof Response) return wish
  const tested = await testSubscription(relay, access, idIn(c), wish.moment)
  if (tested === undefined) return unknown(c)
  if (tested.outcome === 'disabled') return notActive(c, 'disabled; resume it, which sends a ping')
  return c.json({ delivery: publicDeliveryTo(tested.delivery) }, 202)
}

function notActive(c: Context, why: string): Response {
  return problem(c, 409, 'subscription_not_active', `the subscription is ${why}`)
}

async function postRotation(relay: Relay, c: Context): Promise<Response> {
  const done = await rotateSecret(relay, accessOf(c), idIn(c))
  if (done === undefined) return unknown(c)
  return c.json({ ...publicSubscription(done.subscription, relay.now()), secret: done.secret })
}

async function postReplay(relay: Relay, c: Context): Promise<Response> {
  const found = await subscriptionFor(relay, accessOf(c), idIn(c))
  if (found === undefined) return unknown(c)
  const which = await replayIn(c)
  if (which instanceof Response) return which
  if ('id' in which && channelIn(which.id) !== subscriptionChannel(found.id)) {
    const detail = `this subscription has no delivery ${named(which.id)}; GET …/deliveries lists all`
    return problem(c, 404, 'delivery_unknown', detail)
  }
  if (found.state !== 'active')
    return notActive(c, `${found.state}; it must be active for a replay`)
  return c.json({ replayed: await replayTo(relay, accessOf(c), found, which) })
}
