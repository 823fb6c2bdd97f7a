// `/v1/subscriptions/{id}/…`: what was sent to a subscription, a test of its endpoint, a pause, a new
// secret, and a replay.
import type { Context } from 'hono'
import * as z from 'zod'
import { channelIn, storedChannel } from '../../core/delivery/delivery.ts'
import { moments } from '../../core/event/moment.ts'
import { readAccess } from '../../http/api/access.ts'
import { replayAnswer } from '../../http/api/deliveries.ts'
import { named, problem } from '../../http/problem.ts'
import { type Route, route } from '../../http/route.ts'
import { listChoices, object } from '../../schema/checks.ts'
import type { Relay } from '../../use-cases/relay.ts'
import {
  answerUnknown,
  answerWithSecret,
  deliveryToAnswer,
  maxSubscriptionBytes,
  publicDeliveryTo,
  publicSubscription,
  subscriptionAnswer,
  subscriptionOf,
  subscriptionPage,
  usualEntries,
} from './http-answers.ts'
import { canReplay, type Subscription } from './rule.ts'
import {
  deliveriesTo,
  pauseSubscription,
  replaySubscription,
  resumeSubscription,
  rotateSecret,
  subscriptionFor,
  testSubscription,
} from './use.ts'

const listDeliveries = route({
  ...subscriptionOf,
  method: 'get',
  path: '/v1/subscriptions/{id}/deliveries',
  name: 'listDeliveriesTo',
  summary: 'Lists what was sent to a subscription, the newest first.',
  query: subscriptionPage,
  answers: {
    200: {
      about: 'One page.',
      schema: z.object({
        deliveries: z.array(deliveryToAnswer),
        more: z.boolean(),
        cursor: z.string().exactOptional(),
      }),
    },
  },
  handler:
    ({ relay }) =>
    async (c, { params: { id }, query: { limit = usualEntries, cursor: before } }) => {
      const found = await subscriptionFor(relay, readAccess(c), id)
      if (found === undefined) return answerUnknown(c, id)
      const page = { limit, ...(before === undefined ? {} : { before }) }
      const { deliveries, next: cursor } = await deliveriesTo(relay, found, page)
      const more = cursor !== undefined
      return c.json({
        deliveries: deliveries.map((one) => publicDeliveryTo(one, readAccess(c))),
        more,
        cursor,
      })
    },
})

const postTest = route({
  ...subscriptionOf,
  method: 'post',
  path: '/v1/subscriptions/{id}/test',
  name: 'testSubscription',
  rate: 'endpoints',
  summary:
    'Sends a test event. To an endpoint that has not consented, it sends what asks for consent.',
  about:
    'The event is made up, and its `data.test` is true. `moment` chooses the step of its life ' +
    '(`scheduled` if absent). A test is tried once. An endpoint that has not consented gets a ping, ' +
    'or the `OPTIONS` request, and nothing else.',
  json: {
    schema: object({ moment: listChoices(moments).optional() }),
    maxBytes: maxSubscriptionBytes,
    code: 'subscription_malformed',
    example: '{"moment": "started"}, or no body',
    isOptional: true,
  },
  answers: {
    202: { about: 'It is sent.', schema: z.object({ delivery: deliveryToAnswer }) },
  },
  problems: [404, 409],
  handler:
    ({ relay }) =>
    async (c, { params: { id }, body: { moment = 'scheduled' } }) => {
      const tested = await testSubscription(relay, readAccess(c), id, moment)
      if (tested === undefined) return answerUnknown(c, id)
      if (tested.outcome === 'disabled') {
        return notActive(c, 'disabled; resume it, which sends a ping')
      }
      return c.json({ delivery: publicDeliveryTo(tested.delivery, readAccess(c)) }, 202)
    },
})

function notActive(c: Context, why: string): Response {
  return problem(c, 409, 'subscription_not_active', `the subscription is ${why}`)
}

const postPause = route({
  ...subscriptionOf,
  method: 'post',
  path: '/v1/subscriptions/{id}/pause',
  name: 'pauseSubscription',
  summary: 'Pauses a subscription. What it misses can be replayed.',
  answers: { 200: { about: 'The subscription.', schema: subscriptionAnswer } },
  handler:
    ({ relay }) =>
    async (c, { params: { id } }) =>
      changedTo(relay, c, id, await pauseSubscription(relay, readAccess(c), id)),
})

const postResume = route({
  ...subscriptionOf,
  method: 'post',
  path: '/v1/subscriptions/{id}/resume',
  name: 'resumeSubscription',
  rate: 'endpoints',
  summary: 'Resumes a subscription, with a ping if its endpoint has to consent.',
  answers: { 200: { about: 'The subscription.', schema: subscriptionAnswer } },
  handler:
    ({ relay }) =>
    async (c, { params: { id } }) =>
      changedTo(relay, c, id, await resumeSubscription(relay, readAccess(c), id)),
})

function changedTo(relay: Relay, c: Context, id: string, done: Subscription | undefined) {
  return done === undefined ? answerUnknown(c, id) : c.json(publicSubscription(done, relay.now()))
}

const postRotation = route({
  ...subscriptionOf,
  method: 'post',
  path: '/v1/subscriptions/{id}/rotate-secret',
  name: 'rotateSecret',
  summary: 'Makes a new secret. The old one also signs for 24 hours.',
  answers: { 200: { about: 'The subscription, with its secret.', schema: answerWithSecret } },
  handler:
    ({ relay }) =>
    async (c, { params: { id } }) => {
      const done = await rotateSecret(relay, readAccess(c), id)
      if (done === undefined) return answerUnknown(c, id)
      return c.json({ ...publicSubscription(done.subscription, relay.now()), secret: done.secret })
    },
})

const replayRule = 'send {"id": "…"} or {"since": "2026-11-21T00:00:00Z"}'

const postReplay = route({
  ...subscriptionOf,
  method: 'post',
  path: '/v1/subscriptions/{id}/replay',
  name: 'replayToSubscription',
  summary: 'Sends again what failed: one delivery, or all since a time.',
  json: {
    maxBytes: maxSubscriptionBytes,
    code: 'replay_malformed',
    schema: z.union(
      [
        z.strictObject({ id: z.string().min(1) }),
        z.strictObject({ since: z.iso.datetime({ offset: true }) }),
      ],
      replayRule,
    ),
    example: replayRule.replace('send ', ''),
  },
  answers: { 200: { about: 'How many are sent again.', schema: replayAnswer } },
  problems: [404, 409],
  handler:
    ({ relay }) =>
    async (c, { params: { id }, body }) => {
      const found = await subscriptionFor(relay, readAccess(c), id)
      if (found === undefined) return answerUnknown(c, id)
      if ('id' in body && channelIn(body.id) !== storedChannel(id)) {
        const detail = `this subscription has no delivery ${named(body.id)}; GET …/deliveries lists all`
        return problem(c, 404, 'delivery_unknown', detail)
      }
      if (!canReplay(found)) {
        return notActive(c, `${found.state}; it must be active for a replay`)
      }
      const which = 'id' in body ? body : { since: Date.parse(body.since) }
      return c.json({ replayed: await replaySubscription(relay, readAccess(c), found, which) })
    },
})

export const subscriptionActionRoutes: Route[] = [
  listDeliveries,
  postTest,
  postPause,
  postResume,
  postRotation,
  postReplay,
]
