// The routes for subscriptions, described.
import * as z from 'zod'
import { consents } from '../../core/delivery/subscription.ts'
import { moments } from '../../core/event/moment.ts'
import { wholeNumber } from '../../schema/checks.ts'
import { count, time } from '../../schema/event.ts'
import type { RouteDescription } from '../description.ts'
import { replayAnswer } from './answers.ts'
import { changeSchema, replayToSchema, testSchema, wishSchema } from './subscription-body.ts'

export const maxSubscriptionBytes = 16_384
const maxPage = 200

export const pageQuery = z.strictObject({
  limit: wholeNumber(1, maxPage).optional().describe('Entries in the answer, 50 if absent.'),
  cursor: z
    .string()
    .min(1, 'write the cursor of the page before')
    .max(2_000, 'write the cursor of the page before')
    .optional()
    .describe('The `cursor` of the page before.'),
})

const aSubscription = z.object({
  id: z.string(),
  state: z.enum(['pending', 'active', 'paused', 'disabled']),
  since: time.describe('When this state began.'),
  reason: z.string().describe('Why the subscription is in this state.'),
  url: z.string().describe('Without its path, if that may be a secret.'),
  description: z.string().exactOptional(),
  fleets: z.array(z.string()).exactOptional(),
  eventTypes: z.array(z.string()).exactOptional(),
  moments: z.array(z.enum(moments)).exactOptional(),
  resource: z.string().exactOptional(),
  consent: z.enum(consents),
  boundTo: z.array(z.string()).exactOptional().describe('The fleets of the token that made it.'),
  oldSecretUntil: time.exactOptional().describe('Until then, the old secret also signs.'),
  createdAt: time,
  createdBy: z.string(),
})
const subscriptionAnswer = aSubscription.meta({ id: 'Subscription' })
const wholeAnswer = aSubscription.extend({
  health: z.object({
    state: z.enum(['ok', 'refusing', 'unreachable']),
    since: time.exactOptional(),
    note: z.string().exactOptional(),
  }),
})
const withSecret = aSubscription.extend({
  secret: z.string().exactOptional().describe('Signs what is sent. No later answer contains it.'),
})
const listAnswer = z.object({
  subscriptions: z.array(subscriptionAnswer),
  more: z.boolean(),
  cursor: z.string().exactOptional(),
})

const deliveryTo = z
  .object({
    id: z.string(),
    messageId: z.string().describe('`webhook-id`, and the `id` of the CloudEvent.'),
    moment: z.enum([...moments, 'ping']),
    test: z.literal(true).exactOptional().describe('Only for a test event, which is made up.'),
    fleet: z.string().exactOptional(),
    eventId: z.string().exactOptional(),
    state: z.enum(['pending', 'delivered', 'refused', 'superseded', 'given_up']),
    attempts: count,
    note: z.string(),
    plannedAt: time,
    nextAttemptAt: time.exactOptional(),
    settledAt: time.exactOptional(),
    answer: z
      .object({
        at: time,
        tookMs: z.number(),
        status: z.int().exactOptional().describe('Absent: no answer came.'),
        text: z.string().describe('The first 4 KB.'),
      })
      .exactOptional()
      .describe('The answer to the last attempt.'),
  })
  .meta({ id: 'DeliveryToSubscription' })
const deliveriesAnswer = z.object({
  deliveries: z.array(deliveryTo),
  more: z.boolean(),
  cursor: z.string().exactOptional(),
})

const list = '/v1/subscriptions'
const one = `${list}/{id}`
const common = { group: 'Subscriptions', caller: 'admin' } as const
const ofOne = { ...common, params: { id: 'Its id from the list.' } }

export const subscriptionDescriptions: RouteDescription[] = [
  {
    ...common,
    method: 'get',
    path: list,
    name: 'listSubscriptions',
    summary: 'Lists subscriptions, the newest first.',
    query: pageQuery,
    answers: { 200: { about: 'One page.', schema: listAnswer } },
  },
  {
    ...common,
    method: 'post',
    path: list,
    name: 'createSubscription',
    summary: 'Makes a subscription. It is active once its endpoint answers a ping.',
    about: 'With the header `Idempotency-Key`, a repeated request makes no second one.',
    body: { schema: wishSchema, maxBytes: maxSubscriptionBytes },
    answers: { 201: { about: 'The subscription, with its secret.', schema: withSecret } },
    problems: [409, 422],
  },
  {
    ...ofOne,
    method: 'get',
    path: one,
    name: 'getSubscription',
    summary: 'Reads a subscription and the health of its endpoint.',
    answers: { 200: { about: 'The subscription.', schema: wholeAnswer } },
    problems: [404],
  },
  {
    ...ofOne,
    method: 'patch',
    path: one,
    name: 'changeSubscription',
    summary: 'Changes a subscription. `null` removes a condition. A new address must consent.',
    body: { schema: changeSchema, maxBytes: maxSubscriptionBytes },
    answers: { 200: { about: 'The subscription.', schema: subscriptionAnswer } },
    problems: [404, 422],
  },
  {
    ...ofOne,
    method: 'delete',
    path: one,
    name: 'deleteSubscription',
    summary: 'Deletes a subscription. What waits for it is not sent.',
    answers: { 204: { about: 'It is deleted.' } },
    problems: [404],
  },
  {
    ...ofOne,
    method: 'get',
    path: `${one}/deliveries`,
    name: 'listDeliveriesTo',
    summary: 'Lists what was sent to a subscription, the newest first.',
    query: pageQuery,
    answers: { 200: { about: 'One page.', schema: deliveriesAnswer } },
    problems: [404],
  },
  {
    ...ofOne,
    method: 'post',
    path: `${one}/test`,
    name: 'testSubscription',
    summary:
      'Sends a test event. A pending subscription becomes active if its endpoint accepts it.',
    about:
      'The event is made up, and its `data.test` is true. `moment` chooses the step of its life ' +
      '(`scheduled` if absent). If the endpoint must consent by `OPTIONS` first, it gets only that.',
    body: { schema: testSchema, maxBytes: maxSubscriptionBytes, isOptional: true },
    answers: { 202: { about: 'It is sent.', schema: z.object({ delivery: deliveryTo }) } },
    problems: [404, 409],
  },
  {
    ...ofOne,
    method: 'post',
    path: `${one}/pause`,
    name: 'pauseSubscription',
    summary: 'Pauses a subscription. What it misses can be replayed.',
    answers: { 200: { about: 'The subscription.', schema: subscriptionAnswer } },
    problems: [404],
  },
  {
    ...ofOne,
    method: 'post',
    path: `${one}/resume`,
    name: 'resumeSubscription',
    summary: 'Resumes a subscription, with a ping if its endpoint has to consent.',
    answers: { 200: { about: 'The subscription.', schema: subscriptionAnswer } },
    problems: [404],
  },
  {
    ...ofOne,
    method: 'post',
    path: `${one}/rotate-secret`,
    name: 'rotateSecret',
    summary: 'Makes a new secret. The old one also signs for 24 hours.',
    answers: { 200: { about: 'The subscription, with its secret.', schema: withSecret } },
    problems: [404],
  },
  {
    ...ofOne,
    method: 'post',
    path: `${one}/replay`,
    name: 'replayToSubscription',
    summary: 'Sends again what failed: one delivery, or all since a time.',
    body: { schema: replayToSchema, maxBytes: maxSubscriptionBytes },
    answers: { 200: { about: 'How many are sent again.', schema: replayAnswer } },
    problems: [404, 409],
  },
]
